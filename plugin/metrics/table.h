/*
 * table: every metric as one row, from which the Prometheus page, the JSON and the reference page are made;
 * private to this folder.
 */
#ifndef MI_METRICS_TABLE_H
#define MI_METRICS_TABLE_H

#include "metrics/metrics.h"

/* Values of a route in a snapshot: the counters, then what is derived from them. */
enum { MI_V_RECEIVED = MI_C_ROUTE_COUNTERS, MI_V_PENDING, MI_V_VALUES };

enum mi_metric_type { MI_COUNTER, MI_GAUGE, MI_GAUGE_MS };

struct mi_metric_row {
    unsigned value;     /* enum mi_global_counter, or for routes enum mi_route_counter or MI_V_... */
    const char *key;    /* in JSON; rows of one family (same key, different reasons) stand together */
    const char *reason; /* label, and second key in JSON; NULL: none */
    enum mi_metric_type type;
    const char *help; /* of the first row of a family; one sentence without backslash or newline */
};

extern const struct mi_metric_row mi_route_rows[];
extern const size_t mi_route_row_count;
extern const struct mi_metric_row mi_global_rows[];
extern const size_t mi_global_row_count;

/* Same family as the row before it. */
bool mi_metric_continues(const struct mi_metric_row *rows, size_t i);
/* The name in Prometheus: prefix, key, unit, _total. */
bool mi_metric_name(const struct mi_metric_row *row, struct mi_buf *out);

/* All values of a route at one moment; the identity of metrics.h holds in them. */
void mi_route_snapshot(struct mi_route_metrics *r, uint64_t values[MI_V_VALUES]);

#endif

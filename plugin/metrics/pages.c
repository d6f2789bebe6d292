#include <inttypes.h>
#include <stdlib.h>

#include "metrics/metrics.h"
#include "metrics/table.h"

/* All routes at one moment. */
struct snapshot {
    size_t routes;
    uint64_t (*values)[MI_V_VALUES];
};

static bool take(struct snapshot *s, struct mi_metrics *m);
static void add_head(struct mi_buf *out, const struct mi_metric_row *row);
static void add_number(struct mi_buf *out, const struct mi_metric_row *row, uint64_t value);
static void add_route_line(struct mi_buf *out, const struct mi_metric_row *row, const char *route,
                           uint64_t value);
static void add_json_rows(struct mi_buf *out, const struct mi_metric_row *rows, size_t count,
                          const uint64_t *values);
static void add_json_string(struct mi_buf *out, const char *text);

bool mi_metrics_prometheus(struct mi_metrics *m, struct mi_buf *out)
{
    struct snapshot s;
    if (!take(&s, m)) {
        out->failed = true;
        return false;
    }
    for (size_t i = 0; i < mi_global_row_count; i++) {
        const struct mi_metric_row *row = &mi_global_rows[i];
        if (!mi_metric_continues(mi_global_rows, i))
            add_head(out, row);
        mi_metric_name(row, out);
        if (row->reason)
            mi_buf_addf(out, "{reason=\"%s\"}", row->reason);
        add_number(out, row, mi_metrics_get(m, row->value));
    }
    for (size_t i = 0, next; i < mi_route_row_count; i = next) {
        add_head(out, &mi_route_rows[i]);
        for (next = i + 1; next < mi_route_row_count && mi_metric_continues(mi_route_rows, next); next++)
            ;
        for (size_t route = 0; route < s.routes; route++) {
            char fallback[16];
            const char *name = mi_route_name(mi_metrics_route_at(m, route), fallback);
            for (size_t row = i; row < next; row++)
                add_route_line(out, &mi_route_rows[row], name, s.values[route][mi_route_rows[row].value]);
        }
    }
    free(s.values);
    return !out->failed;
}

bool mi_metrics_json(struct mi_metrics *m, struct mi_buf *out)
{
    struct snapshot s;
    uint64_t global[MI_G_COUNTERS];
    if (!take(&s, m)) {
        out->failed = true;
        return false;
    }
    for (unsigned i = 0; i < MI_G_COUNTERS; i++)
        global[i] = mi_metrics_get(m, i);
    mi_buf_add_text(out, "{\"counters\":{");
    add_json_rows(out, mi_global_rows, mi_global_row_count, global);
    mi_buf_add_text(out, "},\"routes\":[");
    for (size_t route = 0; route < s.routes; route++) {
        char fallback[16];
        mi_buf_add_text(out, route ? ",{\"route\":" : "{\"route\":");
        add_json_string(out, mi_route_name(mi_metrics_route_at(m, route), fallback));
        mi_buf_add_byte(out, ',');
        add_json_rows(out, mi_route_rows, mi_route_row_count, s.values[route]);
        mi_buf_add_byte(out, '}');
    }
    mi_buf_add_text(out, "]}");
    free(s.values);
    return !out->failed;
}

static void add_reference_rows(struct mi_buf *out, const struct mi_metric_row *rows, size_t count,
                               const char *label)
{
    for (size_t i = 0, next; i < count; i = next) {
        mi_buf_add_text(out, "| `");
        mi_metric_name(&rows[i], out);
        mi_buf_addf(out, "` | %s | %s", rows[i].type == MI_COUNTER ? "counter" : "gauge", label);
        for (next = i; next < count && (next == i || mi_metric_continues(rows, next)); next++)
            if (rows[next].reason)
                mi_buf_addf(out, "%s%s`%s`", next > i || *label ? ", " : "",
                            next > i ? "" : "`reason`: ", rows[next].reason);
        mi_buf_addf(out, " | %s |\n", rows[i].help);
    }
}

bool mi_metrics_reference(struct mi_buf *out)
{
    mi_buf_add_text(out, "| metric | type | labels | meaning |\n|---|---|---|---|\n");
    add_reference_rows(out, mi_route_rows, mi_route_row_count, "`route`");
    add_reference_rows(out, mi_global_rows, mi_global_row_count, "");
    return !out->failed;
}

static bool take(struct snapshot *s, struct mi_metrics *m)
{
    s->routes = mi_metrics_route_count(m);
    s->values = malloc((s->routes + 1) * sizeof *s->values);
    for (size_t i = 0; s->values && i < s->routes; i++)
        mi_route_snapshot(mi_metrics_route_at(m, i), s->values[i]);
    return s->values != NULL;
}

/* ---- Prometheus ---- */

static void add_head(struct mi_buf *out, const struct mi_metric_row *row)
{
    mi_buf_add_text(out, "# HELP ");
    mi_metric_name(row, out);
    mi_buf_addf(out, " %s\n# TYPE ", row->help);
    mi_metric_name(row, out);
    mi_buf_add_text(out, row->type == MI_COUNTER ? " counter\n" : " gauge\n");
}

static void add_number(struct mi_buf *out, const struct mi_metric_row *row, uint64_t value)
{
    if (row->type == MI_GAUGE_MS)
        mi_buf_addf(out, " %" PRIu64 ".%03" PRIu64 "\n", value / 1000, value % 1000);
    else
        mi_buf_addf(out, " %" PRIu64 "\n", value);
}

static void add_label(struct mi_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            mi_buf_add_text(out, "\\n");
            continue;
        }
        if (*text == '"' || *text == '\\')
            mi_buf_add_byte(out, '\\');
        mi_buf_add_byte(out, (uint8_t)*text);
    }
}

static void add_route_line(struct mi_buf *out, const struct mi_metric_row *row, const char *route,
                           uint64_t value)
{
    mi_metric_name(row, out);
    mi_buf_add_text(out, "{route=\"");
    add_label(out, route);
    if (row->reason)
        mi_buf_addf(out, "\",reason=\"%s", row->reason);
    mi_buf_add_text(out, "\"}");
    add_number(out, row, value);
}

/* ---- JSON ---- */

/* The members of an object: "key":value, and "key":{"reason":value,...} for a family with reasons. */
static void add_json_rows(struct mi_buf *out, const struct mi_metric_row *rows, size_t count,
                          const uint64_t *values)
{
    for (size_t i = 0; i < count; i++) {
        const struct mi_metric_row *row = &rows[i];
        bool more = i + 1 < count && mi_metric_continues(rows, i + 1);
        if (i > 0)
            mi_buf_add_byte(out, ',');
        if (!mi_metric_continues(rows, i))
            mi_buf_addf(out, "\"%s%s\":%s", row->key, row->type == MI_GAUGE_MS ? "_ms" : "",
                        row->reason ? "{" : "");
        if (row->reason)
            mi_buf_addf(out, "\"%s\":", row->reason);
        mi_buf_addf(out, "%" PRIu64, values[row->value]);
        if (row->reason && !more)
            mi_buf_add_byte(out, '}');
    }
}

static void add_json_string(struct mi_buf *out, const char *text)
{
    mi_buf_add_byte(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            mi_buf_add_byte(out, '\\');
        if ((unsigned char)*text < 0x20)
            mi_buf_addf(out, "\\u%04x", (unsigned)*text);
        else
            mi_buf_add_byte(out, (uint8_t)*text);
    }
    mi_buf_add_byte(out, '"');
}

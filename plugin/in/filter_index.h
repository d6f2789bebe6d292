/*
 * filter_index: a set of MQTT filters, laid out so that "does any of them overlap with this one?" is quick.
 *
 * A tree of levels, made once and then only read, by any thread. A question walks it with a stack of its own
 * and looks at each level of the tree at most once: as long as it has no wildcards that is a path, with them
 * at most the whole tree.
 */
#ifndef MI_FILTER_INDEX_H
#define MI_FILTER_INDEX_H

#include "base/bytes.h"

struct mi_filter_index;

/* Sorts filters in place; their texts must live as long as the index. NULL when memory is out. */
struct mi_filter_index *mi_filter_index_new(struct mi_span *filters, size_t count);
void mi_filter_index_free(struct mi_filter_index *x);

/* Is there a topic that this filter and one of the index both match? True too when memory is out. */
bool mi_filter_index_overlaps(const struct mi_filter_index *x, struct mi_span filter);

/* Is there a topic that both filters match? Pure. (Here and above the topic of no bytes counts as one.) */
bool mi_filters_overlap(const char *a, const char *b);

#endif

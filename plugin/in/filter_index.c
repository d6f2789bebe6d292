#include "in/filter_index.h"

#include <stdlib.h>
#include <string.h>

/* A level of the tree. Its children are the levels that may follow, sorted, in one run of nodes. */
struct node {
    struct mi_span level;
    uint32_t first, count; /* of its children */
    bool ends;             /* one of the filters ends here */
};

struct mi_filter_index {
    struct node *nodes; /* [0]: the root, above the first level */
    uint32_t node_count;
};

/* The part of the sorted filters that agrees up to a node, while the tree is made. */
struct range {
    size_t from, to; /* filters */
    size_t at;       /* where the next level begins; one past the end when the filter has ended */
};

static int compare(const void *a, const void *b);
static size_t count_levels(const struct mi_span *filters, size_t count);
static void fill(struct mi_filter_index *x, const struct mi_span *filters, struct range *ranges);

struct mi_filter_index *mi_filter_index_new(struct mi_span *filters, size_t count)
{
    qsort(filters, count, sizeof *filters, compare);
    size_t most = 1 + count_levels(filters, count);
    struct mi_filter_index *x = calloc(1, sizeof *x);
    struct range *ranges = most < UINT32_MAX ? calloc(most, sizeof *ranges) : NULL;
    if (x)
        x->nodes = ranges ? calloc(most, sizeof *x->nodes) : NULL;
    if (!x || !x->nodes) {
        free(ranges);
        mi_filter_index_free(x);
        return NULL;
    }
    ranges[0] = (struct range){0, count, 0};
    fill(x, filters, ranges);
    free(ranges);
    return x;
}

void mi_filter_index_free(struct mi_filter_index *x)
{
    if (x)
        free(x->nodes);
    free(x);
}

/* Level by level: '/' counts as smaller than every other byte. */
static int compare(const void *a, const void *b)
{
    const struct mi_span *x = a, *y = b;
    size_t len = x->len < y->len ? x->len : y->len, i = 0;
    while (i < len && x->data[i] == y->data[i])
        i++;
    if (i == len)
        return x->len < y->len ? -1 : x->len > y->len;
    if (x->data[i] == '/' || y->data[i] == '/')
        return x->data[i] == '/' ? -1 : 1;
    return x->data[i] < y->data[i] ? -1 : 1;
}

static size_t count_levels(const struct mi_span *filters, size_t count)
{
    size_t levels = count;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < filters[i].len; k++)
            levels += filters[i].data[k] == '/';
    return levels;
}

static struct mi_span level_at(struct mi_span filter, size_t at)
{
    const uint8_t *from = filter.data + at, *slash = memchr(from, '/', filter.len - at);
    return (struct mi_span){from, slash ? (size_t)(slash - from) : filter.len - at};
}

/* Breadth first, so that the children of a node stand side by side. */
static void fill(struct mi_filter_index *x, const struct mi_span *filters, struct range *ranges)
{
    x->node_count = 1;
    for (uint32_t n = 0; n < x->node_count; n++) {
        struct range r = ranges[n];
        x->nodes[n].first = x->node_count;
        while (r.from < r.to) {
            struct mi_span filter = filters[r.from];
            if (r.at > filter.len) {
                x->nodes[n].ends = true;
                r.from++;
                continue;
            }
            struct mi_span level = level_at(filter, r.at);
            size_t to = r.from + 1;
            while (to < r.to && filters[to].len >= r.at && mi_span_equal(level_at(filters[to], r.at), level))
                to++;
            x->nodes[x->node_count].level = level;
            ranges[x->node_count++] = (struct range){r.from, to, r.at + level.len + 1};
            r.from = to;
        }
        x->nodes[n].count = x->node_count - x->nodes[n].first;
    }
}

/* ---- asking ---- */

struct step {
    uint32_t node;
    size_t at; /* of the question's next level */
};

/* What is still to be looked at. One question looks at most at every node once. */
struct walk {
    const struct mi_filter_index *index;
    struct step *steps;
    size_t count, cap;
    bool failed;
};

static bool look(struct walk *w, struct mi_span filter, struct step s);

bool mi_filter_index_overlaps(const struct mi_filter_index *x, struct mi_span filter)
{
    struct step some[64];
    struct walk w = {x, some, 1, sizeof some / sizeof *some, false};
    bool found = false;
    some[0] = (struct step){0, 0};
    while (w.count > 0 && !found && !w.failed) {
        struct step s = w.steps[--w.count];
        found = look(&w, filter, s);
    }
    found = found || w.failed;
    if (w.steps != some)
        free(w.steps);
    return found;
}

static void push(struct walk *w, uint32_t node, size_t at)
{
    if (w->count == w->cap) {
        bool own = w->cap > 64;
        struct step *more = realloc(own ? w->steps : NULL, w->cap * 2 * sizeof *more);
        if (!more) {
            w->failed = true;
            return;
        }
        if (!own)
            memcpy(more, w->steps, w->count * sizeof *more);
        w->steps = more;
        w->cap *= 2;
    }
    w->steps[w->count++] = (struct step){node, at};
}

static bool is(struct mi_span level, char wildcard)
{
    return level.len == 1 && level.data[0] == (uint8_t)wildcard;
}

static bool hidden(struct mi_span level)
{
    return level.len > 0 && level.data[0] == '$';
}

static const struct node *child(const struct mi_filter_index *x, const struct node *parent,
                                struct mi_span level)
{
    size_t low = parent->first, high = (size_t)parent->first + parent->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = mi_span_compare(x->nodes[middle].level, level);
        if (order == 0)
            return &x->nodes[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static void push_child(struct walk *w, const struct node *parent, const char *level, size_t at)
{
    const struct node *c = child(w->index, parent, mi_span_of(level));
    if (c)
        push(w, (uint32_t)(c - w->index->nodes), at);
}

/* One node against the question's rest. True: they overlap. Levels of one wildcard stay clear of first levels
 * that begin with $ (MQTT 4.7.2). */
static bool look(struct walk *w, struct mi_span filter, struct step s)
{
    const struct mi_filter_index *x = w->index;
    const struct node *n = &x->nodes[s.node];
    bool top = s.node == 0;
    if (s.at > filter.len)
        return n->ends || child(x, n, mi_span_of("#")) != NULL; /* a/# matches a, too */
    struct mi_span level = level_at(filter, s.at);
    size_t next = s.at + level.len + 1;
    bool one = is(level, '+'), rest = is(level, '#');
    if (rest && !top)
        return true; /* every node leads to a filter */
    if (!one && !rest) {
        if (!(top && hidden(level))) {
            if (child(x, n, mi_span_of("#")))
                return true;
            push_child(w, n, "+", next);
        }
        const struct node *c = child(x, n, level);
        if (c)
            push(w, (uint32_t)(c - x->nodes), next);
        return false;
    }
    for (uint32_t i = n->first; i < n->first + n->count; i++) {
        if (top && hidden(x->nodes[i].level))
            continue;
        if (rest || is(x->nodes[i].level, '#'))
            return true;
        push(w, i, next);
    }
    return false;
}

/* ---- two filters ---- */

static struct mi_span next_level(const char **at)
{
    const char *from = *at;
    size_t len = strcspn(from, "/");
    *at = from[len] ? from + len + 1 : NULL;
    return (struct mi_span){(const uint8_t *)from, len};
}

bool mi_filters_overlap(const char *a, const char *b)
{
    for (bool top = true; a && b; top = false) {
        struct mi_span x = next_level(&a), y = next_level(&b);
        bool any_x = is(x, '+') || is(x, '#'), any_y = is(y, '+') || is(y, '#');
        if (top && ((any_x && hidden(y)) || (any_y && hidden(x))))
            return false;
        if (is(x, '#') || is(y, '#'))
            return true;
        if (!any_x && !any_y && !mi_span_equal(x, y))
            return false;
    }
    /* What goes on in one of them must be able to be nothing: a/# matches a, too. */
    return (!a || strcmp(a, "#") == 0) && (!b || strcmp(b, "#") == 0);
}

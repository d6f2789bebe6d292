#include "in/picture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "in/filter_index.h"

struct mi_filter_text {
    atomic_uint holders;
    uint32_t len;
    char bytes[];
};

struct mi_interest_picture {
    atomic_uint holders;
    bool everything;
    size_t count;
    struct mi_filter_text **texts;
    /* made by the first who asks, away from the main thread */
    pthread_mutex_t lock;
    _Atomic(struct mi_filter_index *) index;
    struct mi_span *spans; /* sorted by the index */
};

static struct mi_filter_index *index_of(struct mi_interest_picture *p);

struct mi_filter_text *mi_filter_text_new(struct mi_span s)
{
    struct mi_filter_text *text = malloc(sizeof *text + s.len);
    if (!text)
        return NULL;
    atomic_init(&text->holders, 1);
    text->len = (uint32_t)s.len;
    memcpy(text->bytes, s.data, s.len);
    return text;
}

void mi_filter_text_release(struct mi_filter_text *text)
{
    if (text && atomic_fetch_sub_explicit(&text->holders, 1, memory_order_acq_rel) == 1)
        free(text);
}

struct mi_span mi_filter_text_span(const struct mi_filter_text *text)
{
    return (struct mi_span){(const uint8_t *)text->bytes, text->len};
}

struct mi_interest_picture *mi_picture_new(bool everything, struct mi_filter_text *const *texts, size_t count)
{
    struct mi_interest_picture *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    atomic_init(&p->holders, 1);
    atomic_init(&p->index, NULL);
    p->everything = everything;
    if (everything || count == 0)
        return p;
    p->texts = malloc(count * sizeof *p->texts);
    if (!p->texts) {
        mi_interest_picture_release(p);
        return NULL;
    }
    for (p->count = 0; p->count < count; p->count++) {
        p->texts[p->count] = texts[p->count];
        atomic_fetch_add_explicit(&texts[p->count]->holders, 1, memory_order_relaxed);
    }
    return p;
}

struct mi_interest_picture *mi_interest_picture_hold(struct mi_interest_picture *p)
{
    atomic_fetch_add_explicit(&p->holders, 1, memory_order_relaxed);
    return p;
}

void mi_interest_picture_release(struct mi_interest_picture *p)
{
    if (!p || atomic_fetch_sub_explicit(&p->holders, 1, memory_order_acq_rel) != 1)
        return;
    mi_filter_index_free(atomic_load(&p->index));
    free(p->spans);
    for (size_t i = 0; i < p->count; i++)
        mi_filter_text_release(p->texts[i]);
    free(p->texts);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* NULL when memory is out. */
static struct mi_filter_index *index_of(struct mi_interest_picture *p)
{
    struct mi_filter_index *index = atomic_load_explicit(&p->index, memory_order_acquire);
    if (index)
        return index;
    pthread_mutex_lock(&p->lock);
    index = atomic_load_explicit(&p->index, memory_order_relaxed);
    if (!index && !p->spans)
        p->spans = malloc(p->count * sizeof *p->spans);
    if (!index && p->spans) {
        for (size_t i = 0; i < p->count; i++)
            p->spans[i] = mi_filter_text_span(p->texts[i]);
        index = mi_filter_index_new(p->spans, p->count);
        atomic_store_explicit(&p->index, index, memory_order_release);
    }
    pthread_mutex_unlock(&p->lock);
    return index;
}

bool mi_interest_wants(const struct mi_interest_picture *p, const char *filter)
{
    if (!p || p->everything)
        return true;
    if (p->count == 0)
        return false;
    struct mi_filter_index *index = index_of((struct mi_interest_picture *)p);
    return !index || mi_filter_index_overlaps(index, mi_span_of(filter));
}

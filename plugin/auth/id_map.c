#include "auth/id_map.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

#define SAME_WITHIN_US 1000000u

struct mi_id_map {
    struct mi_id_stream *streams; /* ascending ids */
    size_t count;
    uint32_t round;
    uint64_t version;
};

static void free_topics(struct mi_id_stream *s)
{
    for (size_t i = 0; i < s->topic_count; i++)
        free((void *)s->topics[i].name.data);
    free(s->topics);
    s->topics = NULL;
    s->topic_count = 0;
}

static void free_streams(struct mi_id_stream *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free_topics(&streams[i]);
        free((void *)streams[i].name.data);
    }
    free(streams);
}

struct mi_id_map *mi_id_map_new(void)
{
    return calloc(1, sizeof(struct mi_id_map));
}

void mi_id_map_free(struct mi_id_map *m)
{
    if (!m)
        return;
    free_streams(m->streams, m->count);
    free(m);
}

static bool copy_name(struct iggy_span from, struct mi_span *to)
{
    uint8_t *text = malloc(from.len + 1);
    if (text && from.len)
        memcpy(text, from.data, from.len);
    *to = (struct mi_span){text, from.len};
    return text != NULL;
}

struct mi_identity mi_identity_of(uint64_t created_at, struct mi_span name)
{
    return (struct mi_identity){created_at, mi_fnv64(MI_FNV64, name)};
}

bool mi_identity_same(struct mi_identity a, struct mi_identity b)
{
    uint64_t apart = a.created_at > b.created_at ? a.created_at - b.created_at : b.created_at - a.created_at;
    return a.created_at != 0 && b.created_at != 0 &&
           (apart == 0 || (apart < SAME_WITHIN_US && a.name_hash == b.name_hash));
}

static bool same(uint64_t age_a, struct mi_span name_a, uint64_t age_b, struct mi_span name_b)
{
    return mi_identity_same(mi_identity_of(age_a, name_a), mi_identity_of(age_b, name_b));
}

static int by_stream_id(const void *a, const void *b)
{
    const struct mi_id_stream *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_topic_id(const void *a, const void *b)
{
    const struct mi_id_topic *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

bool mi_id_map_set_streams(struct mi_id_map *m, const struct iggy_stream *streams, size_t count,
                           uint32_t round)
{
    struct mi_id_stream *now = calloc(count + 1, sizeof *now);
    bool ok = now != NULL, changed = count != m->count;
    for (size_t i = 0; ok && i < count; i++) {
        now[i] = (struct mi_id_stream){.id = streams[i].id, .created_at = streams[i].created_at};
        ok = copy_name(streams[i].name, &now[i].name);
    }
    if (!ok) {
        free_streams(now, now ? count : 0);
        return false;
    }
    qsort(now, count, sizeof *now, by_stream_id);
    for (size_t i = 0; i < count; i++) {
        struct mi_id_stream *before = (struct mi_id_stream *)mi_id_map_stream(m, now[i].id);
        if (before && same(before->created_at, before->name, now[i].created_at, now[i].name)) {
            changed |= !mi_span_equal(before->name, now[i].name);
            now[i].topics = before->topics;
            now[i].topic_count = before->topic_count;
            now[i].topics_round = before->topics_round;
            before->topics = NULL;
            before->topic_count = 0;
        } else {
            changed = true;
        }
    }
    free_streams(m->streams, m->count);
    m->streams = now;
    m->count = count;
    m->round = round;
    m->version += changed;
    return true;
}

bool mi_id_map_set_topics(struct mi_id_map *m, const struct iggy_stream *stream, uint32_t round)
{
    struct mi_id_stream *s = (struct mi_id_stream *)mi_id_map_stream(m, stream->id);
    const struct mi_span name = {stream->name.data, stream->name.len};
    if (!s || !same(s->created_at, s->name, stream->created_at, name))
        return true;
    size_t count = stream->topics ? stream->topics_count : 0;
    struct mi_id_stream now = {.topics = calloc(count + 1, sizeof *now.topics)};
    bool ok = now.topics != NULL, changed = count != s->topic_count || s->topics_round == 0;
    for (; ok && now.topic_count < count; now.topic_count++) {
        const struct iggy_topic *t = &stream->topics[now.topic_count];
        now.topics[now.topic_count] = (struct mi_id_topic){.id = t->id, .created_at = t->created_at};
        ok = copy_name(t->name, &now.topics[now.topic_count].name);
    }
    if (!ok) {
        free_topics(&now);
        return false;
    }
    qsort(now.topics, count, sizeof *now.topics, by_topic_id);
    for (size_t i = 0; !changed && i < count; i++)
        changed =
            now.topics[i].id != s->topics[i].id ||
            !same(now.topics[i].created_at, now.topics[i].name, s->topics[i].created_at, s->topics[i].name) ||
            !mi_span_equal(now.topics[i].name, s->topics[i].name);
    free_topics(s);
    s->topics = now.topics;
    s->topic_count = count;
    s->topics_round = round;
    m->version += changed;
    return true;
}

uint32_t mi_id_map_round(const struct mi_id_map *m)
{
    return m->round;
}

uint64_t mi_id_map_version(const struct mi_id_map *m)
{
    return m->version;
}

const struct mi_id_stream *mi_id_map_stream(const struct mi_id_map *m, uint32_t id)
{
    const struct mi_id_stream key = {.id = id};
    return m->count ? bsearch(&key, m->streams, m->count, sizeof key, by_stream_id) : NULL;
}

const struct mi_id_stream *mi_id_map_want(struct mi_id_map *m, uint32_t id, uint32_t round)
{
    struct mi_id_stream *s = (struct mi_id_stream *)mi_id_map_stream(m, id);
    if (!s || s->wanted_round == round)
        return NULL;
    s->wanted_round = round;
    return s;
}

const struct mi_id_topic *mi_id_map_topic(const struct mi_id_stream *s, uint32_t id)
{
    const struct mi_id_topic key = {.id = id};
    return s->topic_count ? bsearch(&key, s->topics, s->topic_count, sizeof key, by_topic_id) : NULL;
}

/*
 * store: the tree of streams, topics and partitions.
 */
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static void partition_path(const struct dev_store *store, const struct dev_stream *stream,
                           const struct dev_topic *topic, uint32_t id, uint64_t created_at, char *path,
                           size_t size);
static uint64_t logged_time(const struct dev_store *store, uint64_t created_at);
static void partition_free(struct dev_partition *partition);
static void topic_free(struct dev_topic *topic);

uint64_t dev_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void dev_option_defaults(uint64_t options[DEV_OPTIONS])
{
    options[DEV_OPTION_COMPRESSION] = 0;
    options[DEV_OPTION_FSYNC] = 0;
    options[DEV_OPTION_MAX_SIZE] = UINT64_MAX;
    options[DEV_OPTION_EXPIRY] = UINT64_MAX;
    options[DEV_OPTION_MESSAGES_TO_SAVE] = 1024;
    options[DEV_OPTION_PREALLOCATE] = 0;
    options[DEV_OPTION_SEGMENT_SIZE] = 1ull << 30;
    options[DEV_OPTION_BYTES_TO_SAVE] = 1ull << 20;
}

bool dev_set_name(char **name, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return false;
    free(*name);
    *name = copy;
    return true;
}

struct dev_stream *dev_stream_create(struct dev_store *store, const char *name)
{
    struct dev_stream *s = calloc(1, sizeof *s);
    if (!s || !dev_set_name(&s->name, name) ||
        !dev_slab_add(&store->streams, s, store->personality == DEV_0_8, &s->id)) {
        if (s)
            free(s->name);
        free(s);
        return NULL;
    }
    s->created_at = dev_now_us();
    s->logged_at = logged_time(store, s->created_at);
    store->dirty = true;
    return s;
}

static uint64_t logged_time(const struct dev_store *store, uint64_t created_at)
{
    return store->personality == DEV_0_8 ? created_at + 20000 : created_at;
}

struct dev_topic *dev_topic_create(struct dev_store *store, struct dev_stream *stream, const char *name,
                                   uint32_t partitions, const uint64_t options[DEV_OPTIONS],
                                   const bool explicit_options[DEV_OPTIONS])
{
    struct dev_topic *t = calloc(1, sizeof *t);
    if (!t || !dev_set_name(&t->name, name) ||
        !dev_slab_add(&stream->topics, t, store->personality == DEV_0_8, &t->id)) {
        if (t)
            free(t->name);
        free(t);
        return NULL;
    }
    t->created_at = dev_now_us();
    t->logged_at = logged_time(store, t->created_at);
    memcpy(t->options, options, sizeof t->options);
    memcpy(t->explicit_options, explicit_options, sizeof t->explicit_options);
    if (!dev_partitions_add(store, stream, t, partitions)) {
        dev_topic_delete(store, stream, t);
        return NULL;
    }
    return t;
}

bool dev_partitions_add(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic,
                        uint32_t count)
{
    store->dirty = true;
    uint64_t now = dev_now_us();
    for (uint32_t i = 0; i < count; i++)
        if (!dev_partition_open(store, stream, topic, topic->partition_count, now, 0))
            return false;
    return true;
}

struct dev_partition *dev_partition_open(struct dev_store *store, struct dev_stream *stream,
                                         struct dev_topic *topic, uint32_t id, uint64_t created_at,
                                         uint64_t first_offset)
{
    struct dev_partition **grown = realloc(topic->partitions, (id + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    topic->partitions = grown;
    struct dev_partition *p = calloc(1, sizeof *p);
    char path[4096];
    partition_path(store, stream, topic, id, created_at, path, sizeof path);
    if (!p || !dev_log_open(&p->log, store->data_dir ? path : NULL, first_offset)) {
        free(p);
        return NULL;
    }
    p->created_at = created_at;
    topic->partitions[id] = p;
    topic->partition_count = id + 1;
    return p;
}

/* Ids are given again after a deletion: the time keeps the files apart. */
static void partition_path(const struct dev_store *store, const struct dev_stream *stream,
                           const struct dev_topic *topic, uint32_t id, uint64_t created_at, char *path,
                           size_t size)
{
    snprintf(path, size, "%s/%u-%u-%u-%llu.log", store->data_dir ? store->data_dir : ".", stream->id,
             topic->id, id, (unsigned long long)created_at);
}

void dev_partitions_remove(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic,
                           uint32_t count)
{
    char path[4096];
    store->dirty = true;
    for (; count > 0; count--) {
        struct dev_partition *p = topic->partitions[--topic->partition_count];
        partition_path(store, stream, topic, topic->partition_count, p->created_at, path, sizeof path);
        partition_free(p);
        if (store->data_dir)
            unlink(path);
    }
}

static void partition_free(struct dev_partition *partition)
{
    dev_log_close(&partition->log);
    free(partition->offsets);
    free(partition);
}

void dev_topic_delete(struct dev_store *store, struct dev_stream *stream, struct dev_topic *topic)
{
    dev_partitions_remove(store, stream, topic, topic->partition_count);
    dev_slab_remove(&stream->topics, topic->id);
    topic_free(topic);
}

static void topic_free(struct dev_topic *topic)
{
    struct dev_group *g;
    for (uint32_t i = 0; (g = dev_slab_next(&topic->groups, &i)); i++) {
        free(g->name);
        free(g);
    }
    dev_slab_fini(&topic->groups);
    for (uint32_t i = 0; i < topic->partition_count; i++)
        partition_free(topic->partitions[i]);
    free(topic->partitions);
    free(topic->name);
    free(topic);
}

void dev_stream_delete(struct dev_store *store, struct dev_stream *stream)
{
    struct dev_topic *t;
    for (uint32_t i = 0; (t = dev_slab_next(&stream->topics, &i)); i++)
        dev_topic_delete(store, stream, t);
    dev_slab_remove(&store->streams, stream->id);
    dev_slab_fini(&stream->topics);
    free(stream->name);
    free(stream);
    store->dirty = true;
}

void dev_topic_purge(struct dev_store *store, struct dev_topic *topic)
{
    for (uint32_t i = 0; i < topic->partition_count; i++) {
        dev_log_purge(&topic->partitions[i]->log);
        topic->partitions[i]->offset_count = 0;
    }
    store->dirty = true;
}

bool dev_numeric_id(const char *text, uint32_t *id)
{
    uint64_t value = 0;
    const char *p = *text == '+' && text[1] ? text + 1 : text; /* Rust's number parser takes a plus sign */
    if (!*p)
        return false;
    for (; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        value = value * 10 + (uint64_t)(*p - '0');
        if (value > UINT32_MAX)
            return false;
    }
    *id = (uint32_t)value;
    return true;
}

struct dev_stream *dev_stream_find(const struct dev_store *store, const char *identifier)
{
    uint32_t id;
    return dev_numeric_id(identifier, &id) ? dev_slab_get(&store->streams, id)
                                           : dev_stream_named(store, identifier);
}

struct dev_stream *dev_stream_named(const struct dev_store *store, const char *name)
{
    struct dev_stream *s;
    for (uint32_t i = 0; (s = dev_slab_next(&store->streams, &i)); i++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

struct dev_topic *dev_topic_find(const struct dev_stream *stream, const char *identifier)
{
    uint32_t id;
    return dev_numeric_id(identifier, &id) ? dev_slab_get(&stream->topics, id)
                                           : dev_topic_named(stream, identifier);
}

struct dev_topic *dev_topic_named(const struct dev_stream *stream, const char *name)
{
    struct dev_topic *t;
    for (uint32_t i = 0; (t = dev_slab_next(&stream->topics, &i)); i++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

struct dev_group *dev_group_find(const struct dev_topic *topic, const char *identifier, uint32_t *id)
{
    if (dev_numeric_id(identifier, id))
        return dev_slab_get(&topic->groups, *id);
    struct dev_group *g;
    for (uint32_t i = 0; (g = dev_slab_next(&topic->groups, &i)); i++)
        if (strcmp(g->name, identifier) == 0) {
            *id = i;
            return g;
        }
    return NULL;
}

struct dev_group *dev_group_create(struct dev_store *store, struct dev_topic *topic, const char *name,
                                   uint32_t *id)
{
    struct dev_group *g = calloc(1, sizeof *g);
    if (!g || !dev_set_name(&g->name, name) ||
        !dev_slab_add(&topic->groups, g, store->personality == DEV_0_8, id)) {
        if (g)
            free(g->name);
        free(g);
        return NULL;
    }
    store->dirty = true;
    return g;
}

void dev_group_delete(struct dev_store *store, struct dev_topic *topic, uint32_t id)
{
    struct dev_group *g = dev_slab_remove(&topic->groups, id);
    free(g->name);
    free(g);
    store->dirty = true;
}

uint32_t dev_consumer_number(const char *identifier)
{
    uint32_t id;
    return dev_numeric_id(identifier, &id) ? id : XXH32(identifier, strlen(identifier), 0);
}

struct dev_offset *dev_offset_find(struct dev_partition *partition, uint32_t consumer)
{
    for (size_t i = 0; i < partition->offset_count; i++)
        if (partition->offsets[i].consumer == consumer)
            return &partition->offsets[i];
    return NULL;
}

bool dev_offset_store(struct dev_store *store, struct dev_partition *partition, uint32_t consumer,
                      uint64_t offset)
{
    struct dev_offset *found = dev_offset_find(partition, consumer);
    if (!found && partition->offset_count == partition->offset_cap) {
        size_t cap = partition->offset_cap ? partition->offset_cap * 2 : 4;
        struct dev_offset *grown = realloc(partition->offsets, cap * sizeof *grown);
        if (!grown)
            return false;
        partition->offsets = grown;
        partition->offset_cap = cap;
    }
    if (!found)
        found = &partition->offsets[partition->offset_count++];
    *found = (struct dev_offset){consumer, offset};
    store->dirty = true;
    return true;
}

bool dev_offset_delete(struct dev_store *store, struct dev_partition *partition, uint32_t consumer)
{
    struct dev_offset *found = dev_offset_find(partition, consumer);
    if (!found)
        return false;
    *found = partition->offsets[--partition->offset_count];
    store->dirty = true;
    return true;
}

uint64_t dev_topic_messages(const struct dev_topic *topic)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < topic->partition_count; i++)
        n += dev_log_messages(&topic->partitions[i]->log);
    return n;
}

uint64_t dev_topic_bytes(const struct dev_topic *topic)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < topic->partition_count; i++)
        n += topic->partitions[i]->log.bytes;
    return n;
}

/* Calls each for every partition. */
static void walk(const struct dev_store *store,
                 void (*each)(void *arg, struct dev_topic *t, struct dev_partition *p), void *arg)
{
    struct dev_stream *s;
    struct dev_topic *t;
    for (uint32_t i = 0; (s = dev_slab_next(&store->streams, &i)); i++)
        for (uint32_t j = 0; (t = dev_slab_next(&s->topics, &j)); j++)
            for (uint32_t k = 0; k < t->partition_count; k++)
                each(arg, t, t->partitions[k]);
}

static void add_totals(void *arg, struct dev_topic *t, struct dev_partition *p)
{
    struct dev_totals *totals = arg;
    (void)t;
    totals->partitions++;
    totals->segments += dev_log_segments(&p->log);
    totals->messages += dev_log_messages(&p->log);
    totals->bytes += p->log.bytes;
    totals->memory += p->log.memory;
}

struct dev_totals dev_store_totals(const struct dev_store *store)
{
    struct dev_totals totals = {.streams = store->streams.count};
    struct dev_stream *s;
    struct dev_topic *t;
    walk(store, add_totals, &totals);
    for (uint32_t i = 0; (s = dev_slab_next(&store->streams, &i)); i++) {
        totals.topics += s->topics.count;
        for (uint32_t j = 0; (t = dev_slab_next(&s->topics, &j)); j++)
            totals.groups += t->groups.count;
    }
    return totals;
}

static void add_memory(void *arg, struct dev_topic *t, struct dev_partition *p)
{
    (void)t;
    *(uint64_t *)arg += p->log.memory;
}

uint64_t dev_store_memory(const struct dev_store *store)
{
    uint64_t bytes = 0;
    walk(store, add_memory, &bytes);
    return bytes;
}

static void expire(void *arg, struct dev_topic *t, struct dev_partition *p)
{
    uint64_t now = *(uint64_t *)arg, expiry = t->options[DEV_OPTION_EXPIRY];
    if (expiry < now)
        dev_log_expire(&p->log, now - expiry);
}

void dev_store_expire(struct dev_store *store)
{
    uint64_t now = dev_now_us();
    walk(store, expire, &now);
}

void dev_offsets_clamp(struct dev_partition *partition)
{
    uint64_t tail = dev_log_tail(&partition->log);
    for (size_t i = 0; i < partition->offset_count; i++)
        if (partition->offsets[i].offset > tail)
            partition->offsets[i].offset = tail;
}

static void lose_unsaved(void *arg, struct dev_topic *t, struct dev_partition *p)
{
    (void)arg;
    (void)t;
    dev_log_lose_unsaved(&p->log);
    dev_offsets_clamp(p);
}

void dev_store_lose_unsaved(struct dev_store *store)
{
    struct dev_stream *s;
    struct dev_topic *t;
    walk(store, lose_unsaved, NULL);
    for (uint32_t i = 0; (s = dev_slab_next(&store->streams, &i)); i++) {
        s->created_at = s->logged_at;
        for (uint32_t j = 0; (t = dev_slab_next(&s->topics, &j)); j++)
            t->created_at = t->logged_at;
    }
}

static void save(void *arg, struct dev_topic *t, struct dev_partition *p)
{
    (void)t;
    if (!dev_log_save(&p->log))
        *(bool *)arg = false;
}

bool dev_store_save(struct dev_store *store)
{
    bool ok = true;
    walk(store, save, &ok);
    return ok;
}

void dev_store_free(struct dev_store *store)
{
    struct dev_stream *s;
    struct dev_topic *t;
    for (uint32_t i = 0; (s = dev_slab_next(&store->streams, &i)); i++) {
        for (uint32_t j = 0; (t = dev_slab_next(&s->topics, &j)); j++)
            topic_free(t);
        dev_slab_fini(&s->topics);
        free(s->name);
        free(s);
    }
    dev_slab_fini(&store->streams);
}

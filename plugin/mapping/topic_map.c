#include "mapping/topic_map.h"

#include "mapping/rule.h"

#include <stdlib.h>
#include <string.h>

enum {
    TEXT_MAX = 16 << 20,   /* bytes of all names and keys of one match */
    TEXT_KEPT = 256 << 10, /* a larger buffer is given back */
    REMEMBERED_MAX = 4096  /* bytes of one entry of the cache */
};

/* What is remembered of a rule that took a topic. */
struct taken {
    struct mi_hit hit;        /* whole when captures is NULL, else only the rule's number counts */
    struct mi_span *captures; /* of a rule whose names do not follow from the topic alone */
};

struct remembered {
    struct mi_cached head;
    bool too_many;
    uint32_t count;
    struct taken taken[]; /* then the captures, then the bytes */
};

static bool make_parts(struct mi_map *map, size_t cache_topics);
static size_t recall(struct mi_map *map, const struct remembered *r, const struct mi_map_input *input,
                     struct mi_hit *hits);
static size_t work_out(struct mi_map *map, const struct mi_map_input *input, uint64_t hash,
                       struct mi_hit *hits);
static bool find(struct mi_map *map, struct mi_span topic, struct mi_match *found);
static struct remembered *remember(const struct mi_map *map, struct mi_span topic, const struct mi_hit *hits,
                                   size_t n);
static size_t bytes_of(const struct mi_map *map, struct mi_span topic, const struct mi_hit *hits, size_t n,
                       size_t *captures);
static bool in_text(const struct mi_map *map, struct mi_span s);
static void keep(const struct mi_map *map, struct mi_span *s, uint8_t **to);

struct mi_map *mi_map_new(const struct mi_rule_spec *rules, size_t count, size_t cache_topics,
                          mi_map_report report, void *context)
{
    if (count > MI_MAX_ROUTES) {
        report(
            context, MI_REFUSED, MI_MAX_ROUTES, "routes",
            "there are more than 10000 routes; put several topics into one with a wildcard and a template");
        return NULL;
    }
    struct mi_map *map = calloc(1, sizeof *map);
    if (!map)
        return NULL;
    mi_buf_init(&map->text, TEXT_MAX);
    map->count = count;
    map->rules = calloc(count + 1, sizeof *map->rules);
    map->regexes = calloc(count + 1, sizeof *map->regexes);
    if (!map->rules || !map->regexes || mi_map_compile(map, rules, report, context) != 0 ||
        !make_parts(map, cache_topics)) {
        mi_map_free(map);
        return NULL;
    }
    return map;
}

static bool make_parts(struct mi_map *map, size_t cache_topics)
{
    map->scratch = mi_regex_scratch_new();
    if (cache_topics > 0)
        map->cache = mi_cache_new(cache_topics);
    return map->scratch && (map->cache || cache_topics == 0);
}

void mi_map_free(struct mi_map *map)
{
    if (!map)
        return;
    for (size_t i = 0; map->rules && i < map->count; i++)
        mi_rule_fini(&map->rules[i]);
    free(map->rules);
    free(map->regexes);
    mi_trie_free(map->trie);
    mi_cache_free(map->cache);
    mi_regex_scratch_free(map->scratch);
    mi_buf_fini(&map->text);
    free(map);
}

size_t mi_map_match(struct mi_map *map, const struct mi_map_input *input, struct mi_hit hits[MI_MAX_HITS])
{
    uint64_t hash = 0;
    if (map->text.cap > TEXT_KEPT)
        mi_buf_fini(&map->text);
    mi_buf_reset(&map->text);
    if (map->cache) {
        struct remembered *r = (struct remembered *)mi_cache_get(map->cache, input->topic, &hash);
        if (r)
            return recall(map, r, input, hits);
    }
    return work_out(map, input, hash, hits);
}

static size_t recall(struct mi_map *map, const struct remembered *r, const struct mi_map_input *input,
                     struct mi_hit *hits)
{
    struct mi_draft drafts[MI_MAX_HITS];
    map->counts.remembered++;
    map->counts.too_many += r->too_many;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct taken *t = &r->taken[i];
        hits[i] = t->hit;
        if (t->captures)
            mi_rule_draft(&map->rules[t->hit.rule], input, t->captures, &map->text, &hits[i], &drafts[i]);
    }
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->taken[i].captures)
            mi_rule_settle(&map->text, &drafts[i], &hits[i]);
    }
    return r->count;
}

static size_t work_out(struct mi_map *map, const struct mi_map_input *input, uint64_t hash,
                       struct mi_hit *hits)
{
    struct mi_match found;
    struct mi_draft drafts[MI_MAX_HITS];
    bool regex_ran = find(map, input->topic, &found);
    bool too_many = found.count > MI_MAX_HITS;
    size_t n = too_many ? MI_MAX_HITS : found.count;
    map->counts.worked_out++;
    map->counts.too_many += too_many;
    for (size_t i = 0; i < n; i++) {
        const struct mi_rule *rule = &map->rules[found.rules[i]];
        hits[i].rule = found.rules[i];
        mi_rule_match(rule, map->scratch, input->topic, map->captures[i]);
        mi_rule_draft(rule, input, map->captures[i], &map->text, &hits[i], &drafts[i]);
    }
    for (size_t i = 0; i < n; i++)
        mi_rule_settle(&map->text, &drafts[i], &hits[i]);
    /* That no filter matches is found out as fast as it is remembered. */
    if (map->cache && (n > 0 || regex_ran)) {
        struct remembered *r = remember(map, input->topic, hits, n);
        if (r) {
            r->too_many = too_many;
            mi_cache_put(map->cache, &r->head, hash);
        }
    }
    return n;
}

/* The rules in order; true when a regex was asked. */
static bool find(struct mi_map *map, struct mi_span topic, struct mi_match *found)
{
    bool ran = false;
    mi_match_init(found);
    mi_trie_match(map->trie, topic, found);
    for (size_t i = 0; i < map->regex_count && map->regexes[i] < found->bound; i++) {
        uint32_t number = map->regexes[i];
        enum mi_regex_result result = mi_regex_match(map->rules[number].regex, map->scratch, topic, NULL);
        ran = true;
        if (result == MI_REGEX_YES)
            mi_match_add(found, number, map->rules[number].goes_on);
        else if (result == MI_REGEX_GAVE_UP)
            map->counts.regex_limits++;
    }
    return ran;
}

/* NULL when it would be too large, or memory is out: then it is worked out again the next time. */
static struct remembered *remember(const struct mi_map *map, struct mi_span topic, const struct mi_hit *hits,
                                   size_t n)
{
    size_t captures = 0;
    size_t bytes = bytes_of(map, topic, hits, n, &captures);
    size_t size =
        sizeof(struct remembered) + n * sizeof(struct taken) + captures * sizeof(struct mi_span) + bytes;
    struct remembered *r = bytes < REMEMBERED_MAX && size <= REMEMBERED_MAX ? malloc(size) : NULL;
    if (!r)
        return NULL;
    struct mi_span *capture = (struct mi_span *)(r->taken + n);
    uint8_t *to = (uint8_t *)(capture + captures);
    const uint8_t *copy = to;
    if (topic.len)
        memcpy(to, topic.data, topic.len);
    to += topic.len;
    r->head.topic = (struct mi_span){copy, topic.len};
    r->count = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        const struct mi_rule *rule = &map->rules[hits[i].rule];
        struct taken *t = &r->taken[i];
        *t = (struct taken){.hit = hits[i]};
        if (rule->topic_only) {
            keep(map, &t->hit.stream, &to);
            keep(map, &t->hit.topic, &to);
            keep(map, &t->hit.key, &to);
            continue;
        }
        t->captures = capture;
        uint32_t count = rule->regex ? mi_regex_captures(rule->regex) : rule->filter.captures;
        for (uint32_t k = 0; k < count; k++, capture++) {
            const struct mi_span from = map->captures[i][k];
            *capture = (struct mi_span){copy + (from.data - topic.data), from.len};
        }
    }
    return r;
}

static size_t bytes_of(const struct mi_map *map, struct mi_span topic, const struct mi_hit *hits, size_t n,
                       size_t *captures)
{
    size_t bytes = topic.len;
    for (size_t i = 0; i < n; i++) {
        const struct mi_rule *rule = &map->rules[hits[i].rule];
        if (!rule->topic_only) {
            *captures += rule->regex ? mi_regex_captures(rule->regex) : rule->filter.captures;
            continue;
        }
        /* Nothing half-built is remembered. */
        if (hits[i].status == MI_HIT_NO_MEMORY)
            return REMEMBERED_MAX;
        bytes += in_text(map, hits[i].stream) ? hits[i].stream.len : 0;
        bytes += in_text(map, hits[i].topic) ? hits[i].topic.len : 0;
        bytes += in_text(map, hits[i].key) ? hits[i].key.len : 0;
    }
    return bytes;
}

/* Constant names live in the rule itself and need no copy. */
static bool in_text(const struct mi_map *map, struct mi_span s)
{
    uintptr_t at = (uintptr_t)s.data, from = (uintptr_t)map->text.data;
    return map->text.data && at >= from && at < from + map->text.len;
}

static void keep(const struct mi_map *map, struct mi_span *s, uint8_t **to)
{
    if (!in_text(map, *s))
        return;
    memcpy(*to, s->data, s->len);
    s->data = *to;
    *to += s->len;
}

void mi_map_get_counts(const struct mi_map *map, struct mi_map_counts *counts)
{
    *counts = map->counts;
}

const char *mi_hit_status_text(enum mi_hit_status status)
{
    switch (status) {
    case MI_HIT_OK:
        return "stream and topic names are usable";
    case MI_HIT_STREAM_UNUSABLE:
        return "stream name is empty, over 255 bytes, all digits, not UTF-8 or has a NUL";
    case MI_HIT_TOPIC_UNUSABLE:
        return "topic name is empty, over 255 bytes, all digits, not UTF-8 or has a NUL";
    case MI_HIT_NO_MEMORY:
        return "memory is out for the names of stream and topic";
    }
    return "unknown";
}

bool mi_map_constant_target(const struct mi_map *map, size_t rule, struct mi_span *stream,
                            struct mi_span *topic)
{
    return rule < map->count && mi_template_constant(&map->rules[rule].stream, stream) &&
           mi_template_constant(&map->rules[rule].topic, topic);
}

bool mi_map_has_filter(const struct mi_map *map, size_t rule)
{
    return rule < map->count && (map->rules[rule].filter.count > 0 || map->rules[rule].regex);
}

bool mi_map_one_partition(const struct mi_map *map, size_t rule)
{
    return rule < map->count && !map->rules[rule].balanced && map->rules[rule].topic_only;
}

#include "maps.h"

#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void keep_complaint(void *context, enum mi_severity severity, size_t rule, const char *key,
                           const char *sentence)
{
    struct complaints *c = context;
    if (!c || c->count == COMPLAINTS_KEPT)
        return;
    struct complaint *to = &c->all[c->count++];
    to->severity = severity;
    to->rule = rule;
    snprintf(to->key, sizeof to->key, "%s", key);
    snprintf(to->sentence, sizeof to->sentence, "%s", sentence);
}

struct mi_map *map_of(const struct mi_rule_spec *rules, size_t count, size_t cache,
                      struct complaints *complaints)
{
    if (complaints)
        complaints->count = 0;
    return mi_map_new(rules, count, cache, keep_complaint, complaints);
}

bool complained(const struct complaints *c, enum mi_severity severity, size_t rule, const char *key,
                const char *words)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct complaint *x = &c->all[i];
        if (x->severity == severity && x->rule == rule && strcmp(x->key, key) == 0 &&
            strstr(x->sentence, words))
            return true;
    }
    for (size_t i = 0; i < c->count; i++)
        printf("  said: %d rule %zu %s: %s\n", c->all[i].severity, c->all[i].rule, c->all[i].key,
               c->all[i].sentence);
    return false;
}

size_t match(struct mi_map *map, const char *topic, struct mi_hit *hits)
{
    struct mi_map_input input = {.topic = mi_span_of(topic)};
    return mi_map_match(map, &input, hits);
}

const char *first(struct mi_map *map, const char *topic)
{
    static char text[4096];
    struct mi_hit hits[MI_MAX_HITS];
    if (match(map, topic, hits) == 0)
        return "-";
    const struct mi_hit *h = &hits[0];
    snprintf(text, sizeof text, "%zu %.*s/%.*s/%.*s", h->rule, (int)h->stream.len,
             (const char *)h->stream.data, (int)h->topic.len, (const char *)h->topic.data, (int)h->key.len,
             (const char *)h->key.data);
    return text;
}

bool says(struct mi_span span, const char *text)
{
    bool same = mi_span_equal(span, mi_span_of(text));
    if (!same)
        printf("  \"%.*s\" is not \"%s\"\n", (int)span.len, (const char *)span.data, text);
    return same;
}

static bool is_rest(const char *filter)
{
    return strcmp(filter, "#") == 0 || (*filter == '{' && !strchr(filter, '/') && strstr(filter, "...}"));
}

static bool naive_levels(const char *f, const char *t)
{
    size_t fn = strcspn(f, "/"), tn = strcspn(t, "/");
    if (is_rest(f))
        return true;
    if (*f != '+' && *f != '{' && (fn != tn || strncmp(f, t, fn) != 0))
        return false;
    if (f[fn] == '\0')
        return t[tn] == '\0';
    if (t[tn] == '\0')
        return is_rest(f + fn + 1);
    return naive_levels(f + fn + 1, t + tn + 1);
}

bool naive_match(const char *filter, const char *topic)
{
    if (*topic == '$' && (*filter == '+' || *filter == '#' || *filter == '{'))
        return false;
    return naive_levels(filter, topic);
}

struct dice dice_new(void)
{
    const char *seed = getenv("MI_SEED");
    struct dice d = {seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL)};
    printf("  MI_SEED=%llu\n", (unsigned long long)d.state);
    return d;
}

uint32_t roll(struct dice *d, uint32_t sides)
{
    d->state = d->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((d->state >> 33) % sides);
}

void random_topic(struct dice *d, char *to, size_t size)
{
    static const char *const levels[] = {"a", "b", "ab", "", "$x", "7", "é"};
    uint32_t n = 1 + roll(d, 5);
    to[0] = '\0';
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(to);
        snprintf(to + at, size - at, "%s%s", i ? "/" : "", levels[roll(d, 7)]);
    }
    if (to[0] == '\0')
        snprintf(to, size, "/");
}

void random_filter(struct dice *d, char *to, size_t size)
{
    random_topic(d, to, size);
    char out[256] = "";
    uint32_t number = 0;
    for (char *level = to, *end; level; level = end ? end + 1 : NULL) {
        end = strchr(level, '/');
        if (end)
            *end = '\0';
        size_t at = strlen(out);
        const char *slash = level == to ? "" : "/";
        uint32_t kind = roll(d, 6);
        if (kind == 0)
            snprintf(out + at, sizeof out - at, "%s+", slash);
        else if (kind == 1)
            snprintf(out + at, sizeof out - at, "%s{n%u}", slash, number++);
        else if (kind == 2 && !end)
            snprintf(out + at, sizeof out - at, "%s%s", slash, roll(d, 2) ? "#" : "{r...}");
        else
            snprintf(out + at, sizeof out - at, "%s%s", slash, level);
    }
    snprintf(to, size, "%s", out[0] ? out : "/");
}

/*
 * mapping_fuzz: any texts as rules, any bytes as topics.
 *
 * The input is cut at newlines: a filter, a regex, a stream, a topic, a key, an mqtt_topic, then topics. What
 * must hold: no crash, the cache changes no answer, what is said to be usable is, and what goes out maps
 * back.
 */
#include "mapping/names.h"
#include "mapping/topic_map.h"

#include <stdlib.h>
#include <string.h>

enum { FIELDS = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *context, enum mi_severity severity, size_t rule, const char *key,
                   const char *sentence)
{
    (void)context;
    (void)severity;
    (void)rule;
    (void)key;
    if (sentence[0] == '\0')
        abort();
}

/* Every property is there: what is empty does not map back (topic_map.h). */
static bool any_property(void *context, struct mi_span name, struct mi_span *value)
{
    (void)context;
    (void)name;
    *value = mi_span_of("p");
    return true;
}

static void check_hit(const struct mi_map *map, struct mi_span topic, const struct mi_hit *hit)
{
    if (hit->status != MI_HIT_OK)
        return;
    if (mi_name_check(hit->stream) != MI_NAME_GOOD || mi_name_check(hit->topic) != MI_NAME_GOOD)
        abort();
    if (mi_topic_safe(topic) && !mi_map_maps_back(map, hit->rule, topic, hit->stream, hit->topic))
        abort();
}

static void check_topic(struct mi_map *map, struct mi_map *cached, struct mi_span topic)
{
    struct mi_hit a[MI_MAX_HITS], b[MI_MAX_HITS];
    const struct mi_map_input input = {.topic = topic,
                                       .client_id = {(const uint8_t *)"id", 2},
                                       .username = {(const uint8_t *)"u", 1},
                                       .property = any_property};
    size_t n = mi_map_match(map, &input, a);
    for (int again = 0; again < 2; again++) {
        if (mi_map_match(cached, &input, b) != n)
            abort();
        for (size_t i = 0; i < n; i++) {
            if (a[i].rule != b[i].rule || a[i].status != b[i].status || a[i].key_hash != b[i].key_hash ||
                !mi_span_equal(a[i].stream, b[i].stream) || !mi_span_equal(a[i].topic, b[i].topic))
                abort();
        }
    }
    for (size_t i = 0; i < n; i++)
        check_hit(map, topic, &a[i]);
    struct mi_buf out;
    mi_buf_init(&out, MI_MAX_MQTT_STRING);
    for (size_t rule = 0; rule < 3; rule++) {
        const char *why;
        const struct mi_native_input native = {.stream = topic, .topic = topic};
        if (mi_map_native_topic(map, rule, &native, &out, &why) && !mi_topic_safe(mi_buf_span(&out)))
            abort();
    }
    mi_buf_fini(&out);
}

static void run(char *fields[FIELDS], char *topics, size_t len)
{
    const struct mi_rule_spec rules[] = {
        {.name = "r",
         .regex = fields[1],
         .direction = MI_OUT,
         .stream = fields[2],
         .topic = fields[3],
         .partition_key = fields[4],
         .go_on = true},
        {.name = "f",
         .filter = fields[0],
         .direction = MI_BOTH,
         .stream = fields[2],
         .topic = fields[3],
         .partition_key = fields[4],
         .mqtt_topic = fields[5][0] ? fields[5] : NULL},
        {.name = "n", .direction = MI_IN, .stream = fields[2], .topic = fields[3], .mqtt_topic = fields[5]},
    };
    /* Each rule alone too, so that one that is refused does not hide the others. */
    for (size_t from = 0; from < 4; from++) {
        const struct mi_rule_spec *some = from < 3 ? &rules[from] : rules;
        size_t count = from < 3 ? 1 : 3;
        struct mi_map *map = mi_map_new(some, count, 0, ignore, NULL),
                      *cached = mi_map_new(some, count, 4, ignore, NULL);
        for (char *p = topics, *end; map && cached && p < topics + len; p = end + 1) {
            end = memchr(p, '\n', (size_t)(topics + len - p));
            end = end ? end : topics + len;
            check_topic(map, cached, (struct mi_span){(uint8_t *)p, (size_t)(end - p)});
        }
        mi_map_free(map);
        mi_map_free(cached);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), *fields[FIELDS], *p = text;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < FIELDS; i++) {
        char *end = memchr(p, '\n', (size_t)(text + size - p));
        if (!end) {
            free(text);
            return 0;
        }
        *end = '\0';
        fields[i] = p;
        p = end + 1;
    }
    run(fields, p, (size_t)(text + size - p));
    free(text);
    return 0;
}

/*
 * maps: a topic map in one line of a test, what it complained about, and a generator of random topics.
 */
#ifndef MI_TEST_MAPS_H
#define MI_TEST_MAPS_H

#include "mapping/topic_map.h"

enum { COMPLAINTS_KEPT = 32 };

struct complaint {
    enum mi_severity severity;
    size_t rule;
    char key[32];
    char sentence[1024];
};

struct complaints {
    struct complaint all[COMPLAINTS_KEPT];
    size_t count;
};

/* Compiles; complaints may be NULL. */
struct mi_map *map_of(const struct mi_rule_spec *rules, size_t count, size_t cache,
                      struct complaints *complaints);
/* One complaint of this kind about this key, and its sentence has these words? */
bool complained(const struct complaints *c, enum mi_severity severity, size_t rule, const char *key,
                const char *words);

size_t match(struct mi_map *map, const char *topic, struct mi_hit *hits);
/* The first hit as "rule stream/topic/key", or "-". Static. */
const char *first(struct mi_map *map, const char *topic);

bool says(struct mi_span span, const char *text);

/* The reference: MQTT 4.7 by recursion over strings, names in braces as wildcards. */
bool naive_match(const char *filter, const char *topic);

/* A small generator; the same seed gives the same run. */
struct dice {
    uint64_t state;
};
struct dice dice_new(void); /* seed from MI_SEED or the clock; printed */
uint32_t roll(struct dice *d, uint32_t sides);
/* A topic of a few short levels over a small alphabet, so that filters match often. */
void random_topic(struct dice *d, char *to, size_t size);
void random_filter(struct dice *d, char *to, size_t size);

#endif

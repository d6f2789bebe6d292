/*
 * rule: one compiled rule, and the map that holds them. Private to this folder.
 */
#ifndef MI_RULE_H
#define MI_RULE_H

#include "mapping/cache.h"
#include "mapping/filter.h"
#include "mapping/regex.h"
#include "mapping/template.h"
#include "mapping/topic_map.h"
#include "mapping/trie.h"

enum { MI_NAME_KEPT = 1024 }; /* bytes of an unusable name that a hit shows */

struct mi_rule {
    char *name;
    enum mi_direction direction;
    bool aside; /* takes no PUBLISH */
    bool goes_on;
    bool balanced;
    bool topic_only;         /* stream, topic and key follow from the MQTT topic alone */
    struct mi_filter filter; /* count 0: none */
    struct mi_regex *regex;  /* NULL: none; neither: only mqtt_topic */
    struct mi_template stream, topic, key;
    struct mi_template mqtt_topic; /* count 0: none */
};

struct mi_map {
    /* constant after mi_map_new */
    struct mi_rule *rules;
    size_t count;
    uint32_t *regexes; /* rules that match by regex, ascending */
    size_t regex_count;
    /* the matching thread only */
    struct mi_trie *trie;
    struct mi_cache *cache; /* NULL: none */
    struct mi_regex_scratch *scratch;
    struct mi_buf text; /* names and keys of the last match */
    struct mi_span captures[MI_MAX_HITS][MI_MAX_CAPTURES];
    struct mi_map_counts counts;
};

/* compile.c */
int mi_map_compile(struct mi_map *map, const struct mi_rule_spec *specs, mi_map_report report, void *context);
void mi_rule_fini(struct mi_rule *rule);

/* resolve.c */

/* Is the topic the rule's, whatever its direction? captures as in mi_regex_match. */
enum mi_regex_result mi_rule_match(const struct mi_rule *rule, struct mi_regex_scratch *scratch,
                                   struct mi_span topic, struct mi_span *captures);

/* Where in a buffer that still grows the names of a hit begin; SIZE_MAX: they are not in it. */
struct mi_draft {
    size_t stream, topic, key;
};
/* Writes the names and the key into text; mi_rule_settle makes them views of it once text grows no more. */
void mi_rule_draft(const struct mi_rule *rule, const struct mi_map_input *input,
                   const struct mi_span *captures, struct mi_buf *text, struct mi_hit *hit,
                   struct mi_draft *draft);
void mi_rule_settle(const struct mi_buf *text, const struct mi_draft *draft, struct mi_hit *hit);

#endif

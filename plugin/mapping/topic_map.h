/*
 * topic_map: which route takes a PUBLISH, and where it goes.
 *
 * Rules are tried in order: the first that matches wins, unless it says "continue". Matching walks one trie
 * of all filters (independent of the number of rules) and asks the regex rules that stand before the first
 * hit. A bounded cache remembers the answer per topic.
 *
 * A map is immutable after mi_map_new except for its cache and counts, which only mi_map_match touches:
 * mi_map_match and mi_map_get_counts belong to one thread, everything else may be called from any thread.
 * Knows nothing of Mosquitto, Iggy's HTTP or files.
 */
#ifndef MI_TOPIC_MAP_H
#define MI_TOPIC_MAP_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

enum mi_direction { MI_OUT = 1, MI_IN = 2, MI_BOTH = 3 };

/* One rule as the configuration states it. Texts are NUL-terminated and copied; NULL is "not given". */
struct mi_rule_spec {
    const char *name;   /* for messages; unique */
    const char *filter; /* MQTT filter with named levels: "a/{room}/#", "a/{rest...}" */
    const char *regex;  /* PCRE2, anchored at both ends; instead of filter */
    enum mi_direction direction;
    const char *stream;        /* template */
    const char *topic;         /* template */
    const char *partition_key; /* template; NULL is "{topic}" */
    bool balanced;             /* instead of a key */
    bool aside;                /* takes no PUBLISH; constant stream and topic, and nothing else */
    bool go_on;                /* "continue": later rules are tried too */
    const char
        *mqtt_topic; /* template of the way back; needed for native messages unless the filter is a topic */
};

enum mi_severity { MI_REFUSED, MI_WARNED };

/* What is wrong with rule number rule (its index); key is the member that a person must change. */
typedef void (*mi_map_report)(void *context, enum mi_severity severity, size_t rule, const char *key,
                              const char *sentence);

struct mi_map;
struct mi_filter;

/* Substitutions of the templates: template.h. What a PUBLISH does not have (no user name, no such property)
 * is empty. In a rule of direction in without filter and regex, names in stream and topic
 * ("building_{building}") match any one level, and mqtt_topic may use them. A regex is tried on topics that
 * begin with $ only when it begins with "\$" itself; one that reaches PCRE2's limits counts as no match.
 *
 * Compiles the rules; reports every refusal and warning (design section 4), not only the first. Returns NULL
 * when anything was refused or memory is out. cache_topics bounds the per-topic cache (0: none); an entry
 * takes at most 4 KB and about 300 bytes as a rule, what would take more is not remembered. */
struct mi_map *mi_map_new(const struct mi_rule_spec *rules, size_t count, size_t cache_topics,
                          mi_map_report report, void *context);
void mi_map_free(struct mi_map *map);

/* What templates may ask of a PUBLISH beside its topic. property looks up the first user property of that
 * name. */
struct mi_map_input {
    struct mi_span topic;
    struct mi_span client_id;
    struct mi_span username;
    bool (*property)(void *context, struct mi_span name, struct mi_span *value); /* may be NULL: none */
    void *property_context;
};

enum mi_hit_status {
    MI_HIT_OK,
    MI_HIT_STREAM_UNUSABLE, /* empty, over 255 bytes, all digits, not UTF-8 or with NUL: Iggy could not
                               address it */
    MI_HIT_TOPIC_UNUSABLE,
    MI_HIT_NO_MEMORY /* the names could not be built; they are empty */
};

struct mi_hit {
    size_t rule;               /* index into the rules */
    enum mi_hit_status status; /* the names are filled in even when they are unusable, cut at 1,024 bytes */
    struct mi_span stream, topic;
    struct mi_span key; /* empty with balanced */
    uint32_t key_hash;  /* XXH32(key, seed 0); 0 with balanced */
    bool balanced;
};

/* Finds the routes of direction out or both that take this PUBLISH, in order. Spans live until the next call
 * of mi_map_match on this map. Returns how many (0: none matches), at most MI_MAX_HITS. */
size_t mi_map_match(struct mi_map *map, const struct mi_map_input *input, struct mi_hit hits[MI_MAX_HITS]);

/* Since the map was made. */
struct mi_map_counts {
    uint64_t
        too_many; /* matches that more than MI_MAX_HITS routes would have taken: the later ones got nothing */
    uint64_t regex_limits; /* times that a regex was given up at its limits */
    uint64_t remembered;   /* answers from the cache */
    uint64_t worked_out;   /* answers from the rules */
};
void mi_map_get_counts(const struct mi_map *map, struct mi_map_counts *counts);

/* Why a sentence such as "stream name is all digits" goes with a status; static text. */
const char *mi_hit_status_text(enum mi_hit_status status);

/* For "explain": tries every rule in order and says what happened to it. why lives until the callback
 * returns. */
enum mi_verdict {
    MI_VERDICT_TAKEN,
    MI_VERDICT_TAKEN_GOES_ON,
    MI_VERDICT_NO_MATCH,
    MI_VERDICT_DIRECTION,
    MI_VERDICT_BEHIND
};
struct mi_capture {
    struct mi_span name, value; /* name: "room", or "1".. for groups and wildcards */
};
typedef void (*mi_map_explainer)(void *context, size_t rule, enum mi_verdict verdict, const char *why,
                                 const struct mi_hit *hit, const struct mi_capture *captures,
                                 size_t capture_count);
void mi_map_explain(const struct mi_map *map, const struct mi_map_input *input, mi_map_explainer each,
                    void *context);

/* ---- the way back ---- */

/* Would rule map this MQTT topic to that stream and topic? The check that what comes from Iggy may be
 * injected (promise 11). Templates that need more than the topic ({client_id}, {property:..}) are taken as
 * matching any value of at least one byte. Wildcards, empty topics and topics that begin with $ never map
 * back. */
bool mi_map_maps_back(const struct mi_map *map, size_t rule, struct mi_span mqtt_topic, struct mi_span stream,
                      struct mi_span topic);

/* The MQTT topic of a native message (one without mqtt.topic) of a rule of direction in or both: from
 * mqtt_topic, or from a filter that is a plain topic. header looks up a header's value as text. False with
 * why set (static text): "no mqtt_topic", "header missing", "substitution is empty or has / + # or control
 * characters" and the like. out is reset first; a maximum of MI_MAX_MQTT_STRING is enough. */
struct mi_native_input {
    struct mi_span stream, topic;
    uint32_t partition;
    bool (*header)(void *context, struct mi_span name, struct mi_span *value);
    void *header_context;
};
bool mi_map_native_topic(const struct mi_map *map, size_t rule, const struct mi_native_input *input,
                         struct mi_buf *out, const char **why);

/* True when a rule's stream and topic have no substitution: then they can be created and watched by name. */
bool mi_map_constant_target(const struct mi_map *map, size_t rule, struct mi_span *stream,
                            struct mi_span *topic);

/* Does an Iggy stream name fit the rule's stream template, and a topic name its topic template? For finding
 * the targets of templated rules of direction in. */
bool mi_map_stream_fits(const struct mi_map *map, size_t rule, struct mi_span stream);
bool mi_map_topic_fits(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic);

/* The plain MQTT filters that together match every topic which messages of that rule in that stream and topic
 * can have: which 0 is that of its filter or regex, which 1 that of mqtt_topic. False when the rule has no
 * such, or out (reset first) has no room. A name that the stream or topic shows beyond doubt stands in the
 * filter, everything else is a wildcard. out is NUL-terminated. */
bool mi_map_target_filter(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic,
                          unsigned which, struct mi_buf *out);

/* Do all messages of an MQTT topic that this rule sends go to one partition, in one order? Not when it is
 * balanced, or when a template asks for more than the topic ({client_id}, {username}, {property:..}). */
bool mi_map_one_partition(const struct mi_map *map, size_t rule);

/* May a message of that rule, in that stream and topic (empty: whichever), have an MQTT topic that the plain
 * filter (mi_filter_parse_plain) matches? False is certain, true is not. For finding where the past of a
 * filter lies. */
bool mi_map_reaches(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic,
                    const struct mi_filter *filter);

/* True when the rule has a way back for messages with an mqtt.topic header (a filter or regex), or only
 * mqtt_topic. */
bool mi_map_has_filter(const struct mi_map *map, size_t rule);

#endif

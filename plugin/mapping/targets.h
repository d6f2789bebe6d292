/*
 * targets: every stream and topic of Iggy that an MQTT topic has to do with, in whatever direction: what a
 * right on the MQTT topic is a right on.
 *
 * That is where a PUBLISH on it goes (the same rules as topic_map.h), and from where a route of direction in
 * or both may deliver on it: by its filter or regex, or by its mqtt_topic read backwards. Reading backwards
 * takes every text for a header; where a stream or topic cannot be told from the MQTT topic the answer is
 * incomplete.
 *
 * Owned by one thread, as a map.
 */
#ifndef MI_TARGETS_H
#define MI_TARGETS_H

#include "mapping/topic_map.h"

struct mi_topic_targets;

/* rules: such that mi_map_new takes them. cache_topics as there. NULL with err: too many routes of direction
 * in for the same topics, or memory is out. */
struct mi_topic_targets *mi_topic_targets_new(const struct mi_rule_spec *rules, size_t count,
                                              size_t cache_topics, struct mi_error *err);
void mi_topic_targets_free(struct mi_topic_targets *t);

enum mi_topic_targets_for {
    MI_TARGETS_PUBLISH, /* client id and user name are those of who publishes */
    MI_TARGETS_READ     /* who published is not known */
};

/* The targets, in no order, some perhaps twice; 0: no route has to do with that topic. Spans live until the
 * next call. *complete: false when there are or may be others, which nobody can name: more than MI_MAX_HITS,
 * or their names hang on a property, a header, or on a publisher who is not known. */
size_t mi_topic_targets_of(struct mi_topic_targets *t, const struct mi_map_input *input,
                           enum mi_topic_targets_for what, struct mi_hit hits[MI_MAX_HITS], bool *complete);

#endif

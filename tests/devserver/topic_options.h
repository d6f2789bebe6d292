/*
 * topic_options: the options of a topic as its JSON shows and takes them; one table per server version.
 */
#ifndef DEV_TOPIC_OPTIONS_H
#define DEV_TOPIC_OPTIONS_H

#include "request.h"

/* {"segment_size":{"value":"...","explicit":false},...} */
void dev_options_append(struct mi_buf *out, const struct dev_store *store, const struct dev_topic *topic);
/* The answer of GET /options/topic. */
void dev_options_describe(struct mi_buf *out, enum dev_personality personality);
/* Takes the "options" object of a create body. False after an answer. */
bool dev_options_read(struct dev_request *r, const cJSON *object, uint64_t options[DEV_OPTIONS],
                      bool explicit_options[DEV_OPTIONS]);

#endif

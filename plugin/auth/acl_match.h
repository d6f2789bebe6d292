/*
 * acl_match: does a topic match a line of an acl_file? The broker's mosquitto_topic_matches_sub, and its two
 * ways of putting names into a pattern, without building the text. Pure; any thread.
 */
#ifndef MI_ACL_MATCH_H
#define MI_ACL_MATCH_H

#include "auth/acl_file.h"

/* How %c and %u in a filter are meant. */
enum mi_acl_names {
    MI_ACL_NAMES_NONE,     /* as text: a "topic" line */
    MI_ACL_NAMES_ANYWHERE, /* a pattern, 2.0 */
    MI_ACL_NAMES_LEVELS    /* a pattern, 2.1: only as whole levels */
};

/* filter: has passed mi_acl_filter_check. topic: what can be published, without + and #. */
bool mi_acl_matches(struct mi_span filter, enum mi_acl_names names, const struct mi_acl_client *client,
                    struct mi_span topic);

/* What is wrong with a filter, as the broker sees it; NULL: nothing. */
const char *mi_acl_filter_check(struct mi_span filter);

#endif

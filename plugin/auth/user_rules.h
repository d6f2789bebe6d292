/*
 * user_rules: topic rights of users as a database tells them ("authorize": "postgresql"): for each user lines
 * of an acl_file (acl_file.h), evaluated by the rules of Mosquitto 2.1. Who is not known has no rights, and
 * is asked for; what is known is asked for again, one after the other, so that all are within refresh.
 *
 * What the back end says is told from its thread and taken over on the main thread, which decides without
 * I/O.
 */
#ifndef MI_USER_RULES_H
#define MI_USER_RULES_H

#include "auth/acl_file.h"
#include "base/clock.h"
#include "base/log.h"

struct mi_user_rules;

struct mi_user_rules_options {
    size_t max_users; /* the one who was told of longest ago goes first */
    uint64_t refresh_ns;
    const struct mi_clock *clock;
    const struct mi_log *log;
    /* Main thread: asks the back end for a user's rules; false: not now. */
    bool (*ask)(void *context, struct mi_span username);
    void *context;
};
/* NULL when memory is out. */
struct mi_user_rules *mi_user_rules_new(const struct mi_user_rules_options *options);
/* After the back end has stopped telling. */
void mi_user_rules_free(struct mi_user_rules *r);

/* Any thread: what the back end knows of a user; text NULL: it knows no such user, or one that may not log
 * in. Copies. */
void mi_user_rules_tell(struct mi_user_rules *r, struct mi_span username, const char *text);

/* Main thread. client->username empty: no rights. */
bool mi_user_rules_allow(struct mi_user_rules *r, const struct mi_acl_client *client, struct mi_span topic,
                         enum mi_acl_access access);
/* Main thread, in each TICK. gone is called for each user who was known and is not any more. */
void mi_user_rules_tick(struct mi_user_rules *r, void (*gone)(void *context, const char *username),
                        void *context);
void mi_user_rules_set_refresh(struct mi_user_rules *r, uint64_t refresh_ns);
size_t mi_user_rules_count(const struct mi_user_rules *r);

#endif

/* A user's permissions: the JSON of /users/{id} entry by entry, and the table of what a right allows. */
#include "json_reader.h"

#include <stdlib.h>
#include <string.h>

/* The words differ by scope ("read_streams" for all, "read_stream" of one). */
struct word {
    const char *name;
    uint32_t right;
};
static const struct word words[][11] = {
    [IGGY_SCOPE_ALL] = {{"manage_servers", IGGY_MANAGE_SERVERS},
                        {"read_servers", IGGY_READ_SERVERS},
                        {"manage_users", IGGY_MANAGE_USERS},
                        {"read_users", IGGY_READ_USERS},
                        {"manage_streams", IGGY_MANAGE_STREAM},
                        {"read_streams", IGGY_READ_STREAM},
                        {"manage_topics", IGGY_MANAGE_TOPIC},
                        {"read_topics", IGGY_READ_TOPIC},
                        {"poll_messages", IGGY_POLL_MESSAGES},
                        {"send_messages", IGGY_SEND_MESSAGES}},
    [IGGY_SCOPE_STREAM] = {{"manage_stream", IGGY_MANAGE_STREAM},
                           {"read_stream", IGGY_READ_STREAM},
                           {"manage_topics", IGGY_MANAGE_TOPIC},
                           {"read_topics", IGGY_READ_TOPIC},
                           {"poll_messages", IGGY_POLL_MESSAGES},
                           {"send_messages", IGGY_SEND_MESSAGES}},
    [IGGY_SCOPE_TOPIC] = {{"manage_topic", IGGY_MANAGE_TOPIC},
                          {"read_topic", IGGY_READ_TOPIC},
                          {"poll_messages", IGGY_POLL_MESSAGES},
                          {"send_messages", IGGY_SEND_MESSAGES}},
};

typedef void (*grant_fn)(void *arg, const struct iggy_grant *grant);

static bool read_all(struct json *j, grant_fn grant, void *arg);
static bool read_scope(struct json *j, struct iggy_grant *g, grant_fn grant, void *arg);
static bool read_right(struct json *j, struct mi_span key, struct iggy_grant *g);
static bool read_id(struct json *j, struct mi_span key, uint32_t *id);

bool iggy_permissions_read(struct iggy_span permissions, grant_fn grant, void *arg)
{
    uint8_t *text = malloc(permissions.len + 1);
    if (!text)
        return false;
    if (permissions.len)
        memcpy(text, permissions.data, permissions.len);
    struct json j = json_start(text, permissions.len);
    bool ok = json_peek(&j) == JSON_NULL ? json_skip(&j) : read_all(&j, grant, arg);
    ok = ok && json_end(&j);
    free(text);
    return ok;
}

/* Objects of ids; null is none. */
static bool read_ids(struct json *j, const struct iggy_grant *within, grant_fn grant, void *arg)
{
    struct mi_span key;
    if (json_peek(j) == JSON_NULL)
        return json_skip(j);
    for (bool more = json_object(j); more && json_member(j, &key);) {
        struct iggy_grant g = *within;
        bool ok = read_id(j, key, g.scope == IGGY_SCOPE_STREAM ? &g.stream_id : &g.topic_id);
        if (!ok || !read_scope(j, &g, grant, arg))
            return false;
    }
    return !j->failed;
}

static bool read_all(struct json *j, grant_fn grant, void *arg)
{
    struct iggy_grant global = {.scope = IGGY_SCOPE_ALL};
    const struct iggy_grant streams = {.scope = IGGY_SCOPE_STREAM};
    struct mi_span key;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "global"))
            read_scope(j, &global, grant, arg);
        else if (json_key_is(key, "streams"))
            read_ids(j, &streams, grant, arg);
        else
            json_skip(j);
    }
    return !j->failed;
}

/* The rights of one object, given when all of it is read: behind those of the topics in it. */
static bool read_scope(struct json *j, struct iggy_grant *g, grant_fn grant, void *arg)
{
    const struct iggy_grant topics = {.scope = IGGY_SCOPE_TOPIC, .stream_id = g->stream_id};
    struct mi_span key;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (g->scope == IGGY_SCOPE_STREAM && json_key_is(key, "topics"))
            read_ids(j, &topics, grant, arg);
        else
            read_right(j, key, g);
    }
    if (!j->failed)
        grant(arg, g);
    return !j->failed;
}

static bool read_right(struct json *j, struct mi_span key, struct iggy_grant *g)
{
    bool given = false;
    for (const struct word *w = words[g->scope]; w->name; w++) {
        if (!json_key_is(key, w->name))
            continue;
        if (json_bool(j, &given) && given)
            g->rights |= w->right;
        return !j->failed;
    }
    return json_skip(j);
}

static bool read_id(struct json *j, struct mi_span key, uint32_t *id)
{
    uint64_t value = 0;
    for (size_t i = 0; i < key.len && value <= UINT32_MAX; i++)
        value = key.data[i] >= '0' && key.data[i] <= '9' ? value * 10 + (key.data[i] - '0') : UINT64_MAX;
    if (key.len == 0 || value > UINT32_MAX)
        return json_fail(j);
    *id = (uint32_t)value;
    return true;
}

bool iggy_rights_send(enum iggy_scope scope, uint32_t rights)
{
    uint32_t enough = IGGY_SEND_MESSAGES | IGGY_MANAGE_TOPIC;
    if (scope != IGGY_SCOPE_TOPIC)
        enough |= IGGY_MANAGE_STREAM;
    return rights & enough;
}

bool iggy_rights_poll(enum iggy_scope scope, uint32_t rights)
{
    uint32_t enough = IGGY_POLL_MESSAGES | IGGY_READ_TOPIC | IGGY_MANAGE_TOPIC;
    if (scope != IGGY_SCOPE_TOPIC)
        enough |= IGGY_READ_STREAM | IGGY_MANAGE_STREAM;
    return rights & enough;
}

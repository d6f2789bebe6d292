/*
 * user_checks: accounts.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "checks.h"
#include "rights.h"
#include "support/suite.h"
#include "target.h"

static const char *const global_words[] = {"manage_servers",
                                           "read_servers",
                                           "manage_users",
                                           "read_users",
                                           "manage_streams",
                                           "read_streams",
                                           "manage_topics",
                                           "read_topics",
                                           "poll_messages",
                                           "send_messages",
                                           NULL};
static const char *const stream_words[] = {
    "manage_stream", "read_stream", "manage_topics", "read_topics", "poll_messages", "send_messages", NULL};
static const char *const topic_words[] = {"manage_topic", "read_topic", "poll_messages", "send_messages",
                                          NULL};

static char *add_words(char *out, const char *const *words, const char *granted)
{
    for (size_t i = 0; words[i]; i++)
        out += sprintf(out, "%s\"%s\":%s", i ? "," : "", words[i],
                       granted && strcmp(granted, words[i]) == 0 ? "true" : "false");
    return out;
}

const char *rights_json(const char *global_right, int stream, const char *stream_right,
                        const char *topic_right)
{
    static char text[2000];
    char *out = text;
    out += sprintf(out, "{\"global\":{");
    out = add_words(out, global_words, global_right);
    out += sprintf(out, "},\"streams\":");
    if (!stream_right && !topic_right) {
        sprintf(out, "null}");
        return text;
    }
    out += sprintf(out, "{\"%d\":{", stream);
    out = add_words(out, stream_words, stream_right);
    out += sprintf(out, ",\"topics\":");
    if (topic_right) {
        out += sprintf(out, "{\"0\":{");
        out = add_words(out, topic_words, topic_right);
        sprintf(out, "}}}}}");
    } else {
        sprintf(out, "null}}}");
    }
    return text;
}

static struct reply *create(const char *name, const char *password, const char *status,
                            const char *permissions)
{
    char body[2400];
    snprintf(body, sizeof body,
             "{\"username\":\"%s\",\"password\":\"%s\",\"status\":\"%s\",\"permissions\":%s}", name, password,
             status, permissions);
    return call("POST", "/users", body);
}

static struct reply *login(const char *name, const char *password)
{
    char body[200];
    snprintf(body, sizeof body, "{\"username\":\"%s\",\"password\":\"%s\"}", name, password);
    return call_as(NULL, "POST", "/users/login", body);
}

const char *user_token(const char *name, const char *permissions)
{
    static char token[2048];
    callf("DELETE", NULL, "/users/%s", name);
    expect(create(name, "secret", "active", permissions), 200, 0);
    struct reply *r = login(name, "secret");
    expect(r, 200, 0);
    snprintf(token, sizeof token, "%s", text_of(cJSON_GetObjectItem(r->json, "access_token"), "token"));
    return token;
}

static void a_user_lives_and_dies(void)
{
    struct reply *r = create("alice", "secret", "active", "null");
    expect(r, 200, 0);
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "username"), "alice");
    CU_ASSERT_STRING_EQUAL(text_of(r->json, "status"), "active");
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(r->json, "permissions")));
    CU_ASSERT_TRUE(number_of(r->json, "created_at") > 1.7e15);
    expect(callf("GET", NULL, "/users/%.0f", number_of(r->json, "id")), 200, 0);
    expect(call("PUT", "/users/alice", "{\"username\":\"alicia\"}"), 204, 0);
    expect(call("GET", "/users/alice", NULL), 404, 404);
    expect(call("DELETE", "/users/alicia", NULL), 204, 0);
    expect(call("DELETE", "/users/alicia", NULL), 404, 20);
}

static void bad_users_are_refused(void)
{
    expect(create("bob", "secret", "active", "null"), 200, 0);
    expect(create("bob", "secret", "active", "null"), 400, 46);
    expect(create("bo", "secret", "active", "null"), 400, 43);
    expect(create("bobby", "se", "active", "null"), 400, 44);
    expect_text(create("bobby", "secret", "asleep", "null"), 422);
    expect_text(create("bobby", "secret", "active", "{\"global\":{\"read_servers\":true}}"), 422);
    expect(call("DELETE", "/users/bob", NULL), 204, 0);
}

static void an_inactive_user_cannot_log_in(void)
{
    expect(create("carol", "secret", "inactive", "null"), 200, 0);
    expect(login("carol", "secret"), 400, target_is_08() ? 47 : 42);
    expect(call("PUT", "/users/carol", "{\"status\":\"active\"}"), 204, 0);
    expect(login("carol", "secret"), 200, 0);
    expect(call("DELETE", "/users/carol", NULL), 204, 0);
}

static void passwords_change(void)
{
    expect(create("dave", "secret", "active", "null"), 200, 0);
    expect(call("PUT", "/users/dave/password", "{\"current_password\":\"wrong\",\"new_password\":\"other\"}"),
           400, 42);
    expect(
        call("PUT", "/users/dave/password", "{\"current_password\":\"secret\",\"new_password\":\"other\"}"),
        204, 0);
    expect(login("dave", "secret"), 400, 42);
    expect(login("dave", "other"), 200, 0);
    expect(call("DELETE", "/users/dave", NULL), 204, 0);
}

static void root_is_protected(void)
{
    expect(call("DELETE", "/users/iggy", NULL), 400, 48);
    expect(call("PUT", "/users/0/permissions", "{\"permissions\":null}"), 400, 49);
    expect(call("PUT", "/users/missing/permissions", "{\"permissions\":null}"), 404, 20);
}

static void permissions_come_back_as_sent(void)
{
    const char *sent = rights_json("read_servers", 3, "poll_messages", "send_messages");
    struct reply *r = create("erin", "secret", "active", sent);
    expect(r, 200, 0);
    cJSON *want = cJSON_Parse(sent);
    CU_ASSERT_TRUE(cJSON_Compare(cJSON_GetObjectItem(r->json, "permissions"), want, true));
    r = call("GET", "/users/erin", NULL);
    CU_ASSERT_TRUE(cJSON_Compare(cJSON_GetObjectItem(r->json, "permissions"), want, true));
    cJSON_Delete(want);
    expect(call("PUT", "/users/erin/permissions", "{\"permissions\":null}"), 204, 0);
    r = call("GET", "/users/erin", NULL);
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(r->json, "permissions")));
    expect(call("DELETE", "/users/erin", NULL), 204, 0);
}

CU_TestInfo user_checks[] = {{"a user lives and dies", a_user_lives_and_dies},
                             {"bad users are refused", bad_users_are_refused},
                             {"an inactive user cannot log in", an_inactive_user_cannot_log_in},
                             {"passwords change", passwords_change},
                             {"root is protected", root_is_protected},
                             {"permissions come back as sent", permissions_come_back_as_sent},
                             CU_TEST_INFO_NULL};

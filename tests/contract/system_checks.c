/*
 * system_checks: what a client can learn about the server.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

static void ping_needs_no_login(void)
{
    struct reply *r = call_as(NULL, "GET", "/ping", NULL);
    expect(r, 200, 0);
    CU_ASSERT_STRING_EQUAL(r->body, "pong");
}

static void users_me_tells_the_versions_apart(void)
{
    struct reply *r = call("GET", "/users/me", NULL);
    expect(r, target_is_08() ? 404 : 200, 0);
    if (!target_is_08())
        CU_ASSERT_STRING_EQUAL(text_of(r->json, "username"), "iggy");
}

static void stats_tell_version_and_start(void)
{
    struct reply *r = call("GET", "/stats", NULL);
    expect(r, 200, 0);
    CU_ASSERT_EQUAL(strncmp(text_of(r->json, "iggy_server_version"), target_is_08() ? "0.8" : "0.9", 3), 0);
    double start = number_of(r->json, "start_time");
    double age = (double)time(NULL) - start / 1e6;
    CU_ASSERT_TRUE(age > -2 && age < 600);
    CU_ASSERT_EQUAL((long long)start % 1000000, 0); /* whole seconds */
    CU_ASSERT_TRUE(number_of(r->json, "streams_count") >= 0);
    CU_ASSERT_TRUE(cJSON_IsString(cJSON_GetObjectItem(r->json, "messages_size_bytes")));
}

static void metrics_are_public_in_08_only(void)
{
    expect(call_as(NULL, "GET", "/metrics", NULL), target_is_08() ? 200 : 401, 0);
    struct reply *r = call("GET", "/metrics", NULL);
    expect(r, 200, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r->body, "\nmessages "));
}

static void cluster_metadata_name_a_leader(void)
{
    struct reply *r = call("GET", "/cluster/metadata", NULL);
    expect(r, 200, 0);
    const cJSON *node = cJSON_GetArrayItem(cJSON_GetObjectItem(r->json, "nodes"), 0);
    CU_ASSERT_STRING_EQUAL(text_of(node, "role"), "leader");
    CU_ASSERT_EQUAL(number_of(cJSON_GetObjectItem(node, "endpoints"), "http"), target_port());
}

static bool option_listed(const cJSON *list, const char *key)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, list)
    {
        if (strcmp(text_of(item, "key"), key) == 0)
            return true;
    }
    return false;
}

static void topic_options_can_be_asked_for(void)
{
    struct reply *r = call("GET", "/options/topic", NULL);
    if (target_is_08()) {
        expect(r, 404, 0);
        return;
    }
    expect(r, 200, 0);
    CU_ASSERT_TRUE(option_listed(r->json, "messages_required_to_save"));
    CU_ASSERT_TRUE(option_listed(r->json, "segment_size"));
    /* Which of the two depends on the release: the product asks. */
    CU_ASSERT_TRUE(option_listed(r->json, "enforce_fsync") || option_listed(r->json, "durability"));
    expect(call("GET", "/options/nonsense", NULL), 400, 3);
}

static void no_clients_over_http(void)
{
    struct reply *r = call("GET", "/clients", NULL);
    expect(r, 200, 0);
    CU_ASSERT_EQUAL(cJSON_GetArraySize(r->json), 0);
    expect(call("GET", "/clients/1", NULL), 404, 404);
}

CU_TestInfo system_checks[] = {{"ping needs no login", ping_needs_no_login},
                               {"users/me tells the versions apart", users_me_tells_the_versions_apart},
                               {"stats tell version and start", stats_tell_version_and_start},
                               {"metrics are public in 0.8 only", metrics_are_public_in_08_only},
                               {"cluster metadata name a leader", cluster_metadata_name_a_leader},
                               {"topic options can be asked for", topic_options_can_be_asked_for},
                               {"no clients over HTTP", no_clients_over_http},
                               CU_TEST_INFO_NULL};

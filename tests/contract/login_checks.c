/*
 * login_checks: logins, tokens, personal access tokens, and what an unknown caller hears.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "call.h"
#include "checks.h"
#include "support/suite.h"
#include "target.h"

static struct reply *login(const char *body)
{
    return call_as(NULL, "POST", "/users/login", body);
}

/* Copies the token of an identity. */
static void take_token(const struct reply *r, char *token, size_t size)
{
    snprintf(token, size, "%s", text_of(cJSON_GetObjectItem(r->json, "access_token"), "token"));
}

static void login_gives_a_token_and_its_end(void)
{
    struct reply *r = login("{\"username\":\"iggy\",\"password\":\"iggy\",\"unknown\":1}");
    expect(r, 200, 0);
    CU_ASSERT_EQUAL(number_of(r->json, "user_id"), 0);
    double left = number_of(cJSON_GetObjectItem(r->json, "access_token"), "expiry") - (double)time(NULL);
    CU_ASSERT_TRUE(left > 3500 && left <= 3605);
}

static void a_wrong_password_is_400_and_not_401(void)
{
    expect(login("{\"username\":\"iggy\",\"password\":\"wrong\"}"), 400, 42);
    expect(login("{\"username\":\"nobody\",\"password\":\"wrong\"}"), 400, 42);
    expect(login("{\"username\":\"x\",\"password\":\"y\"}"), 400, 42);
}

static void bad_bodies_are_answered_in_plain_text(void)
{
    static const char good[] = "{\"username\":\"iggy\",\"password\":\"iggy\"}";
    expect_text(login("{\"username\":"), 400);
    expect_text(login("{\"username\":\"iggy\",\"password\":\"iggy\"}x"), 400);
    expect_text(login("{\"username\":\"iggy\"}"), 422);
    expect_text(login("{\"username\":5,\"password\":\"iggy\"}"), 422);
    expect_text(call_raw("POST", "/users/login", good, strlen(good), NULL, NULL), 415);
    expect_text(call_raw("POST", "/users/login", good, strlen(good), "text/plain", NULL), 415);
    expect(call_raw("POST", "/users/login", good, strlen(good), "application/json; charset=utf-8", NULL), 200,
           0);
}

/* 0.9 explains a 401, 0.8 does not. */
static void expect_401(struct reply *r, int id)
{
    expect(r, 401, target_is_08() ? 0 : id);
    if (target_is_08())
        CU_ASSERT_EQUAL(r->len, 0);
}

static void no_token_or_a_bad_one_is_401(void)
{
    char lower[2200];
    snprintf(lower, sizeof lower, "bearer %s", target_token());
    expect_401(call_as(NULL, "GET", "/streams", NULL), 77);
    expect_401(call_raw("GET", "/streams", NULL, 0, NULL, lower), 77);
    expect_401(call_as("nonsense", "GET", "/streams", NULL), 40);
}

static void unknown_paths_and_methods(void)
{
    struct reply *r = call("GET", "/nothing/here", NULL);
    expect(r, 404, 0);
    CU_ASSERT_EQUAL(r->len, 0);
    expect(call("PATCH", "/streams", NULL), 405, 0);
    expect(call_as(NULL, "GET", "/nothing/here", NULL), target_is_08() ? 401 : 404, 0);
}

static void refresh_makes_a_new_token(void)
{
    char first[2048], body[2100];
    take_token(login("{\"username\":\"iggy\",\"password\":\"iggy\"}"), first, sizeof first);
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", first);
    expect(call_as(NULL, "POST", "/users/refresh-token", body), 200, 0);
    /* 0.8 takes the old one out of use, 0.9 leaves it alone. */
    expect(call_as(first, "GET", "/streams", NULL), target_is_08() ? 401 : 200, 0);
    expect(call_as(NULL, "POST", "/users/refresh-token", "{\"token\":\"nonsense\"}"), 401,
           target_is_08() ? 78 : 40);
}

static void logout_ends_a_token_in_08_only(void)
{
    char token[2048];
    take_token(login("{\"username\":\"iggy\",\"password\":\"iggy\"}"), token, sizeof token);
    expect(call_as(token, "DELETE", "/users/logout", NULL), 204, 0);
    expect(call_as(token, "GET", "/streams", NULL), target_is_08() ? 401 : 200, 0);
}

static void access_tokens_live_and_die(void)
{
    char token[128], body[200];
    struct reply *r = call("POST", "/personal-access-tokens", "{\"name\":\"contract\",\"expiry\":0}");
    expect(r, 200, 0);
    snprintf(token, sizeof token, "%s", text_of(r->json, "token"));
    CU_ASSERT_TRUE(strlen(token) > 20);
    expect(call("POST", "/personal-access-tokens", "{\"name\":\"contract\",\"expiry\":0}"), 400, 51);
    expect(call("POST", "/personal-access-tokens", "{\"name\":\"ab\",\"expiry\":0}"), 400, 50);
    expect_text(call("POST", "/personal-access-tokens", "{\"name\":\"other\"}"), 422);
    r = call("GET", "/personal-access-tokens", NULL);
    CU_ASSERT_STRING_EQUAL(text_of(cJSON_GetArrayItem(r->json, 0), "name"), "contract");
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(r->json, 0), "expiry_at")));
    expect(call_as(token, "GET", "/streams", NULL), target_is_08() ? 401 : 200, 0);
    snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
    expect(call_as(NULL, "POST", "/personal-access-tokens/login", body), 200, 0);
    r = call_as(NULL, "POST", "/personal-access-tokens/login", "{\"token\":\"nonsense\"}");
    expect(r, target_is_08() ? 404 : 401, target_is_08() ? 20 : 53);
    expect(call("DELETE", "/personal-access-tokens/contract", NULL), 204, 0);
    expect(call("DELETE", "/personal-access-tokens/contract", NULL), 404, 20);
    expect(call_as(token, "GET", "/streams", NULL), 401, 0);
}

CU_TestInfo login_checks[] = {
    {"login gives a token and its end", login_gives_a_token_and_its_end},
    {"a wrong password is 400 and not 401", a_wrong_password_is_400_and_not_401},
    {"bad bodies are answered in plain text", bad_bodies_are_answered_in_plain_text},
    {"no token or a bad one is 401", no_token_or_a_bad_one_is_401},
    {"unknown paths and methods", unknown_paths_and_methods},
    {"refresh makes a new token", refresh_makes_a_new_token},
    {"logout ends a token in 0.8 only", logout_ends_a_token_in_08_only},
    {"access tokens live and die", access_tokens_live_and_die},
    CU_TEST_INFO_NULL};

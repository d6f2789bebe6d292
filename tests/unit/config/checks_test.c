/* What concerns more than one key: logins, TLS, times, routes; holders; reload. */
#include "collect.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct collected found;

static bool refuses(struct mi_config *c, const char *key, const char *part)
{
    bool refused = !c && has(&found, true, key, part);
    mi_config_release(c);
    return refused;
}

static struct mi_config *load_iggy(const char *members)
{
    char text[1000];
    snprintf(text, sizeof text, "{ \"routes\": [],\n \"iggy\": { %s } }", members);
    return load(text, &found);
}

static void one_kind_of_login_is_needed(void)
{
    CU_ASSERT_TRUE(refuses(load("{}", &found), "iggy", "nobody is named"));
    CU_ASSERT_TRUE(refuses(load_iggy(""), "iggy", "nobody is named"));
    CU_ASSERT_TRUE(refuses(load_iggy("\"username\": \"u\""), "iggy.username", "has no password"));
    CU_ASSERT_TRUE(
        refuses(load_iggy("\"password_file\": \"password\""), "iggy.password_file", "has no user"));
    CU_ASSERT_TRUE(refuses(
        load_iggy("\"username\": \"u\", \"password_file\": \"password\",\n\"token_file\": \"password\""),
        "iggy.token_file", "one kind of login"));
    CU_ASSERT_EQUAL(line_of_key(&found, "iggy.token_file"), 3);
    CU_ASSERT_TRUE(refuses(load_iggy("\"token_file\": \"gone\""), "iggy.token_file", "No such file"));
    struct mi_config *c = load_iggy("\"token_file\": \"password\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->token, "secret");
    CU_ASSERT_TRUE(has(&found, false, "", "nothing will be copied"));
    mi_config_release(c);
}

static void a_password_open_to_all_is_refused(void)
{
    mi_write_file(path_of("open"), "secret");
    chmod(path_of("open"), 0644);
    CU_ASSERT_TRUE(refuses(load_iggy("\"username\": \"u\", \"password_file\": \"open\""),
                           "iggy.password_file", "mode 0644"));
    CU_ASSERT_PTR_NULL(strstr(found.sentence[0], "secret"));
}

static struct mi_config *load_auth(const char *members)
{
    char text[1000];
    snprintf(text, sizeof text,
             "{ \"routes\": [], \"iggy\": {\"token_file\": \"password\"},\n \"auth\": { %s } }", members);
    return load(text, &found);
}

static void logins_of_clients(void)
{
    struct mi_config *c = load_auth("");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->auth.login, MI_LOGIN_FROM_NOBODY);
    mi_config_release(c);
    c = load_auth("\"login\": \"iggy\", \"on_unavailable\": \"cached\", \"cache_age\": \"1m\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->auth.login, MI_LOGIN_FROM_IGGY);
    CU_ASSERT_EQUAL(c->auth.on_unavailable, MI_AWAY_CACHED);
    CU_ASSERT_EQUAL(c->auth.cache_age_ns, 60000000000);
    mi_config_release(c);
    CU_ASSERT_TRUE(refuses(load_auth("\"login\": \"postgresql\""), "auth.login", "connection_file"));
    CU_ASSERT_TRUE(refuses(load_auth("\"login\": \"postgresql\", \"connection_file\": \"gone\""),
                           "auth.connection_file", "No such file"));
    c = load_auth("\"login\": \"postgresql\", \"connection_file\": \"password\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->auth.connection, "secret");
    struct mi_buf shown;
    mi_buf_init(&shown, 1 << 20);
    CU_ASSERT_TRUE(mi_config_print(c, &shown) && mi_buf_add_byte(&shown, 0));
    CU_ASSERT_PTR_NULL(strstr((const char *)shown.data, "secret"));
    CU_ASSERT_PTR_NOT_NULL(strstr((const char *)shown.data, "connection_file"));
    mi_buf_fini(&shown);
    mi_config_release(c);
    CU_ASSERT_TRUE(refuses(load_auth("\"login\": \"ldap\""), "auth.login", "none"));
}

static void urls_are_checked(void)
{
    static const char *const bad[][2] = {
        {"127.0.0.1:3000", "must begin with"}, {"ftp://a", "must begin with"}, {"http://", "no host"},
        {"http://:3000", "no host"},           {"http://a/b", "behind"},       {"http://a?x", "behind"},
        {"http://a b", "no URL has"},
    };
    char members[300];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(members, sizeof members, "\"token_file\": \"password\", \"url\": \"%s\"", bad[i][0]);
        CU_ASSERT_TRUE(refuses(load_iggy(members), "iggy.url", bad[i][1]));
    }
    CU_ASSERT_TRUE(refuses(load_iggy("\"token_file\": \"password\", \"url\": \"http://u:hunter2@a:1\""),
                           "iggy.url", "holds a user"));
    CU_ASSERT_PTR_NULL(strstr(found.sentence[0], "hunter2"));
    CU_ASSERT_TRUE(
        refuses(load_iggy("\"token_file\": \"password\", \"url\": []"), "iggy.url", "a URL in quotes"));
    struct mi_config *c = load_iggy("\"token_file\": \"password\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->url_count, 1);
    CU_ASSERT_STRING_EQUAL(c->urls[0], "http://127.0.0.1:3000");
    mi_config_release(c);
}

static void tls_files_belong_together(void)
{
    mi_write_file(path_of("cert"), "x");
    chmod(path_of("cert"), 0644);
    const char *start = "\"token_file\": \"password\", \"url\": \"https://a\"";
    static const char *const bad[][3] = {
        {"\"client_cert_file\": \"cert\"", "iggy.client_cert_file", "has no key"},
        {"\"client_key_file\": \"password\"", "iggy.client_key_file", "has no certificate"},
        {"\"client_cert_file\": \"cert\", \"client_key_file\": \"cert\"", "iggy.client_key_file",
         "mode 0644"},
        {"\"ca_file\": \"gone\"", "iggy.ca_file", "No such file"},
    };
    char members[400];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(members, sizeof members, "%s, %s", start, bad[i][0]);
        CU_ASSERT_TRUE(refuses(load_iggy(members), bad[i][1], bad[i][2]));
    }
    CU_ASSERT_TRUE(refuses(load_iggy("\"token_file\": \"password\", \"ca_file\": \"cert\""), "iggy.ca_file",
                           "no url begins with https"));
}

static void contradictory_times_and_sizes_are_refused(void)
{
    CU_ASSERT_TRUE(refuses(load_iggy("\"token_file\": \"password\", \"connect_timeout\": \"60s\""),
                           "iggy.connect_timeout", "longer than request_timeout"));
    CU_ASSERT_TRUE(refuses(load_with("\"limits\": { \"retry_min\": \"20s\" }", &found), "limits.retry_min",
                           "longer than retry_max"));
    CU_ASSERT_TRUE(
        refuses(load_with("\"journal\": { \"keep\": \"2GB\" }", &found), "journal.keep", "smaller than"));
    CU_ASSERT_TRUE(refuses(load_with("\"journal\": { \"max_size\": \"100MB\" }", &found), "journal.max_size",
                           "smaller"));
    struct mi_config *c = load_iggy("\"token_file\": \"password\", \"request_timeout\": \"9s\"");
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_TRUE(has(&found, false, "iggy.request_timeout", "10 s"));
    mi_config_release(c);
    c = load_with("\"journal\": { \"sync\": \"always\", \"sync_interval\": \"1s\" }", &found);
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_TRUE(has(&found, false, "journal.sync_interval", "no effect"));
    mi_config_release(c);
}

#define ROUTE(name, rest) \
    "{ \"name\": \"" name "\", \"filter\": \"" name "/#\", \"stream\": \"s\", \"topic\": \"t\"" rest "}"
#define OUT ", \"direction\": \"out\""

static void routes_are_checked(void)
{
    CU_ASSERT_TRUE(refuses(load_routes("[ 5 ]", &found), "routes[0]", "must be an object"));
    CU_ASSERT_TRUE(refuses(load_routes("[\n {} ]", &found), "routes[0]", "\"name\" is missing"));
    CU_ASSERT_EQUAL(line_of_key(&found, "routes[0]"), 3);
    CU_ASSERT_TRUE(has(&found, true, "routes[0]", "\"stream\" is missing"));
    CU_ASSERT_TRUE(
        refuses(load_routes("[" ROUTE("a", "") "]", &found), "routes[0]", "\"direction\" is missing"));
    CU_ASSERT_TRUE(refuses(load_routes("[" ROUTE("a", OUT) ",\n" ROUTE("a", OUT) "]", &found),
                           "routes[1].name", "name of routes[0] too"));
    CU_ASSERT_EQUAL(line_of_key(&found, "routes[1].name"), 3);
    CU_ASSERT_TRUE(
        refuses(load_routes("[" ROUTE("unmatched", OUT) "]", &found), "routes[0].name", "choose another"));
    CU_ASSERT_TRUE(
        refuses(load_routes("[" ROUTE("a\\n", OUT) "]", &found), "routes[0].name", "control character"));
    CU_ASSERT_TRUE(
        refuses(load_routes("[" ROUTE("a", OUT ",\n \"qos\": 3") "]", &found), "routes[0].qos", "0 to 2"));
    CU_ASSERT_EQUAL(line_of_key(&found, "routes[0].qos"), 3);
    CU_ASSERT_TRUE(refuses(load_routes("[" ROUTE("a", OUT ", \"create\": { \"partitions\": 0 }") "]", &found),
                           "routes[0].create.partitions", "1 to 1000"));
    CU_ASSERT_TRUE(refuses(load_routes("[" ROUTE("a", OUT ", \"create\": 1") "]", &found), "routes[0].create",
                           "true, false or an object"));
}

/* Two names with one XXH32: the journal could not tell their records apart. */
static void names_with_one_hash_are_refused(void)
{
    CU_ASSERT_TRUE(
        refuses(load_routes("[" ROUTE("route_319158", OUT) "," ROUTE("route_38722", OUT) "]", &found),
                "routes[1].name", "same hash"));
}

static void what_the_map_refuses_has_its_line(void)
{
    CU_ASSERT_TRUE(refuses(
        load_routes("[ { \"name\": \"a\", \"direction\": \"out\", \"stream\": \"s\", \"topic\": \"t\",\n"
                    "\"filter\": \"a/#/b\" } ]",
                    &found),
        "routes[0].filter", ""));
    CU_ASSERT_EQUAL(line_of_key(&found, "routes[0].filter"), 3);
    CU_ASSERT_TRUE(refuses(
        load_routes("[ { \"name\": \"a\", \"direction\": \"out\", \"filter\": \"a\",\n\"stream\": \"17\","
                    " \"topic\": \"t_{no}\" } ]",
                    &found),
        "routes[0].stream", "numeric id"));
    CU_ASSERT_TRUE(has(&found, true, "routes[0].topic", "not captured"));
}

static void what_spreads_a_topic_federates_no_retained_values(void)
{
    static const char *const spread[] = {"balanced\": true", "partition_key\": \"{client_id}\"",
                                         "partition_key\": \"{property:site}\""};
    char text[1000];
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 "{\"iggy\": {\"token_file\": \"password\"}, \"routes\": [{\"name\": \"r\", \"filter\": "
                 "\"a/#\", \"direction\": \"both\", \"stream\": \"s\", \"topic\": \"t\", \"%s}]}",
                 spread[i]);
        struct mi_config *c = load(text, &found);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        CU_ASSERT_TRUE(has(&found, false, i == 0 ? "routes[0].balanced" : "routes[0].partition_key",
                           "retained values are not shared"));
        CU_ASSERT_EQUAL(c->routes[0].retain, MI_RETAIN_NEVER);
        mi_config_release(c);
    }
    struct mi_config *c = load(
        "{\"iggy\": {\"token_file\": \"password\"}, \"routes\": [{\"name\": \"r\", \"filter\": \"a/{x}\", "
        "\"direction\": \"both\", \"stream\": \"s\", \"topic\": \"t\", \"partition_key\": \"{x}\"}]}",
        &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->routes[0].retain, MI_RETAIN_KEEP);
    mi_config_release(c);
}

static void keys_that_a_direction_never_uses_are_warned_about(void)
{
    struct mi_config *c =
        load_routes("[" ROUTE("a", OUT ", \"retain\": \"never\"") ",\n" ROUTE(
                        "b", ", \"direction\": \"in\", \"mqtt_topic\": \"b/c\", \"balanced\": true") "]",
                    &found);
    CU_ASSERT_PTR_NOT_NULL(c);
    CU_ASSERT_TRUE(has(&found, false, "routes[0].retain", "direction is \"out\""));
    CU_ASSERT_TRUE(has(&found, false, "routes[1].balanced", "direction is \"in\""));
    mi_config_release(c);
}

struct tail {
    size_t count;
    char last[100];
};

static void count(void *context, const struct mi_finding *f)
{
    struct tail *tail = context;
    tail->count++;
    snprintf(tail->last, sizeof tail->last, "%s", f->sentence);
}

static void many_findings_end_with_a_count(void)
{
    char text[4000];
    struct tail tail = {0};
    int len = snprintf(text, sizeof text, "{ \"iggy\": { \"token_file\": \"password\" }, \"routes\": [ 5");
    for (int i = 1; i < 300; i++)
        len += snprintf(text + len, sizeof text - (size_t)len, ", 5");
    snprintf(text + len, sizeof text - (size_t)len, "] }");
    mi_write_file(path_of("many.json"), text);
    CU_ASSERT_PTR_NULL(mi_config_from_file(path_of("many.json"), count, &tail));
    CU_ASSERT_EQUAL(tail.count, 201);
    CU_ASSERT_STRING_EQUAL(tail.last, "and 100 more like these");
}

static void the_last_holder_frees(void)
{
    struct mi_config *c = load_with("\"name\": \"n\"", &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_PTR_EQUAL(mi_config_hold(c), c);
    mi_config_release(c);
    CU_ASSERT_STRING_EQUAL(c->name, "n");
    mi_config_release(c);
    mi_config_release(NULL);
}

static void a_reload_says_what_it_cannot_change(void)
{
    struct mi_config *a = load_with("\"name\": \"n\"", &found);
    struct mi_config *b =
        load_with("\"name\": \"m\", \"journal\": { \"max_size\": \"2GB\" },\n"
                  "\"status\": { \"listen\": \"[::1]:1\" }, \"limits\": { \"max_requests\": 2 }",
                  &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_STRING_EQUAL(b->status_address, "::1");
    memset(&found, 0, sizeof found);
    mi_config_report_fixed(a, b, collect, &found);
    CU_ASSERT_EQUAL(found.count, 2);
    CU_ASSERT_TRUE(has(&found, false, "journal.max_size", "started again"));
    CU_ASSERT_TRUE(has(&found, false, "status.listen", "started again"));
    memset(&found, 0, sizeof found);
    mi_config_report_fixed(a, a, collect, &found);
    CU_ASSERT_EQUAL(found.count, 0);
    mi_config_release(a);
    mi_config_release(b);
}

static struct mi_config *load_status(const char *members)
{
    char text[1000];
    snprintf(text, sizeof text, "\"status\": { %s }", members);
    return load_with(text, &found);
}

static void other_addresses_than_loopback_need_access_rules(void)
{
    mi_write_file(path_of("token"), "0123456789abcdef\n");
    mi_write_file(path_of("short"), "0123456789abcde\n");
    mi_write_file(path_of("spaces"), "0123456789 abcdef\n");
    mi_write_file(path_of("pem"), "x");
    mi_write_file(path_of("open_token"), "0123456789abcdef");
    static const char *const secret[] = {"token", "short", "spaces", "pem"};
    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        chmod(path_of(secret[i]), 0600);
    chmod(path_of("open_token"), 0644);
#define ANY "\"listen\": \"0.0.0.0:9465\""
    static const char *const bad[][3] = {
        {ANY, "status.listen", "nobody would be asked"},
        {ANY ", \"cert_file\": \"pem\", \"key_file\": \"pem\"", "status.listen", "nobody would be asked"},
        {ANY ", \"token_file\": \"gone\"", "status.token_file", "No such file"},
        {ANY ", \"token_file\": \"open_token\"", "status.token_file", "mode 0644"},
        {ANY ", \"token_file\": \"short\"", "status.token_file", "15 characters"},
        {ANY ", \"token_file\": \"spaces\"", "status.token_file", "visible ASCII"},
        {ANY ", \"client_ca_file\": \"pem\"", "status.client_ca_file", "need https"},
        {"\"cert_file\": \"pem\"", "status.cert_file", "has no key"},
        {"\"key_file\": \"pem\"", "status.key_file", "has no certificate"},
        {"\"cert_file\": \"pem\", \"key_file\": \"open_token\"", "status.key_file", "mode 0644"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_TRUE(refuses(load_status(bad[i][0]), bad[i][1], bad[i][2]));
    struct mi_config *c = load_status(ANY ", \"token_file\": \"token\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->status_token, "0123456789abcdef");
    CU_ASSERT_TRUE(has(&found, false, "status.listen", "in the clear"));
    mi_config_release(c);
    c = load_status(ANY ", \"cert_file\": \"pem\", \"key_file\": \"pem\", \"client_ca_file\": \"pem\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_STRING_EQUAL(c->status_client_ca, "x");
    CU_ASSERT_EQUAL(found.count, 0);
    mi_config_release(c);
    c = load_status("\"listen\": \"127.8.8.8:1\"");
    CU_ASSERT_PTR_NOT_NULL(c);
    mi_config_release(c);
}

static void client_events_are_a_route_of_their_own(void)
{
#define EVENTS "\"client_events\": { \"stream\": \"mqtt\", \"topic\": \"clients\", \"subscribe\": true }"
    struct mi_config *c =
        load_with(EVENTS ", \"unmatched\": { \"stream\": \"s\", \"topic\": \"t\" }", &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(c->events && c->events_subscribe && c->events_connect && !c->events_unsubscribe);
    CU_ASSERT_STRING_EQUAL(c->routes[c->events_route].name, "client_events");
    CU_ASSERT_TRUE(c->routes[c->events_route].create);
    CU_ASSERT_STRING_EQUAL(c->routes[c->route_count - 1].name, "unmatched");
    static const char *const topics[] = {"client_events", "mqtt/clients", "$x"};
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) {
        struct mi_hit hits[MI_MAX_HITS];
        struct mi_map_input input = {.topic = mi_span_of(topics[i])};
        size_t count = mi_map_match(c->map, &input, hits);
        for (size_t k = 0; k < count; k++)
            CU_ASSERT_NOT_EQUAL(hits[k].rule, c->events_route);
    }
    mi_config_release(c);
    CU_ASSERT_TRUE(refuses(load_with("\"client_events\": { \"stream\": \"s\" }", &found), "client_events",
                           "\"topic\" is missing"));
    CU_ASSERT_TRUE(
        refuses(load_with("\"client_events\": { \"stream\": \"s\", \"topic\": \"{client_id}\" }", &found),
                "client_events.topic", "is a template"));
    CU_ASSERT_TRUE(refuses(load_routes("[" ROUTE("client_events", OUT) "]", &found), "routes[0].name",
                           "choose another"));
}

/* Wherever it stands in the file. */
static void unmatched_comes_last(void)
{
    struct mi_config *c = load("{ \"iggy\": { \"token_file\": \"password\" },\n"
                               "\"unmatched\": { \"stream\": \"s\", \"topic\": \"t\" },\n"
                               "\"routes\": [" ROUTE("a", OUT) "] }",
                               &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_EQUAL(c->route_count, 2);
    CU_ASSERT_STRING_EQUAL(c->routes[0].name, "a");
    CU_ASSERT_STRING_EQUAL(c->routes[1].name, "unmatched");
    mi_config_release(c);
}

#define VIA ", \"direction\": \"out\", \"via\": \"subscription\""

static void routes_by_subscription_are_checked(void)
{
    static const char *const bad[][3] = {
        {"[{ \"name\": \"a\", \"regex\": \"a.*\", \"stream\": \"s\", \"topic\": \"t\"" VIA "}]",
         "routes[0].via", "needs a filter"},
        {"[{ \"name\": \"a\", \"filter\": \"$share/g/a\", \"stream\": \"s\", \"topic\": \"t\"" VIA "}]",
         "routes[0].filter", "shared"},
        {"[{ \"name\": \"a\", \"filter\": \"a\", \"stream\": \"s_{client_id}\", \"topic\": \"t\"" VIA "}]",
         "routes[0].stream", "does not show"},
        {"[{ \"name\": \"a\", \"filter\": \"a\", \"stream\": \"s\", \"topic\": \"t\", \"partition_key\": "
         "\"{username}\"" VIA "}]",
         "routes[0].partition_key", "does not show"},
        /* loops: with itself, with the same names, with a template on either side */
        {"[{ \"name\": \"a\", \"filter\": \"a\", \"stream\": \"s\", \"topic\": \"t\", \"direction\": "
         "\"both\", "
         "\"via\": \"subscription\" }]",
         "routes[0].via", "again and again"},
        {"[" ROUTE("a", VIA) ", " ROUTE("b", ", \"direction\": \"in\"") "]", "routes[0].via", "route \"b\""},
        {"[" ROUTE("a",
                   VIA) ", { \"name\": \"b\", \"filter\": \"{x}/b\", \"stream\": \"{x}s\", \"topic\": \"t\", "
                        "\"direction\": \"both\" }]",
         "routes[0].via", "route \"b\""},
        {"[" ROUTE("b", ", \"direction\": \"in\"") ", { \"name\": \"a\", \"filter\": \"{x}/b\", \"stream\": "
                                                   "\"{x}s\", \"topic\": \"t\"" VIA "}]",
         "routes[1].via", "route \"b\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_TRUE(refuses(load_routes(bad[i][0], &found), bad[i][1], bad[i][2]));
    struct mi_config *c = load_routes(
        "[" ROUTE("a", VIA ", \"refuse\": \"reason\"") ", " ROUTE(
            "b", ", \"direction\": \"in\", \"stamp\": true") ","
                                                             "{ \"name\": \"c\", \"stream\": \"other\", "
                                                             "\"topic\": \"t\", \"mqtt_topic\": \"x/y\", "
                                                             "\"direction\": \"in\" }]",
        &found);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_TRUE(c->subscriptions && c->routes[0].subscription && !c->routes[1].subscription);
    CU_ASSERT_TRUE(has(&found, false, "routes[0].refuse", "no effect"));
    mi_config_release(c);
}

static void the_brokers_own_address_is_checked(void)
{
    static const struct {
        const char *text, *host;
        unsigned port;
    } good[] = {{"127.0.0.1:1884", "127.0.0.1", 1884},
                {"localhost:1", "127.0.0.1", 1},
                {"[::1]:1883", "::1", 1883},
                {"/run/m:1.sock", "/run/m:1.sock", 0}};
    char text[200];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(text, sizeof text, "\"broker\": { \"address\": \"%s\" }", good[i].text);
        struct mi_config *c = load_with(text, &found);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        CU_ASSERT_STRING_EQUAL(c->self_host, good[i].host);
        CU_ASSERT_EQUAL(c->self_port, good[i].port);
        mi_config_release(c);
    }
    static const char *const bad[] = {"1883",        "host",        "broker.example:1883",
                                      "127.0.0.1:0", "127.0.0.1:x", ":1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(text, sizeof text, "\"broker\": { \"address\": \"%s\" }", bad[i]);
        CU_ASSERT_TRUE(refuses(load_with(text, &found), "broker.address", "write it as") ||
                       has(&found, true, "broker.address", "not an IP address"));
    }
    CU_ASSERT_TRUE(refuses(load_with("\"broker\": { \"username\": \"u\" }", &found), "broker.username",
                           "has no password"));
    CU_ASSERT_TRUE(
        refuses(load_with("\"broker\": { \"username\": \"u\", \"password_file\": \"gone\" }", &found),
                "broker.password_file", "No such file"));
}

/* Each file that holds a secret; the sentence names owner and mode, and nothing of what is in it. */
static void every_secret_is_refused_while_others_can_read_it(void)
{
    static const char *const files[][2] = {
        {"\"iggy\": { \"username\": \"u\", \"password_file\": \"open\" }", "iggy.password_file"},
        {"\"iggy\": { \"token_file\": \"open\" }", "iggy.token_file"},
        {"\"iggy\": { \"token_file\": \"password\", \"url\": \"https://a\", \"client_cert_file\": "
         "\"password\", "
         "\"client_key_file\": \"open\" }",
         "iggy.client_key_file"},
        {"\"iggy\": { \"token_file\": \"password\" }, \"status\": { \"token_file\": \"open\" }",
         "status.token_file"},
        {"\"iggy\": { \"token_file\": \"password\" }, \"status\": { \"cert_file\": \"password\", "
         "\"key_file\": "
         "\"open\" }",
         "status.key_file"},
        {"\"iggy\": { \"token_file\": \"password\" }, \"broker\": { \"username\": \"u\", \"password_file\": "
         "\"open\" }",
         "broker.password_file"},
        {"\"iggy\": { \"token_file\": \"password\" }, \"auth\": { \"login\": \"postgresql\", "
         "\"connection_file\": \"open\" }",
         "auth.connection_file"},
    };
    static const unsigned modes[] = {0644, 0604, 0602, 0666};
    char text[400], mode[20];
    mi_write_file(path_of("open"), "hunter2-hunter2-hunter2");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
            chmod(path_of("open"), modes[m]);
            snprintf(mode, sizeof mode, "mode %04o", modes[m]);
            snprintf(text, sizeof text, "{ %s, \"routes\": [] }", files[i][0]);
            CU_ASSERT_TRUE(refuses(load(text, &found), files[i][1], mode));
            CU_ASSERT_TRUE(has(&found, true, files[i][1], "(owner "));
            for (size_t k = 0; k < found.count; k++)
                CU_ASSERT_PTR_NULL(strstr(found.sentence[k], "hunter2"));
        }
    chmod(path_of("open"), 0640);
    snprintf(text, sizeof text, "{ %s, \"routes\": [] }", files[0][0]);
    struct mi_config *c = load(text, &found);
    CU_ASSERT_PTR_NOT_NULL(c);
    mi_config_release(c);
}

static CU_TestInfo tests[] = {
    {"one kind of login is needed", one_kind_of_login_is_needed},
    {"a password open to all is refused", a_password_open_to_all_is_refused},
    {"logins of clients", logins_of_clients},
    {"URLs are checked", urls_are_checked},
    {"TLS files belong together", tls_files_belong_together},
    {"contradictory times and sizes are refused", contradictory_times_and_sizes_are_refused},
    {"routes are checked", routes_are_checked},
    {"names with one hash are refused", names_with_one_hash_are_refused},
    {"what the map refuses has its line", what_the_map_refuses_has_its_line},
    {"what spreads a topic federates no retained values", what_spreads_a_topic_federates_no_retained_values},
    {"keys that a direction never uses are warned about", keys_that_a_direction_never_uses_are_warned_about},
    {"many findings end with a count", many_findings_end_with_a_count},
    {"the last holder frees", the_last_holder_frees},
    {"a reload says what it cannot change", a_reload_says_what_it_cannot_change},
    {"other addresses than loopback need access rules", other_addresses_than_loopback_need_access_rules},
    {"client events are a route of their own", client_events_are_a_route_of_their_own},
    {"unmatched comes last", unmatched_comes_last},
    {"routes by subscription are checked", routes_by_subscription_are_checked},
    {"the broker's own address is checked", the_brokers_own_address_is_checked},
    {"every secret is refused while others can read it", every_secret_is_refused_while_others_can_read_it},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("config checks", tests)

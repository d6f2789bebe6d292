/* via: routes that are fed by the plugin's own subscription: what such a route cannot know, where it connects
 * to, and that it does not feed itself. */
#include "config/build.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static void check_route(struct mi_build *b, size_t i);
static void check_loop(struct mi_build *b, size_t i);
static void split_address(struct mi_build *b);

void mi_check_via(struct mi_build *b)
{
    struct mi_config *c = b->config;
    for (size_t i = 0; i < b->draft_count; i++)
        if (b->drafts[i].route.subscription && (b->drafts[i].route.direction & MI_OUT)) {
            c->subscriptions = true;
            check_route(b, i);
            if (c->map)
                check_loop(b, i);
        }
    split_address(b);
    if (c->self_username && !c->self_password_file)
        mi_refuse(b, "broker", "username", "has no password: name its file in password_file");
    if (c->self_password_file && !c->self_username)
        mi_refuse(b, "broker", "password_file", "has no user: give username as well");
}

static bool asks_who(const char *text)
{
    return text && (strstr(text, "{client_id}") || strstr(text, "{username}"));
}

static void check_route(struct mi_build *b, size_t i)
{
    static const char *const useless[] = {"on_missing", "refuse", "wait_for_iggy"};
    const struct mi_route_draft *draft = &b->drafts[i];
    const struct mi_rule_spec *rule = &draft->rule;
    if (!rule->filter)
        mi_route_finding(b, draft, true, "via",
                         "a subscription needs a filter: write one instead of the regex");
    else if (strncmp(rule->filter, "$share/", 7) == 0)
        mi_route_finding(b, draft, true, "filter",
                         "begins with $share/: the messages would be shared with other subscribers, so some "
                         "would be missing");
    const char *const asked[][2] = {
        {"stream", rule->stream}, {"topic", rule->topic}, {"partition_key", rule->partition_key}};
    for (size_t k = 0; k < 3; k++)
        if (asks_who(asked[k][1]))
            mi_route_finding(b, draft, true, asked[k][0],
                             "asks for {client_id} or {username}, which a subscription does not show: leave "
                             "them out, or leave \"via\" out");
    for (size_t k = 0; k < sizeof useless / sizeof *useless; k++)
        if (mi_is_given(draft->given, MI_AT_ROUTE, useless[k]))
            mi_route_finding(
                b, draft, false, useless[k],
                "has no effect with \"via\": \"subscription\": nobody waits for an answer there");
}

/* May a message that rule j brings from Iggy be written back to where it came from by rule i? Two templates
 * may always meet. */
static bool may_meet(const struct mi_map *map, size_t i, size_t j)
{
    struct mi_span stream, topic;
    if (i == j)
        return true;
    if (mi_map_constant_target(map, i, &stream, &topic))
        return mi_map_stream_fits(map, j, stream) && mi_map_topic_fits(map, j, stream, topic);
    if (mi_map_constant_target(map, j, &stream, &topic))
        return mi_map_stream_fits(map, i, stream) && mi_map_topic_fits(map, i, stream, topic);
    return true;
}

static void check_loop(struct mi_build *b, size_t i)
{
    for (size_t j = 0; j < b->draft_count; j++) {
        const struct mi_route_draft *in = &b->drafts[j];
        struct mi_error sentence;
        if (!(in->route.direction & MI_IN) || in->route.stamp || !may_meet(b->config->map, i, j))
            continue;
        mi_error_set(
            &sentence,
            "what route \"%.100s\" brings from Iggy would be copied back to where it came from, again and "
            "again: give that route \"stamp\": true, by which its messages are known",
            in->rule.name);
        mi_route_finding(b, &b->drafts[i], true, "via", sentence.text);
    }
}

/* Cuts the address into host and port. */
static void split_address(struct mi_build *b)
{
    struct mi_config *c = b->config;
    char *text = mi_build_text(b, c->self_address, strlen(c->self_address)), *end = NULL;
    char *colon = text ? strrchr(text, ':') : NULL;
    unsigned char any[sizeof(struct in6_addr)];
    c->self_host = text;
    if (!text || *text == '/')
        return;
    unsigned long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 0;
    if (port < 1 || port > 65535 || *end) {
        mi_refuse(b, "broker", "address",
                  "\"%s\" is neither an address with a port nor the path of a Unix socket: write it as "
                  "\"127.0.0.1:1883\"",
                  c->self_address);
        return;
    }
    *colon = 0;
    if (*text == '[' && colon[-1] == ']') {
        colon[-1] = 0;
        text++;
    }
    if (strcmp(text, "localhost") == 0)
        memcpy(text, "127.0.0.1", sizeof "127.0.0.1");
    if (inet_pton(AF_INET, text, any) != 1 && inet_pton(AF_INET6, text, any) != 1)
        mi_refuse(b, "broker", "address", "\"%s\" is not an IP address, such as 127.0.0.1 or [::1]", text);
    c->self_host = text;
    c->self_port = (uint16_t)port;
}

/* explain: gathers what every rule does with one PUBLISH, and what Iggy would get. */
#include "tool/explain.h"

#include "base/clock.h"
#include "config/files.h"
#include "iggy_client.h"
#include "tool/command.h"
#include "tool/load.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);
static int read_args(struct mi_explain_args *args, int argc, char **argv);
static int check_topic(const char *topic);
static int read_payload(const char *path, struct mi_buf *payload);
static int explain(const struct mi_explain_args *args);

const struct mi_command mi_command_explain = {"explain",
                                              "FILE TOPIC [--client-id ID] [--username NAME] [--property "
                                              "NAME=VALUE]... [--payload-file FILE] [--qos N] [--retain] "
                                              "[--partitions N] [--json]",
                                              "Says which route takes a PUBLISH on TOPIC and why the earlier "
                                              "ones do not, what is captured, and what Iggy\n"
                                              "gets: stream, topic, partition key, partition (for N "
                                              "partitions, else for as many as the route would create),\n"
                                              "headers and size. Nothing is sent.\n",
                                              run};

/* Larger than what Mosquitto takes. */
#define MAX_PAYLOAD (256u << 20)

static int run(int argc, char **argv)
{
    struct mi_explain_args args = {.qos = 1};
    struct mi_buf payload;
    mi_buf_init(&args.properties, 64u << 20);
    mi_buf_init(&payload, MAX_PAYLOAD + 8192);
    int rc = read_args(&args, argc, argv);
    if (rc == MI_EXIT_OK && args.payload.data)
        rc = read_payload((const char *)args.payload.data, &payload);
    args.payload = mi_buf_span(&payload);
    if (rc == MI_EXIT_OK)
        rc = explain(&args);
    mi_buf_fini(&args.properties);
    mi_buf_fini(&payload);
    return rc;
}

enum { OPT_CLIENT, OPT_USER, OPT_PROPERTY, OPT_PAYLOAD, OPT_QOS, OPT_RETAIN, OPT_PARTITIONS, OPT_JSON };

static int add_property(struct mi_explain_args *args, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals)
        return mi_usage_error(&mi_command_explain, "--property needs NAME=VALUE, not \"%s\"", text);
    struct mi_span name = {(const uint8_t *)text, (size_t)(equals - text)};
    if (!mi_properties_add_pair(&args->properties, name, mi_span_of(equals + 1)))
        return mi_usage_error(&mi_command_explain,
                              "a property may have 65535 bytes in its name and in its value");
    return MI_EXIT_OK;
}

/* A whole number from low to high. */
static int read_number(const char *option, const char *text, unsigned long low, unsigned long high,
                       unsigned long *number)
{
    char *end;
    *number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || *number < low || *number > high)
        return mi_usage_error(&mi_command_explain, "%s needs a number from %lu to %lu, not \"%s\"", option,
                              low, high, text);
    return MI_EXIT_OK;
}

static int read_option(struct mi_explain_args *args, int option)
{
    unsigned long number = 0;
    int rc = MI_EXIT_OK;
    switch (option) {
    case OPT_CLIENT:
        args->client_id = mi_span_of(optarg);
        break;
    case OPT_USER:
        args->username = mi_span_of(optarg);
        break;
    case OPT_PROPERTY:
        return add_property(args, optarg);
    case OPT_PAYLOAD:
        args->payload = mi_span_of(optarg);
        break;
    case OPT_QOS:
        rc = read_number("--qos", optarg, 0, 2, &number);
        args->qos = (uint8_t)number;
        break;
    case OPT_RETAIN:
        args->retain = true;
        break;
    case OPT_PARTITIONS:
        rc = read_number("--partitions", optarg, 1, 1000, &number);
        args->partitions = (uint32_t)number;
        break;
    case OPT_JSON:
        args->json = true;
        break;
    default:
        return mi_usage_error(&mi_command_explain, "these options cannot be used");
    }
    return rc;
}

static int read_args(struct mi_explain_args *args, int argc, char **argv)
{
    static const struct option options[] = {{"client-id", required_argument, NULL, OPT_CLIENT},
                                            {"username", required_argument, NULL, OPT_USER},
                                            {"property", required_argument, NULL, OPT_PROPERTY},
                                            {"payload-file", required_argument, NULL, OPT_PAYLOAD},
                                            {"qos", required_argument, NULL, OPT_QOS},
                                            {"retain", no_argument, NULL, OPT_RETAIN},
                                            {"partitions", required_argument, NULL, OPT_PARTITIONS},
                                            {"json", no_argument, NULL, OPT_JSON},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        int rc = read_option(args, option);
        if (rc != MI_EXIT_OK)
            return rc;
    }
    if (argc - optind != 2)
        return mi_usage_error(&mi_command_explain, "one FILE and one TOPIC are needed");
    args->file = argv[optind];
    args->topic = argv[optind + 1];
    return check_topic(args->topic);
}

static int check_topic(const char *topic)
{
    if (!*topic || strlen(topic) > MI_MAX_MQTT_STRING)
        return mi_usage_error(&mi_command_explain, "a topic has 1 to %d bytes", MI_MAX_MQTT_STRING);
    if (strpbrk(topic, "+#"))
        return mi_usage_error(&mi_command_explain,
                              "\"%s\" is a filter: a PUBLISH has a topic without + and #", topic);
    return MI_EXIT_OK;
}

static int read_payload(const char *path, struct mi_buf *payload)
{
    struct mi_error err;
    if (mi_file_read(path, MAX_PAYLOAD, payload, &err) == 0)
        return MI_EXIT_OK;
    fprintf(stderr, "mosquitto_iggy explain: %s\n", err.text);
    return MI_EXIT_USAGE;
}

/* ---- gathering ---- */

struct gathering {
    const struct mi_explain_args *args;
    const struct mi_config *config;
    struct mi_explanation found;
};

static bool property(void *context, struct mi_span name, struct mi_span *value)
{
    const struct mi_explain_args *args = context;
    struct mi_property found;
    if (!mi_properties_find(mi_buf_span(&args->properties), MI_PROP_USER, name, &found))
        return false;
    *value = found.value;
    return true;
}

static char *copy(struct mi_explanation *found, struct mi_span text)
{
    char *copied = strndup(text.data ? (const char *)text.data : "", text.len);
    found->failed = found->failed || !copied;
    return copied;
}

static struct mi_explain_rule *add_rule(struct mi_explanation *found)
{
    if (found->count == found->cap) {
        size_t cap = found->cap ? found->cap * 2 : 16;
        struct mi_explain_rule *rules = realloc(found->rules, cap * sizeof *rules);
        if (!rules) {
            found->failed = true;
            return NULL;
        }
        found->rules = rules;
        found->cap = cap;
    }
    struct mi_explain_rule *rule = &found->rules[found->count++];
    memset(rule, 0, sizeof *rule);
    return rule;
}

/* What goes to Iggy. The origin is the identity of a journal, and random: 32 zeros stand for it. */
static void encode(struct gathering *g, struct mi_explain_rule *out, const struct mi_route *route)
{
    const struct mi_explain_args *args = g->args;
    struct mi_message message = {.topic = mi_span_of(args->topic),
                                 .payload = args->payload,
                                 .qos = args->qos,
                                 .retain = args->retain,
                                 .origin = mi_span_of("00000000000000000000000000000000"),
                                 .time_us = mi_wall_us(&mi_clock_system),
                                 .properties = mi_buf_span(&args->properties)};
    if (route->send_client_id)
        message.client_id = args->client_id;
    if (route->send_username)
        message.username = args->username;
    mi_envelope_init(&out->envelope);
    if (!mi_envelope_encode(&out->envelope, &message))
        g->found.failed = true;
    out->request_bytes =
        iggy_batch_message_bytes(out->envelope.headers.len, out->envelope.prefix.len + args->payload.len);
}

static void on_rule(void *context, size_t number, enum mi_verdict verdict, const char *why,
                    const struct mi_hit *hit, const struct mi_capture *captures, size_t count)
{
    struct gathering *g = context;
    const struct mi_route *route = &g->config->routes[number];
    struct mi_explain_rule *out = add_rule(&g->found);
    if (!out)
        return;
    out->rule = number;
    out->verdict = verdict;
    out->why = copy(&g->found, mi_span_of(why));
    for (; out->capture_count < count && out->capture_count < MI_MAX_CAPTURES; out->capture_count++) {
        out->capture_name[out->capture_count] = copy(&g->found, captures[out->capture_count].name);
        out->capture_value[out->capture_count] = copy(&g->found, captures[out->capture_count].value);
    }
    if (!hit)
        return;
    out->taken = true;
    out->status = hit->status;
    out->stream = copy(&g->found, hit->stream);
    out->topic = copy(&g->found, hit->topic);
    out->key = copy(&g->found, hit->key);
    out->balanced = hit->balanced;
    out->key_hash = hit->key_hash;
    out->partitions = g->args->partitions ? g->args->partitions : route->create_partitions;
    out->partition = hit->key_hash % out->partitions;
    encode(g, out, route);
}

static void free_explanation(struct mi_explanation *found)
{
    for (size_t i = 0; i < found->count; i++) {
        struct mi_explain_rule *rule = &found->rules[i];
        free(rule->why);
        free(rule->stream);
        free(rule->topic);
        free(rule->key);
        for (size_t k = 0; k < rule->capture_count; k++) {
            free(rule->capture_name[k]);
            free(rule->capture_value[k]);
        }
        if (rule->taken)
            mi_envelope_fini(&rule->envelope);
    }
    free(found->rules);
}

static int explain(const struct mi_explain_args *args)
{
    struct mi_load_counts counts;
    struct mi_config *config = mi_load(args->file, &counts);
    if (!config)
        return MI_EXIT_REFUSED;
    struct gathering g = {.args = args, .config = config};
    struct mi_map_input input = {mi_span_of(args->topic), args->client_id, args->username, property,
                                 (void *)args};
    mi_map_explain(config->map, &input, on_rule, &g);
    if (g.found.failed)
        fprintf(stderr, "mosquitto_iggy explain: memory is out\n");
    else if (args->json)
        mi_explain_print_json(args, config, &g.found);
    else
        mi_explain_print_text(args, config, &g.found);
    free_explanation(&g.found);
    mi_config_release(config);
    return g.found.failed ? MI_EXIT_REFUSED : MI_EXIT_OK;
}

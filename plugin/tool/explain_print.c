/* explain_print: an explanation as text for people and as JSON for programs. */
#include "tool/explain.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {
    [MI_HEADER_RAW] = "raw",         [MI_HEADER_STRING] = "string",   [MI_HEADER_BOOL] = "bool",
    [MI_HEADER_INT8] = "int8",       [MI_HEADER_INT16] = "int16",     [MI_HEADER_INT32] = "int32",
    [MI_HEADER_INT64] = "int64",     [MI_HEADER_INT128] = "int128",   [MI_HEADER_UINT8] = "uint8",
    [MI_HEADER_UINT16] = "uint16",   [MI_HEADER_UINT32] = "uint32",   [MI_HEADER_UINT64] = "uint64",
    [MI_HEADER_UINT128] = "uint128", [MI_HEADER_FLOAT32] = "float32", [MI_HEADER_FLOAT64] = "float64",
};

char *mi_explain_header_text(const struct mi_header *header, const char **kind)
{
    char number[48];
    struct mi_span text;
    bool known = header->kind >= MI_HEADER_RAW && header->kind <= MI_HEADER_FLOAT64;
    *kind = known ? kind_names[header->kind] : "unknown";
    if (known && header->kind != MI_HEADER_RAW && mi_header_text(header, number, sizeof number, &text))
        return strndup((const char *)text.data, text.len);
    char *hex = malloc(header->value.len * 2 + 1);
    for (size_t i = 0; hex && i < header->value.len; i++)
        snprintf(hex + i * 2, 3, "%02x", header->value.data[i]);
    return hex;
}

static bool creates(const struct mi_config *config, const struct mi_explain_rule *rule)
{
    return config->routes[rule->rule].create;
}

/* ---- text ---- */

static void print_headers(const struct mi_explain_rule *rule)
{
    struct mi_span block = mi_buf_span(&rule->envelope.headers);
    struct mi_header header;
    size_t at = 0;
    while (mi_headers_next(block, &at, &header) == 1) {
        const char *kind;
        char *text = mi_explain_header_text(&header, &kind);
        printf("    header     %.*s = %s (%s)\n", (int)header.key.len, (const char *)header.key.data,
               text ? text : "", kind);
        free(text);
    }
}

static void print_target(const struct mi_explain_args *args, const struct mi_config *config,
                         const struct mi_explain_rule *rule)
{
    if (config->routes[rule->rule].subscription)
        printf("    fed by     the plugin's own subscription: client id and user name are not known\n");
    printf("    stream     %s\n    topic      %s\n", rule->stream, rule->topic);
    printf("    if missing %s\n",
           creates(config, rule) ? "stream and topic are created" : "the messages wait for it");
    if (rule->status != MI_HIT_OK)
        printf("    unusable   %s: the message goes to the dead letters\n", mi_hit_status_text(rule->status));
    if (rule->balanced)
        printf("    partition  in turn (balanced)\n");
    else
        printf("    key        %s\n    partition  %" PRIu32 " of %" PRIu32 "%s (XXH32 %08" PRIx32 ")\n",
               rule->key, rule->partition, rule->partitions,
               args->partitions ? "" : ", if the topic has as many as the route says", rule->key_hash);
    print_headers(rule);
    printf("    payload    %zu bytes\n", rule->envelope.prefix.len + args->payload.len);
    if (rule->envelope.prefix.len > 0)
        printf("    of which   %zu bytes stand before the MQTT payload\n", rule->envelope.prefix.len);
    printf("    encoded    %zu bytes of headers; at most %zu bytes in a request (limit %" PRIu64 ")\n",
           rule->envelope.headers.len, rule->request_bytes, config->max_batch_bytes);
    if (rule->request_bytes > config->max_batch_bytes)
        printf("    too large  the message goes to the dead letters\n");
}

static void print_rule(const struct mi_explain_args *args, const struct mi_config *config,
                       const struct mi_explain_rule *rule)
{
    printf("  %zu \"%s\": %s%s\n", rule->rule + 1, config->routes[rule->rule].name,
           rule->taken ? "takes it: " : "does not take it: ", rule->why);
    for (size_t i = 0; i < rule->capture_count; i++)
        printf("    captured   %s = %s\n", rule->capture_name[i], rule->capture_value[i]);
    if (rule->taken)
        print_target(args, config, rule);
}

void mi_explain_print_text(const struct mi_explain_args *args, const struct mi_config *config,
                           const struct mi_explanation *found)
{
    size_t taken = 0;
    printf("PUBLISH %s\n", args->topic);
    for (size_t i = 0; i < found->count; i++) {
        print_rule(args, config, &found->rules[i]);
        taken += found->rules[i].taken;
    }
    if (taken == 0)
        printf("No route takes it: it is not copied to Iggy.\n");
}

/* ---- JSON ---- */

static cJSON *captures_json(const struct mi_explain_rule *rule)
{
    cJSON *captures = cJSON_CreateObject();
    for (size_t i = 0; i < rule->capture_count; i++)
        cJSON_AddStringToObject(captures, rule->capture_name[i], rule->capture_value[i]);
    return captures;
}

static cJSON *headers_json(const struct mi_explain_rule *rule)
{
    struct mi_span block = mi_buf_span(&rule->envelope.headers);
    cJSON *list = cJSON_CreateArray();
    struct mi_header header;
    size_t at = 0;
    while (mi_headers_next(block, &at, &header) == 1) {
        const char *kind;
        char *text = mi_explain_header_text(&header, &kind);
        char *key = strndup((const char *)header.key.data, header.key.len);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "key", key ? key : "");
        cJSON_AddStringToObject(item, "kind", kind);
        cJSON_AddStringToObject(item, "value", text ? text : "");
        cJSON_AddItemToArray(list, item);
        free(text);
        free(key);
    }
    return list;
}

static void add_target(cJSON *item, const struct mi_explain_args *args, const struct mi_config *config,
                       const struct mi_explain_rule *rule)
{
    cJSON_AddStringToObject(item, "stream", rule->stream);
    cJSON_AddStringToObject(item, "topic", rule->topic);
    cJSON_AddBoolToObject(item, "create", creates(config, rule));
    cJSON_AddBoolToObject(item, "usable", rule->status == MI_HIT_OK);
    if (rule->status != MI_HIT_OK)
        cJSON_AddStringToObject(item, "unusable_because", mi_hit_status_text(rule->status));
    cJSON_AddBoolToObject(item, "balanced", rule->balanced);
    if (!rule->balanced) {
        cJSON_AddStringToObject(item, "partition_key", rule->key);
        cJSON_AddNumberToObject(item, "key_hash", rule->key_hash);
        cJSON_AddNumberToObject(item, "partition", rule->partition);
    }
    cJSON_AddNumberToObject(item, "partitions", rule->partitions);
    cJSON_AddItemToObject(item, "headers", headers_json(rule));
    cJSON_AddNumberToObject(item, "header_bytes", (double)rule->envelope.headers.len);
    cJSON_AddNumberToObject(item, "payload_bytes", (double)(rule->envelope.prefix.len + args->payload.len));
    cJSON_AddNumberToObject(item, "prefix_bytes", (double)rule->envelope.prefix.len);
    cJSON_AddNumberToObject(item, "request_bytes", (double)rule->request_bytes);
    cJSON_AddBoolToObject(item, "too_large", rule->request_bytes > config->max_batch_bytes);
}

void mi_explain_print_json(const struct mi_explain_args *args, const struct mi_config *config,
                           const struct mi_explanation *found)
{
    static const char *const verdicts[] = {
        [MI_VERDICT_TAKEN] = "taken",       [MI_VERDICT_TAKEN_GOES_ON] = "taken_goes_on",
        [MI_VERDICT_NO_MATCH] = "no_match", [MI_VERDICT_DIRECTION] = "direction",
        [MI_VERDICT_BEHIND] = "behind",
    };
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "mqtt_topic", args->topic);
    cJSON *list = cJSON_AddArrayToObject(root, "routes");
    for (size_t i = 0; i < found->count; i++) {
        const struct mi_explain_rule *rule = &found->rules[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", config->routes[rule->rule].name);
        cJSON_AddStringToObject(item, "verdict", verdicts[rule->verdict]);
        cJSON_AddStringToObject(item, "why", rule->why);
        if (rule->taken) {
            cJSON_AddItemToObject(item, "captures", captures_json(rule));
            add_target(item, args, config, rule);
        }
        cJSON_AddItemToArray(list, item);
    }
    char *text = cJSON_Print(root);
    printf("%s\n", text ? text : "{}");
    cJSON_free(text);
    cJSON_Delete(root);
}

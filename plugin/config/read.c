/* read: the configuration file's JSON, driven by the option table. */
#include "config/build.h"
#include "config/files.h"
#include "config/json_text.h"

#include <stdio.h>
#include <string.h>

static void read_object(struct mi_build *b, enum mi_place place, const cJSON *object, const char *where,
                        void *base, bool *given);
static void read_member(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where,
                        void *base, bool *given);
static void read_routes(struct mi_build *b, const cJSON *list);
static void read_unmatched(struct mi_build *b, const cJSON *object);
static void read_create(struct mi_build *b, const cJSON *value, const char *where,
                        struct mi_route_draft *draft);
static void read_urls(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where);
static void wrong_type(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where);

void mi_read_config_file(struct mi_build *b, const char *path)
{
    struct mi_error err;
    struct mi_buf text;
    unsigned line = 0;
    b->file = b->config->file = mi_build_text(b, path, strlen(path));
    if (!b->file)
        return;
    mi_buf_init(&text, MI_MAX_CONFIG_BYTES + 8192);
    cJSON *tree = NULL;
    if (mi_file_read(path, MI_MAX_CONFIG_BYTES, &text, &err) < 0)
        mi_finding_at(b, true, "", 0, err.text);
    else if (!mi_buf_add_byte(&text, 0))
        mi_finding_at(b, true, "", 0, "memory is out");
    else if (!(tree = mi_json_parse((char *)text.data, text.len - 1, &line, &err)))
        mi_finding_at(b, true, "", line, err.text);
    if (!tree) {
        mi_buf_fini(&text);
        return;
    }
    b->text = (const char *)text.data; /* freed by the owner of the build */
    if (cJSON_IsObject(tree))
        read_object(b, MI_AT_ROOT, tree, "", b->config, b->given);
    else
        mi_finding_at(b, true, "", 1, "the file must hold one JSON object: { ... }");
    cJSON_Delete(tree);
}

static void join(char *path, size_t size, const char *where, const char *key)
{
    snprintf(path, size, "%s%s%s", where, *where ? "." : "", key);
}

static void read_object(struct mi_build *b, enum mi_place place, const cJSON *object, const char *where,
                        void *base, bool *given)
{
    const cJSON *member;
    cJSON_ArrayForEach(member, object)
    {
        const struct mi_option *o = mi_option_find(place, member->string);
        struct mi_error sentence;
        char key[300];
        if (!o) {
            mi_option_suggest(place, member->string, &sentence);
            mi_refuse(b, where, member->string, "%s", sentence.text);
        } else if (given[mi_option_index(o)]) {
            join(key, sizeof key, where, o->key);
            mi_finding_at(b, true, key, mi_json_line(b->text, where, o->key, 1),
                          "stands here a second time: keep one of the two");
        } else {
            given[mi_option_index(o)] = true;
            read_member(b, o, member, where, base, given);
        }
    }
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        if (o->required && mi_option_at(o, place) && !given[i])
            mi_refuse(b, where, NULL, "\"%s\" is missing: it must be given", o->key);
    }
}

/* Exact whole numbers up to 2^53; cJSON keeps numbers as double. */
static bool whole_number(const cJSON *value, uint64_t *number)
{
    if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0 && value->valuedouble <= 9007199254740992.0))
        return false;
    *number = (uint64_t)value->valuedouble;
    return (double)*number == value->valuedouble;
}

static void read_member(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where,
                        void *base, bool *given)
{
    struct mi_error err;
    uint64_t number = cJSON_IsTrue(value);
    char path[300];
    join(path, sizeof path, where, o->key);
    if (o->kind == MI_OBJECT && cJSON_IsObject(value) && o->opens == MI_AT_UNMATCHED)
        read_unmatched(b, value);
    else if (o->kind == MI_OBJECT && cJSON_IsObject(value)) {
        if (o->opens == MI_AT_HISTORY)
            b->config->history = true;
        read_object(b, o->opens, value, path, base, given);
    } else if (o->kind == MI_ROUTES && cJSON_IsArray(value))
        read_routes(b, value);
    else if (o->kind == MI_CREATE && (cJSON_IsObject(value) || cJSON_IsBool(value)))
        read_create(b, value, path, base);
    else if (o->kind == MI_URLS)
        read_urls(b, o, value, where);
    else if ((o->kind == MI_BOOL && cJSON_IsBool(value)) ||
             (o->kind == MI_COUNT && whole_number(value, &number))) {
        if (mi_option_set_number(o, base, number, &err) < 0)
            mi_refuse(b, where, o->key, "%s", err.text);
    } else if (o->kind == MI_CHOICE && cJSON_IsBool(value) && strcmp(o->choices, "false|true") == 0) {
        mi_build_set(b, o, base, where, cJSON_IsTrue(value) ? "true" : "false");
    } else if (o->kind < MI_OBJECT && o->kind != MI_BOOL && o->kind != MI_COUNT && cJSON_IsString(value))
        mi_build_set(b, o, base, where, value->valuestring);
    else
        wrong_type(b, o, value, where);
}

static void read_routes(struct mi_build *b, const cJSON *list)
{
    const cJSON *item;
    size_t i = 0;
    if (cJSON_GetArraySize(list) > MI_MAX_ROUTES) {
        mi_refuse(b, "", "routes", "holds %d routes: at most %d are possible", cJSON_GetArraySize(list),
                  MI_MAX_ROUTES);
        return;
    }
    cJSON_ArrayForEach(item, list)
    {
        char where[32];
        snprintf(where, sizeof where, "routes[%zu]", i++);
        if (!cJSON_IsObject(item)) {
            mi_refuse(b, where, NULL, "must be an object with name, filter, direction, stream and topic");
            continue;
        }
        struct mi_route_draft *draft = mi_build_draft(b, where);
        if (!draft)
            return;
        read_object(b, MI_AT_ROUTE, item, where, draft, draft->given);
    }
}

static void read_unmatched(struct mi_build *b, const cJSON *object)
{
    struct mi_route_draft *draft = mi_build_draft(b, "unmatched");
    if (!draft)
        return;
    draft->rule.name = "unmatched";
    draft->rule.filter = "#";
    read_object(b, MI_AT_UNMATCHED, object, "unmatched", draft, draft->given);
}

static void read_create(struct mi_build *b, const cJSON *value, const char *where,
                        struct mi_route_draft *draft)
{
    draft->create_given = true;
    draft->route.create = !cJSON_IsFalse(value);
    if (cJSON_IsObject(value))
        read_object(b, MI_AT_CREATE, value, where, draft, draft->given);
}

static void read_urls(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where)
{
    const cJSON *item;
    if (cJSON_IsString(value)) {
        mi_build_set(b, o, b->config, where, value->valuestring);
        return;
    }
    if (!cJSON_IsArray(value) || cJSON_GetArraySize(value) == 0) {
        wrong_type(b, o, value, where);
        return;
    }
    cJSON_ArrayForEach(item, value)
    {
        if (!cJSON_IsString(item)) {
            wrong_type(b, o, item, where);
            return;
        }
        mi_build_set(b, o, b->config, where, item->valuestring);
    }
}

static const char *type_name(const cJSON *value)
{
    if (cJSON_IsString(value))
        return "a text";
    if (cJSON_IsNumber(value))
        return "a number";
    if (cJSON_IsBool(value))
        return "true or false";
    if (cJSON_IsArray(value))
        return "a list";
    return cJSON_IsNull(value) ? "null (leave the key out for its default)" : "an object";
}

static void wrong_type(struct mi_build *b, const struct mi_option *o, const cJSON *value, const char *where)
{
    static const char *const wanted[] = {
        [MI_TEXT] = "a text in quotes",
        [MI_PATH] = "a file name in quotes",
        [MI_URLS] = "a URL in quotes, or a list of them",
        [MI_BOOL] = "true or false, without quotes",
        [MI_COUNT] = "a whole number, without quotes",
        [MI_SIZE] = "a size in quotes, such as \"256MB\"",
        [MI_TIME] = "a time in quotes, such as \"100ms\"",
        [MI_CHOICE] = "a word in quotes",
        [MI_ADDRESS] = "an address in quotes, such as \"127.0.0.1:9465\"",
        [MI_OBJECT] = "an object: { ... }",
        [MI_CREATE] = "true, false or an object",
        [MI_ROUTES] = "a list of routes: [ { ... } ]",
    };
    if (o->kind == MI_CHOICE)
        mi_refuse(b, where, o->key, "must be one of the words %s, in quotes, not %s", o->choices,
                  type_name(value));
    else
        mi_refuse(b, where, o->key, "must be %s, not %s", wanted[o->kind], type_name(value));
}

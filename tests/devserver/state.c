/*
 * state: written as text, read with cJSON.
 */
#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

enum { MAX_STATE = 1 << 30 };

static void append_stream(struct mi_buf *out, const struct dev_stream *s);
static void append_user(struct mi_buf *out, const struct dev_user *u);
static bool write_file(const char *path, const struct mi_buf *text);
static bool load_tree(struct dev_server *server, const cJSON *root);
static bool load_stream(struct dev_server *server, const cJSON *json);
static bool load_topic(struct dev_server *server, struct dev_stream *s, const cJSON *json);
static bool load_user(struct dev_server *server, const cJSON *json);

bool dev_state_save(struct dev_server *server)
{
    if (!server->store.data_dir || !server->store.dirty)
        return true;
    struct mi_buf out;
    struct dev_stream *s;
    struct dev_user *u;
    char path[4096];
    bool first = true;
    mi_buf_init(&out, MAX_STATE);
    mi_buf_add_text(&out, "{\"format\":1,\"streams\":[");
    for (uint32_t i = 0; (s = dev_slab_next(&server->store.streams, &i)); i++, first = false) {
        mi_buf_add_text(&out, first ? "" : ",");
        append_stream(&out, s);
    }
    mi_buf_add_text(&out, "],\"users\":[");
    first = true;
    for (uint32_t i = 0; (u = dev_slab_next(&server->users.users, &i)); i++, first = false) {
        mi_buf_add_text(&out, first ? "" : ",");
        append_user(&out, u);
    }
    mi_buf_add_text(&out, "]}\n");
    snprintf(path, sizeof path, "%s/state.json", server->store.data_dir);
    bool ok = !out.failed && write_file(path, &out);
    mi_buf_fini(&out);
    server->store.dirty = !ok;
    return ok;
}

static bool write_file(const char *path, const struct mi_buf *text)
{
    char fresh[4200];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *f = fopen(fresh, "w");
    bool ok = f && fwrite(text->data, 1, text->len, f) == text->len;
    ok = f && fclose(f) == 0 && ok && rename(fresh, path) == 0;
    if (!ok)
        fprintf(stderr, "iggy-devserver: cannot write %s: %s\n", path, strerror(errno));
    return ok;
}

static void append_u64(struct mi_buf *out, const char *name, uint64_t value)
{
    mi_buf_addf(out, ",\"%s\":\"%llu\"", name, (unsigned long long)value);
}

static void append_partition(struct mi_buf *out, const struct dev_partition *p)
{
    mi_buf_addf(out, "{\"created_at\":\"%llu\"", (unsigned long long)p->created_at);
    append_u64(out, "first_offset", p->log.first_offset);
    mi_buf_add_text(out, ",\"offsets\":{");
    for (size_t i = 0; i < p->offset_count; i++)
        mi_buf_addf(out, "%s\"%u\":\"%llu\"", i ? "," : "", p->offsets[i].consumer,
                    (unsigned long long)p->offsets[i].offset);
    mi_buf_add_text(out, "}}");
}

static void append_topic(struct mi_buf *out, const struct dev_topic *t)
{
    struct dev_group *g;
    bool first = true;
    mi_buf_addf(out, "{\"id\":%u,\"name\":", t->id);
    dev_append_string(out, t->name);
    append_u64(out, "created_at", t->logged_at);
    mi_buf_add_text(out, ",\"options\":[");
    for (int i = 0; i < DEV_OPTIONS; i++)
        mi_buf_addf(out, "%s\"%llu\",%s", i ? "," : "", (unsigned long long)t->options[i],
                    t->explicit_options[i] ? "true" : "false");
    mi_buf_add_text(out, "],\"partitions\":[");
    for (uint32_t i = 0; i < t->partition_count; i++) {
        mi_buf_add_text(out, i ? "," : "");
        append_partition(out, t->partitions[i]);
    }
    mi_buf_add_text(out, "],\"groups\":[");
    for (uint32_t i = 0; (g = dev_slab_next(&t->groups, &i)); i++, first = false) {
        mi_buf_addf(out, "%s{\"id\":%u,\"name\":", first ? "" : ",", i);
        dev_append_string(out, g->name);
        mi_buf_add_byte(out, '}');
    }
    mi_buf_add_text(out, "]}");
}

static void append_stream(struct mi_buf *out, const struct dev_stream *s)
{
    struct dev_topic *t;
    bool first = true;
    mi_buf_addf(out, "{\"id\":%u,\"name\":", s->id);
    dev_append_string(out, s->name);
    append_u64(out, "created_at", s->logged_at);
    mi_buf_add_text(out, ",\"topics\":[");
    for (uint32_t i = 0; (t = dev_slab_next(&s->topics, &i)); i++, first = false) {
        mi_buf_add_text(out, first ? "" : ",");
        append_topic(out, t);
    }
    mi_buf_add_text(out, "]}");
}

static void append_user(struct mi_buf *out, const struct dev_user *u)
{
    mi_buf_addf(out, "{\"id\":%u,\"name\":", u->id);
    dev_append_string(out, u->name);
    mi_buf_add_text(out, ",\"password\":");
    dev_append_string(out, u->password);
    mi_buf_addf(out, ",\"active\":%s", u->active ? "true" : "false");
    append_u64(out, "created_at", u->created_at);
    mi_buf_add_text(out, ",\"permissions\":");
    dev_permissions_append(&u->permissions, out);
    mi_buf_add_text(out, ",\"tokens\":[");
    for (size_t i = 0; i < u->token_count; i++) {
        mi_buf_add_text(out, i ? ",{\"name\":" : "{\"name\":");
        dev_append_string(out, u->tokens[i]->name);
        mi_buf_addf(out, ",\"token\":\"%s\"", u->tokens[i]->token);
        append_u64(out, "expiry", u->tokens[i]->expiry);
        mi_buf_add_byte(out, '}');
    }
    mi_buf_add_text(out, "]}");
}

/* ---- reading ---- */

static char *read_file(const char *path, bool *found)
{
    FILE *f = fopen(path, "r");
    *found = f != NULL;
    if (!f)
        return NULL;
    char *text = NULL;
    long size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size >= 0 && size < MAX_STATE && fseek(f, 0, SEEK_SET) == 0 && (text = malloc((size_t)size + 1)))
        text[fread(text, 1, (size_t)size, f)] = '\0';
    fclose(f);
    return text;
}

bool dev_state_load(struct dev_server *server, bool *found)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/state.json", server->store.data_dir);
    char *text = read_file(path, found);
    if (!*found)
        return true;
    cJSON *root = text ? cJSON_Parse(text) : NULL;
    bool ok = root && load_tree(server, root);
    cJSON_Delete(root);
    free(text);
    if (!ok)
        fprintf(stderr, "iggy-devserver: %s cannot be read; move the directory away to start anew\n", path);
    server->store.dirty = false;
    return ok;
}

static bool load_tree(struct dev_server *server, const cJSON *root)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "streams"))
    {
        if (!load_stream(server, item))
            return false;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(root, "users"))
    {
        if (!load_user(server, item))
            return false;
    }
    return dev_slab_get(&server->users.users, 0) != NULL;
}

static uint64_t get_u64(const cJSON *item)
{
    return cJSON_IsString(item) ? strtoull(item->valuestring, NULL, 10) : 0;
}

static uint64_t member_u64(const cJSON *object, const char *name)
{
    return get_u64(cJSON_GetObjectItemCaseSensitive(object, name));
}

static const char *member_text(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

static uint32_t member_id(const cJSON *object)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, "id");
    return cJSON_IsNumber(item) ? (uint32_t)item->valuedouble : 0;
}

static bool load_stream(struct dev_server *server, const cJSON *json)
{
    const char *name = member_text(json, "name");
    struct dev_stream *s = name ? calloc(1, sizeof *s) : NULL;
    if (!s)
        return false;
    s->id = member_id(json);
    s->created_at = s->logged_at = member_u64(json, "created_at");
    if (!dev_set_name(&s->name, name) || !dev_slab_put(&server->store.streams, s->id, s)) {
        free(s->name);
        free(s);
        return false;
    }
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "topics"))
    {
        if (!load_topic(server, s, item))
            return false;
    }
    return true;
}

static bool load_partition(struct dev_server *server, struct dev_stream *s, struct dev_topic *t,
                           const cJSON *json)
{
    struct dev_partition *p =
        dev_partition_open(&server->store, s, t, t->partition_count, member_u64(json, "created_at"),
                           member_u64(json, "first_offset"));
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "offsets"))
    {
        if (!p ||
            !dev_offset_store(&server->store, p, (uint32_t)strtoul(item->string, NULL, 10), get_u64(item)))
            return false;
    }
    if (p)
        dev_offsets_clamp(p);
    return p != NULL;
}

static bool load_topic(struct dev_server *server, struct dev_stream *s, const cJSON *json)
{
    const char *name = member_text(json, "name");
    const cJSON *item, *options = cJSON_GetObjectItem(json, "options");
    struct dev_topic *t = name ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return false;
    t->id = member_id(json);
    t->created_at = t->logged_at = member_u64(json, "created_at");
    if (!dev_set_name(&t->name, name) || !dev_slab_put(&s->topics, t->id, t)) {
        free(t->name);
        free(t);
        return false;
    }
    dev_option_defaults(t->options);
    for (int i = 0; i < DEV_OPTIONS && 2 * i + 1 < cJSON_GetArraySize(options); i++) {
        t->options[i] = get_u64(cJSON_GetArrayItem(options, 2 * i));
        t->explicit_options[i] = cJSON_IsTrue(cJSON_GetArrayItem(options, 2 * i + 1));
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "partitions"))
    {
        if (!load_partition(server, s, t, item))
            return false;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "groups"))
    {
        uint32_t id;
        if (!member_text(item, "name") ||
            !dev_group_create(&server->store, t, member_text(item, "name"), &id))
            return false;
    }
    return true;
}

static bool load_user(struct dev_server *server, const cJSON *json)
{
    const char *name = member_text(json, "name"), *password = member_text(json, "password");
    struct dev_user *u = name && password ? calloc(1, sizeof *u) : NULL;
    const cJSON *item;
    if (!u)
        return false;
    u->id = member_id(json);
    u->created_at = member_u64(json, "created_at");
    u->active = cJSON_IsTrue(cJSON_GetObjectItem(json, "active"));
    if (!dev_set_name(&u->name, name) || !dev_set_name(&u->password, password) ||
        !dev_slab_put(&server->users.users, u->id, u)) {
        free(u->name);
        free(u->password);
        free(u);
        return false;
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "tokens"))
    {
        const char *token_name = member_text(item, "name"), *token = member_text(item, "token");
        if (!token_name || !token || !dev_access_token_add(u, token_name, token, member_u64(item, "expiry")))
            return false;
    }
    return dev_permissions_parse(cJSON_GetObjectItem(json, "permissions"), &u->permissions);
}

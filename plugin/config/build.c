#include "config/build.h"
#include "config/config_box.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/json_text.h"

enum { MAX_FINDINGS = 200, MAX_KEY = 300 };

static void set_defaults(struct mi_build *b, enum mi_place place, void *base);
static char *resolve(struct mi_build *b, const char *path);
static int set_address(struct mi_config *config, char *value, struct mi_error *err);
static int add_url(struct mi_build *b, const char *value, struct mi_error *err);

int mi_build_start(struct mi_build *b, mi_find find, void *context)
{
    memset(b, 0, sizeof *b);
    b->find = find;
    b->context = context;
    b->config = mi_config_box_new();
    if (!b->config) {
        mi_finding_at(b, true, "", 0, "memory is out");
        return -1;
    }
    b->config->broker.autosave_interval_s = b->config->broker.max_queued_messages = UINT64_MAX;
    for (enum mi_place place = MI_AT_ROOT; place < MI_PLACES; place++)
        if (place != MI_AT_ROUTE && place != MI_AT_CREATE && place != MI_AT_UNMATCHED)
            set_defaults(b, place, b->config);
    return b->refused ? -1 : 0;
}

struct mi_config *mi_build_finish(struct mi_build *b)
{
    if (b->found > MAX_FINDINGS) {
        char rest[64];
        snprintf(rest, sizeof rest, "and %zu more like these", b->found - MAX_FINDINGS);
        b->found = 0;
        mi_finding_at(b, b->refused, "", 0, rest);
    }
    free(b->drafts);
    if (!b->refused)
        return b->config;
    mi_config_release(b->config);
    return NULL;
}

/* The table's own defaults always fit; only memory can be out. */
static void set_defaults(struct mi_build *b, enum mi_place place, void *base)
{
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        if (o->place == place && o->fallback && o->kind != MI_URLS)
            mi_build_set(b, o, base, mi_place_path(place), o->fallback);
    }
}

char *mi_build_text(struct mi_build *b, const char *text, size_t len)
{
    char *copy = mi_build_take(b, len + 1);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

void *mi_build_take(struct mi_build *b, size_t bytes)
{
    void *memory = mi_config_box_take(b->config, bytes);
    if (!memory)
        mi_finding_at(b, true, "", 0, "memory is out");
    return memory;
}

struct mi_route_draft *mi_build_draft(struct mi_build *b, const char *where)
{
    if (b->draft_count == b->draft_cap) {
        size_t cap = b->draft_cap ? b->draft_cap * 2 : 16;
        struct mi_route_draft *drafts = realloc(b->drafts, cap * sizeof *drafts);
        if (!drafts) {
            mi_finding_at(b, true, "", 0, "memory is out");
            return NULL;
        }
        b->drafts = drafts;
        b->draft_cap = cap;
    }
    struct mi_route_draft *draft = &b->drafts[b->draft_count];
    memset(draft, 0, sizeof *draft);
    draft->where = mi_build_text(b, where, strlen(where));
    if (!draft->where)
        return NULL;
    b->draft_count++;
    draft->route.direction = MI_OUT;
    set_defaults(b, MI_AT_ROUTE, draft);
    set_defaults(b, MI_AT_CREATE, draft);
    return draft;
}

void mi_build_set(struct mi_build *b, const struct mi_option *o, void *base, const char *where,
                  const char *value)
{
    struct mi_error err;
    char *kept = o->kind == MI_PATH && *value ? resolve(b, value) : mi_build_text(b, value, strlen(value));
    int rc = -1;
    if (!kept)
        return;
    if (o->kind == MI_URLS)
        rc = add_url(b, kept, &err);
    else if (o->kind == MI_ADDRESS)
        rc = set_address(base, kept, &err);
    else
        rc = mi_option_set(o, base, kept, &err);
    if (rc < 0)
        mi_refuse(b, where, o->key, "%s", err.text);
}

/* A relative path in a file counts from the file's folder: the broker's own working directory is anywhere. */
static char *resolve(struct mi_build *b, const char *path)
{
    const char *slash = b->file ? strrchr(b->file, '/') : NULL;
    if (*path == '/' || !slash)
        return mi_build_text(b, path, strlen(path));
    size_t folder = (size_t)(slash - b->file) + 1, len = strlen(path);
    char *whole = mi_build_take(b, folder + len + 1);
    if (whole) {
        memcpy(whole, b->file, folder);
        memcpy(whole + folder, path, len);
    }
    return whole;
}

/* Cuts value into host and port. */
static int set_address(struct mi_config *config, char *value, struct mi_error *err)
{
    char *colon = strrchr(value, ':'), *host = value, *end = NULL;
    bool digits = colon && colon[1] >= '0' && colon[1] <= '9';
    unsigned char any[sizeof(struct in6_addr)];
    unsigned long port = digits ? strtoul(colon + 1, &end, 10) : 65536;
    if (port > 65535 || *end)
        return mi_error_set(err, "\"%s\" is not an address with a port: write it as \"127.0.0.1:9465\"",
                            value);
    *colon = 0;
    if (*host == '[' && colon[-1] == ']') {
        colon[-1] = 0;
        host++;
    }
    if (strcmp(host, "localhost") == 0)
        memcpy(host, "127.0.0.1", sizeof "127.0.0.1");
    if (inet_pton(AF_INET, host, any) != 1 && inet_pton(AF_INET6, host, any) != 1)
        return mi_error_set(err, "\"%s\" is not an IP address, such as 127.0.0.1 or [::1]", host);
    config->status_address = host;
    config->status_port = (uint16_t)port;
    return 0;
}

static int add_url(struct mi_build *b, const char *value, struct mi_error *err)
{
    if (b->config->url_count == MI_MAX_URLS)
        return mi_error_set(err, "more than %d URLs: leave some out", MI_MAX_URLS);
    b->urls[b->config->url_count++] = value;
    return 0;
}

bool mi_is_given(const bool *given, enum mi_place place, const char *key)
{
    const struct mi_option *o = mi_option_find(place, key);
    return o && given[mi_option_index(o)];
}

/* ---- findings ---- */

void mi_finding_at(struct mi_build *b, bool refused, const char *key, unsigned line, const char *sentence)
{
    struct mi_finding finding = {refused, b->file, line, key, sentence};
    b->refused = b->refused || refused;
    if (b->found++ < MAX_FINDINGS && b->find)
        b->find(b->context, &finding);
}

/* The name of a key as it stands in the broker's file; NULL when it has none there. */
static const char *plugin_opt_name(const char *where, const char *key)
{
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        if (o->plugin_opt && key && strcmp(o->key, key) == 0 && strcmp(mi_place_path(o->place), where) == 0)
            return o->plugin_opt;
    }
    return NULL;
}

static void finding(struct mi_build *b, bool refused, const char *where, const char *key,
                    const char *sentence)
{
    char name[MAX_KEY];
    const char *opt = b->file ? NULL : plugin_opt_name(where, key);
    if (opt)
        snprintf(name, sizeof name, "plugin_opt_%s", opt);
    else
        snprintf(name, sizeof name, "%s%s%s", where, *where && key ? "." : "", key ? key : "");
    /* Looking for a line reads the text from its start: not for what nobody will see. */
    unsigned line = b->text && b->found < MAX_FINDINGS ? mi_json_line(b->text, where, key, 0) : 0;
    mi_finding_at(b, refused, name, line, sentence);
}

void mi_refuse(struct mi_build *b, const char *where, const char *key, const char *format, ...)
{
    char sentence[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    finding(b, true, where, key, sentence);
}

void mi_warn(struct mi_build *b, const char *where, const char *key, const char *format, ...)
{
    char sentence[1200];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    finding(b, false, where, key, sentence);
}

void mi_route_finding(struct mi_build *b, const struct mi_route_draft *draft, bool refused, const char *key,
                      const char *sentence)
{
    char with_line[1200];
    if (!draft->line) {
        finding(b, refused, draft->where, key, sentence);
        return;
    }
    snprintf(with_line, sizeof with_line, "\"%.200s\": %s: %s", draft->line, key, sentence);
    mi_finding_at(b, refused, draft->where, 0, with_line);
}

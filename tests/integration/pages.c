#include "pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

enum { PAGE_MS = 20000 };

void page_marker(const char *from, const char *filter, char *to, size_t size)
{
    char whole[2048];
    bool wild = false;
    snprintf(whole, sizeof whole, "$iggy/%s/%s", from, filter);
    size_t at = 0;
    for (const char *level = whole; level && at < size;) {
        const char *slash = strchr(level, '/');
        size_t len = slash ? (size_t)(slash - level) : strlen(level);
        bool is_wild = len == 1 && (*level == '+' || *level == '#');
        wild = wild || is_wild;
        at += (size_t)snprintf(to + at, size - at, "%s%.*s", level == whole ? "" : "/",
                               is_wild ? 4 : (int)len, is_wild ? "$end" : level);
        level = slash ? slash + 1 : NULL;
    }
    if (!wild && at < size)
        snprintf(to + at, size - at, "/$end");
}

static void text_member(const char *json, const char *name, char *to, size_t size)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *found = strstr(json, key);
    const char *value = found ? found + strlen(key) : NULL;
    const char *end = value ? strchr(value, '"') : NULL;
    snprintf(to, size, "%.*s", end ? (int)(end - value) : 0, value ? value : "");
}

static long number_member(const char *json, const char *name)
{
    char key[32];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *found = strstr(json, key);
    return found ? strtol(found + strlen(key), NULL, 10) : -1;
}

bool page_ask(struct mi_mqtt *c, const char *from, const char *filter, int qos, struct page *out)
{
    char subscription[2048], marker[2100];
    memset(out, 0, sizeof *out);
    out->first = mi_mqtt_count(c);
    snprintf(subscription, sizeof subscription, "$iggy/%s/%s", from, filter);
    page_marker(from, filter, marker, sizeof marker);
    if (!mi_mqtt_subscribe(c, subscription, qos))
        return false;
    size_t seen = out->first;
    for (uint64_t end = mi_monotonic_ms() + PAGE_MS; mi_monotonic_ms() < end;) {
        if (seen == mi_mqtt_count(c) && !mi_mqtt_wait(c, seen + 1, 1000)) {
            if (!mi_mqtt_connected(c))
                return false;
            continue;
        }
        const struct mi_mqtt_message *m = mi_mqtt_message(c, seen++);
        if (strcmp(m->topic, marker) != 0)
            continue;
        const char *json = (const char *)m->payload;
        out->count = seen - 1 - out->first;
        out->messages = number_member(json, "messages");
        out->skipped = number_member(json, "skipped");
        out->complete = strstr(json, "\"complete\":true") != NULL;
        text_member(json, "reason", out->reason, sizeof out->reason);
        text_member(json, "text", out->text, sizeof out->text);
        text_member(json, "next", out->next, sizeof out->next);
        return true;
    }
    return false;
}

const char *page_topic(const struct mi_mqtt_message *m, const char *from)
{
    size_t len = strlen(from);
    bool ok = strncmp(m->topic, "$iggy/", 6) == 0 && strncmp(m->topic + 6, from, len) == 0 &&
              m->topic[6 + len] == '/';
    return ok ? m->topic + 6 + len + 1 : NULL;
}

long page_all(struct mi_mqtt *c, const char *from, const char *filter, int qos, unsigned max,
              void (*each)(void *context, const char *topic, const struct mi_mqtt_message *m), void *context)
{
    struct page p;
    char now[1100];
    long all = 0;
    snprintf(now, sizeof now, "%s", from);
    for (unsigned i = 0; i < max; i++) {
        if (!page_ask(c, now, filter, qos, &p) || p.messages != (long)p.count)
            return -1;
        for (size_t m = 0; m < p.count; m++) {
            const struct mi_mqtt_message *message = mi_mqtt_message(c, p.first + m);
            const char *topic = page_topic(message, now);
            if (!topic)
                return -1;
            if (each)
                each(context, topic, message);
        }
        all += p.messages;
        if (p.complete)
            return all;
        if (!p.next[0])
            return -1;
        snprintf(now, sizeof now, "%s", p.next);
    }
    return -1;
}

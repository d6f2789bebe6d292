#include "history/item.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

enum { MAX_MARKER = 4096 };

struct mi_history_end {
    struct mi_end_facts facts;
    char *next;
    struct mi_buf json;
};

static uint8_t *put(uint8_t *to, struct mi_span s)
{
    if (s.len)
        memcpy(to, s.data, s.len);
    return to + s.len;
}

struct mi_history_item *mi_item_new(const struct mi_item_text *text, struct mi_span payload,
                                    struct mi_span properties, uint8_t qos)
{
    static const struct mi_span word = {(const uint8_t *)"$iggy/", 6}, slash = {(const uint8_t *)"/", 1};
    struct mi_span tail = {text->topic.data + text->mount.len, text->topic.len - text->mount.len};
    size_t topic_len = text->topic.len + word.len + text->from.len + 1;
    if (topic_len > MI_MAX_MQTT_STRING || payload.len > UINT32_MAX || properties.len > UINT32_MAX)
        return NULL;
    struct mi_history_item *item =
        malloc(sizeof *item + topic_len + 1 + text->topic.len + 1 + payload.len + properties.len);
    if (!item)
        return NULL;
    uint8_t *at = (uint8_t *)(item + 1);
    *item = (struct mi_history_item){.topic = (char *)at, .qos = qos};
    at = put(put(put(put(put(at, text->mount), word), text->from), slash), tail);
    *at++ = '\0';
    item->inner = (char *)at;
    at = put(at, text->topic);
    *at++ = '\0';
    item->payload = payload.len ? at : NULL;
    item->payload_len = (uint32_t)payload.len;
    at = put(at, payload);
    item->properties = properties.len ? at : NULL;
    item->properties_len = (uint32_t)properties.len;
    put(at, properties);
    return item;
}

size_t mi_item_bytes(const struct mi_history_item *item)
{
    return sizeof *item + 2 * strlen(item->topic) + item->payload_len + item->properties_len;
}

void mi_history_item_free(struct mi_history_item *item)
{
    if (!item)
        return;
    if (item->end) {
        free(item->end->next);
        mi_buf_fini(&item->end->json);
        free(item->end);
    }
    free(item);
}

/* ---- the end marker ---- */

/* Calls for every level of filter; a wildcard becomes "$end". */
static bool marker_topic(struct mi_span mount, struct mi_span filter, struct mi_buf *out)
{
    bool wild = false;
    mi_buf_add_span(out, mount);
    for (size_t at = 0, level; at <= filter.len; at += level + 1) {
        const uint8_t *slash = at < filter.len ? memchr(filter.data + at, '/', filter.len - at) : NULL;
        level = slash ? (size_t)(slash - filter.data) - at : filter.len - at;
        if (at > 0)
            mi_buf_add_byte(out, '/');
        if (level == 1 && (filter.data[at] == '+' || filter.data[at] == '#')) {
            wild = true;
            mi_buf_add_text(out, "$end");
        } else if (level) {
            mi_buf_add(out, filter.data + at, level);
        }
    }
    return wild ? !out->failed : mi_buf_add_text(out, "/$end");
}

static char *copy_text(const char *text)
{
    size_t len = strlen(text) + 1;
    char *copy = malloc(len);
    if (copy)
        memcpy(copy, text, len);
    return copy;
}

struct mi_history_item *mi_item_new_end(struct mi_span mount, struct mi_span filter, uint8_t qos,
                                        const struct mi_end_facts *facts)
{
    struct mi_buf topic;
    struct mi_history_item *item = NULL;
    struct mi_history_end *end = calloc(1, sizeof *end);
    mi_buf_init(&topic, mount.len + filter.len * 3 + 8);
    if (end && marker_topic(mount, filter, &topic))
        item = malloc(sizeof *item + topic.len + 1);
    if (item) {
        *item = (struct mi_history_item){.topic = (char *)(item + 1), .qos = qos, .last = true, .end = end};
        memcpy(item + 1, topic.data, topic.len);
        ((char *)(item + 1))[topic.len] = '\0';
        end->facts = *facts;
        end->facts.next = NULL;
        mi_buf_init(&end->json, MAX_MARKER);
        end->next = facts->next ? copy_text(facts->next) : NULL;
        if (facts->next && !end->next) {
            mi_history_item_free(item);
            item = NULL;
        }
    } else {
        free(end);
    }
    mi_buf_fini(&topic);
    return item;
}

bool mi_item_write_end(struct mi_history_item *item, uint64_t denied)
{
    static const char *const reasons[] = {
        [MI_END_PAGE] = "page",  [MI_END_MAX_SCAN] = "max_scan", [MI_END_MAX_TIME] = "max_time",
        [MI_END_ERROR] = "iggy", [MI_END_REFUSED] = "refused",
    };
    const struct mi_end_facts *f = &item->end->facts;
    struct mi_buf *json = &item->end->json;
    uint64_t messages = f->messages > denied ? f->messages - denied : 0;
    mi_buf_reset(json);
    mi_buf_addf(json, "{\"messages\":%llu,\"skipped\":%llu,\"complete\":%s", (unsigned long long)messages,
                (unsigned long long)f->skipped, f->reason == MI_END_COMPLETE ? "true" : "false");
    if (f->reason != MI_END_COMPLETE)
        mi_buf_addf(json, ",\"reason\":\"%s\"", reasons[f->reason]);
    /* Texts are ours and hold nothing that JSON would escape; so do cursors. */
    if (f->text)
        mi_buf_addf(json, ",\"text\":\"%s\"", f->text);
    if (item->end->next)
        mi_buf_addf(json, ",\"next\":\"%s\"", item->end->next);
    mi_buf_add_byte(json, '}');
    item->payload = json->data;
    item->payload_len = (uint32_t)json->len;
    return !json->failed;
}

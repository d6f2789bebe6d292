#include "fake_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_history fake_history;

void fake_history_reset(void)
{
    struct mi_history_item *item;
    while ((item = fake_history.items) != NULL) {
        fake_history.items = item->next;
        mi_history_item_free(item);
    }
    memset(&fake_history, 0, sizeof fake_history);
}

static struct mi_history_item *make(mi_history_id id, const char *topic, const char *inner,
                                    const char *payload)
{
    struct mi_history_item *item = calloc(1, sizeof *item);
    if (!item)
        abort();
    *item = (struct mi_history_item){.id = id,
                                     .topic = topic,
                                     .inner = inner,
                                     .payload = (const uint8_t *)payload,
                                     .payload_len = (uint32_t)strlen(payload),
                                     .qos = 1,
                                     .last = !inner};
    fake_history.made++;
    return item;
}

void fake_history_put(mi_history_id id, const char *topic, const char *inner, const char *payload)
{
    struct mi_history_item **end = &fake_history.items;
    while (*end)
        end = &(*end)->next;
    *end = make(id, topic, inner, payload);
}

static void note(const struct mi_history_ask *ask)
{
    snprintf(fake_history.client_id, sizeof fake_history.client_id, "%.*s", (int)ask->client_id.len,
             (const char *)ask->client_id.data);
    snprintf(fake_history.mount, sizeof fake_history.mount, "%.*s", (int)ask->mount.len,
             (const char *)ask->mount.data);
    snprintf(fake_history.filter, sizeof fake_history.filter, "%.*s", (int)ask->filter.len,
             (const char *)ask->filter.data);
    fake_history.qos = ask->qos;
}

mi_history_id mi_history_begin(struct mi_history *h, const struct mi_history_ask *ask, const char **why)
{
    (void)h;
    *why = fake_history.refuse;
    if (*why)
        return 0;
    note(ask);
    fake_history.begun++;
    return ++fake_history.last;
}

void mi_history_cancel(struct mi_history *h, mi_history_id id)
{
    (void)h;
    fake_history.cancelled++;
    fake_history.last_cancelled = id;
}

bool mi_history_idle(const struct mi_history *h)
{
    (void)h;
    return !fake_history.items;
}

struct mi_history_item *mi_history_take(struct mi_history *h, size_t max)
{
    (void)h;
    struct mi_history_item *item = max ? fake_history.items : NULL;
    if (item) {
        fake_history.items = item->next;
        item->next = NULL;
    }
    return item;
}

void mi_history_item_free(struct mi_history_item *item)
{
    fake_history.freed += item != NULL;
    free(item);
}

void mi_history_note_denied(struct mi_history *h, mi_history_id id)
{
    (void)h, (void)id;
    fake_history.denied++;
}

struct mi_history_item *mi_history_refusal(struct mi_history *h, const struct mi_history_ask *ask,
                                           const char *why)
{
    (void)h;
    note(ask);
    fake_history.refused++;
    snprintf(fake_history.why, sizeof fake_history.why, "%s", why);
    return make(0, "$iggy/refused/$end", NULL, "{}");
}

#include "auth/rights_news.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct name {
    uint8_t len;
    uint8_t text[MI_MAX_USER_NAME];
};

struct mi_rights_news {
    atomic_bool any, any_asked;
    pthread_mutex_t lock;
    struct mi_rights_news_item *first, **last;
    size_t count;
    struct name asked[MI_MAX_RIGHTS_ASKED];
    size_t asked_from, asked_count;
};

struct mi_rights_news *mi_rights_news_new(void)
{
    struct mi_rights_news *n = calloc(1, sizeof *n);
    if (n) {
        n->last = &n->first;
        pthread_mutex_init(&n->lock, NULL);
    }
    return n;
}

void mi_rights_news_free(struct mi_rights_news *n)
{
    if (!n)
        return;
    for (struct mi_rights_news_item *i = n->first, *next; i; i = next) {
        next = i->next;
        mi_rights_free(i->rights);
        free(i);
    }
    pthread_mutex_destroy(&n->lock);
    free(n);
}

bool mi_rights_news_put(struct mi_rights_news *n, struct mi_span name, struct mi_iggy_rights *rights,
                        bool kick)
{
    struct mi_rights_news_item *item = malloc(sizeof *item + name.len);
    bool room = false;
    if (item) {
        *item = (struct mi_rights_news_item){.rights = rights, .kick = kick, .name_len = name.len};
        memcpy(item->name, name.data, name.len);
        pthread_mutex_lock(&n->lock);
        room = n->count < MI_MAX_RIGHTS_NEWS || !rights;
        if (room) {
            *n->last = item;
            n->last = &item->next;
            n->count++;
            atomic_store(&n->any, true);
        }
        pthread_mutex_unlock(&n->lock);
    }
    if (!room) {
        mi_rights_free(rights);
        free(item);
    }
    return room;
}

struct mi_rights_news_item *mi_rights_news_take(struct mi_rights_news *n)
{
    if (!atomic_load_explicit(&n->any, memory_order_acquire))
        return NULL;
    pthread_mutex_lock(&n->lock);
    struct mi_rights_news_item *first = n->first;
    n->first = NULL;
    n->last = &n->first;
    n->count = 0;
    atomic_store(&n->any, false);
    pthread_mutex_unlock(&n->lock);
    return first;
}

bool mi_rights_news_empty(struct mi_rights_news *n)
{
    return !atomic_load(&n->any);
}

bool mi_rights_news_ask(struct mi_rights_news *n, struct mi_span name)
{
    bool room = name.len > 0 && name.len <= MI_MAX_USER_NAME;
    pthread_mutex_lock(&n->lock);
    for (size_t i = 0; i < n->asked_count; i++) {
        const struct name *a = &n->asked[(n->asked_from + i) % MI_MAX_RIGHTS_ASKED];
        room = room && !(a->len == name.len && memcmp(a->text, name.data, name.len) == 0);
    }
    room = room && n->asked_count < MI_MAX_RIGHTS_ASKED;
    if (room) {
        struct name *a = &n->asked[(n->asked_from + n->asked_count++) % MI_MAX_RIGHTS_ASKED];
        a->len = (uint8_t)name.len;
        memcpy(a->text, name.data, name.len);
        atomic_store(&n->any_asked, true);
    }
    pthread_mutex_unlock(&n->lock);
    return room;
}

bool mi_rights_news_any_asked(struct mi_rights_news *n)
{
    return atomic_load_explicit(&n->any_asked, memory_order_acquire);
}

size_t mi_rights_news_asked(struct mi_rights_news *n, uint8_t name[MI_MAX_USER_NAME])
{
    size_t len = 0;
    if (!mi_rights_news_any_asked(n))
        return 0;
    pthread_mutex_lock(&n->lock);
    if (n->asked_count > 0) {
        const struct name *a = &n->asked[n->asked_from];
        len = a->len;
        memcpy(name, a->text, len);
        n->asked_from = (n->asked_from + 1) % MI_MAX_RIGHTS_ASKED;
        n->asked_count--;
    }
    atomic_store(&n->any_asked, n->asked_count > 0);
    pthread_mutex_unlock(&n->lock);
    return len;
}

/*
 * rights_news: what the bridge thread found out about users' rights, on its way to the main thread; and the
 * names that the main thread asks for, on theirs. Two short lists and a mutex, held for pointers only.
 */
#ifndef MI_RIGHTS_NEWS_H
#define MI_RIGHTS_NEWS_H

#include "auth/rights.h"

enum { MI_MAX_USER_NAME = 255, MI_MAX_RIGHTS_NEWS = 65536, MI_MAX_RIGHTS_ASKED = 256 };

struct mi_rights_news_item {
    struct mi_rights_news_item *next;
    struct mi_iggy_rights *rights; /* NULL: the user is not known any more */
    bool kick;                     /* whoever is logged in under the name is to go */
    size_t name_len;
    uint8_t name[];
};

struct mi_rights_news;
struct mi_rights_news *mi_rights_news_new(void);
void mi_rights_news_free(struct mi_rights_news *n);

/* Bridge thread. Takes rights over. False when the list is full or memory is out (rights are freed then): to
 * be said again later. That a user is gone is taken beyond the bound. */
bool mi_rights_news_put(struct mi_rights_news *n, struct mi_span name, struct mi_iggy_rights *rights,
                        bool kick);
/* Main thread: all there is, oldest first, for the caller to free; NULL: nothing. One load when there is
 * nothing. */
struct mi_rights_news_item *mi_rights_news_take(struct mi_rights_news *n);
/* Any thread. */
bool mi_rights_news_empty(struct mi_rights_news *n);

/* Main thread: somebody with that name is here and nobody knows him. False when too many are asked for
 * already. */
bool mi_rights_news_ask(struct mi_rights_news *n, struct mi_span name);
bool mi_rights_news_any_asked(struct mi_rights_news *n); /* any thread */
/* Bridge thread: the next such name; its length, 0: none. */
size_t mi_rights_news_asked(struct mi_rights_news *n, uint8_t name[MI_MAX_USER_NAME]);

#endif

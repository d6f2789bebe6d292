/* rights_news: what one thread tells reaches the other whole and in order; names go the other way. */
#include "auth/rights_news.h"
#include "auth/rights_table.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEWS = 20000, NAMES = 50 };

static struct mi_rights_news *news;

static void *tell(void *arg)
{
    (void)arg;
    for (int i = 0; i < NEWS;) {
        char name[16];
        snprintf(name, sizeof name, "user%d", i % NAMES);
        struct mi_iggy_rights *rights = i % 7 ? mi_rights_new(i & 1 ? MI_RIGHT_SEND : 0, NULL, 0) : NULL;
        i += mi_rights_news_put(news, mi_span_of(name), rights, i % 7 == 0);
    }
    return NULL;
}

static void all_that_is_told_arrives_in_order(void)
{
    pthread_t thread;
    struct mi_rights_table *table = mi_rights_table_new();
    int came = 0;
    news = mi_rights_news_new();
    CU_ASSERT_TRUE_FATAL(news && table && pthread_create(&thread, NULL, tell, NULL) == 0);
    while (came < NEWS) {
        for (struct mi_rights_news_item *i = mi_rights_news_take(news), *next; i; i = next) {
            char name[16];
            next = i->next;
            snprintf(name, sizeof name, "user%d", came % NAMES);
            CU_ASSERT_TRUE(i->name_len == strlen(name) && memcmp(i->name, name, i->name_len) == 0);
            CU_ASSERT_EQUAL(i->kick, came % 7 == 0);
            CU_ASSERT_EQUAL(i->rights == NULL, came % 7 == 0);
            mi_rights_table_set(table, (struct mi_span){i->name, i->name_len}, i->rights);
            free(i);
            came++;
        }
    }
    pthread_join(thread, NULL);
    CU_ASSERT_TRUE(mi_rights_news_empty(news));
    /* The last word about each name counts. */
    for (int i = NEWS - NAMES; i < NEWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "user%d", i % NAMES);
        const struct mi_iggy_rights *r = mi_rights_table_find(table, mi_span_of(name));
        CU_ASSERT_EQUAL(r != NULL, i % 7 != 0);
        CU_ASSERT_EQUAL(mi_rights_allow_everywhere(r, MI_RIGHT_SEND), i % 7 != 0 && (i & 1));
    }
    mi_rights_table_free(table);
    mi_rights_news_free(news);
}

static void the_list_is_bounded_but_not_for_who_is_gone(void)
{
    news = mi_rights_news_new();
    for (int i = 0; i < MI_MAX_RIGHTS_NEWS; i++)
        if (!mi_rights_news_put(news, mi_span_of("u"), mi_rights_new(0, NULL, 0), false))
            CU_FAIL_FATAL("there should be room");
    CU_ASSERT_FALSE(mi_rights_news_put(news, mi_span_of("u"), mi_rights_new(0, NULL, 0), false));
    CU_ASSERT_TRUE(mi_rights_news_put(news, mi_span_of("u"), NULL, true));
    mi_rights_news_free(news); /* with all that nobody took */
}

static void names_are_asked_once(void)
{
    uint8_t name[MI_MAX_USER_NAME];
    char text[300];
    news = mi_rights_news_new();
    CU_ASSERT_FALSE(mi_rights_news_any_asked(news));
    CU_ASSERT_TRUE(mi_rights_news_ask(news, mi_span_of("ann")));
    CU_ASSERT_FALSE(mi_rights_news_ask(news, mi_span_of("ann")));
    CU_ASSERT_FALSE(mi_rights_news_ask(news, mi_span_of("")));
    memset(text, 'x', sizeof text);
    CU_ASSERT_FALSE(mi_rights_news_ask(news, (struct mi_span){(uint8_t *)text, 256}));
    CU_ASSERT_TRUE(mi_rights_news_ask(news, (struct mi_span){(uint8_t *)text, 255}));
    CU_ASSERT_EQUAL(mi_rights_news_asked(news, name), 3);
    CU_ASSERT_EQUAL(memcmp(name, "ann", 3), 0);
    CU_ASSERT_TRUE(mi_rights_news_ask(news, mi_span_of("ann")));
    CU_ASSERT_EQUAL(mi_rights_news_asked(news, name), 255);
    CU_ASSERT_EQUAL(mi_rights_news_asked(news, name), 3);
    CU_ASSERT_EQUAL(mi_rights_news_asked(news, name), 0);
    int taken = 0;
    for (int i = 0; i < 2 * MI_MAX_RIGHTS_ASKED; i++) {
        snprintf(text, sizeof text, "n%d", i);
        taken += mi_rights_news_ask(news, mi_span_of(text));
    }
    CU_ASSERT_EQUAL(taken, MI_MAX_RIGHTS_ASKED);
    mi_rights_news_free(news);
}

static void tables_grow_and_forget(void)
{
    struct mi_rights_table *table = mi_rights_table_new();
    char name[16];
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "u%d", i);
        mi_rights_table_set(table, mi_span_of(name), mi_rights_new(i & 3, NULL, 0));
    }
    CU_ASSERT_EQUAL(mi_rights_table_count(table), 5000);
    for (int i = 0; i < 5000; i += 2) {
        snprintf(name, sizeof name, "u%d", i);
        mi_rights_table_set(table, mi_span_of(name), NULL);
        mi_rights_table_set(table, mi_span_of(name), NULL);
    }
    CU_ASSERT_EQUAL(mi_rights_table_count(table), 2500);
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "u%d", i);
        const struct mi_iggy_rights *r = mi_rights_table_find(table, mi_span_of(name));
        CU_ASSERT_EQUAL(r != NULL, i % 2 == 1);
        CU_ASSERT_EQUAL(mi_rights_allow_everywhere(r, MI_RIGHT_POLL), i % 2 == 1 && (i & 2));
    }
    CU_ASSERT_PTR_NULL(mi_rights_table_find(table, mi_span_of("")));
    mi_rights_table_set(table, mi_span_of(""), mi_rights_new(3, NULL, 0));
    CU_ASSERT_PTR_NULL(mi_rights_table_find(table, mi_span_of("")));
    mi_rights_table_free(table);
}

static CU_TestInfo tests[] = {
    {"all_that_is_told_arrives_in_order", all_that_is_told_arrives_in_order},
    {"the_list_is_bounded_but_not_for_who_is_gone", the_list_is_bounded_but_not_for_who_is_gone},
    {"names_are_asked_once", names_are_asked_once},
    {"tables_grow_and_forget", tables_grow_and_forget},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("rights_news", tests)

/*
 * rights_bench: what a round of looking at all users costs the bridge thread, for many users with rights on
 * topics of many streams: when nothing changed, and when every right must be made anew.
 */
#include "auth/rights_book.h"
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 10000, STREAMS = 2000, GRANTS = 5 };

static struct iggy_stream streams[STREAMS];
static struct iggy_topic topic = {.id = 0, .name = {(const uint8_t *)"t", 1}, .created_at = 1000};
static char names[STREAMS][16];
static size_t wanted;

static void count(void *arg, uint32_t id)
{
    wanted += mi_id_map_want(arg, id, 1) != NULL;
}

static struct mi_rights_book *make(void)
{
    struct mi_rights_book *b = mi_rights_book_new(USERS);
    for (size_t i = 0; i < USERS; i++) {
        char name[16], text[1000] = "{\"streams\":{";
        for (size_t k = 0; k < GRANTS; k++)
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s\"%zu\":{\"topics\":{\"0\":{\"send_messages\":true}}}", k ? "," : "",
                     (i * 7 + k * 13) % STREAMS);
        strcat(text, "}}");
        int len = snprintf(name, sizeof name, "user-%zu", i);
        const struct iggy_user u = {.id = (uint32_t)i,
                                    .created_at = 1000,
                                    .active = true,
                                    .username = {(const uint8_t *)name, (size_t)len},
                                    .permissions = {(const uint8_t *)text, strlen(text)}};
        if (mi_rights_book_record(b, &u, 0, 1) != MI_USER_CHANGED)
            exit(1);
    }
    return b;
}

static void learn(struct mi_rights_book *b, uint32_t round)
{
    struct mi_id_map *ids = mi_rights_book_ids(b);
    for (size_t i = 0; i < STREAMS; i++) {
        int len = snprintf(names[i], sizeof names[i], "s-%zu-%u", i, round);
        streams[i] = (struct iggy_stream){.id = (uint32_t)i,
                                          .created_at = 1000,
                                          .name = {(const uint8_t *)names[i], (size_t)len},
                                          .topics = &topic,
                                          .topics_count = 1};
    }
    mi_id_map_set_streams(ids, streams, STREAMS, round);
    mi_rights_book_wanted(b, count, ids);
    for (size_t i = 0; i < STREAMS; i++)
        mi_id_map_set_topics(ids, &streams[i], round);
}

static size_t resolve(struct mi_rights_book *b)
{
    size_t made = 0;
    for (size_t i = 0; i < mi_rights_book_count(b); i++) {
        struct mi_iggy_rights *rights = NULL;
        made += mi_rights_user_resolve(b, mi_rights_book_at(b, i), &rights);
        mi_rights_free(rights);
    }
    return made;
}

static void show(const char *what, uint64_t start, size_t n)
{
    printf("%-60s %8.2f ms (%zu)\n", what, (double)(mi_now_ns(&mi_clock_system) - start) / MI_NS_PER_MS, n);
}

int main(void)
{
    uint64_t start = mi_now_ns(&mi_clock_system);
    struct mi_rights_book *b = make();
    show("10,000 records with five rights on topics each", start, mi_rights_book_count(b));
    start = mi_now_ns(&mi_clock_system);
    learn(b, 1);
    show("a round's list and details of 2,000 streams", start, wanted);
    start = mi_now_ns(&mi_clock_system);
    size_t made = resolve(b);
    show("all rights made", start, made);
    start = mi_now_ns(&mi_clock_system);
    made = resolve(b);
    show("nothing changed", start, made);
    learn(b, 2); /* every stream is renamed */
    start = mi_now_ns(&mi_clock_system);
    made = resolve(b);
    show("every stream has another name", start, made);
    mi_rights_book_free(b);
    return 0;
}

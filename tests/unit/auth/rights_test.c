/* rights, rights_book: permissions by ids become rights by names, and a right never moves to what got its id
 * later. */
#include "auth/rights_book.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR_US 3600000000ull

static struct mi_rights_book *book;
static struct mi_iggy_rights *rights; /* of "ann", newest */
static uint32_t round_number;

static struct iggy_span text(const char *s)
{
    return (struct iggy_span){(const uint8_t *)s, strlen(s)};
}

static struct iggy_stream stream(uint32_t id, const char *name, uint64_t age)
{
    return (struct iggy_stream){.id = id, .name = text(name), .created_at = age};
}

static struct iggy_topic topic(uint32_t id, const char *name, uint64_t age)
{
    return (struct iggy_topic){.id = id, .name = text(name), .created_at = age};
}

static void begin(void)
{
    mi_rights_book_free(book);
    mi_rights_free(rights);
    rights = NULL;
    round_number = 0;
    book = mi_rights_book_new(3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(book);
}

static enum mi_user_change record_of(const char *name, uint32_t id, uint64_t age, bool active,
                                     const char *permissions)
{
    const struct iggy_user u = {.id = id,
                                .created_at = age,
                                .username = text(name),
                                .active = active,
                                .permissions = text(permissions)};
    return mi_rights_book_record(book, &u, round_number, 1);
}

static enum mi_user_change ann(const char *permissions)
{
    return record_of("ann", 7, HOUR_US, true, permissions);
}

static bool resolve(void)
{
    struct mi_iggy_rights *now = NULL;
    struct mi_rights_user *u = mi_rights_book_find(book, mi_span_of("ann"));
    if (!u || !mi_rights_user_resolve(book, u, &now))
        return false;
    mi_rights_free(rights);
    rights = now;
    return true;
}

/* A round: the list, and the details of the first stream when there are topics. */
static void a_round(const struct iggy_stream *streams, size_t count, struct iggy_topic *topics,
                    size_t topic_count)
{
    round_number++;
    CU_ASSERT_TRUE(mi_id_map_set_streams(mi_rights_book_ids(book), streams, count, round_number));
    if (topic_count) {
        struct iggy_stream details = streams[0];
        details.topics = topics;
        details.topics_count = (uint32_t)topic_count;
        CU_ASSERT_TRUE(mi_id_map_set_topics(mi_rights_book_ids(book), &details, round_number));
    }
    resolve();
}

/* "s": may send, "p": may poll. */
static void check(const char *s, const char *t, const char *want)
{
    bool send = mi_rights_allow(rights, mi_span_of(s), mi_span_of(t), MI_RIGHT_SEND);
    bool poll = mi_rights_allow(rights, mi_span_of(s), mi_span_of(t), MI_RIGHT_POLL);
    bool right = send == (strchr(want, 's') != NULL) && poll == (strchr(want, 'p') != NULL);
    if (!right)
        printf("%s/%s: send %d poll %d, not \"%s\"\n", s, t, send, poll, want);
    CU_ASSERT_TRUE(right);
}

#define SEND_ON_5 "{\"streams\":{\"5\":{\"send_messages\":true}}}"
#define POLL_TOPIC "{\"streams\":{\"5\":{\"topics\":{\"2\":{\"poll_messages\":true}}}}}"

static void global_rights_need_no_names(void)
{
    begin();
    CU_ASSERT_EQUAL(ann("{\"global\":{\"send_messages\":true}}"), MI_USER_CHANGED);
    CU_ASSERT_FALSE(mi_rights_user_waits(mi_rights_book_find(book, mi_span_of("ann"))));
    CU_ASSERT_TRUE(resolve());
    check("any", "thing", "s");
    CU_ASSERT_TRUE(mi_rights_allow_everywhere(rights, MI_RIGHT_SEND));
    CU_ASSERT_FALSE(mi_rights_allow_everywhere(rights, MI_RIGHT_POLL));
    CU_ASSERT_FALSE(resolve());
    CU_ASSERT_FALSE(mi_rights_allow(NULL, mi_span_of("any"), mi_span_of("thing"), MI_RIGHT_SEND));
}

static void a_stream_by_its_id(void)
{
    begin();
    const struct iggy_stream all[] = {stream(9, "nine", HOUR_US), stream(5, "five", HOUR_US)};
    a_round(all, 2, NULL, 0);
    CU_ASSERT_EQUAL(ann(SEND_ON_5), MI_USER_CHANGED);
    CU_ASSERT_TRUE(resolve());
    check("five", "t", ""); /* that list was asked for before the permissions were read */
    a_round(all, 2, NULL, 0);
    check("five", "t", "s");
    check("nine", "t", "");
    check("5", "t", "");
    CU_ASSERT_EQUAL(ann(SEND_ON_5), MI_USER_SAME);
    CU_ASSERT_FALSE(resolve());
}

static void a_right_does_not_move_with_a_reused_id(void)
{
    begin();
    const struct iggy_stream a[] = {stream(5, "a", HOUR_US)}, b[] = {stream(5, "b", 2 * HOUR_US)};
    ann(SEND_ON_5);
    a_round(a, 1, NULL, 0);
    check("a", "t", "s");
    a_round(NULL, 0, NULL, 0);
    check("a", "t", "");
    a_round(b, 1, NULL, 0);
    check("b", "t", "");
    /* Another entry that comes beside it changes nothing for it. */
    ann("{\"streams\":{\"5\":{\"send_messages\":true},\"6\":{\"poll_messages\":true}}}");
    a_round(b, 1, NULL, 0);
    check("b", "t", "");
    /* Taken away and given again it is a new right. */
    ann("{\"streams\":{\"6\":{\"poll_messages\":true}}}");
    a_round(b, 1, NULL, 0);
    ann(SEND_ON_5);
    a_round(b, 1, NULL, 0);
    check("b", "t", "s");
    check("a", "t", "");
}

static void an_id_that_meant_nothing_opens_nothing(void)
{
    begin();
    const struct iggy_stream b[] = {stream(5, "b", 2 * HOUR_US)};
    ann(SEND_ON_5);
    a_round(NULL, 0, NULL, 0);
    a_round(b, 1, NULL, 0);
    check("b", "t", "");
}

static void names_follow_a_renamed_stream(void)
{
    begin();
    const struct iggy_stream a[] = {stream(5, "a", HOUR_US)};
    const struct iggy_stream renamed[] = {stream(5, "new", HOUR_US)};
    const struct iggy_stream moved[] = {stream(5, "new", HOUR_US + 3000)}; /* what 0.8 does at a restart */
    const struct iggy_stream other[] = {stream(5, "quick", HOUR_US + 4000)};
    ann(SEND_ON_5);
    a_round(a, 1, NULL, 0);
    a_round(renamed, 1, NULL, 0);
    check("new", "t", "s");
    check("a", "t", "");
    a_round(moved, 1, NULL, 0);
    check("new", "t", "s");
    a_round(other, 1, NULL, 0); /* made within a second of the first, but it has another name */
    check("quick", "t", "");
}

static void a_topic_by_its_ids(void)
{
    begin();
    const struct iggy_stream s[] = {stream(5, "s", HOUR_US)}, again[] = {stream(5, "s", 2 * HOUR_US)};
    struct iggy_topic t[] = {topic(9, "other", HOUR_US), topic(2, "t", HOUR_US)};
    struct iggy_topic reused[] = {topic(2, "t", 2 * HOUR_US)};
    ann(POLL_TOPIC);
    a_round(s, 1, NULL, 0);
    check("s", "t", ""); /* the details have not come yet */
    CU_ASSERT_TRUE(mi_rights_user_waits(mi_rights_book_find(book, mi_span_of("ann"))));
    a_round(s, 1, t, 2);
    check("s", "t", "p");
    check("s", "other", "");
    a_round(s, 1, reused, 1);
    check("s", "t", "");
    a_round(s, 1, t, 2); /* the very topic is there again (a list that was late): the right is its own */
    check("s", "t", "p");
    a_round(again, 1, t, 2); /* another stream with a topic of that id and even that age */
    check("s", "t", "");
}

static void accounts_that_are_made_again_or_switched_off(void)
{
    begin();
    CU_ASSERT_EQUAL(ann("null"), MI_USER_CHANGED);
    CU_ASSERT_EQUAL(ann("null"), MI_USER_SAME);
    CU_ASSERT_EQUAL(record_of("ann", 7, 2 * HOUR_US, true, "null"), MI_USER_REPLACED);
    CU_ASSERT_EQUAL(record_of("ann", 8, 2 * HOUR_US, true, "null"), MI_USER_REPLACED);
    CU_ASSERT_EQUAL(record_of("ann", 8, 2 * HOUR_US, true, "null"), MI_USER_SAME);
    CU_ASSERT_EQUAL(record_of("ann", 8, 2 * HOUR_US, false, "null"), MI_USER_REPLACED);
    CU_ASSERT_PTR_NULL(mi_rights_book_find(book, mi_span_of("ann")));
    CU_ASSERT_EQUAL(record_of("ann", 8, 2 * HOUR_US, false, "null"), MI_USER_REPLACED);
    CU_ASSERT_EQUAL(mi_rights_book_count(book), 0);
}

static void unreadable_permissions_give_nothing(void)
{
    begin();
    ann("{\"global\":{\"send_messages\":true}}");
    resolve();
    check("a", "b", "s");
    CU_ASSERT_EQUAL(ann("{\"global\":{\"send_messages\":true},\"streams\":7}"), MI_USER_CHANGED);
    resolve();
    check("a", "b", "");
}

static void users_are_bounded(void)
{
    begin();
    record_of("a", 1, HOUR_US, true, "null");
    record_of("b", 2, HOUR_US, true, "null");
    const struct iggy_user c = {.id = 3, .created_at = HOUR_US, .username = text("c"), .active = true};
    CU_ASSERT_EQUAL(mi_rights_book_record(book, &c, 0, 0), MI_USER_CHANGED);
    CU_ASSERT_EQUAL(record_of("d", 4, HOUR_US, true, "null"), MI_USER_NO_ROOM);
    CU_ASSERT_TRUE(mi_span_equal(mi_rights_user_name(mi_rights_book_oldest(book)), mi_span_of("c")));
    mi_rights_book_drop(book, mi_rights_book_oldest(book));
    CU_ASSERT_EQUAL(record_of("d", 4, HOUR_US, true, "null"), MI_USER_CHANGED);
    CU_ASSERT_EQUAL(mi_rights_book_count(book), 3);
}

static void wanted(void *arg, uint32_t id)
{
    *(uint32_t *)arg = *(uint32_t *)arg * 100 + id;
}

static void only_topic_rights_need_details(void)
{
    begin();
    uint32_t ids = 0;
    ann("{\"streams\":{\"5\":{\"send_messages\":true,\"topics\":{\"1\":{\"read_topic\":false}}},\"8\":{"
        "\"topics\":{\"1\":{\"read_topic\":true},\"2\":{\"send_messages\":true}}}}}");
    mi_rights_book_wanted(book, wanted, &ids);
    CU_ASSERT_EQUAL(ids, 808);
}

static void tables_of_many_grants(void)
{
    enum { N = 3000 };
    static char names[N][2][16];
    struct mi_named_grant *g = calloc(N, sizeof *g);
    CU_ASSERT_PTR_NOT_NULL_FATAL(g);
    for (int i = 0; i < N; i++) {
        snprintf(names[i][0], 16, "s%d", i / 3);
        snprintf(names[i][1], 16, "t%d", i);
        g[i] = (struct mi_named_grant){mi_span_of(names[i][0]), mi_span_of(i % 3 ? names[i][1] : ""),
                                       i % 2 ? MI_RIGHT_SEND : MI_RIGHT_POLL};
    }
    struct mi_iggy_rights *r = mi_rights_new(0, g, N);
    for (int i = 0; i < N; i++) {
        const struct mi_named_grant *whole = &g[i / 3 * 3];
        for (int right = 1; right <= 2; right++)
            CU_ASSERT_EQUAL(mi_rights_allow(r, g[i].stream, mi_span_of(names[i][1]), (enum mi_right)right),
                            ((g[i].rights | whole->rights) & (unsigned)right) != 0);
        CU_ASSERT_FALSE(mi_rights_allow(r, mi_span_of(names[i][1]), g[i].stream, MI_RIGHT_SEND));
    }
    mi_rights_free(r);
    free(g);
}

static void it_ends(void)
{
    mi_rights_book_free(book);
    mi_rights_free(rights);
}

static CU_TestInfo tests[] = {
    {"global_rights_need_no_names", global_rights_need_no_names},
    {"a_stream_by_its_id", a_stream_by_its_id},
    {"a_right_does_not_move_with_a_reused_id", a_right_does_not_move_with_a_reused_id},
    {"an_id_that_meant_nothing_opens_nothing", an_id_that_meant_nothing_opens_nothing},
    {"names_follow_a_renamed_stream", names_follow_a_renamed_stream},
    {"a_topic_by_its_ids", a_topic_by_its_ids},
    {"accounts_that_are_made_again_or_switched_off", accounts_that_are_made_again_or_switched_off},
    {"unreadable_permissions_give_nothing", unreadable_permissions_give_nothing},
    {"users_are_bounded", users_are_bounded},
    {"only_topic_rights_need_details", only_topic_rights_need_details},
    {"tables_of_many_grants", tables_of_many_grants},
    {"it_ends", it_ends},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("rights", tests)

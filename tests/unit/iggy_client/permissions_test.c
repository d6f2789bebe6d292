/* permissions: the JSON entry by entry, and the table of section 6: which right lets send, which poll. */
#include "iggy_client.h"

#include "support/suite.h"

#include <stdio.h>
#include <string.h>

static char got[2000];

static void note(void *arg, const struct iggy_grant *g)
{
    (void)arg;
    size_t n = strlen(got);
    if (g->scope == IGGY_SCOPE_ALL)
        snprintf(got + n, sizeof got - n, "all:%x ", g->rights);
    else if (g->scope == IGGY_SCOPE_STREAM)
        snprintf(got + n, sizeof got - n, "%u:%x ", g->stream_id, g->rights);
    else
        snprintf(got + n, sizeof got - n, "%u/%u:%x ", g->stream_id, g->topic_id, g->rights);
}

static bool read_text(const char *text)
{
    got[0] = '\0';
    return iggy_permissions_read((struct iggy_span){(const uint8_t *)text, strlen(text)}, note, NULL);
}

static void entries_of_all_scopes(void)
{
    CU_ASSERT_TRUE(read_text(
        "{\"global\":{\"manage_servers\":false,\"read_servers\":true,\"manage_users\":false,\"read_users\":"
        "false,\"manage_streams\":false,\"read_streams\":true,\"manage_topics\":false,\"read_topics\":false,"
        "\"poll_messages\":false,\"send_messages\":true},\"streams\":{\"0\":{\"manage_stream\":false,"
        "\"read_stream\":true,\"manage_topics\":false,\"read_topics\":false,\"poll_messages\":false,\"send_"
        "messages\":false,\"topics\":{\"3\":{\"manage_topic\":true,\"read_topic\":false,\"poll_messages\":"
        "true,\"send_messages\":false}}},\"4294967295\":{\"poll_messages\":true,\"topics\":null}}}"));
    CU_ASSERT_STRING_EQUAL(got, "all:222 0/3:140 0:20 4294967295:100 ");
}

static void none_is_none(void)
{
    CU_ASSERT_TRUE(read_text("null"));
    CU_ASSERT_STRING_EQUAL(got, "");
    CU_ASSERT_TRUE(read_text("{\"global\":{},\"streams\":null}"));
    CU_ASSERT_STRING_EQUAL(got, "all:0 ");
    /* Words that a newer server may add, and a word of another scope. */
    CU_ASSERT_TRUE(read_text("{\"global\":{\"fly\":true,\"send_message\":true},\"streams\":{\"1\":{\"read_"
                             "streams\":true,\"read_stream\":false}},\"more\":[{}]}"));
    CU_ASSERT_STRING_EQUAL(got, "all:0 1:0 ");
}

static void what_is_no_permission_is_refused(void)
{
    static const char *const bad[] = {
        "",
        "[]",
        "true",
        "{\"global\":{\"send_messages\":1}}",
        "{\"global\":{\"send_messages\":true}",
        "{\"global\":null}",
        "{\"streams\":{\"a\":{}}}",
        "{\"streams\":{\"\":{}}}",
        "{\"streams\":{\"4294967296\":{}}}",
        "{\"streams\":{\"-1\":{}}}",
        "{\"streams\":{\"1\":{\"topics\":{\"1x\":{}}}}}",
        "{\"streams\":[]}",
        "null null",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (read_text(bad[i]))
            printf("taken: %s\n", bad[i]);
        CU_ASSERT_FALSE(read_text(bad[i]));
    }
}

/* Every right alone, in every scope: the rows of docs/iggy-compatibility.md, which the contract suite checks
 * against servers. */
static void the_table(void)
{
    static const struct {
        uint32_t right;
        const char *all, *stream, *topic; /* s: may send, p: may poll */
    } rows[] = {
        {IGGY_SEND_MESSAGES, "s", "s", "s"},
        {IGGY_POLL_MESSAGES, "p", "p", "p"},
        {IGGY_READ_TOPIC, "p", "p", "p"},
        {IGGY_MANAGE_TOPIC, "sp", "sp", "sp"},
        {IGGY_READ_STREAM, "p", "p", ""},
        {IGGY_MANAGE_STREAM, "sp", "sp", ""},
        {IGGY_READ_SERVERS, "", "", ""},
        {IGGY_MANAGE_SERVERS, "", "", ""},
        {IGGY_READ_USERS, "", "", ""},
        {IGGY_MANAGE_USERS, "", "", ""},
        {0, "", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *want[] = {rows[i].all, rows[i].stream, rows[i].topic};
        for (int scope = 0; scope < 3; scope++) {
            CU_ASSERT_EQUAL(iggy_rights_send((enum iggy_scope)scope, rows[i].right),
                            strchr(want[scope], 's') != NULL);
            CU_ASSERT_EQUAL(iggy_rights_poll((enum iggy_scope)scope, rows[i].right),
                            strchr(want[scope], 'p') != NULL);
        }
    }
}

static CU_TestInfo tests[] = {
    {"entries_of_all_scopes", entries_of_all_scopes},
    {"none_is_none", none_is_none},
    {"what_is_no_permission_is_refused", what_is_no_permission_is_refused},
    {"the_table", the_table},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("permissions", tests)

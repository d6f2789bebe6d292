/*
 * disk: the journal's disk breaks under a running broker (preload/faulty_disk.c) and gets well again: what is
 * acknowledged arrives, what is refused does not, and the log says which.
 */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG(journal)                                                                        \
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'},"            \
    "'journal':{'directory':'DIR/journal'" journal "},'status':{'listen':'STATUS'},'routes':[" \
    "{'name':'strict','filter':'strict','direction':'out','stream':'s','topic':'strict'},"     \
    "{'name':'lax','filter':'lax','direction':'out','stream':'s','topic':'lax',"               \
    " 'when_journal_full':'deliver_without_copy'}]}"

enum { RECOVER_MS = 10000 };

static struct rig *broker_with_iggy_away(const char *config)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&r->broker, config, r->iggy.port) && start_on_faulty_disk(r));
    return r;
}

static int say(struct rig *r, const char *topic, const char *text)
{
    struct mi_mqtt *c = rig_client(r, NULL, MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    int answer = mi_mqtt_say(c, topic, text, 1);
    mi_mqtt_close(c);
    return answer;
}

static bool refused(int answer)
{
    return answer < 0 || answer >= 0x80;
}

/* Says it until it is acknowledged. */
static void say_when_well(struct rig *r, const char *topic, const char *text)
{
    int answer = -1;
    for (uint64_t end = mi_monotonic_ms() + RECOVER_MS; refused(answer) && mi_monotonic_ms() < end;
         mi_sleep_ms(50))
        answer = say(r, topic, text);
    CU_ASSERT_FALSE(refused(answer));
}

/* 5 messages before, some refused while it is broken, 5 after: exactly the 10 arrive, and with kill -9 what
 * was refused does not come back at the next start either. */
static void breaks_and_recovers(const char *config, const char *orders, const char *log_line, bool kill)
{
    struct rig *r = broker_with_iggy_away(config);
    unsigned kept = 5;
    say_numbers(r, "strict", "n", 0, kept);
    break_disk(r, orders);
    if (strncmp(orders, "sync", 4) == 0 && !strstr(config, "always")) {
        CU_ASSERT_FALSE(refused(say(r, "strict", "n5"))); /* acknowledged before the interval's sync failed */
        CU_ASSERT_TRUE(mi_broker_says(&r->broker, "could not be synced", 5000));
        kept++;
    }
    for (int i = 0; i < 3; i++)
        CU_ASSERT_TRUE(refused(say(r, "strict", "never")));
    CU_ASSERT_FALSE(refused(say(r, "lax", "without copy")));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, log_line, 2000));
    CU_ASSERT_EQUAL(account_of(r, "strict").rejected, 3);
    CU_ASSERT_EQUAL(account_of(r, "lax").dropped, 1);
    int status = 0;
    free(mi_http_get(r->broker.status_port, "/ready", &status));
    CU_ASSERT_EQUAL(status, 503);
    break_disk(r, NULL);
    char next[16];
    snprintf(next, sizeof next, "n%u", kept);
    say_when_well(r, "strict", next);
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "the disk can be written again", 2000));
    say_numbers(r, "strict", "n", kept + 1, 4);
    if (kill) {
        mi_broker_kill(&r->broker);
        CU_ASSERT_TRUE_FATAL(mi_broker_start(&r->broker));
    }
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&r->iggy));
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "strict", kept + 5, 30000));
    assert_numbers(r, "n", 0, kept + 5);
    CU_ASSERT_EQUAL(account_settled(r, "strict", kept + 5, 5000).committed, kept + 5);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
}

static void a_full_disk_refuses_and_recovers(void)
{
    breaks_and_recovers(CONFIG(""), "write ENOSPC\n", "free space on its file system", false);
}

static void a_write_that_stops_in_the_middle_leaves_nothing(void)
{
    breaks_and_recovers(CONFIG(""), "half ENOSPC\n", "No space left on device", true);
}

static void a_read_only_remount_refuses_and_recovers(void)
{
    breaks_and_recovers(CONFIG(""), "write EROFS\nsync EROFS\ncreate EROFS\nspace EROFS\n", "read-only",
                        false);
}

static void a_failed_sync_refuses_what_comes_then(void)
{
    breaks_and_recovers(CONFIG(""), "sync EIO\ncreate EIO\nspace EIO\n", "check the disk and the kernel log",
                        false);
}

static void with_sync_always_a_failed_sync_is_no_puback(void)
{
    breaks_and_recovers(CONFIG(",'sync':'always'"), "sync EIO\n", "sync failed: Input/output error", true);
}

/* No new segment can be made: the current one is filled up, then it refuses. */
static void without_room_for_a_new_segment_the_current_one_is_filled(void)
{
    static char payload[20000];
    struct rig *r = broker_with_iggy_away(CONFIG(",'max_size':'4MB','keep':'0B'"));
    struct mi_mqtt *c = rig_client(r, "c", MQTT_PROTOCOL_V5);
    break_disk(r, "create ENOSPC\nspace ENOSPC\n");
    unsigned kept = 0;
    while (kept < 500 && mi_mqtt_publish(c, "strict", payload, sizeof payload, 1, false, NULL) < 0x80)
        kept++;
    CU_ASSERT_TRUE(kept > 20 && kept < 180); /* fewer than 4 MB hold */
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "No space left on device", 2000));
    break_disk(r, NULL);
    int answer = 0x97;
    for (uint64_t end = mi_monotonic_ms() + RECOVER_MS; answer >= 0x80 && mi_monotonic_ms() < end;
         mi_sleep_ms(50))
        answer = mi_mqtt_publish(c, "strict", payload, sizeof payload, 1, false, NULL);
    CU_ASSERT_TRUE(answer < 0x80);
    mi_mqtt_close(c);
    CU_ASSERT_TRUE_FATAL(mi_iggy_server_start(&r->iggy));
    CU_ASSERT_TRUE(mi_readback_wait(r->readback, "s", "strict", kept + 1, 30000));
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
}

static void does_not_start(const char *orders, const char *word)
{
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&r->broker, CONFIG(""), r->iggy.port));
    break_disk(r, orders);
    CU_ASSERT_TRUE(start_and_exit_on_faulty_disk(r));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, word, 0));
    CU_ASSERT_TRUE(mi_broker_says(&r->broker, "/journal", 0));
    break_disk(r, NULL);
    CU_ASSERT_TRUE(mi_broker_start(&r->broker)); /* the failed start left nothing in the way */
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
}

static void a_start_on_a_broken_disk_says_why(void)
{
    does_not_start("write EROFS\nsync EROFS\ncreate EROFS\nspace EROFS\n", "Read-only file system");
    does_not_start("write ENOSPC\nspace ENOSPC\n", "No space left on device");
    does_not_start("write EIO\nsync EIO\n", "Input/output error");
}

static CU_TestInfo tests[] = {
    {"a full disk refuses and recovers", a_full_disk_refuses_and_recovers},
    {"a write that stops in the middle leaves nothing", a_write_that_stops_in_the_middle_leaves_nothing},
    {"a read-only remount refuses and recovers", a_read_only_remount_refuses_and_recovers},
    {"a failed sync refuses what comes then", a_failed_sync_refuses_what_comes_then},
    {"with sync always a failed sync is no PUBACK", with_sync_always_a_failed_sync_is_no_puback},
    {"without room for a new segment the current one is filled",
     without_room_for_a_new_segment_the_current_one_is_filled},
    {"a start on a broken disk says why", a_start_on_a_broken_disk_says_why},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("disk", tests)

/* mirror: few requests at a time, and failures that are in nobody's way. */
#include "in/mirror.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>

/* ---- the client ---- */

enum { MOST = 100 };

static struct {
    iggy_done done;
    void *arg;
    uint64_t offset;
    char consumer[32];
} asked[MOST];
static size_t asked_count, cancelled;
static bool no_memory;

iggy_request iggy_store_offset(struct iggy_client *client, struct iggy_span stream, struct iggy_span topic,
                               uint32_t partition_id, const char *consumer, uint64_t offset, iggy_done done,
                               void *arg)
{
    (void)client;
    CU_ASSERT_TRUE(stream.len == 1 && topic.len == 1 && partition_id == 3);
    if (no_memory)
        return 0;
    asked[asked_count].done = done;
    asked[asked_count].arg = arg;
    asked[asked_count].offset = offset;
    snprintf(asked[asked_count].consumer, sizeof asked[0].consumer, "%s", consumer);
    return ++asked_count;
}

static void answer(size_t i, enum iggy_kind kind, int status)
{
    struct iggy_result result = {.kind = kind, .http_status = status, .text = "no"};
    asked[i].done(asked[i].arg, &result);
}

void iggy_client_cancel(struct iggy_client *client, iggy_request request)
{
    (void)client;
    cancelled++;
    answer(request - 1, IGGY_CANCELLED, 0);
}

static uint64_t now;
static size_t lines;

static uint64_t now_ns(void *context)
{
    (void)context;
    return now;
}

static void write_line(void *context, enum mi_log_level level, const char *line)
{
    (void)context;
    CU_ASSERT_EQUAL(level, MI_LOG_INFO);
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "mqtt-01234567"));
    lines++;
}

static const struct mi_clock clock_here = {now_ns, now_ns, NULL, NULL};
static const struct mi_log log_here = {write_line, NULL};

static struct mi_mirror *start(void)
{
    asked_count = cancelled = lines = 0;
    now = MI_NS_PER_S;
    return mi_mirror_new(NULL, "0123456789abcdef0123456789abcdef", &clock_here, &log_here);
}

static bool store(struct mi_mirror *m, uint64_t offset)
{
    uint64_t due;
    if (!mi_mirror_may(m, now, &due)) {
        CU_ASSERT_TRUE(due > now);
        return false;
    }
    mi_mirror_store(m, mi_span_of("s"), mi_span_of("t"), 3, offset, now);
    return true;
}

static void two_requests_at_a_time_and_not_too_fast(void)
{
    struct mi_mirror *m = start();
    CU_ASSERT_TRUE(store(m, 5));
    CU_ASSERT_STRING_EQUAL(asked[0].consumer, "mqtt-01234567");
    CU_ASSERT_EQUAL(asked[0].offset, 5);
    CU_ASSERT_FALSE(store(m, 6)); /* so soon */
    now += 20 * MI_NS_PER_MS;
    CU_ASSERT_TRUE(store(m, 6));
    now += 20 * MI_NS_PER_MS;
    CU_ASSERT_FALSE(store(m, 7)); /* two are under way */
    answer(0, IGGY_OK, 204);
    CU_ASSERT_TRUE(store(m, 7));
    CU_ASSERT_EQUAL(asked_count, 3);
    mi_mirror_free(m);
    CU_ASSERT_EQUAL(cancelled, 2);
    CU_ASSERT_EQUAL(lines, 0);
}

static void failures_pause_it_and_are_said_once(void)
{
    struct mi_mirror *m = start();
    CU_ASSERT_TRUE(store(m, 5));
    answer(0, IGGY_HTTP, 400); /* above the tail, after a loss */
    now += 500 * MI_NS_PER_MS;
    CU_ASSERT_FALSE(store(m, 6));
    now += MI_NS_PER_S;
    CU_ASSERT_TRUE(store(m, 6));
    answer(1, IGGY_HTTP, 403);
    now += 30 * MI_NS_PER_S;
    CU_ASSERT_FALSE(store(m, 7));
    now += 31 * MI_NS_PER_S;
    CU_ASSERT_TRUE(store(m, 7));
    answer(2, IGGY_CONNECT, 0);
    CU_ASSERT_EQUAL(lines, 1);
    now += 3600 * MI_NS_PER_S;
    CU_ASSERT_TRUE(store(m, 8));
    answer(3, IGGY_HTTP, 403);
    CU_ASSERT_EQUAL(lines, 2);
    mi_mirror_free(m);
}

static void without_memory_nothing_happens(void)
{
    struct mi_mirror *m = start();
    no_memory = true;
    for (uint64_t i = 0; i < 5; i++, now += MI_NS_PER_S)
        CU_ASSERT_TRUE(store(m, i));
    no_memory = false;
    CU_ASSERT_TRUE(store(m, 9));
    CU_ASSERT_EQUAL(asked_count, 1);
    mi_mirror_free(m);
    CU_ASSERT_EQUAL(cancelled, 1);
}

static CU_TestInfo tests[] = {
    {"two requests at a time and not too fast", two_requests_at_a_time_and_not_too_fast},
    {"failures pause it and are said once", failures_pause_it_and_are_said_once},
    {"without memory nothing happens", without_memory_nothing_happens},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("mirror", tests)

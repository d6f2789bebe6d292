/* cursor: comes back as it was, only for its own filter and key, and no bit of it may change. */
#include "history/cursor.h"

#include "base/clock.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t key[MI_CURSOR_KEY] = "0123456789abcdef0123456789abcde";
static const uint8_t other_key[MI_CURSOR_KEY] = "0123456789abcdef0123456789abcdf";

static struct mi_cursor forward(void)
{
    return (struct mi_cursor){.kind = MI_CURSOR_FORWARD,
                              .since_us = 1795953600000000,
                              .tag = 0xfedcba9876543210,
                              .created_at = 1785510000000000,
                              .partition = 999999,
                              .next = 123456789012,
                              .end = UINT64_MAX - 1};
}

static struct mi_cursor backward(uint32_t legs)
{
    struct mi_cursor c = {.kind = MI_CURSOR_BACKWARD, .remaining = 77, .tag = UINT64_MAX, .legs = legs};
    for (uint32_t i = 0; i < legs; i++)
        c.position[i] = i % 3 ? UINT64_MAX - i : i;
    return c;
}

/* As a NUL-terminated text; "" when it cannot be written. */
static const char *text_of(const struct mi_cursor *c, const char *filter)
{
    static struct mi_buf text;
    if (!text.max)
        mi_buf_init(&text, MI_CURSOR_TEXT + 1);
    mi_buf_reset(&text);
    if (!mi_cursor_write(key, mi_span_of(filter), c, &text) || !mi_buf_add_byte(&text, 0))
        return "";
    return (const char *)text.data;
}

static bool read_back(const char *text, const char *filter, struct mi_cursor *out)
{
    return mi_cursor_read(key, mi_span_of(filter), mi_span_of(text), out);
}

static void it_comes_back_as_it_was(void)
{
    struct mi_cursor in = forward(), out;
    CU_ASSERT_TRUE(read_back(text_of(&in, "a/#"), "a/#", &out));
    CU_ASSERT_TRUE(out.kind == in.kind && out.since_us == in.since_us && out.tag == in.tag &&
                   out.created_at == in.created_at && out.partition == in.partition && out.next == in.next &&
                   out.end == in.end);
    in.next = MI_CURSOR_UNPLACED;
    CU_ASSERT_TRUE(read_back(text_of(&in, "a/#"), "a/#", &out) && out.next == MI_CURSOR_UNPLACED);
    for (uint32_t legs = 0; legs <= MI_CURSOR_LEGS; legs++) {
        in = backward(legs);
        CU_ASSERT_TRUE(read_back(text_of(&in, "a/#"), "a/#", &out));
        CU_ASSERT_TRUE(out.kind == in.kind && out.remaining == 77 && out.tag == in.tag && out.legs == legs &&
                       memcmp(out.position, in.position, legs * sizeof *in.position) == 0);
    }
}

static void it_is_one_level_of_a_topic(void)
{
    struct mi_cursor c = backward(MI_CURSOR_LEGS);
    const char *text = text_of(&c, "a/#");
    CU_ASSERT_TRUE(strlen(text) > 10 && strlen(text) <= MI_CURSOR_TEXT);
    CU_ASSERT_PTR_NULL(strpbrk(text, "/+#$\"\\ "));
    CU_ASSERT_EQUAL(strncmp(text, "c_", 2), 0);
}

static void it_is_for_its_filter_and_its_broker(void)
{
    struct mi_cursor c = forward(), out;
    const char *text = text_of(&c, "a/#");
    CU_ASSERT_FALSE(read_back(text, "a/b", &out));
    CU_ASSERT_FALSE(read_back(text, "", &out));
    CU_ASSERT_FALSE(mi_cursor_read(other_key, mi_span_of("a/#"), mi_span_of(text), &out));
}

static void no_bit_may_change(void)
{
    struct mi_cursor in = forward(), out;
    char text[MI_CURSOR_TEXT + 1];
    snprintf(text, sizeof text, "%s", text_of(&in, "a/#"));
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        char was = text[i];
        for (int c = 1; c < 128; c++) {
            text[i] = (char)c;
            if (c != was)
                CU_ASSERT_FALSE(read_back(text, "a/#", &out));
        }
        text[i] = '\0';
        CU_ASSERT_FALSE(read_back(text, "a/#", &out)); /* cut */
        text[i] = was;
    }
    CU_ASSERT_TRUE(read_back(text, "a/#", &out));
    text[len] = 'A';
    text[len + 1] = '\0';
    CU_ASSERT_FALSE(read_back(text, "a/#", &out));
    CU_ASSERT_FALSE(read_back("c_", "a/#", &out));
    CU_ASSERT_FALSE(read_back("", "a/#", &out));
}

static void the_key_survives_a_restart(void)
{
    char dir[] = "/tmp/mi-cursor-XXXXXX", path[64];
    uint8_t first[MI_CURSOR_KEY], again[MI_CURSOR_KEY];
    struct stat st;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/history.key", dir);
    CU_ASSERT_TRUE(mi_cursor_key_load(dir, &mi_clock_system, first));
    CU_ASSERT_TRUE(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size == MI_CURSOR_KEY);
    CU_ASSERT_TRUE(mi_cursor_key_load(dir, &mi_clock_system, again));
    CU_ASSERT_EQUAL(memcmp(first, again, sizeof first), 0);
    CU_ASSERT_EQUAL(truncate(path, 5), 0); /* a torn one is drawn anew */
    CU_ASSERT_TRUE(mi_cursor_key_load(dir, &mi_clock_system, again));
    CU_ASSERT_NOT_EQUAL(memcmp(first, again, sizeof first), 0);
    unlink(path);
    rmdir(dir);
    CU_ASSERT_FALSE(mi_cursor_key_load(dir, &mi_clock_system, again));
}

static CU_TestInfo tests[] = {
    {"it comes back as it was", it_comes_back_as_it_was},
    {"it is one level of a topic", it_is_one_level_of_a_topic},
    {"it is for its filter and its broker", it_is_for_its_filter_and_its_broker},
    {"no bit may change", no_bit_may_change},
    {"the key survives a restart", the_key_survives_a_restart},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("history_cursor", tests)

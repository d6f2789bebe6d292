/* `mosquitto_iggy journal stat|dump|verify`. */
#include "letters.h"

#include "message/envelope.h"
#include "support/process.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void append(struct mi_journal *j, const char *topic, const char *payload)
{
    struct mi_envelope e;
    mi_envelope_init(&e);
    const struct mi_message m = {.topic = mi_span_of(topic), .payload = mi_span_of(payload), .qos = 1};
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m));
    struct mi_record r = {.qos = 1,
                          .route = 0xabcd,
                          .time_us = 1764417600000000,
                          .stream = mi_span_of("s"),
                          .topic = mi_span_of("t"),
                          .headers = mi_buf_span(&e.headers),
                          .prefix = mi_buf_span(&e.prefix),
                          .payload = m.payload};
    CU_ASSERT_EQUAL(mi_journal_append(j, &r, 1), MI_APPEND_OK);
    mi_envelope_fini(&e);
}

static struct mi_journal *with_messages(int count)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    struct mi_journal *j = letters_journal(64 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(j);
    for (int i = 1; i <= count; i++) {
        char payload[20];
        snprintf(payload, sizeof payload, "value %d", i);
        append(j, "a/b", payload);
    }
    return j;
}

static double number(cJSON *root, const char *key)
{
    return cJSON_GetNumberValue(cJSON_GetObjectItem(root, key));
}

static void check_stat(int messages, long holder)
{
    CU_ASSERT_EQUAL(letters_run("journal stat %s --json", letters_dir), 0);
    cJSON *root = cJSON_Parse(letters_out);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    CU_ASSERT_EQUAL(number(root, "messages"), messages);
    CU_ASSERT_EQUAL(number(root, "next_sequence"), messages + 1);
    CU_ASSERT_EQUAL(number(root, "holder_pid"), holder);
    CU_ASSERT_EQUAL(number(root, "dead_letters"), 1);
    CU_ASSERT_EQUAL(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(root, "identity"))), 32);
    CU_ASSERT_TRUE(cJSON_IsNull(cJSON_GetObjectItem(root, "waiting")));
    cJSON_Delete(root);
}

static void stat_counts_on_running_and_stopped(void)
{
    char wanted[60];
    struct mi_journal *j = with_messages(1000); /* some sealed segments, one open */
    mi_journal_disk_step(j);
    CU_ASSERT_TRUE(letters_file(1, MI_REASON_REFUSED, "x", "y"));
    check_stat(1000, getpid());
    CU_ASSERT_EQUAL(letters_run("journal stat %s", letters_dir), 0);
    snprintf(wanted, sizeof wanted, "in use by     process %d\n", (int)getpid());
    CU_ASSERT_TRUE(letters_says(letters_out, wanted));
    CU_ASSERT_TRUE(letters_says(letters_out, "messages      1000, numbers 1 to 1000\n"));
    CU_ASSERT_TRUE(letters_says(letters_out, "dead letters  1 in the file"));
    mi_journal_close(j);
    check_stat(1000, 0);
    CU_ASSERT_TRUE(letters_settled_below(901));
    CU_ASSERT_EQUAL(letters_run("journal stat %s", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "waiting       100 not settled yet, all below 901 are\n"));
    letters_remove();
}

static void dump_prints_a_line_per_message(void)
{
    mi_journal_close(with_messages(20));
    CU_ASSERT_EQUAL(letters_run("journal dump %s --from 3 --to 4", letters_dir), 0);
    CU_ASSERT_STRING_EQUAL(letters_out,
                           "3 2025-11-29T12:00:00.000000Z qos 1 route-0000abcd s/t a/b 7 bytes\n"
                           "4 2025-11-29T12:00:00.000000Z qos 1 route-0000abcd s/t a/b 7 bytes\n");
    CU_ASSERT_EQUAL(letters_run("journal dump %s --from 19 --limit 5", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, "20 2025"));
    CU_ASSERT_EQUAL(letters_run("journal dump %s --limit 1", letters_dir), 0);
    CU_ASSERT_PTR_NULL(strstr(letters_out, "\n2 "));
    letters_remove();
}

/* The path of the first segment that holds messages. */
static const char *segment(void)
{
    static char path[400];
    char lowest[64] = "~";
    DIR *d = opendir(letters_dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strstr(e->d_name, ".seg") && strcmp(e->d_name, lowest) < 0)
            snprintf(lowest, sizeof lowest, "%.60s", e->d_name);
    closedir(d);
    snprintf(path, sizeof path, "%s/%s", letters_dir, lowest);
    return path;
}

static void verify_finds_a_flipped_bit(void)
{
    mi_journal_close(with_messages(50));
    CU_ASSERT_EQUAL(letters_run("journal verify %s", letters_dir), 0);
    CU_ASSERT_TRUE(letters_says(letters_out, ": good: "));
    CU_ASSERT_TRUE(letters_says(letters_out, " 50 messages"));
    int fd = open(segment(), O_RDWR);
    CU_ASSERT_EQUAL(pwrite(fd, "X", 1, 1000), 1);
    close(fd);
    CU_ASSERT_EQUAL(letters_run("journal verify %s", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_out, ": damaged: "));
    CU_ASSERT_TRUE(letters_says(letters_out, " 49 messages, 1 lost"));
    CU_ASSERT_TRUE(letters_says(letters_err, "damaged, "));
    CU_ASSERT_EQUAL(letters_run("journal dump %s", letters_dir), 1);
    letters_remove();
}

static void bad_arguments_and_directories(void)
{
    CU_ASSERT_TRUE_FATAL(letters_make());
    CU_ASSERT_EQUAL(letters_run("journal"), 2);
    CU_ASSERT_EQUAL(letters_run("journal stat"), 2);
    CU_ASSERT_EQUAL(letters_run("journal eat %s", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("journal stat %s --from 3", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("journal dump %s --json", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("journal dump %s --from", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("journal dump %s --from x", letters_dir), 2);
    CU_ASSERT_EQUAL(letters_run("journal stat %s/gone", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "No such file or directory"));
    mi_write_file(letters_path("file"), "x");
    CU_ASSERT_EQUAL(letters_run("journal verify %s", letters_path("file")), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "is no directory"));
    mkdir(letters_path("foreign"), 0700);
    CU_ASSERT_EQUAL(letters_run("journal stat %s", letters_path("foreign")), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "holds no journal"));
    mi_write_file(letters_path("foreign/identity"), "mosquitto-iggy journal 9\n");
    CU_ASSERT_EQUAL(letters_run("journal stat %s/foreign", letters_dir), 1);
    CU_ASSERT_TRUE(letters_says(letters_err, "has format 9"));
    letters_remove();
}

static CU_TestInfo tests[] = {
    {"stat counts on running and stopped", stat_counts_on_running_and_stopped},
    {"dump prints a line per message", dump_prints_a_line_per_message},
    {"verify finds a flipped bit", verify_finds_a_flipped_bit},
    {"bad arguments and directories", bad_arguments_and_directories},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("journal command", tests)

/* broker_db: the subscriptions of a mosquitto.db, and files that are none. */
#include "collect.h"
#include "support/suite.h"

#include "config/broker_db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mi_buf db, seen;
static struct mi_error err;

static void begin(uint32_t version)
{
    if (!db.max) {
        mi_buf_init(&db, 64u << 20);
        mi_buf_init(&seen, 1u << 20);
    }
    mi_buf_reset(&db);
    mi_buf_add(&db, "\0\xb5\0mosquitto db\1\2\3\4", 19);
    mi_buf_add(&db, (uint8_t[]){0, 0, 0, (uint8_t)version}, 4);
}

static void chunk(uint32_t kind, uint32_t len)
{
    uint8_t header[8];
    mi_put_u32be(header, kind);
    mi_put_u32be(header + 4, len);
    mi_buf_add(&db, header, 8);
}

static void other(uint32_t kind, uint32_t len)
{
    chunk(kind, len);
    memset(mi_buf_reserve(&db, len), 5, len);
    db.len += len;
}

static void subscription(const char *client, const char *filter)
{
    uint8_t fixed[12] = {0};
    chunk(5, 12 + (uint32_t)strlen(client) + (uint32_t)strlen(filter));
    mi_put_u16be(fixed + 4, (uint16_t)strlen(client));
    mi_put_u16be(fixed + 6, (uint16_t)strlen(filter));
    mi_buf_add(&db, fixed, 12);
    mi_buf_add_text(&db, client);
    mi_buf_add_text(&db, filter);
}

static void each(void *context, struct mi_span client, struct mi_span filter)
{
    CU_ASSERT_PTR_EQUAL(context, &seen);
    mi_buf_addf(&seen, "%.*s=%.*s ", (int)client.len, (const char *)client.data, (int)filter.len,
                (const char *)filter.data);
}

/* The first len bytes as a file; what was seen, or NULL when it was refused. */
static const char *read_part(size_t len)
{
    FILE *f = fopen(path_of("mosquitto.db"), "wb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    CU_ASSERT_EQUAL(fwrite(db.data, 1, len, f), len);
    fclose(f);
    mi_buf_reset(&seen);
    int result = mi_broker_db_subscriptions(path_of("mosquitto.db"), each, &seen, &err);
    mi_buf_add_byte(&seen, 0);
    return result == 0 ? (const char *)seen.data : NULL;
}

static const char *read_all(void)
{
    return read_part(db.len);
}

static void subscriptions_are_found_among_the_rest(void)
{
    for (uint32_t version = 5; version <= 6; version++) {
        begin(version);
        other(1, 16);
        subscription("ann", "a/#");
        other(2, 3000000); /* a large message */
        other(9, 0);
        subscription("bob", "/x y/+");
        other(6, 20);
        subscription("", "");
        const char *found = read_all();
        CU_ASSERT_PTR_NOT_NULL_FATAL(found);
        CU_ASSERT_STRING_EQUAL(found, "ann=a/# bob=/x y/+ = ");
    }
    begin(6);
    CU_ASSERT_STRING_EQUAL(read_all(), "");
}

static void what_ends_too_early_is_refused(void)
{
    begin(6);
    subscription("ann", "a/#");
    other(2, 300000);
    size_t whole = db.len;
    for (size_t len = 0; len < whole; len += len < 70 ? 1 : 9973)
        CU_ASSERT_EQUAL(read_part(len) != NULL, len == 23 || len == 23 + 8 + 12 + 3 + 3);
    CU_ASSERT_PTR_NULL(read_part(whole - 1));
    CU_ASSERT_PTR_NOT_NULL(read_part(whole));
}

static void other_files_are_refused(void)
{
    begin(4);
    CU_ASSERT_PTR_NULL(read_all());
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "unknown format 4"));
    begin(6);
    db.data[3] = 'M';
    CU_ASSERT_PTR_NULL(read_all());
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no database"));
    CU_ASSERT_EQUAL(mi_broker_db_subscriptions("/nowhere", each, &seen, &err), -1);
    begin(6);
    chunk(5, 11);
    mi_buf_add(&db, "12345678901", 11);
    CU_ASSERT_PTR_NULL(read_all());
    begin(6);
    subscription("ann", "a");
    db.data[23 + 8 + 7] = 2; /* a longer filter than the chunk holds */
    CU_ASSERT_PTR_NULL(read_all());
    begin(6);
    other(5, 400000);
    CU_ASSERT_PTR_NULL(read_all());
}

static CU_TestInfo tests[] = {
    {"subscriptions are found among the rest", subscriptions_are_found_among_the_rest},
    {"what ends too early is refused", what_ends_too_early_is_refused},
    {"other files are refused", other_files_are_refused},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    int result = mi_suite_run("broker database", tests, argc, argv);
    mi_buf_fini(&db);
    mi_buf_fini(&seen);
    return result;
}

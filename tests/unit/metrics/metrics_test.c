/* metrics: the account adds up in every answer, both pages are well formed whatever the routes are called,
 * and any thread may count. */
#include "metrics/metrics.h"
#include "base/limits.h"
#include "support/suite.h"

#include <cjson/cJSON.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a reader of the Prometheus text format 0.0.4 ---- */

struct sample {
    char name[96], route[300], reason[64];
    double value;
};

static struct sample samples[4000];
static size_t sample_count;
static size_t heads; /* HELP lines, each with its TYPE */

/* Reads a label's value up to the closing quote; NULL on an escape that the format does not know. */
static const char *read_label(const char *p, char *to, size_t cap)
{
    size_t n = 0;
    for (; *p && *p != '"' && *p != '\n' && n + 1 < cap; p++) {
        if (*p == '\\') {
            p++;
            if (*p != '\\' && *p != '"' && *p != 'n')
                return NULL;
            to[n++] = *p == 'n' ? '\n' : *p;
        } else {
            to[n++] = *p;
        }
    }
    to[n] = '\0';
    return *p == '"' ? p + 1 : NULL;
}

static bool read_sample(const char *line, struct sample *s)
{
    memset(s, 0, sizeof *s);
    size_t name = strcspn(line, "{ ");
    memcpy(s->name, line, name < sizeof s->name - 1 ? name : sizeof s->name - 1);
    const char *p = line + name;
    if (*p == '{') {
        while (*p != '}') {
            p++;
            if (strncmp(p, "route=\"", 7) == 0)
                p = read_label(p + 7, s->route, sizeof s->route);
            else if (strncmp(p, "reason=\"", 8) == 0)
                p = read_label(p + 8, s->reason, sizeof s->reason);
            else
                return false;
            if (!p || (*p != ',' && *p != '}'))
                return false;
        }
        p++;
    }
    char *end;
    s->value = strtod(p, &end);
    return *p == ' ' && end > p + 1 && *end == '\0';
}

static bool is_repeated(const struct sample *s)
{
    for (size_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, s->name) == 0 && strcmp(samples[i].route, s->route) == 0 &&
            strcmp(samples[i].reason, s->reason) == 0)
            return true;
    return false;
}

/* Reads the page into samples; checks format, heads before their samples, families in one piece, no repeated
 * series. */
static void read_page(struct mi_metrics *m)
{
    struct mi_buf page;
    mi_buf_init(&page, 16 << 20);
    CU_ASSERT_TRUE_FATAL(mi_metrics_prometheus(m, &page));
    CU_ASSERT_EQUAL(page.data[page.len - 1], '\n');
    mi_buf_add_byte(&page, 0);
    sample_count = heads = 0;
    char family[96] = "", type_of[96] = "", *rest = NULL;
    for (char *line = strtok_r((char *)page.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char kind[16];
        if (sscanf(line, "# HELP %95s", family) == 1) {
            heads++;
            continue;
        }
        if (sscanf(line, "# TYPE %95s %15s", type_of, kind) == 2) {
            CU_ASSERT_STRING_EQUAL(type_of, family);
            size_t len = strlen(family);
            bool total = len > 6 && strcmp(family + len - 6, "_total") == 0;
            CU_ASSERT_STRING_EQUAL(kind, total ? "counter" : "gauge");
            continue;
        }
        struct sample *s = &samples[sample_count];
        CU_ASSERT_TRUE_FATAL(read_sample(line, s));
        CU_ASSERT_STRING_EQUAL(s->name, family);
        CU_ASSERT_EQUAL(strncmp(s->name, "mosquitto_iggy_", 15), 0);
        CU_ASSERT_FALSE(is_repeated(s));
        CU_ASSERT_TRUE_FATAL(++sample_count < sizeof samples / sizeof *samples);
    }
    mi_buf_fini(&page);
}

static double value_of(const char *name, const char *route, const char *reason)
{
    for (size_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, name) == 0 && strcmp(samples[i].route, route) == 0 &&
            strcmp(samples[i].reason, reason) == 0)
            return samples[i].value;
    return -1;
}

/* ---- pages ---- */

static void every_counter_is_on_the_page_once(void)
{
    struct mi_metrics *m = mi_metrics_new();
    struct mi_route_metrics *r = mi_metrics_route(m, 7, "rooms");
    uint64_t one = 1;
    /* Powers of two: every value differs from every other, and from the derived ones. */
    for (unsigned i = 0; i < MI_C_ROUTE_COUNTERS; i++)
        mi_count(r, i, one << (20 + i));
    for (unsigned i = 0; i < MI_G_COUNTERS; i++)
        mi_metrics_set(m, i, 1000 + i);
    read_page(m);
    for (unsigned i = 0; i < MI_C_ROUTE_COUNTERS; i++) {
        size_t seen = 0;
        for (size_t s = 0; s < sample_count; s++)
            seen += samples[s].value == (double)(one << (20 + i));
        CU_ASSERT_EQUAL(seen, 1);
    }
    for (unsigned i = 0; i < MI_G_COUNTERS; i++) {
        double expected = i == MI_G_OLDEST_PENDING_MS ? (1000 + i) / 1000.0 : 1000 + i;
        size_t seen = 0;
        for (size_t s = 0; s < sample_count; s++)
            seen += samples[s].value == expected;
        CU_ASSERT_EQUAL(seen, 1);
    }
    CU_ASSERT_EQUAL(sample_count, MI_C_ROUTE_COUNTERS + 2 + MI_G_COUNTERS);
    mi_metrics_free(m);
}

static void field_134_the_account_adds_up(void)
{
    struct mi_metrics *m = mi_metrics_new();
    struct mi_route_metrics *r = mi_metrics_route(m, 7, "rooms");
    mi_count(r, MI_C_JOURNALED, 100);
    mi_count(r, MI_C_COMMITTED, 60);
    mi_count(r, MI_C_DEAD_LETTERED, 5);
    mi_count(r, MI_C_DROPPED_DAMAGED, 3);
    mi_count(r, MI_C_DROPPED_QOS0, 10);
    mi_count(r, MI_C_DROPPED_WITHOUT_COPY, 1);
    mi_count(r, MI_C_REJECTED_FULL, 1000);
    CU_ASSERT_EQUAL(mi_route_pending(r), 32);
    CU_ASSERT_EQUAL(mi_route_received(r), 111);
    read_page(m);
    CU_ASSERT_EQUAL(value_of("mosquitto_iggy_received_total", "rooms", ""), 111);
    CU_ASSERT_EQUAL(value_of("mosquitto_iggy_pending", "rooms", ""), 32);
    CU_ASSERT_EQUAL(value_of("mosquitto_iggy_dropped_total", "rooms", "qos0"), 10);
    CU_ASSERT_EQUAL(value_of("mosquitto_iggy_rejected_total", "rooms", "journal_full"), 1000);
    /* The mirror of the journal's count may lag behind: nothing goes below zero, and the sum still holds. */
    mi_count(r, MI_C_COMMITTED, 50);
    CU_ASSERT_EQUAL(mi_route_pending(r), 0);
    CU_ASSERT_EQUAL(mi_route_received(r), 110 + 5 + 3 + 11);
    CU_ASSERT_EQUAL(mi_route_received(NULL) + mi_route_pending(NULL) + mi_counted(NULL, MI_C_COMMITTED), 0);
    mi_count(NULL, MI_C_COMMITTED, 1);
    mi_metrics_free(m);
}

static void field_98_135_odd_names_break_no_page(void)
{
    static const struct {
        const char *name, *shown;
    } cases[] = {
        {"plain", "plain"},
        {"quote\"back\\slash\nline", "quote\"back\\slash\nline"},
        {"r\xc3\xa4ume/\xf0\x9f\x8c\xa1", "r\xc3\xa4ume/\xf0\x9f\x8c\xa1"},
        {"bad\xff\xc3(", "bad?"
                         "?(#00000003"},
        {"cut\xe2\x82", "cut??#00000004"},
        {"control\x01\x7f", "control??#00000005"},
        {"", ""},
        {NULL, "route-00000007"},
        {"surrogate\xed\xa0\x80", "surrogate???#00000008"},
    };
    struct mi_metrics *m = mi_metrics_new();
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mi_count(mi_metrics_route(m, i, cases[i].name), MI_C_COMMITTED, i + 1);
    read_page(m);
    struct mi_buf json;
    mi_buf_init(&json, 1 << 20);
    CU_ASSERT_TRUE(mi_metrics_json(m, &json));
    cJSON *root = cJSON_ParseWithLength((const char *)json.data, json.len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    const cJSON *routes = cJSON_GetObjectItem(root, "routes");
    CU_ASSERT_EQUAL(cJSON_GetArraySize(routes), (int)(sizeof cases / sizeof *cases));
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(value_of("mosquitto_iggy_committed_total", cases[i].shown, ""), i + 1);
        const cJSON *route = cJSON_GetArrayItem(routes, (int)i);
        CU_ASSERT_STRING_EQUAL(cJSON_GetObjectItem(route, "route")->valuestring, cases[i].shown);
        CU_ASSERT_EQUAL(cJSON_GetObjectItem(route, "committed")->valuedouble, i + 1);
    }
    CU_ASSERT_PTR_NOT_NULL(cJSON_GetObjectItem(cJSON_GetObjectItem(routes->child, "dropped"), "damaged"));
    CU_ASSERT_PTR_NOT_NULL(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "counters"), "oldest_pending_ms"));
    cJSON_Delete(root);
    mi_buf_fini(&json);
    mi_metrics_free(m);
}

static void long_names_stay_apart(void)
{
    struct mi_metrics *m = mi_metrics_new();
    for (uint32_t i = 0; i < 12; i++) {
        char name[400] = "";
        memset(name, 'n', sizeof name - 1);
        memcpy(name + 114 + i / 2, "\xf0\x9f\x8c\xa1", 4); /* the cut falls into it for some */
        name[390] = (char)('a' + i % 2);                   /* two by two alike up to here */
        char fallback[16];
        CU_ASSERT_TRUE(strlen(mi_route_name(mi_metrics_route(m, i, name), fallback)) < 128);
    }
    read_page(m); /* finds repeated series */
    mi_metrics_free(m);
}

static void an_entry_keeps_its_place_and_gets_its_name_later(void)
{
    struct mi_metrics *m = mi_metrics_new();
    char fallback[16];
    struct mi_route_metrics *r = mi_metrics_route(m, 0xdeadbeef, NULL);
    CU_ASSERT_STRING_EQUAL(mi_route_name(r, fallback), "route-deadbeef");
    CU_ASSERT_PTR_EQUAL(mi_metrics_route(m, 0xdeadbeef, "late"), r);
    CU_ASSERT_STRING_EQUAL(mi_route_name(r, fallback), "late");
    CU_ASSERT_PTR_EQUAL(mi_metrics_route(m, 0xdeadbeef, "other"), r);
    CU_ASSERT_STRING_EQUAL(mi_route_name(r, fallback), "late");
    CU_ASSERT_EQUAL(mi_metrics_route_count(m), 1);
    CU_ASSERT_PTR_EQUAL(mi_metrics_route_at(m, 0), r);
    CU_ASSERT_PTR_NULL(mi_metrics_route_at(m, 1));
    mi_metrics_free(m);
}

static void the_number_of_routes_is_bounded(void)
{
    struct mi_metrics *m = mi_metrics_new();
    unsigned made = 0;
    for (uint32_t i = 0; i < 2 * MI_MAX_ROUTES + 10; i++)
        made += mi_metrics_route(m, i << 3, NULL) != NULL; /* with collisions */
    CU_ASSERT_EQUAL(made, 2 * MI_MAX_ROUTES);
    CU_ASSERT_PTR_NOT_NULL(mi_metrics_route(m, 1u << 3, "known"));
    mi_metrics_free(m);
}

static void a_full_buffer_is_reported(void)
{
    struct mi_metrics *m = mi_metrics_new();
    struct mi_buf small;
    mi_buf_init(&small, 100);
    CU_ASSERT_FALSE(mi_metrics_prometheus(m, &small));
    mi_buf_reset(&small);
    CU_ASSERT_FALSE(mi_metrics_json(m, &small));
    mi_buf_fini(&small);
    mi_metrics_free(m);
}

static void the_reference_names_every_metric_of_the_page(void)
{
    struct mi_metrics *m = mi_metrics_new();
    mi_metrics_route(m, 1, "r");
    read_page(m);
    struct mi_buf text;
    mi_buf_init(&text, 100000);
    CU_ASSERT_TRUE(mi_metrics_reference(&text));
    mi_buf_add_byte(&text, 0);
    size_t rows = 0;
    for (const uint8_t *p = text.data; *p; p++)
        rows += *p == '\n';
    CU_ASSERT_EQUAL(rows, heads + 2);
    for (size_t i = 0; i < sample_count; i++) {
        char cell[120];
        snprintf(cell, sizeof cell, "| `%s` |", samples[i].name);
        const char *row = strstr((const char *)text.data, cell);
        CU_ASSERT_PTR_NOT_NULL_FATAL(row);
        snprintf(cell, sizeof cell, "`%s`", samples[i].reason);
        CU_ASSERT_TRUE(!samples[i].reason[0] || strstr(row, cell));
    }
    mi_buf_fini(&text);
    mi_metrics_free(m);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUTES = 50, ROUNDS = 2000 };

static void *count_from_thread(void *context)
{
    struct mi_metrics *m = context;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct mi_route_metrics *r = mi_metrics_route(m, i % ROUTES, i % 3 ? NULL : "named");
        mi_count(r, MI_C_JOURNALED, 1);
        mi_count(r, MI_C_COMMITTED, 1);
        mi_metrics_add(m, MI_G_PUBLISH_SEEN, 1);
    }
    return NULL;
}

static void any_thread_may_count_while_another_reads(void)
{
    struct mi_metrics *m = mi_metrics_new();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, count_from_thread, m), 0);
    struct mi_buf page;
    mi_buf_init(&page, 1 << 20);
    for (int i = 0; i < 50; i++) {
        mi_buf_reset(&page);
        CU_ASSERT_TRUE(mi_metrics_json(m, &page));
    }
    mi_buf_fini(&page);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    uint64_t journaled = 0;
    for (size_t i = 0; i < mi_metrics_route_count(m); i++)
        journaled += mi_counted(mi_metrics_route_at(m, i), MI_C_JOURNALED);
    CU_ASSERT_EQUAL(mi_metrics_route_count(m), ROUTES);
    CU_ASSERT_EQUAL(journaled, THREADS * ROUNDS);
    CU_ASSERT_EQUAL(mi_metrics_get(m, MI_G_PUBLISH_SEEN), THREADS * ROUNDS);
    mi_metrics_free(m);
}

static CU_TestInfo tests[] = {
    {"every counter is on the page once", every_counter_is_on_the_page_once},
    {"field 134: the account adds up", field_134_the_account_adds_up},
    {"field 98 135: odd names break no page", field_98_135_odd_names_break_no_page},
    {"long names stay apart", long_names_stay_apart},
    {"an entry keeps its place and gets its name later", an_entry_keeps_its_place_and_gets_its_name_later},
    {"the number of routes is bounded", the_number_of_routes_is_bounded},
    {"a full buffer is reported", a_full_buffer_is_reported},
    {"the reference names every metric of the page", the_reference_names_every_metric_of_the_page},
    {"any thread may count while another reads", any_thread_may_count_while_another_reads},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("metrics", tests)

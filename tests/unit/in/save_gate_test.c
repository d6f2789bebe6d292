/* save_gate: which look lets a position move, with a file that is not there, and with a real one. */
#include "in/save_gate.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct mi_file_identity file;
static unsigned looks;

static void identify(void *context, const char *path, struct mi_file_identity *out)
{
    (void)context;
    CU_ASSERT_STRING_EQUAL(path, "/mosquitto.db");
    looks++;
    *out = file;
}

static struct mi_broker_facts facts(enum mi_yes_no persistence, const char *path, uint64_t autosave_s)
{
    return (struct mi_broker_facts){
        .persistence = persistence, .persistence_file = path, .autosave_interval_s = autosave_s};
}

static struct mi_save_gate gate(const struct mi_broker_facts *f)
{
    struct mi_save_gate g;
    looks = 0;
    mi_save_gate_init(&g, f, identify, NULL);
    return g;
}

static void what_has_nothing_to_wait_for(void)
{
    static const struct mi_file_identity there = {.exists = true, .inode = 5};
    bool saved;
    file = there;
    struct mi_broker_facts none[] = {
        facts(MI_NO, "/mosquitto.db", 1800),
        facts(MI_NOT_STATED, "/mosquitto.db", 1800),
        facts(MI_YES, NULL, 1800),
        facts(MI_YES, "/mosquitto.db", 0),
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        struct mi_save_gate g = gate(&none[i]);
        CU_ASSERT_FALSE(mi_save_gate_waits(&g));
        CU_ASSERT_FALSE(mi_save_gate_look(&g, UINT64_MAX - 1, &saved));
        CU_ASSERT_EQUAL(mi_save_gate_due(&g), UINT64_MAX);
    }
    struct mi_broker_facts unknown = facts(MI_YES, "/mosquitto.db", UINT64_MAX);
    struct mi_save_gate g = gate(&unknown);
    CU_ASSERT_TRUE(mi_save_gate_waits(&g));
}

static void the_store_is_empty_without_persistence_or_without_a_file(void)
{
    struct mi_broker_facts f = facts(MI_NO, NULL, 0);
    struct mi_save_gate g = gate(&f);
    CU_ASSERT_TRUE(mi_save_gate_empty_store(&g));
    f = facts(MI_NOT_STATED, NULL, 0);
    g = gate(&f);
    CU_ASSERT_FALSE(mi_save_gate_empty_store(&g));
    f = facts(MI_YES, "/mosquitto.db", 0);
    file = (struct mi_file_identity){.exists = true};
    g = gate(&f);
    CU_ASSERT_FALSE(mi_save_gate_empty_store(&g));
    file = (struct mi_file_identity){.exists = false};
    g = gate(&f);
    CU_ASSERT_TRUE(mi_save_gate_empty_store(&g));
}

static void a_look_sees_a_save_once(void)
{
    struct mi_broker_facts f = facts(MI_YES, "/mosquitto.db", 1800);
    bool saved = true;
    file = (struct mi_file_identity){.exists = true, .inode = 5, .modified_ns = 100};
    struct mi_save_gate g = gate(&f);
    CU_ASSERT_TRUE(mi_save_gate_look(&g, 1, &saved));
    CU_ASSERT_FALSE(saved);
    /* The same inode again, as file systems give it out: the stamp tells. */
    file.modified_ns = 200;
    CU_ASSERT_FALSE(mi_save_gate_look(&g, MI_NS_PER_S, &saved)); /* once a second */
    CU_ASSERT_EQUAL(looks, 2);
    CU_ASSERT_TRUE(mi_save_gate_look(&g, MI_NS_PER_S + 1, &saved));
    CU_ASSERT_TRUE(saved);
    CU_ASSERT_TRUE(mi_save_gate_look(&g, 3 * MI_NS_PER_S, &saved));
    CU_ASSERT_FALSE(saved);
    static struct mi_file_identity others[] = {
        {.exists = true, .inode = 6, .modified_ns = 200},
        {.exists = true, .inode = 6, .modified_ns = 200, .size = 1},
        {.exists = true, .inode = 6, .modified_ns = 200, .size = 1, .device = 1}};
    for (size_t i = 0; i < 3; i++) {
        file = others[i];
        CU_ASSERT_TRUE(mi_save_gate_look(&g, (5 + i) * MI_NS_PER_S, &saved));
        CU_ASSERT_TRUE(saved);
    }
}

static void a_removed_file_is_no_save_and_its_successor_is(void)
{
    struct mi_broker_facts f = facts(MI_YES, "/mosquitto.db", 1800);
    bool saved = true;
    file = (struct mi_file_identity){.exists = true, .inode = 5};
    struct mi_save_gate g = gate(&f);
    file = (struct mi_file_identity){.exists = false};
    CU_ASSERT_TRUE(mi_save_gate_look(&g, MI_NS_PER_S, &saved));
    CU_ASSERT_FALSE(saved);
    file = (struct mi_file_identity){.exists = true, .inode = 5};
    CU_ASSERT_TRUE(mi_save_gate_look(&g, 3 * MI_NS_PER_S, &saved));
    CU_ASSERT_TRUE(saved);
}

static void the_last_save_is_newer_than_the_last_tick(void)
{
    struct mi_broker_facts f = facts(MI_YES, "/mosquitto.db", 1800);
    file = (struct mi_file_identity){.exists = true, .modified_ns = 50 * MI_NS_PER_S};
    struct mi_save_gate g = gate(&f);
    CU_ASSERT_FALSE(mi_save_gate_last(&g, 51 * 1000000ull));
    CU_ASSERT_FALSE(mi_save_gate_changed(&g));
    /* File stamps come from a clock that is some milliseconds behind. */
    file.modified_ns = 51 * MI_NS_PER_S - 9 * MI_NS_PER_MS;
    CU_ASSERT_TRUE(mi_save_gate_last(&g, 51 * 1000000ull));
    CU_ASSERT_TRUE(mi_save_gate_changed(&g));
    file.exists = false;
    CU_ASSERT_FALSE(mi_save_gate_last(&g, 51 * 1000000ull));
    /* Nothing waits for a save with autosave_interval 0, but the last one still tells whether it was a clean
     * end. */
    f.autosave_interval_s = 0;
    g = gate(&f);
    CU_ASSERT_FALSE(mi_save_gate_last(&g, 51 * 1000000ull));
    f.persistence = MI_NO;
    g = gate(&f);
    CU_ASSERT_TRUE(mi_save_gate_last(&g, 51 * 1000000ull));
}

/* As the broker does: FILE.new, then rename. A save that fails leaves only FILE.new. */
static void a_real_file(void)
{
    char dir[] = "/tmp/mi_save_gate_XXXXXX", path[64], next[80];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/mosquitto.db", dir);
    snprintf(next, sizeof next, "%s.new", path);
    struct mi_broker_facts f = facts(MI_YES, path, 1800);
    struct mi_save_gate g;
    bool saved;
    mi_save_gate_init(&g, &f, NULL, NULL);
    CU_ASSERT_TRUE(mi_save_gate_empty_store(&g));
    for (uint64_t second = 2; second < 6; second += 2) {
        FILE *file_new = fopen(next, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file_new);
        fputs("the whole store", file_new);
        fclose(file_new);
        CU_ASSERT_TRUE(mi_save_gate_look(&g, second * MI_NS_PER_S, &saved) && !saved);
        CU_ASSERT_EQUAL(rename(next, path), 0);
        CU_ASSERT_TRUE(mi_save_gate_look(&g, (second + 1) * MI_NS_PER_S, &saved) && saved);
    }
    CU_ASSERT_TRUE(mi_save_gate_last(&g, mi_wall_us(&mi_clock_system) - 2000000));
    CU_ASSERT_FALSE(mi_save_gate_last(&g, mi_wall_us(&mi_clock_system) + 2000000));
    unlink(path);
    rmdir(dir);
}

static CU_TestInfo tests[] = {
    {"what has nothing to wait for", what_has_nothing_to_wait_for},
    {"the store is empty without persistence or without a file",
     the_store_is_empty_without_persistence_or_without_a_file},
    {"a look sees a save once", a_look_sees_a_save_once},
    {"a removed file is no save and its successor is", a_removed_file_is_no_save_and_its_successor_is},
    {"the last save is newer than the last TICK", the_last_save_is_newer_than_the_last_tick},
    {"a real file", a_real_file},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("save_gate", tests)

/* compat: which broker is running, and where its property readers come from. */
#include "broker/compat.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

/* A make-believe process: what it exports, and whether libmosquitto can be opened. */
static bool exports_readers, exports_set_info, has_library, library_has_readers;
static int library_minor, opened, closed;
static int library; /* its address is the handle */

static int lib_version(int *major, int *minor, int *revision)
{
    *major = 2;
    *minor = library_minor;
    *revision = 0;
    return 0;
}

static void *open_library(const char *name)
{
    CU_ASSERT_STRING_EQUAL(name, "libmosquitto.so.1");
    if (!has_library)
        return NULL;
    opened++;
    return &library;
}

static void close_library(void *handle)
{
    CU_ASSERT_PTR_EQUAL(handle, &library);
    closed++;
}

static void *find(void *handle, const char *name)
{
    static const char *const only_2_1[] = {"mosquitto_plugin_set_info", "mosquitto_apply_on_all_clients",
                                           "mosquitto_complete_basic_auth", "mosquitto_client"};
    for (size_t i = 0; i < sizeof only_2_1 / sizeof only_2_1[0]; i++)
        if (strcmp(name, only_2_1[i]) == 0)
            return !handle && exports_set_info ? (void *)&lib_version : NULL;
    if (strcmp(name, "mosquitto_lib_version") == 0)
        return handle ? (void *)&lib_version : NULL;
    CU_ASSERT_PTR_NOT_NULL(strstr(name, "mosquitto_property_"));
    return (handle ? library_has_readers : exports_readers) ? (void *)&lib_version : NULL;
}

static const struct mi_symbols process = {open_library, find, close_library};

static void start(struct mi_compat *c, bool readers, bool set_info, bool lib, int minor)
{
    exports_readers = readers;
    exports_set_info = set_info;
    has_library = lib;
    library_has_readers = true;
    library_minor = minor;
    opened = closed = 0;
    mi_compat_init(c, &process);
}

static void a_2_0_broker_that_exports_everything(void)
{
    struct mi_compat c;
    start(&c, true, false, true, 0);
    CU_ASSERT_FALSE(c.v2_1);
    CU_ASSERT_TRUE(c.has_readers);
    CU_ASSERT_EQUAL(opened, 0);
    CU_ASSERT_PTR_EQUAL((void *)c.readers.text_free, (void *)free);
    mi_compat_fini(&c);
}

static void a_2_1_broker_counts_what_its_readers_allocate(void)
{
    struct mi_compat c;
    start(&c, true, true, true, 1);
    CU_ASSERT_TRUE(c.v2_1);
    CU_ASSERT_TRUE(c.has_readers);
    CU_ASSERT_PTR_EQUAL((void *)c.readers.text_free, (void *)mosquitto_free);
    mi_compat_fini(&c);
}

static void a_make_built_2_0_broker_takes_them_from_libmosquitto(void)
{
    struct mi_compat c;
    start(&c, false, false, true, 0);
    CU_ASSERT_TRUE(c.has_readers);
    CU_ASSERT_EQUAL(opened, 1);
    CU_ASSERT_EQUAL(closed, 0);
    CU_ASSERT_PTR_EQUAL((void *)c.readers.text_free, (void *)free);
    mi_compat_fini(&c);
    CU_ASSERT_EQUAL(closed, 1);
}

static void a_library_of_the_other_series_is_not_used(void)
{
    struct mi_compat c;
    start(&c, false, false, true, 1);
    CU_ASSERT_FALSE(c.has_readers);
    CU_ASSERT_EQUAL(closed, 1);
    mi_compat_fini(&c);
    CU_ASSERT_EQUAL(closed, 1);
}

static void without_any_reader_it_says_so(void)
{
    struct mi_compat c;
    start(&c, false, false, false, 0);
    CU_ASSERT_FALSE(c.has_readers);
    mi_compat_fini(&c);
}

static void the_test_program_itself_has_libmosquitto(void)
{
    struct mi_compat c;
    mi_compat_init(&c, &mi_symbols_system);
    CU_ASSERT_FALSE(c.v2_1);
    CU_ASSERT_TRUE(c.has_readers);
    mi_compat_fini(&c);
}

static CU_TestInfo tests[] = {
    {"a 2.0 broker that exports everything", a_2_0_broker_that_exports_everything},
    {"a 2.1 broker counts what its readers allocate", a_2_1_broker_counts_what_its_readers_allocate},
    {"a make-built 2.0 broker takes them from libmosquitto",
     a_make_built_2_0_broker_takes_them_from_libmosquitto},
    {"a library of the other series is not used", a_library_of_the_other_series_is_not_used},
    {"without any reader it says so", without_any_reader_it_says_so},
    {"the test program itself has libmosquitto", the_test_program_itself_has_libmosquitto},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("compat", tests)

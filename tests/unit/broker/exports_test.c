/* exports: what mosquitto_iggy.so shows and needs, read from the built file: a symbol that a make-built 2.0
 * broker does not have would make it refuse the plugin, and one of ours that is visible could collide with
 * another plugin's. */
#include "support/suite.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(const char *command, void (*each)(const char *line))
{
    char line[1024];
    int count = 0;
    FILE *f = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        each(line);
        count++;
    }
    CU_ASSERT_EQUAL(pclose(f), 0);
    return count;
}

static void one_of_three(const char *name)
{
    bool known = strcmp(name, "mosquitto_plugin_version") == 0 ||
                 strcmp(name, "mosquitto_plugin_init") == 0 || strcmp(name, "mosquitto_plugin_cleanup") == 0;
    if (!known)
        printf("\nexported: %s\n", name);
    CU_ASSERT_TRUE(known);
}

static void only_the_entry_points_are_exported(void)
{
    CU_ASSERT_EQUAL(run("nm -D --defined-only " PLUGIN " | awk '{print $NF}'", one_of_three), 3);
}

/* What make-built 2.0.11 to 2.0.22 brokers export (src/linker.syms). */
static const char *const exported[] = {"broker_publish",
                                       "broker_publish_copy",
                                       "callback_register",
                                       "callback_unregister",
                                       "calloc",
                                       "client_address",
                                       "client_certificate",
                                       "client_clean_session",
                                       "client_id",
                                       "client_keepalive",
                                       "client_protocol",
                                       "client_protocol_version",
                                       "client_sub_count",
                                       "client_username",
                                       "free",
                                       "kick_client_by_clientid",
                                       "kick_client_by_username",
                                       "log_printf",
                                       "malloc",
                                       "property_add_binary",
                                       "property_add_byte",
                                       "property_add_int16",
                                       "property_add_int32",
                                       "property_add_string",
                                       "property_add_string_pair",
                                       "property_add_varint",
                                       "property_free_all",
                                       "pub_topic_check",
                                       "realloc",
                                       "set_username",
                                       "strdup",
                                       "sub_topic_check",
                                       "topic_matches_sub",
                                       "validate_utf8",
                                       NULL};

static void of_the_34(const char *name)
{
    bool known = false;
    for (size_t i = 0; exported[i] && !known; i++)
        known = strcmp(name + strlen("mosquitto_"), exported[i]) == 0;
    if (!known)
        printf("\nneeded: %s\n", name);
    CU_ASSERT_TRUE(known);
}

static void only_what_every_broker_has_is_needed(void)
{
    int needed = run("nm -D --undefined-only " PLUGIN " | awk '{print $NF}' | grep ^mosquitto_", of_the_34);
    CU_ASSERT_TRUE(needed > 5);
}

static void not_libmosquitto(const char *line)
{
    CU_ASSERT_PTR_NULL(strstr(line, "libmosquitto"));
}

static void libmosquitto_is_not_linked(void)
{
    CU_ASSERT_TRUE(run("readelf -d " PLUGIN " | grep NEEDED", not_libmosquitto) > 0);
}

static CU_TestInfo tests[] = {
    {"only the entry points are exported", only_the_entry_points_are_exported},
    {"only what every broker has is needed", only_what_every_broker_has_is_needed},
    {"libmosquitto is not linked", libmosquitto_is_not_linked},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("exports", tests)

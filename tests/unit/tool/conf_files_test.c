/* Every configuration in conf/ is one that the broker takes, without a warning, and states when_journal_full.
 */
#include "support/process.h"
#include "support/suite.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char dir[200];

/* What only a machine of its own has. */
static const char *const places[][2] = {
    {"/etc/mosquitto/iggy.password", "password"}, {"/run/secrets/iggy_password", "password"},
    {"@DIR@/iggy.password", "password"},          {"@DIR@", "/tmp"},
    {"@URL@", "http://127.0.0.1:3000"},           {"@USERNAME@", "iggy"},
    {"/etc/mosquitto/iggy.json", "iggy.json"},
};

static char *replaced(char *text, const char *from, const char *to)
{
    for (char *at = text ? strstr(text, from) : NULL; at; at = strstr(text, from)) {
        size_t size = strlen(text) + strlen(to) + 1;
        char *longer = malloc(size);
        if (!longer)
            break;
        snprintf(longer, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
        free(text);
        text = longer;
    }
    return text;
}

/* Puts a copy for this machine into the folder, under name. */
static bool install(const char *path, const char *name)
{
    char to[300];
    char *text = mi_read_file(path);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        text = replaced(text, places[i][0], places[i][1]);
    snprintf(to, sizeof to, "%s/%s", dir, name);
    bool ok = text && mi_write_file(to, text);
    free(text);
    return ok;
}

/* check's exit code is 0 and it had nothing to say. */
static bool good(const char *name)
{
    char command[800], said[300];
    snprintf(command, sizeof command, "cd '%s' && '%s' check %s >out 2>err && grep -q ', 0 warnings' out",
             dir, TOOL, name);
    int status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    snprintf(said, sizeof said, "%s/err", dir);
    char *text = mi_read_file(said);
    printf("\n  %s", text ? text : "");
    free(text);
    return false;
}

static void every_json_file_is_taken_without_a_warning(void)
{
    static const char *const patterns[] = {"/conf/*.json", "/conf/examples/*.json", "/conf/container/*.json"};
    size_t checked = 0;
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        char pattern[400];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", SOURCE_DIR, patterns[p]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t i = 0; i < found.gl_pathc; i++) {
            CU_ASSERT_TRUE(install(found.gl_pathv[i], "one.json"));
            bool ok = good("one.json");
            if (!ok)
                printf("  ^ %s\n", found.gl_pathv[i]);
            CU_ASSERT_TRUE(ok);
            char *text = mi_read_file(found.gl_pathv[i]);
            CU_ASSERT_PTR_NOT_NULL(text ? strstr(text, "\"when_journal_full\"") : NULL);
            free(text);
            checked++;
        }
        globfree(&found);
    }
    CU_ASSERT_TRUE(checked >= 3);
}

static void the_brokers_file_is_taken_in_both_forms(void)
{
    char path[300];
    CU_ASSERT_TRUE(install(SOURCE_DIR "/conf/iggy.json", "iggy.json"));
    CU_ASSERT_TRUE(install(SOURCE_DIR "/conf/mosquitto.conf", "mosquitto.conf"));
    CU_ASSERT_TRUE(good("mosquitto.conf"));
    snprintf(path, sizeof path, "%s/mosquitto.conf", dir);
    char *text =
        replaced(replaced(mi_read_file(path), "#plugin_opt_", "plugin_opt_"), "plugin_opt_config_file", "#");
    CU_ASSERT_TRUE(text && strstr(text, "\nplugin_opt_topic ") && mi_write_file(path, text));
    CU_ASSERT_TRUE(good("mosquitto.conf"));
    free(text);
}

static CU_TestInfo tests[] = {
    {"every JSON file is taken without a warning", every_json_file_is_taken_without_a_warning},
    {"the broker's file is taken in both forms", the_brokers_file_is_taken_in_both_forms},
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    char path[300];
    if (!mi_temp_dir(dir, sizeof dir))
        return 2;
    snprintf(path, sizeof path, "%s/password", dir);
    mi_write_file(path, "secret\n");
    chmod(path, 0600);
    int rc = mi_suite_run("files in conf", tests, argc, argv);
    mi_remove_tree(dir);
    return rc;
}

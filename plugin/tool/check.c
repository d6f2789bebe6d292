/* check: says everything that the broker would say about a configuration. */
#include "tool/command.h"
#include "tool/load.h"
#include "tool/online.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);

const struct mi_command mi_command_check = {
    "check", "FILE [--print | --online]",
    "Says what the broker would refuse or warn about, each with line, key and the mend. Secrets and\n"
    "certificates are read too: run it as the broker's user to see what that one may read.\n"
    "--print shows the effective configuration, defaults included, without secrets.\n"
    "--online logs in to Iggy and tries, without changing anything there, the rights that the\n"
    "configuration needs: a line for each, \"MISSING\" with the mend and exit code 1 where one is needed,\n"
    "\"without\" where it goes on in another way, \"?\" where it cannot be tried.\n",
    run};

static int print(const struct mi_config *config)
{
    struct mi_buf out;
    mi_buf_init(&out, 64u << 20);
    bool ok = mi_config_print(config, &out);
    if (ok)
        fwrite(out.data, 1, out.len, stdout);
    else
        fprintf(stderr, "memory is out\n");
    mi_buf_fini(&out);
    return ok ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

static int run(int argc, char **argv)
{
    const char *path = NULL;
    bool with_print = false, online = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--print") == 0)
            with_print = true;
        else if (strcmp(argv[i], "--online") == 0)
            online = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return mi_usage_error(&mi_command_check, "there is no option %s", argv[i]);
        else if (path)
            return mi_usage_error(&mi_command_check, "one file at a time");
        else
            path = argv[i];
    }
    if (with_print && online)
        return mi_usage_error(&mi_command_check, "--print or --online");
    if (!path)
        return mi_usage_error(&mi_command_check, "which file?");
    struct mi_load_counts counts;
    struct mi_config *config = mi_load(path, &counts);
    if (!config) {
        fprintf(stderr, "%s: refused: %u error%s\n", path, counts.refused, counts.refused == 1 ? "" : "s");
        return MI_EXIT_REFUSED;
    }
    int rc = MI_EXIT_OK;
    if (with_print)
        rc = print(config);
    else if (online)
        rc = mi_check_online(config) ? MI_EXIT_OK : MI_EXIT_REFUSED;
    else
        printf("%s: good: %zu route%s, %u warning%s\n", path, config->route_count,
               config->route_count == 1 ? "" : "s", counts.warned, counts.warned == 1 ? "" : "s");
    mi_config_release(config);
    return rc;
}

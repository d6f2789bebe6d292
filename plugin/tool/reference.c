/* reference: prints docs/configuration.md. */
#include "config/config.h"
#include "tool/command.h"

#include <stdio.h>

static int run(int argc, char **argv);

const struct mi_command mi_command_reference = {
    "reference", "", "Prints the page of all options (docs/configuration.md).\n", run};

static int run(int argc, char **argv)
{
    struct mi_buf out;
    (void)argv;
    if (argc > 1)
        return mi_usage_error(&mi_command_reference, "it takes no arguments");
    mi_buf_init(&out, 1u << 20);
    bool ok = mi_config_reference(&out) && fwrite(out.data, 1, out.len, stdout) == out.len;
    mi_buf_fini(&out);
    return ok ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

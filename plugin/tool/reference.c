/* reference: prints docs/configuration.md or docs/metrics.md. */
#include "config/config.h"
#include "metrics/metrics.h"
#include "tool/command.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);

const struct mi_command mi_command_reference = {
    "reference", "[metrics]",
    "Prints the page of all options (docs/configuration.md), or of all metrics (docs/metrics.md).\n", run};

static const char metrics_head[] =
    "# Metrics\n\n"
    "Made by `mosquitto_iggy reference metrics`; a test compares. The page is `/metrics` of `status.listen`, "
    "in the\n"
    "text format of Prometheus; [operations.md](operations.md) says what to watch. Counters of routes are "
    "kept\n"
    "over restarts, the others begin at 0. For each route, at every moment:\n\n"
    "    received = committed + dead_lettered + dropped + pending\n\n";

static int run(int argc, char **argv)
{
    struct mi_buf out;
    bool metrics = argc == 2 && strcmp(argv[1], "metrics") == 0;
    if (argc > 1 && !metrics)
        return mi_usage_error(&mi_command_reference, "there is only \"metrics\" beside the options");
    mi_buf_init(&out, 1u << 20);
    bool ok = metrics ? mi_buf_add_text(&out, metrics_head) && mi_metrics_reference(&out)
                      : mi_config_reference(&out);
    ok = ok && fwrite(out.data, 1, out.len, stdout) == out.len;
    mi_buf_fini(&out);
    return ok ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

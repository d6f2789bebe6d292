/* mosquitto_iggy: looks at configurations and explains what the plugin would do. */
#include "tool/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct mi_command *const commands[] = {&mi_command_check, &mi_command_explain,
                                                    &mi_command_reference, &mi_command_journal,
                                                    &mi_command_dead_letters};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *to);
static void print_command(FILE *to, const struct mi_command *command);

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return MI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return MI_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("mosquitto_iggy %s\n", MI_VERSION);
        return MI_EXIT_OK;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(argv[1], commands[i]->name) != 0)
            continue;
        if (argc == 3 && strcmp(argv[2], "--help") == 0) {
            print_command(stdout, commands[i]);
            return MI_EXIT_OK;
        }
        return commands[i]->run(argc - 1, argv + 1);
    }
    fprintf(stderr, "mosquitto_iggy: there is no subcommand \"%s\"\n\n", argv[1]);
    print_help(stderr);
    return MI_EXIT_USAGE;
}

static void print_command(FILE *to, const struct mi_command *command)
{
    fprintf(to, "mosquitto_iggy %s%s%s\n", command->name, *command->arguments ? " " : "", command->arguments);
    for (const char *line = command->help; *line;) {
        int n = (int)strcspn(line, "\n");
        fprintf(to, "    %.*s\n", n, line);
        line += n + (line[n] == '\n');
    }
}

static void print_help(FILE *to)
{
    fputs("Looks at configurations and journals of the Mosquitto plugin for Apache Iggy.\n\n", to);
    for (size_t i = 0; i < COMMANDS; i++) {
        print_command(to, commands[i]);
        fputc('\n', to);
    }
    fputs("mosquitto_iggy --version | --help\n\n"
          "FILE is the JSON file that plugin_opt_config_file names, or, when its name ends with .conf, the "
          "broker's own\n"
          "file. Exit code: 0 all is well, 1 refused, 2 wrong arguments.\n",
          to);
}

int mi_usage_error(const struct mi_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "mosquitto_iggy %s: ", command->name);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nusage: mosquitto_iggy %s %s\n", command->name, command->arguments);
    return MI_EXIT_USAGE;
}

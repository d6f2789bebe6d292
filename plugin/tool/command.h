/*
 * command: the subcommands of mosquitto_iggy, each in a file of its own, listed in main.c.
 */
#ifndef MI_COMMAND_H
#define MI_COMMAND_H

/* Exit codes of every subcommand. */
enum { MI_EXIT_OK = 0, MI_EXIT_REFUSED = 1, MI_EXIT_USAGE = 2 };

struct mi_command {
    const char *name;
    const char *arguments;             /* "FILE [--print]" */
    const char *help;                  /* lines of text, each with its line end */
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
};

extern const struct mi_command mi_command_check, mi_command_explain, mi_command_reference, mi_command_journal,
    mi_command_dead_letters;

/* Says on stderr what is wrong with the arguments and how the command is used; returns MI_EXIT_USAGE. */
int mi_usage_error(const struct mi_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif

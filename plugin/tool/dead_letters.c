/* dead-letters: what lies in the file of dead letters, and the ways out of it. */
#include "journal/inspect.h"
#include "tool/command.h"
#include "tool/directory.h"
#include "tool/letters.h"
#include "tool/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);

const struct mi_command mi_command_dead_letters = {
    "dead-letters", "list DIR [--json] | show DIR N [--payload] | requeue DIR N|all | drop DIR N|all",
    "Messages that Iggy can never take and that no dead-letter stream took, in the journal's directory DIR.\n"
    "show prints one whole, or with --payload only its MQTT payload, as it is. requeue sends letters through "
    "the\n"
    "journal again, as new messages; drop forgets them. Letters in a stream of Iggy stay there. All works "
    "beside\n"
    "a running broker and without one; run it as the user that owns DIR, or as root.\n",
    run};

struct args {
    const char *verb, *directory, *which;
    bool json, payload;
    uint64_t number;
};

static int list(const struct args *args);
static int show(const struct args *args);

static bool is(const struct args *args, const char *verb)
{
    return strcmp(args->verb, verb) == 0;
}

static bool flag(struct args *args, const char *text)
{
    if (is(args, "list") && strcmp(text, "--json") == 0)
        return args->json = true;
    if (is(args, "show") && strcmp(text, "--payload") == 0)
        return args->payload = true;
    return false;
}

static int parse(int argc, char **argv, struct args *args)
{
    const struct mi_command *c = &mi_command_dead_letters;
    *args = (struct args){.verb = argc > 1 ? argv[1] : ""};
    if (!is(args, "list") && !is(args, "show") && !is(args, "requeue") && !is(args, "drop"))
        return mi_usage_error(c, "list, show, requeue or drop?");
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!flag(args, argv[i]))
                return mi_usage_error(c, "%s has no option %s", args->verb, argv[i]);
        } else if (!args->directory)
            args->directory = argv[i];
        else if (!args->which)
            args->which = argv[i];
        else
            return mi_usage_error(c, "%s is too much", argv[i]);
    }
    if (!args->directory)
        return mi_usage_error(c, "which directory?");
    if (is(args, "list"))
        return args->which ? mi_usage_error(c, "list takes no number") : MI_EXIT_OK;
    if (!args->which)
        return mi_usage_error(c, "which letter?");
    bool all = !is(args, "show") && strcmp(args->which, "all") == 0;
    if (!all && (!mi_text_number(args->which, &args->number) || !args->number))
        return mi_usage_error(c, "\"%s\" is no number of a letter", args->which);
    return MI_EXIT_OK;
}

static int fail(const char *text)
{
    fprintf(stderr, "mosquitto_iggy dead-letters: %s\n", text);
    return MI_EXIT_REFUSED;
}

static int run(int argc, char **argv)
{
    struct args args;
    struct mi_error err;
    char order[64];
    int rc = parse(argc, argv, &args);
    if (rc != MI_EXIT_OK)
        return rc;
    struct mi_inspect *journal = mi_directory_inspect(args.directory, &err);
    if (!journal)
        return fail(err.text);
    mi_inspect_close(journal);
    if (is(&args, "list"))
        return list(&args);
    if (is(&args, "show"))
        return show(&args);
    snprintf(order, sizeof order, "%s %s", args.verb, args.which);
    return mi_letters_order(args.directory, order);
}

struct listing {
    const struct args *args;
    struct mi_buf scratch;
    uint64_t letters, damaged, damaged_at;
};

static void print_one(struct listing *l, const struct mi_letter *letter)
{
    if (l->args->json)
        fputs(l->letters ? ",\n" : "\n", stdout);
    else if (l->letters == 0)
        mi_letter_print_head();
    l->letters++;
    if (l->args->json)
        mi_letter_print_json(&letter->record, &l->scratch);
    else
        mi_letter_print_line(&letter->record, &l->scratch);
}

/* 0, or -1 with err. */
static int walk(struct listing *l, struct mi_letter_file *file, struct mi_error *err)
{
    struct mi_letter letter;
    int rc;
    while ((rc = mi_letter_file_next(file, true, &letter, err)) > 0) {
        if (letter.damaged) {
            l->damaged_at = l->damaged ? l->damaged_at : letter.at;
            l->damaged++;
        } else if (!letter.taken_out)
            print_one(l, &letter);
    }
    return rc;
}

static int list(const struct args *args)
{
    struct listing l = {.args = args};
    struct mi_letter_file *file;
    struct mi_error err = {{0}};
    mi_buf_init(&l.scratch, SIZE_MAX / 2);
    if (args->json)
        fputs("{\"letters\":[", stdout);
    int rc = mi_letter_file_open(args->directory, false, &file, &err);
    if (rc > 0)
        rc = walk(&l, file, &err);
    if (args->json)
        printf("],\n\"damaged\":%" PRIu64 "}\n", l.damaged);
    else if (l.letters == 0)
        puts("no dead letters in the file");
    if (file && mi_letter_file_torn(file))
        fprintf(stderr, "the file ends with %" PRIu64 " bytes of a letter that is not whole\n",
                mi_letter_file_torn(file));
    mi_letter_file_close(file);
    mi_buf_fini(&l.scratch);
    if (rc < 0)
        return fail(err.text);
    if (l.damaged)
        fprintf(stderr,
                "the file is damaged in %" PRIu64 " places, first at offset %" PRIu64
                "; letters there cannot be read\n",
                l.damaged, l.damaged_at);
    return l.damaged ? MI_EXIT_REFUSED : MI_EXIT_OK;
}

static int print_found(const struct args *args, const struct mi_record *record)
{
    struct mi_buf scratch;
    bool good = true;
    mi_buf_init(&scratch, SIZE_MAX / 2);
    if (args->payload)
        good = mi_letter_print_payload(record, &scratch);
    else
        mi_letter_print_whole(record, &scratch);
    mi_buf_fini(&scratch);
    return good ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

static int show(const struct args *args)
{
    struct mi_letter_file *file;
    struct mi_letter letter;
    struct mi_error err = {{0}};
    int rc = mi_letter_file_open(args->directory, false, &file, &err), exit_code = MI_EXIT_REFUSED;
    bool found = false;
    while (!found && rc > 0 && (rc = mi_letter_file_next(file, true, &letter, &err)) > 0)
        found = !letter.damaged && !letter.taken_out && letter.sequence == args->number;
    if (found)
        exit_code = print_found(args, &letter.record);
    else {
        if (rc == 0)
            mi_error_set(&err, "%s: there is no letter %" PRIu64, args->directory, args->number);
        fail(err.text);
    }
    mi_letter_file_close(file);
    return exit_code;
}

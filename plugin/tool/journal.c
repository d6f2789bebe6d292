/* journal: looks into a journal directory: stat, dump, verify. */
#include "journal/inspect.h"
#include "message/envelope.h"
#include "out/dead_letter_file.h"
#include "tool/command.h"
#include "tool/directory.h"
#include "tool/text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const struct mi_command mi_command_journal = {
    "journal", "stat|dump|verify DIR [--json] [--from N] [--to N] [--limit N]",
    "Looks into a journal's directory, whether the broker runs or not; changes nothing.\n"
    "stat says what there is (--json for programs), dump prints a line per message with number, time, "
    "route,\n"
    "target and MQTT topic, verify reads all and fails when messages were lost to damage.\n",
    run};

struct args {
    const char *verb, *directory;
    bool json;
    uint64_t from, to, limit;
};

static int stat_journal(struct mi_inspect *i, const struct args *args);
static int dump(struct mi_inspect *i, const struct args *args);
static int verify(struct mi_inspect *i, const struct args *args);

static const struct verb {
    const char *name;
    int (*run)(struct mi_inspect *i, const struct args *args);
} verbs[] = {{"stat", stat_journal}, {"dump", dump}, {"verify", verify}};
enum { VERBS = sizeof verbs / sizeof *verbs };

static bool is_dump(const struct args *args)
{
    return strcmp(args->verb, "dump") == 0;
}

/* 1: taken with its value, 0: not such an option, -1: without a number. */
static int number_option(int argc, char **argv, int i, struct args *args)
{
    uint64_t *to = strcmp(argv[i], "--from") == 0    ? &args->from
                   : strcmp(argv[i], "--to") == 0    ? &args->to
                   : strcmp(argv[i], "--limit") == 0 ? &args->limit
                                                     : NULL;
    if (!to || !is_dump(args))
        return 0;
    return i + 1 < argc && mi_text_number(argv[i + 1], to) ? 1 : -1;
}

static int parse(int argc, char **argv, struct args *args)
{
    *args = (struct args){.to = UINT64_MAX, .limit = UINT64_MAX};
    if (argc < 2)
        return mi_usage_error(&mi_command_journal, "stat, dump or verify?");
    args->verb = argv[1];
    for (int i = 2; i < argc; i++) {
        int number = number_option(argc, argv, i, args);
        if (number < 0)
            return mi_usage_error(&mi_command_journal, "%s needs a number", argv[i]);
        if (number > 0)
            i++;
        else if (strcmp(argv[i], "--json") == 0 && strcmp(args->verb, "stat") == 0)
            args->json = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return mi_usage_error(&mi_command_journal, "%s has no option %s", args->verb, argv[i]);
        else if (args->directory)
            return mi_usage_error(&mi_command_journal, "one directory at a time");
        else
            args->directory = argv[i];
    }
    return args->directory ? MI_EXIT_OK : mi_usage_error(&mi_command_journal, "which directory?");
}

static int run(int argc, char **argv)
{
    struct args args;
    struct mi_error err;
    int rc = parse(argc, argv, &args);
    if (rc != MI_EXIT_OK)
        return rc;
    for (size_t v = 0; v < VERBS; v++) {
        if (strcmp(args.verb, verbs[v].name) != 0)
            continue;
        struct mi_inspect *i = mi_directory_inspect(args.directory, &err);
        if (!i) {
            fprintf(stderr, "mosquitto_iggy journal: %s\n", err.text);
            return MI_EXIT_REFUSED;
        }
        rc = verbs[v].run(i, &args);
        mi_inspect_close(i);
        return rc;
    }
    return mi_usage_error(&mi_command_journal, "there is no \"%s\": stat, dump or verify", args.verb);
}

/* ---- walking ---- */

struct totals {
    uint64_t messages, lost, damaged_bytes, torn_bytes;
    bool unreadable;
};

/* Called for each record; false ends the walk. */
typedef bool (*on_record)(void *context, const struct mi_record *record);

static void say_damage(const struct mi_journal_ref *ref, uint64_t lost)
{
    fprintf(stderr,
            "segment %" PRIu64 " offset %u: damaged, %u bytes, %" PRIu64 " messages from number %" PRIu64
            " on\n",
            ref->segment, ref->offset, ref->bytes, lost, ref->sequence);
}

/* One segment; false: the walk is to end. */
static bool walk_segment(struct mi_inspect *i, size_t index, on_record each, void *context, struct totals *t)
{
    struct mi_journal_ref ref;
    struct mi_record record;
    struct mi_error err;
    uint64_t lost;
    mi_inspect_begin(i, index);
    for (;;) {
        switch (mi_inspect_next(i, &ref, &record, &lost, &err)) {
        case MI_INSPECT_END:
            return true;
        case MI_INSPECT_RECORD:
            t->messages++;
            if (each && !each(context, &record))
                return false;
            break;
        case MI_INSPECT_DAMAGE:
            t->lost += lost;
            t->damaged_bytes += ref.bytes;
            say_damage(&ref, lost);
            break;
        case MI_INSPECT_TORN:
            t->torn_bytes += ref.bytes;
            break;
        case MI_INSPECT_ERROR:
            fprintf(stderr, "%s\n", err.text);
            t->unreadable = true;
            return true;
        }
    }
}

/* ---- stat ---- */

struct letters {
    uint64_t count, bytes, damaged;
    bool unreadable;
};

static void count_letters(const char *directory, struct letters *out)
{
    struct mi_letter_file *file;
    struct mi_letter letter;
    struct mi_error err;
    memset(out, 0, sizeof *out);
    int rc = mi_letter_file_open(directory, false, &file, &err);
    while (rc > 0 && (rc = mi_letter_file_next(file, false, &letter, &err)) > 0) {
        out->count += !letter.damaged && !letter.taken_out;
        out->damaged += letter.damaged;
        out->bytes += letter.bytes;
    }
    mi_letter_file_close(file);
    out->unreadable = rc < 0;
    if (rc < 0)
        fprintf(stderr, "%s\n", err.text);
}

struct summary {
    struct totals totals;
    struct letters letters;
    struct mi_state_summary state;
    uint64_t segments, bytes, first, next;
};

/* Sealed segments tell their totals; the others are read. */
static void summarize(struct mi_inspect *i, const char *directory, struct summary *s)
{
    const struct mi_inspect_segment *segment;
    memset(s, 0, sizeof *s);
    for (; (segment = mi_inspect_segment(i, s->segments)); s->segments++) {
        if (segment->sealed)
            s->totals.messages += segment->records;
        else
            walk_segment(i, s->segments, NULL, NULL, &s->totals);
        if (s->segments == 0)
            s->first = segment->first_sequence;
        if (segment->next_sequence > s->next)
            s->next = segment->next_sequence;
        s->bytes += segment->bytes;
    }
    mi_state_summary_read(directory, &s->state);
    if (s->state.next > s->next)
        s->next = s->state.next;
    count_letters(directory, &s->letters);
}

static uint64_t waiting(const struct summary *s)
{
    uint64_t settled = s->state.settled_below + s->state.settled_above;
    return s->next > settled ? s->next - settled : 0;
}

static void print_segments(struct mi_inspect *i)
{
    const struct mi_inspect_segment *s;
    char time[MI_TIME_TEXT], size[MI_SIZE_TEXT];
    printf("\n%10s  %-27s  %12s  %12s  %10s  %s\n", "SEGMENT", "BEGUN", "FIRST", "MESSAGES", "SIZE", "STATE");
    for (size_t n = 0; (s = mi_inspect_segment(i, n)); n++)
        printf("%10" PRIu64 "  %-27s  %12" PRIu64 "  %12" PRIu64 "  %10s  %s\n", s->number,
               mi_text_time(s->time_us, time), s->first_sequence, s->records, mi_text_size(s->bytes, size),
               s->sealed ? "sealed" : "open");
}

static void print_stat(struct mi_inspect *i, const struct args *args, const struct summary *s)
{
    char size[MI_SIZE_TEXT];
    const char *identity = mi_inspect_identity(i);
    long holder = mi_inspect_holder(i);
    printf("directory     %s\nidentity      %s\n", args->directory,
           *identity ? identity : "missing or damaged");
    for (size_t n = 0; n < mi_inspect_former(i); n++)
        printf("formerly      %s\n", mi_inspect_former_identity(i, n));
    if (holder)
        printf("in use by     process %ld\n", holder);
    else
        puts("in use by     nobody");
    printf("segments      %" PRIu64 ", %s\n", s->segments, mi_text_size(s->bytes, size));
    printf("messages      %" PRIu64, s->totals.messages);
    if (s->totals.messages)
        printf(", numbers %" PRIu64 " to %" PRIu64, s->first, s->next - 1);
    if (s->state.found)
        printf("\nwaiting       %" PRIu64 " not settled yet, all below %" PRIu64 " are\n", waiting(s),
               s->state.settled_below);
    else
        puts("\nwaiting       unknown: there is no state file, or it cannot be read");
    if (s->totals.lost || s->totals.damaged_bytes)
        printf("damaged       %" PRIu64 " messages, %" PRIu64 " bytes\n", s->totals.lost,
               s->totals.damaged_bytes);
    printf("dead letters  %" PRIu64 " in the file, %s\n", s->letters.count,
           mi_text_size(s->letters.bytes, size));
    print_segments(i);
}

static void add_number(cJSON *to, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cJSON_AddRawToObject(to, key, text);
}

static cJSON *stat_json(struct mi_inspect *i, const struct args *args, const struct summary *s)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "directory", args->directory);
    cJSON_AddStringToObject(root, "identity", mi_inspect_identity(i));
    cJSON *former = cJSON_AddArrayToObject(root, "former_identities");
    for (size_t n = 0; n < mi_inspect_former(i); n++)
        cJSON_AddItemToArray(former, cJSON_CreateString(mi_inspect_former_identity(i, n)));
    add_number(root, "holder_pid", (uint64_t)mi_inspect_holder(i));
    add_number(root, "bytes", s->bytes);
    add_number(root, "messages", s->totals.messages);
    add_number(root, "first_sequence", s->first);
    add_number(root, "next_sequence", s->next);
    if (s->state.found) {
        add_number(root, "settled_below", s->state.settled_below);
        add_number(root, "waiting", waiting(s));
    } else
        cJSON_AddNullToObject(root, "waiting");
    add_number(root, "damaged_messages", s->totals.lost);
    add_number(root, "dead_letters", s->letters.count);
    add_number(root, "dead_letter_bytes", s->letters.bytes);
    cJSON *list = cJSON_AddArrayToObject(root, "segments");
    const struct mi_inspect_segment *segment;
    for (size_t n = 0; (segment = mi_inspect_segment(i, n)); n++) {
        cJSON *item = cJSON_CreateObject();
        add_number(item, "number", segment->number);
        add_number(item, "first_sequence", segment->first_sequence);
        add_number(item, "messages", segment->records);
        add_number(item, "bytes", segment->bytes);
        cJSON_AddBoolToObject(item, "sealed", segment->sealed);
        cJSON_AddItemToArray(list, item);
    }
    return root;
}

static int stat_journal(struct mi_inspect *i, const struct args *args)
{
    struct summary s;
    summarize(i, args->directory, &s);
    bool good = !s.totals.unreadable && !s.letters.unreadable;
    if (args->json) {
        cJSON *root = stat_json(i, args, &s);
        char *text = cJSON_Print(root);
        good = good && text && puts(text) >= 0;
        cJSON_free(text);
        cJSON_Delete(root);
    } else
        print_stat(i, args, &s);
    return good ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

/* ---- dump ---- */

struct dumping {
    const struct args *args;
    struct mi_buf scratch;
    uint64_t printed;
};

static bool print_record(void *context, const struct mi_record *r)
{
    struct dumping *d = context;
    struct mi_message message;
    const char *why;
    char time[MI_TIME_TEXT];
    if (r->sequence < d->args->from)
        return true;
    if (r->sequence > d->args->to || d->printed == d->args->limit)
        return false;
    d->printed++;
    printf("%" PRIu64 " %s qos %u route-%08x ", r->sequence, mi_text_time(r->time_us, time), r->qos,
           r->route);
    mi_text_print(stdout, r->stream);
    putchar('/');
    mi_text_print(stdout, r->topic);
    enum mi_decoded kind = mi_envelope_decode(r->headers, r->payload, &message, &d->scratch, &why);
    if (kind == MI_DECODED_MQTT) {
        putchar(' ');
        mi_text_print(stdout, message.topic);
        printf(" %zu bytes", message.payload.len);
    } else
        printf(" (no MQTT message: %s) %zu bytes", kind == MI_DECODED_NATIVE ? "without mqtt.topic" : why,
               r->payload.len);
    if (r->reason)
        printf(" dead letter: %s", mi_reason_name(r->reason));
    putchar('\n');
    return true;
}

static int dump(struct mi_inspect *i, const struct args *args)
{
    struct dumping d = {.args = args};
    struct totals t = {0};
    const struct mi_inspect_segment *s;
    mi_buf_init(&d.scratch, SIZE_MAX / 2);
    for (size_t n = 0; (s = mi_inspect_segment(i, n)); n++) {
        if (s->sealed && s->next_sequence <= args->from)
            continue;
        if (!walk_segment(i, n, print_record, &d, &t))
            break;
    }
    mi_buf_fini(&d.scratch);
    return t.unreadable || t.lost || t.damaged_bytes ? MI_EXIT_REFUSED : MI_EXIT_OK;
}

/* ---- verify ---- */

static int verify(struct mi_inspect *i, const struct args *args)
{
    struct totals t = {0};
    size_t segments = 0;
    for (; mi_inspect_segment(i, segments); segments++)
        walk_segment(i, segments, NULL, NULL, &t);
    bool good = !t.unreadable && t.lost == 0 && t.damaged_bytes == 0;
    if (*mi_inspect_identity(i) == '\0') {
        fprintf(stderr, "%s: the file \"identity\" is missing or damaged; the next start draws a new one\n",
                args->directory);
        good = false;
    }
    printf("%s: %s: %zu segments, %" PRIu64 " messages", args->directory, good ? "good" : "damaged", segments,
           t.messages);
    if (!good)
        printf(", %" PRIu64 " lost to damage of %" PRIu64 " bytes", t.lost, t.damaged_bytes);
    if (t.torn_bytes)
        printf("; %" PRIu64 " bytes of a last message that was never acknowledged", t.torn_bytes);
    putchar('\n');
    return good ? MI_EXIT_OK : MI_EXIT_REFUSED;
}

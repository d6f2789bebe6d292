/*
 * topic_options: key, kind, limits.
 */
#include "topic_options.h"

#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum kind { COMPRESSION, BOOL, U32, U64, SIZE, DURABILITY };

struct option {
    enum dev_option option;
    const char *key;
    enum kind kind;
    enum dev_personality since, until;
    uint64_t min, max;
    const char *text; /* what GET /options/topic says about it */
};

/* Sorted by key, as Iggy shows them. */
static const struct option table[] = {
    {DEV_OPTION_COMPRESSION, "compression_algorithm", COMPRESSION, DEV_0_9, DEV_0_10, 0, 1,
     "Compression algorithm"},
    {DEV_OPTION_FSYNC, "durability", DURABILITY, DEV_0_10, DEV_0_10, 0, 1, "replicated or persisted"},
    {DEV_OPTION_FSYNC, "enforce_fsync", BOOL, DEV_0_9, DEV_0_9, 0, 1, "Whether writes to this topic fsync"},
    {DEV_OPTION_MAX_SIZE, "max_topic_size", SIZE, DEV_0_9, DEV_0_10, 0, UINT64_MAX,
     "Topic size cap in bytes"},
    {DEV_OPTION_EXPIRY, "message_expiry", U64, DEV_0_9, DEV_0_10, 0, UINT64_MAX,
     "Message expiry in microseconds"},
    {DEV_OPTION_MESSAGES_TO_SAVE, "messages_required_to_save", U32, DEV_0_9, DEV_0_10, 1, 16777216,
     "Flush the journal once it holds this many messages"},
    {DEV_OPTION_PREALLOCATE, "preallocate_segments", BOOL, DEV_0_9, DEV_0_10, 0, 1,
     "Reserve segments up front"},
    {DEV_OPTION_SEGMENT_SIZE, "segment_size", SIZE, DEV_0_9, DEV_0_10, 1 << 20, 1 << 30,
     "Segment size in bytes"},
    {DEV_OPTION_BYTES_TO_SAVE, "size_of_messages_required_to_save", SIZE, DEV_0_9, DEV_0_10, 1, 1 << 30,
     "Flush the journal once it holds this many bytes"},
};
enum { OPTIONS = sizeof table / sizeof table[0] };

static bool applies(const struct option *o, enum dev_personality personality)
{
    return personality >= o->since && personality <= o->until;
}

void dev_options_append(struct mi_buf *out, const struct dev_store *store, const struct dev_topic *topic)
{
    bool first = true;
    mi_buf_add_byte(out, '{');
    for (const struct option *o = table; o < table + OPTIONS; o++) {
        if (!applies(o, store->personality))
            continue;
        uint64_t value = topic->options[o->option];
        mi_buf_addf(out, "%s\"%s\":{\"value\":\"", first ? "" : ",", o->key);
        first = false;
        if (o->kind == COMPRESSION)
            mi_buf_add_text(out, value ? "gzip" : "none");
        else if (o->kind == DURABILITY)
            mi_buf_add_text(out, value ? "persisted" : "replicated");
        else if (o->kind == BOOL)
            mi_buf_add_text(out, value ? "true" : "false");
        else
            mi_buf_addf(out, "%llu", (unsigned long long)value);
        mi_buf_addf(out, "\",\"explicit\":%s}", topic->explicit_options[o->option] ? "true" : "false");
    }
    mi_buf_add_byte(out, '}');
}

static void append_default(struct mi_buf *out, const struct option *o, uint64_t value)
{
    const char *word = o->kind == COMPRESSION ? "none" : o->kind == DURABILITY ? "replicated" : NULL;
    size_t bytes = word ? strlen(word) : o->kind == BOOL ? 1 : o->kind == U32 ? 4 : 8;
    for (size_t i = 0; i < bytes; i++)
        mi_buf_addf(out, "%s%u", i ? "," : "",
                    word ? (unsigned)(uint8_t)word[i] : (unsigned)(value >> 8 * i & 0xff));
}

void dev_options_describe(struct mi_buf *out, enum dev_personality personality)
{
    static const char *const kinds[] = {"string", "bool", "uint32", "uint64", "uint64", "string"};
    uint64_t defaults[DEV_OPTIONS];
    bool first = true;
    dev_option_defaults(defaults);
    mi_buf_add_byte(out, '[');
    for (const struct option *o = table; o < table + OPTIONS; o++) {
        if (!applies(o, personality))
            continue;
        mi_buf_addf(out, "%s{\"key\":\"%s\",\"kind\":\"%s\",\"default_value\":[", first ? "" : ",", o->key,
                    kinds[o->kind]);
        first = false;
        append_default(out, o, defaults[o->option]);
        mi_buf_addf(out, "],\"description\":\"%s\"}", o->text);
    }
    mi_buf_add_byte(out, ']');
}

/* A number, with a unit where the option is a size. */
static bool read_number(const char *text, bool size, uint64_t *value)
{
    static const struct {
        const char *unit;
        uint64_t factor;
    } units[] = {{"", 1},          {"B", 1},           {"KB", 1000},     {"KiB", 1 << 10}, {"MB", 1000000},
                 {"MiB", 1 << 20}, {"GB", 1000000000}, {"GiB", 1 << 30}, {NULL, 0}};
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    *value = strtoull(text, &end, 10);
    if (errno)
        return false;
    while (*end == ' ')
        end++;
    for (int i = 0; units[i].unit && (size || i == 0); i++)
        if (strcasecmp(units[i].unit, end) == 0)
            return !__builtin_mul_overflow(*value, units[i].factor, value);
    return false;
}

static bool read_value(const struct option *o, const char *text, uint64_t *value)
{
    static const char *const words[][2] = {[COMPRESSION] = {"none", "gzip"},
                                           [BOOL] = {"false", "true"},
                                           [DURABILITY] = {"replicated", "persisted"}};
    if (o->kind == U32 || o->kind == U64 || o->kind == SIZE)
        return read_number(text, o->kind == SIZE, value) && *value >= o->min && *value <= o->max;
    *value = strcmp(text, words[o->kind][1]) == 0;
    return *value || strcmp(text, words[o->kind][0]) == 0;
}

bool dev_options_read(struct dev_request *r, const cJSON *object, uint64_t options[DEV_OPTIONS],
                      bool explicit_options[DEV_OPTIONS])
{
    const cJSON *item;
    cJSON_ArrayForEach(item, object)
    {
        const struct option *o = table;
        while (o < table + OPTIONS &&
               (strcmp(o->key, item->string) != 0 || !applies(o, r->server->store.personality)))
            o++;
        if (o == table + OPTIONS) {
            dev_reply_error(r, DEV_UNSUPPORTED_OPTION);
            return false;
        }
        if (!read_value(o, item->valuestring, &options[o->option])) {
            dev_reply_error(r, DEV_INVALID_OPTION);
            return false;
        }
        explicit_options[o->option] = true;
    }
    return true;
}

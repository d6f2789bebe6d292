#include "mapping/template.h"

#include "mapping/filter.h"
#include "mapping/names.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(s) (int)(s).len, (const char *)(s).data

struct reader {
    struct mi_template *t;
    const char *source; /* the text as given, which outlives the template while a rule is compiled */
    enum mi_template_use use;
    struct mi_names *names;
    char *to; /* where the next literal byte goes */
    struct mi_error *err;
};

static int read_pieces(struct reader *r, struct mi_span text);
static int read_brace(struct reader *r, struct mi_span text, size_t *at);
static int add_literal(struct reader *r, uint8_t byte);
static struct mi_piece *add_piece(struct reader *r, enum mi_piece_kind kind);
static int add_substitution(struct reader *r, struct mi_span name);
static int add_capture(struct reader *r, struct mi_span name);
static int find_capture(struct reader *r, struct mi_span name, uint32_t *index);
static int declare(struct reader *r, struct mi_span name);
static int check_target(const struct mi_template *t, struct mi_error *err);
static int check_constant(struct mi_span name, struct mi_error *err);
static int check_native(const struct mi_template *t, struct mi_error *err);

int mi_template_parse(struct mi_template *t, const char *text, enum mi_template_use use,
                      struct mi_names *names, struct mi_error *err)
{
    struct mi_span whole = mi_span_of(text);
    memset(t, 0, sizeof *t);
    if (!mi_text_valid(whole))
        return mi_error_set(err, "the text is not UTF-8; save the file as UTF-8");
    if (whole.len > MI_MAX_MQTT_STRING)
        return mi_error_set(err, "the template has %zu bytes; write at most %d", whole.len,
                            MI_MAX_MQTT_STRING);
    t->topic_only = true;
    t->pieces = calloc(MI_MAX_PIECES, sizeof *t->pieces);
    t->storage = malloc(whole.len * 2 + 1);
    struct reader r = {t, text, use, names, t->storage ? t->storage + whole.len : NULL, err};
    int rc = t->pieces && t->storage ? 0 : mi_error_set(err, "memory is out");
    if (rc == 0) {
        memcpy(t->storage, text, whole.len);
        whole.data = (const uint8_t *)t->storage;
        rc = read_pieces(&r, whole);
    }
    if (rc == 0 && use == MI_USE_TARGET)
        rc = check_target(t, err);
    if (rc == 0 && use == MI_USE_NATIVE)
        rc = check_native(t, err);
    if (rc != 0) {
        mi_template_fini(t);
        return -1;
    }
    struct mi_piece *fitting = realloc(t->pieces, (t->count ? t->count : 1) * sizeof *t->pieces);
    t->pieces = fitting ? fitting : t->pieces;
    return 0;
}

static int read_pieces(struct reader *r, struct mi_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = text.data[i];
        bool doubled = i + 1 < text.len && text.data[i + 1] == c;
        int rc;
        if (c == '{' && !doubled) {
            rc = read_brace(r, text, &i);
        } else if (c == '}' && !doubled) {
            rc = mi_error_set(
                r->err, "a single \"}\": a substitution is \"{name}\", and a brace that is meant is doubled");
        } else {
            i += c == '{' || c == '}';
            rc = add_literal(r, c);
        }
        if (rc != 0)
            return -1;
    }
    return 0;
}

/* *at is that of the brace, and becomes that of the closing one. */
static int read_brace(struct reader *r, struct mi_span text, size_t *at)
{
    const uint8_t *from = text.data + *at + 1;
    const uint8_t *end = memchr(from, '}', text.len - *at - 1);
    if (!end)
        return mi_error_set(r->err,
                            "\"{\" is never closed; write \"{name}\", or double a brace that is meant");
    struct mi_span name = {from, (size_t)(end - from)};
    *at += name.len + 1;
    return add_substitution(r, name);
}

static int add_literal(struct reader *r, uint8_t byte)
{
    struct mi_template *t = r->t;
    struct mi_piece *last = t->count ? &t->pieces[t->count - 1] : NULL;
    if (!last || last->kind != MI_PIECE_TEXT) {
        last = add_piece(r, MI_PIECE_TEXT);
        if (!last)
            return -1;
        last->text.data = (const uint8_t *)r->to;
    }
    *r->to++ = (char)byte;
    last->text.len++;
    return 0;
}

static struct mi_piece *add_piece(struct reader *r, enum mi_piece_kind kind)
{
    struct mi_template *t = r->t;
    if (t->count == MI_MAX_PIECES) {
        mi_error_set(r->err, "the template has more than %d parts; make it shorter", MI_MAX_PIECES);
        return NULL;
    }
    struct mi_piece *piece = &t->pieces[t->count++];
    piece->kind = kind;
    return piece;
}

/* Which substitutions there are, and where. */
static const struct {
    const char *word; /* with ':' at its end: a name follows */
    enum mi_piece_kind kind;
    bool out, native, topic_only;
} words[] = {
    {"topic", MI_PIECE_TOPIC, true, true, true},
    {"client_id", MI_PIECE_CLIENT_ID, true, false, false},
    {"username", MI_PIECE_USERNAME, true, false, false},
    {"property:", MI_PIECE_PROPERTY, true, false, false},
    {"header:", MI_PIECE_HEADER, false, true, false},
    {"partition", MI_PIECE_PARTITION, false, true, false},
    {"stream", MI_PIECE_STREAM, false, true, false},
};

static int add_substitution(struct reader *r, struct mi_span name)
{
    bool native = r->use == MI_USE_NATIVE;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i].word);
        bool takes_name = words[i].word[len - 1] == ':';
        if (name.len < len || memcmp(name.data, words[i].word, len) != 0 || (!takes_name && name.len > len))
            continue;
        if (!(native ? words[i].native : words[i].out))
            return mi_error_set(r->err,
                                native
                                    ? "{%.*s} belongs to a PUBLISH; mqtt_topic can use {header:NAME}, "
                                      "{partition}, {stream}, {topic} and names of stream and topic"
                                    : "{%.*s} belongs to mqtt_topic; for a PUBLISH there are captured names, "
                                      "{topic}, {client_id}, {username} and {property:NAME}",
                                TEXT(name));
        if (!native && r->names->open)
            return mi_error_set(
                r->err,
                "{%.*s} is that of a PUBLISH, but a route without filter and regex takes none; "
                "write the name out, or a name of your own such as {device}",
                TEXT(name));
        if (takes_name && (name.len == len || name.len - len > MI_MAX_HEADER_FIELD))
            return mi_error_set(r->err, "{%.*s} needs a name of 1 to %d bytes behind the colon", TEXT(name),
                                MI_MAX_HEADER_FIELD);
        struct mi_piece *piece = add_piece(r, words[i].kind);
        if (!piece)
            return -1;
        piece->text = (struct mi_span){name.data + len, name.len - len};
        r->t->topic_only = r->t->topic_only && words[i].topic_only;
        return 0;
    }
    return add_capture(r, name);
}

static int add_capture(struct reader *r, struct mi_span name)
{
    uint32_t index;
    if (find_capture(r, name, &index) != 0)
        return -1;
    if (r->use == MI_USE_NATIVE && !r->names->shown[index])
        return mi_error_set(r->err,
                            "{%.*s} stands neither in stream nor in topic, so a message from Iggy does not "
                            "show it; use {header:NAME} of a header that the producer sets",
                            TEXT(name));
    struct mi_piece *piece = add_piece(r, MI_PIECE_CAPTURE);
    if (!piece)
        return -1;
    piece->capture = index;
    piece->one_level = r->names->one_level[index];
    r->names->shown[index] |= r->use == MI_USE_TARGET;
    return 0;
}

static int find_capture(struct reader *r, struct mi_span name, uint32_t *index)
{
    bool digits = name.len > 0 && name.len < 4;
    unsigned number = 0;
    for (size_t i = 0; i < name.len && digits; i++) {
        digits = name.data[i] >= '0' && name.data[i] <= '9';
        number = number * 10 + name.data[i] - '0';
    }
    for (uint32_t i = 0; i < r->names->count; i++) {
        if (digits ? number == i + 1 : name.len > 0 && mi_span_equal(r->names->name[i], name)) {
            *index = i;
            return 0;
        }
    }
    *index = r->names->count;
    if (digits && r->names->open)
        return mi_error_set(
            r->err, "{%.*s} counts wildcards or groups, but there is no filter and no regex; use a name",
            TEXT(name));
    if (digits)
        return mi_error_set(r->err, "{%.*s} is not captured: there are %u wildcards or groups", TEXT(name),
                            r->names->count);
    if (!mi_capture_name_valid(name))
        return mi_error_set(
            r->err, "{%.*s} is no substitution; write {name}, or double a brace that is meant", TEXT(name));
    if (!r->names->open || r->use != MI_USE_TARGET)
        return mi_error_set(
            r->err,
            "{%.*s} is not captured; name a level {%.*s} in the filter, a group (?<%.*s>...) in "
            "the regex, or use {topic}, {client_id}, {username}, {property:NAME}%s",
            TEXT(name), TEXT(name), TEXT(name),
            r->use == MI_USE_NATIVE ? ", or in mqtt_topic {header:NAME}" : "");
    return declare(r, name);
}

static int declare(struct reader *r, struct mi_span name)
{
    struct mi_names *names = r->names;
    if (names->count == MI_MAX_CAPTURES)
        return mi_error_set(r->err, "more than %d names; use fewer", MI_MAX_CAPTURES);
    size_t at = (size_t)((const char *)name.data - r->t->storage);
    names->name[names->count] = (struct mi_span){(const uint8_t *)r->source + at, name.len};
    names->one_level[names->count++] = true;
    return 0;
}

/* A resolved name must never be empty or a number, whatever is filled in. */
static int check_target(const struct mi_template *t, struct mi_error *err)
{
    struct mi_span whole;
    bool letter = false;
    size_t literal = 0;
    if (t->count == 0 || mi_template_constant(t, &whole))
        return check_constant(t->count ? whole : mi_span_of(""), err);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_span text = t->pieces[i].text;
        if (t->pieces[i].kind != MI_PIECE_TEXT)
            continue;
        literal += text.len;
        for (size_t k = 0; k < text.len; k++)
            letter |= (text.data[k] < '0' || text.data[k] > '9') && text.data[k] != '+';
    }
    if (!letter)
        return mi_error_set(
            err, "the template has no fixed character other than digits and +, so a level of digits "
                 "would be read as Iggy's numeric id; put a word before it, as in \"room_{room}\"");
    if (literal > MI_MAX_IGGY_NAME)
        return mi_error_set(err, "the fixed part has %zu bytes; Iggy allows names of %d, make it shorter",
                            literal, MI_MAX_IGGY_NAME);
    return 0;
}

static int check_constant(struct mi_span name, struct mi_error *err)
{
    switch (mi_name_check(name)) {
    case MI_NAME_EMPTY:
        return mi_error_set(err, "the name is empty; Iggy needs 1 to %d bytes", MI_MAX_IGGY_NAME);
    case MI_NAME_LONG:
        return mi_error_set(err, "the name has %zu bytes; Iggy allows %d, make it shorter", name.len,
                            MI_MAX_IGGY_NAME);
    case MI_NAME_NUMBER:
        return mi_error_set(err, "\"%.*s\" would be read as Iggy's numeric id; put a letter into the name",
                            TEXT(name));
    case MI_NAME_BYTES:
        return mi_error_set(err, "the name is not UTF-8; save the file as UTF-8");
    case MI_NAME_GOOD:
        break;
    }
    return 0;
}

static int check_native(const struct mi_template *t, struct mi_error *err)
{
    if (t->count == 0)
        return mi_error_set(err, "mqtt_topic is empty; write the topic, or leave it out");
    for (uint32_t i = 0; i < t->count; i++) {
        const struct mi_span text = t->pieces[i].text;
        if (t->pieces[i].kind != MI_PIECE_TEXT)
            continue;
        if (i == 0 && text.data[0] == '$')
            return mi_error_set(err,
                                "nothing is injected into topics that begin with $; choose another topic");
        if (mi_has_control(text))
            return mi_error_set(
                err, "mqtt_topic has a control character, which Mosquitto allows in no topic; take it out");
        if (memchr(text.data, '+', text.len) || memchr(text.data, '#', text.len))
            return mi_error_set(err,
                                "mqtt_topic has a wildcard in \"%.*s\", but it is a topic, not a filter; use "
                                "{header:NAME} or {partition}",
                                TEXT(text));
    }
    return 0;
}

void mi_template_fini(struct mi_template *t)
{
    free(t->pieces);
    free(t->storage);
    memset(t, 0, sizeof *t);
}

bool mi_template_constant(const struct mi_template *t, struct mi_span *text)
{
    if (t->count != 1 || t->pieces[0].kind != MI_PIECE_TEXT)
        return false;
    *text = t->pieces[0].text;
    return true;
}

bool mi_piece_value(const struct mi_piece *piece, const struct mi_values *v, struct mi_span *value)
{
    switch (piece->kind) {
    case MI_PIECE_TEXT:
        *value = piece->text;
        return true;
    case MI_PIECE_CAPTURE:
        *value = v->captures[piece->capture];
        return true;
    case MI_PIECE_TOPIC:
        *value = v->topic;
        return true;
    case MI_PIECE_CLIENT_ID:
        *value = v->client_id;
        return true;
    case MI_PIECE_USERNAME:
        *value = v->username;
        return true;
    case MI_PIECE_PARTITION:
        *value = v->partition;
        return true;
    case MI_PIECE_STREAM:
        *value = v->stream;
        return true;
    case MI_PIECE_PROPERTY:
    case MI_PIECE_HEADER:
        break;
    }
    *value = (struct mi_span){NULL, 0};
    return v->named && v->named(v->named_context, piece->text, value);
}

bool mi_template_expand(const struct mi_template *t, const struct mi_values *values, size_t max,
                        struct mi_buf *out)
{
    size_t start = out->len;
    for (uint32_t i = 0; i < t->count; i++) {
        struct mi_span value = {NULL, 0};
        size_t room = max - (out->len - start);
        mi_piece_value(&t->pieces[i], values, &value);
        value.len = value.len < room ? value.len : room;
        if (!mi_buf_add_span(out, value))
            return false;
    }
    return true;
}

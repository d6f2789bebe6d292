/*
 * header_block: small arrays and an insertion sort; a message has a handful of headers.
 */
#include "header_block.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"

struct entry {
    uint8_t key_kind, value_kind;
    const uint8_t *key, *value;
    uint32_t key_len, value_len;
};

struct entries {
    struct entry *items;
    size_t count, cap;
};

static const char *const kinds[] = {NULL,     "raw",     "string",  "bool",   "int8",   "int16",
                                    "int32",  "int64",   "int128",  "uint8",  "uint16", "uint32",
                                    "uint64", "uint128", "float32", "float64"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
/* Bytes of a value; 0: any number from 1 to 255. */
static const uint8_t sizes[KINDS] = {0, 0, 0, 1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 4, 8};

static bool read_array(struct dev_json *j, struct mi_buf *block);
static bool read_string(struct dev_json *j, struct mi_buf *block);
static bool read_entry(struct dev_json *j, struct mi_buf *bytes, struct entry *entry);
static bool add_sorted(struct entries *entries, const struct entry *entry);
static bool decode(const uint8_t *block, size_t len, struct entries *entries);

bool dev_headers_read(struct dev_json *j, struct mi_buf *block)
{
    switch (dev_json_peek(j)) {
    case DEV_JSON_NULL:
        return dev_json_skip(j);
    case DEV_JSON_STRING:
        return read_string(j, block);
    case DEV_JSON_ARRAY:
        return read_array(j, block);
    default:
        return false;
    }
}

static bool read_string(struct dev_json *j, struct mi_buf *block)
{
    struct dev_text text;
    size_t written;
    if (!dev_json_string(j, &text))
        return false;
    uint8_t *room = mi_buf_reserve(block, dev_base64_decoded_max(text.len));
    if (!room || !dev_base64_decode(text.data, text.len, false, room, &written))
        return false;
    block->len += written;
    return true;
}

static bool read_array(struct dev_json *j, struct mi_buf *block)
{
    struct entries entries = {0};
    struct mi_buf bytes; /* reserved at once, so that entries can point into it */
    mi_buf_init(&bytes, (size_t)(j->end - j->at) + 64);
    bool first = true, ok = mi_buf_reserve(&bytes, (size_t)(j->end - j->at)) && dev_json_open(j);
    while (ok && dev_json_next_item(j, &first)) {
        struct entry entry = {0};
        ok = read_entry(j, &bytes, &entry) && add_sorted(&entries, &entry);
    }
    ok = ok && !j->syntax_error;
    size_t start = block->len;
    for (size_t i = 0; ok && i < entries.count; i++) {
        const struct entry *e = &entries.items[i];
        uint8_t len[4];
        mi_buf_add_byte(block, e->key_kind);
        mi_put_u32le(len, e->key_len);
        mi_buf_add(block, len, 4);
        mi_buf_add(block, e->key, e->key_len);
        mi_buf_add_byte(block, e->value_kind);
        mi_put_u32le(len, e->value_len);
        mi_buf_add(block, len, 4);
        mi_buf_add(block, e->value, e->value_len);
    }
    mi_buf_fini(&bytes);
    free(entries.items);
    return ok && !block->failed && block->len - start <= DEV_MAX_HEADER_BLOCK;
}

/* Reads {"kind":...,"value":...}; the bytes are appended and *data points at them. */
static bool read_field(struct dev_json *j, struct mi_buf *bytes, uint8_t *kind, const uint8_t **data,
                       uint32_t *len)
{
    struct dev_text key, text;
    bool first = true, have_value = false;
    if (dev_json_peek(j) != DEV_JSON_OBJECT || !dev_json_open(j))
        return false;
    while (dev_json_next_key(j, &first, &key)) {
        if (!dev_text_is(key, "kind") && !dev_text_is(key, "value")) {
            if (!dev_json_skip(j))
                return false;
            continue;
        }
        if (dev_json_peek(j) != DEV_JSON_STRING || !dev_json_string(j, &text))
            return false;
        if (dev_text_is(key, "kind")) {
            for (*kind = KINDS - 1; *kind > 0 && !dev_text_is(text, kinds[*kind]); --*kind)
                ;
            if (*kind == 0)
                return false;
            continue;
        }
        size_t written;
        uint8_t *room = mi_buf_reserve(bytes, dev_base64_decoded_max(text.len));
        if (!room || !dev_base64_decode(text.data, text.len, false, room, &written))
            return false;
        *data = room;
        *len = (uint32_t)written;
        bytes->len += written;
        have_value = true;
    }
    return !j->syntax_error && *kind && have_value;
}

static bool read_entry(struct dev_json *j, struct mi_buf *bytes, struct entry *entry)
{
    struct dev_text key;
    bool first = true;
    if (dev_json_peek(j) != DEV_JSON_OBJECT || !dev_json_open(j))
        return false;
    while (dev_json_next_key(j, &first, &key)) {
        bool ok = dev_text_is(key, "key")
                      ? read_field(j, bytes, &entry->key_kind, &entry->key, &entry->key_len)
                  : dev_text_is(key, "value")
                      ? read_field(j, bytes, &entry->value_kind, &entry->value, &entry->value_len)
                      : dev_json_skip(j);
        if (!ok)
            return false;
    }
    return !j->syntax_error && entry->key_kind && entry->value_kind;
}

static int compare(const struct entry *a, const struct entry *b)
{
    if (a->key_kind != b->key_kind)
        return a->key_kind < b->key_kind ? -1 : 1;
    return mi_span_compare((struct mi_span){a->key, a->key_len}, (struct mi_span){b->key, b->key_len});
}

static bool add_sorted(struct entries *entries, const struct entry *entry)
{
    size_t at = entries->count;
    while (at > 0 && compare(&entries->items[at - 1], entry) > 0)
        at--;
    if (at > 0 && compare(&entries->items[at - 1], entry) == 0) {
        entries->items[at - 1] = *entry;
        return true;
    }
    if (entries->count == entries->cap) {
        size_t cap = entries->cap ? entries->cap * 2 : 8;
        struct entry *grown = realloc(entries->items, cap * sizeof *grown);
        if (!grown)
            return false;
        entries->items = grown;
        entries->cap = cap;
    }
    memmove(entries->items + at + 1, entries->items + at, (entries->count - at) * sizeof *entry);
    entries->items[at] = *entry;
    entries->count++;
    return true;
}

void dev_headers_append(struct mi_buf *out, const uint8_t *block, size_t len)
{
    struct entries entries = {0};
    if (!decode(block, len, &entries)) {
        mi_buf_add_byte(out, '"');
        dev_base64_append(out, block, len);
        mi_buf_add_byte(out, '"');
        free(entries.items);
        return;
    }
    mi_buf_add_byte(out, '[');
    for (size_t i = 0; i < entries.count; i++) {
        const struct entry *e = &entries.items[i];
        mi_buf_add_text(out, i ? ",{\"key\":{\"kind\":\"" : "{\"key\":{\"kind\":\"");
        mi_buf_add_text(out, kinds[e->key_kind]);
        mi_buf_add_text(out, "\",\"value\":\"");
        dev_base64_append(out, e->key, e->key_len);
        mi_buf_add_text(out, "\"},\"value\":{\"kind\":\"");
        mi_buf_add_text(out, kinds[e->value_kind]);
        mi_buf_add_text(out, "\",\"value\":\"");
        dev_base64_append(out, e->value, e->value_len);
        mi_buf_add_text(out, "\"}}");
    }
    mi_buf_add_byte(out, ']');
    free(entries.items);
}

/* Reads kind, length and bytes of a key or a value. */
static bool decode_field(const uint8_t **at, const uint8_t *end, uint8_t *kind, const uint8_t **data,
                         uint32_t *len)
{
    if (end - *at < 5)
        return false;
    *kind = (*at)[0];
    *len = mi_get_u32le(*at + 1);
    *data = *at + 5;
    if (*kind == 0 || *kind >= KINDS || *len < 1 || *len > 255 || *len > (size_t)(end - *data))
        return false;
    *at = *data + *len;
    return sizes[*kind] == 0 || sizes[*kind] == *len;
}

static bool decode(const uint8_t *block, size_t len, struct entries *entries)
{
    const uint8_t *at = block, *end = block + len;
    while (at < end) {
        struct entry e;
        if (!decode_field(&at, end, &e.key_kind, &e.key, &e.key_len) ||
            !decode_field(&at, end, &e.value_kind, &e.value, &e.value_len) || !add_sorted(entries, &e))
            return false;
    }
    return true;
}

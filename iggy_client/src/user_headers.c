/* User headers of a polled message, in whichever form the server chose, as one raw block. */
#include "poll_reader.h"

#include <string.h>

struct field {
    uint8_t kind;
    struct mi_span value;
};

#define NAME(text)                                \
    {                                             \
        (const uint8_t *)(text), sizeof(text) - 1 \
    }
/* In the order of their numbers, from 1 on (API reference 9.1). */
static const struct mi_span kinds[] = {
    NAME("raw"),    NAME("string"), NAME("bool"),    NAME("int8"),    NAME("int16"),
    NAME("int32"),  NAME("int64"),  NAME("int128"),  NAME("uint8"),   NAME("uint16"),
    NAME("uint32"), NAME("uint64"), NAME("uint128"), NAME("float32"), NAME("float64"),
};

/* A kind that a newer server has and we do not know is raw bytes to us. */
static uint8_t kind_number(struct mi_span name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (mi_span_equal(name, kinds[i]))
            return (uint8_t)(i + 1);
    return 1;
}

static bool read_field(struct json *j, struct field *field)
{
    struct mi_span key, name;
    bool kind = false, value = false;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "kind")) {
            kind = json_string(j, &name);
            if (kind)
                field->kind = kind_number(name);
        } else if (json_key_is(key, "value")) {
            value = json_base64(j, &field->value);
        } else {
            json_skip(j);
        }
    }
    return (kind && value) || json_fail(j);
}

static void add_field(struct mi_buf *blocks, const struct field *field)
{
    uint8_t length[4];
    mi_put_u32le(length, (uint32_t)field->value.len);
    mi_buf_add_byte(blocks, field->kind);
    mi_buf_add(blocks, length, sizeof length);
    mi_buf_add_span(blocks, field->value);
}

static bool read_entry(struct json *j, struct mi_buf *blocks)
{
    struct field name = {0}, content = {0};
    struct mi_span key;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "key"))
            read_field(j, &name);
        else if (json_key_is(key, "value"))
            read_field(j, &content);
        else
            json_skip(j);
    }
    if (name.kind == 0 || content.kind == 0)
        return json_fail(j);
    add_field(blocks, &name);
    add_field(blocks, &content);
    return !blocks->failed || json_fail(j);
}

bool user_headers_read(struct json *j, struct mi_buf *blocks, struct mi_span *block)
{
    *block = (struct mi_span){0};
    switch (json_peek(j)) {
    case JSON_STRING:
        return json_base64(j, block);
    case JSON_ARRAY:
        /* All at once, so that no block moves when the next is added. */
        if (!blocks->data && !mi_buf_reserve(blocks, blocks->max))
            return json_fail(j);
        block->data = blocks->data + blocks->len;
        for (bool items = json_array(j); items && json_item(j);)
            if (!read_entry(j, blocks))
                return false;
        block->len = (size_t)(blocks->data + blocks->len - block->data);
        return !j->failed;
    default:
        return json_peek(j) == JSON_NULL ? json_skip(j) : json_fail(j);
    }
}

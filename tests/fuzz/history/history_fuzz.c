/*
 * history_fuzz: any bytes as the filter of a SUBSCRIBE, as a cursor, and as the content of a cursor with a
 * good check value.
 *
 * What must hold: no crash; a refusal has a sentence that fits into JSON; no bytes are a cursor of ours by
 * chance; what a cursor says is written again as the same text; the marker's topic has no wildcard level.
 */
#include "history/cursor.h"
#include "history/item.h"
#include "history/request.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[MI_CURSOR_KEY] = "fuzz";

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void as_request(struct mi_span text)
{
    struct mi_request r;
    const char *why;
    if (mi_request_parse(text, 1800000000000000, &r, &why))
        check(r.filter.len > 0 && r.from.len > 0 && r.since_us <= 255000000000000000);
    else
        check(strlen(why) > 10 && !strpbrk(why, "\"\\\n"));
    size_t at = mi_request_begins(text), shared;
    check(at == SIZE_MAX || (at < text.len && text.data[at] == '$'));
    check(!mi_request_is_shared(text, &shared) || shared <= text.len);
}

static void as_marker(struct mi_span text)
{
    struct mi_end_facts facts = {.reason = MI_END_COMPLETE};
    struct mi_history_item *item = mi_item_new_end((struct mi_span){NULL, 0}, text, 1, &facts);
    check(item && mi_item_write_end(item, 0));
    if (!memchr(text.data, 0, text.len)) {
        const char *level = item->topic;
        for (; level; level = strchr(level, '/') ? strchr(level, '/') + 1 : NULL)
            check(!((level[0] == '+' || level[0] == '#') && (level[1] == '/' || !level[1])));
    }
    mi_history_item_free(item);
}

static void as_cursor(struct mi_span text)
{
    struct mi_cursor c;
    check(!mi_cursor_read(key, mi_span_of("a/#"), text, &c));
}

/* The fields of a cursor as the bytes say: it comes back as it was. */
static void round_trip(struct mi_span bytes)
{
    struct mi_cursor in = {.kind = MI_CURSOR_BACKWARD}, out;
    struct mi_buf text, again;
    if (bytes.len < 24)
        return;
    in.kind = bytes.data[0] & 1 ? MI_CURSOR_FORWARD : MI_CURSOR_BACKWARD;
    in.tag = mi_get_u64le(bytes.data + 1);
    if (in.kind == MI_CURSOR_FORWARD) {
        in.since_us = mi_get_u64le(bytes.data + 9);
        in.partition = mi_get_u32le(bytes.data + 17);
        in.next = bytes.data[21] & 1 ? MI_CURSOR_UNPLACED : in.tag / 2;
        in.end = in.since_us ^ in.tag;
    } else {
        in.remaining = mi_get_u64le(bytes.data + 9);
        in.legs = bytes.data[17] % (MI_CURSOR_LEGS + 1);
        for (uint32_t i = 0; i < in.legs; i++)
            in.position[i] = in.remaining * (i + 1) >> (i % 64);
    }
    mi_buf_init(&text, MI_CURSOR_TEXT);
    mi_buf_init(&again, MI_CURSOR_TEXT);
    check(mi_cursor_write(key, mi_span_of("a/#"), &in, &text));
    check(mi_cursor_read(key, mi_span_of("a/#"), mi_buf_span(&text), &out));
    check(mi_cursor_write(key, mi_span_of("a/#"), &out, &again));
    check(mi_span_equal(mi_buf_span(&text), mi_buf_span(&again)));
    mi_buf_fini(&text);
    mi_buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mi_span text = {size ? data : (const uint8_t *)"", size};
    as_request(text);
    as_marker(text);
    as_cursor(text);
    round_trip(text);
    return 0;
}

#include <stdalign.h>
#include <string.h>

#include "message/envelope.h"
#include "message/headers.h"
#include "message/names.h"
#include "base/utf8.h"

/* Values that may be cut into numbered pieces. */
enum { TOPIC, CLIENT_ID, USERNAME, ORIGIN, PROPERTIES, LONG_VALUES };

/* One value as it is put together: counted in the first pass over the headers, gathered in a second if need
 * be. */
struct pieces {
    size_t count;         /* entries, repeated ones too */
    size_t bytes;         /* of them all */
    bool numbered;        /* one of them is not the first */
    struct mi_span first; /* the last entry without a number */
};

struct reader {
    struct mi_span blocks[2]; /* the headers, and what stands before the payload */
    struct pieces pieces[LONG_VALUES];
    uint8_t envelope;
    bool has_envelope, empty;
    struct mi_message *out;
    struct mi_buf *scratch;
    const char *why; /* NULL: nothing is wrong */
};

static void read_block(struct reader *r, struct mi_span block);
static void split_overflow(struct reader *r, struct mi_span *payload);
static void put_together(struct reader *r);
static void take_payload(struct reader *r, struct mi_span payload);
static const char *topic_fault(struct mi_span topic);
static const char *properties_fault(struct mi_span block);

enum mi_decoded mi_envelope_decode(struct mi_span headers, struct mi_span payload, struct mi_message *out,
                                   struct mi_buf *scratch, const char **why)
{
    struct reader r = {.blocks = {headers}, .out = out, .scratch = scratch};
    memset(out, 0, sizeof *out);
    out->payload = payload;
    mi_buf_reset(scratch);
    *why = NULL;

    read_block(&r, headers);
    if (!r.why && r.has_envelope && r.envelope != 1) {
        *why = "mqtt.envelope has a version that is not known here";
        return MI_DECODED_UNKNOWN;
    }
    if (!r.why && r.has_envelope)
        split_overflow(&r, &payload);
    if (!r.why && !r.has_envelope && r.pieces[TOPIC].count == 0) {
        memset(out, 0, sizeof *out);
        out->payload = payload;
        return MI_DECODED_NATIVE;
    }
    if (!r.why)
        put_together(&r);
    if (!r.why)
        take_payload(&r, payload);
    if (!r.why)
        r.why = topic_fault(out->topic);
    if (!r.why)
        r.why = properties_fault(out->properties);
    *why = r.why;
    return r.why ? MI_DECODED_BROKEN : MI_DECODED_MQTT;
}

/* ---- first pass: flags and counts ---- */

static bool starts_with(struct mi_span s, struct mi_span with)
{
    /* The last byte first: it tells most of our names apart without a call. */
    return s.len >= with.len && s.data[with.len - 1] == with.data[with.len - 1] &&
           memcmp(s.data, with.data, with.len) == 0;
}

/* The number of a piece: 0 for the plain name, N for ".N" (one beyond any count when it is absurd), -1 when
 * the key is another name. */
static int64_t piece_number(struct mi_span key, struct mi_span name)
{
    if (!starts_with(key, name))
        return -1;
    if (key.len == name.len)
        return 0;
    const uint8_t *digit = key.data + name.len, *end = key.data + key.len;
    if (*digit++ != '.' || digit == end || *digit == '0')
        return -1;
    int64_t number = 0;
    for (; digit < end; digit++) {
        if (*digit < '0' || *digit > '9')
            return -1;
        if (number < INT64_MAX / 16)
            number = number * 10 + (*digit - '0');
    }
    return number;
}

/* Which long value, and which piece of it, that header is; -1: none. */
static int which_piece(const struct mi_header *h, int64_t *number)
{
    const struct mi_span names[LONG_VALUES] = {
        [TOPIC] = MI_NAME_TOPIC,   [CLIENT_ID] = MI_NAME_CLIENT_ID,   [USERNAME] = MI_NAME_USERNAME,
        [ORIGIN] = MI_NAME_ORIGIN, [PROPERTIES] = MI_NAME_PROPERTIES,
    };
    for (int i = 0; i < LONG_VALUES; i++) {
        *number = piece_number(h->key, names[i]);
        if (*number >= 0)
            return i;
    }
    return -1;
}

static void read_piece(struct reader *r, const struct mi_header *h, int which, int64_t number)
{
    struct pieces *p = &r->pieces[which];
    if (h->kind != MI_HEADER_RAW && (h->kind != MI_HEADER_STRING || which == PROPERTIES)) {
        r->why = "a header of the envelope has the wrong kind";
        return;
    }
    p->count++;
    p->bytes += h->value.len;
    if (number > 0)
        p->numbered = true;
    else
        p->first = h->value;
}

static void read_flag(struct reader *r, const struct mi_header *h)
{
    struct mi_message *m = r->out;
    const struct {
        struct mi_span name;
        uint8_t kind, size, max; /* max of a single byte */
        void *to;
    } flags[] = {
        {MI_NAME_QOS, MI_HEADER_UINT8, 1, 2, &m->qos},
        {MI_NAME_TIME, MI_HEADER_UINT64, 8, 0, NULL},
        {MI_NAME_RETAIN, MI_HEADER_BOOL, 1, 1, &m->retain},
        {MI_NAME_WILL, MI_HEADER_BOOL, 1, 1, &m->will},
        {MI_NAME_MAYBE_DUP, MI_HEADER_BOOL, 1, 1, &m->maybe_dup},
        {MI_NAME_EMPTY, MI_HEADER_BOOL, 1, 1, &r->empty},
        {MI_NAME_ENVELOPE, MI_HEADER_UINT8, 1, 255, &r->envelope},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (h->key.len != flags[i].name.len || !starts_with(h->key, flags[i].name))
            continue;
        if (h->kind != flags[i].kind || h->value.len != flags[i].size)
            r->why = "a header of the envelope has the wrong kind or size";
        else if (!flags[i].to)
            m->time_us = mi_get_u64le(h->value.data);
        else if (h->value.data[0] > flags[i].max)
            r->why = "a header of the envelope has a value that MQTT does not know";
        else if (flags[i].kind == MI_HEADER_BOOL)
            *(bool *)flags[i].to = h->value.data[0];
        else
            *(uint8_t *)flags[i].to = h->value.data[0];
        if (flags[i].to == &r->envelope)
            r->has_envelope = true;
        return;
    }
}

static bool is_ours(const struct mi_header *h)
{
    return h->key_kind == MI_HEADER_STRING && starts_with(h->key, MI_NAME("mqtt."));
}

static void read_block(struct reader *r, struct mi_span block)
{
    struct mi_header h;
    size_t at = 0;
    int more;
    while (!r->why && (more = mi_headers_next(block, &at, &h)) != 0) {
        if (more < 0) {
            r->why = "the header block cannot be read to its end";
            return;
        }
        if (!is_ours(&h))
            continue;
        int64_t number;
        int which = which_piece(&h, &number);
        if (which >= 0)
            read_piece(r, &h, which, number);
        else
            read_flag(r, &h);
    }
}

static void split_overflow(struct reader *r, struct mi_span *payload)
{
    size_t len = payload->len >= 4 ? mi_get_u32le(payload->data) : 0;
    if (payload->len < 4 || len > payload->len - 4) {
        r->why = "mqtt.envelope is 1, but the block before the payload is not there";
        return;
    }
    r->blocks[1] = (struct mi_span){payload->data + 4, len};
    payload->data += 4 + len;
    payload->len -= 4 + len;
    read_block(r, r->blocks[1]);
}

/* ---- second pass: values in several pieces ---- */

/* Fills slots (one per piece) by number; false when a number is beyond them. */
static bool sort_pieces(const struct reader *r, int which, struct mi_span *slots)
{
    size_t count = r->pieces[which].count;
    for (int block = 0; block < 2; block++) {
        struct mi_header h;
        size_t at = 0;
        while (mi_headers_next(r->blocks[block], &at, &h) == 1) {
            int64_t number;
            if (!is_ours(&h) || which_piece(&h, &number) != which)
                continue;
            if ((uint64_t)number >= count)
                return false;
            slots[number] = h.value;
        }
    }
    return true;
}

/* Room for everything is there: scratch does not move. */
static void gather(struct reader *r, int which, struct mi_span *out)
{
    struct mi_buf *s = r->scratch;
    size_t count = r->pieces[which].count;
    s->len = (s->len + alignof(struct mi_span) - 1) & ~(alignof(struct mi_span) - 1);
    struct mi_span *slots = (struct mi_span *)(void *)(s->data + s->len);
    memset(slots, 0, count * sizeof *slots);
    s->len += count * sizeof *slots;

    size_t used = 0, start = s->len;
    bool whole = sort_pieces(r, which, slots);
    for (; whole && used < count && slots[used].data; used++)
        mi_buf_add_span(s, slots[used]);
    for (size_t i = used; i < count; i++)
        whole = whole && !slots[i].data; /* empty ones at the end: others were repeated */
    if (!whole)
        r->why = "the numbered pieces of a header have a gap";
    *out = (struct mi_span){s->data + start, s->len - start};
}

static void put_together(struct reader *r)
{
    struct mi_span *const to[LONG_VALUES] = {
        [TOPIC] = &r->out->topic,   [CLIENT_ID] = &r->out->client_id,   [USERNAME] = &r->out->username,
        [ORIGIN] = &r->out->origin, [PROPERTIES] = &r->out->properties,
    };
    size_t room = 0;
    for (int i = 0; i < LONG_VALUES; i++)
        if (r->pieces[i].numbered)
            room +=
                r->pieces[i].count * sizeof(struct mi_span) + r->pieces[i].bytes + alignof(struct mi_span);
    if (room > 0 && !mi_buf_reserve(r->scratch, room)) {
        r->why = "no memory to put the pieces of a header together";
        return;
    }
    for (int i = 0; i < LONG_VALUES && !r->why; i++) {
        if (r->pieces[i].numbered)
            gather(r, i, to[i]);
        else
            *to[i] = r->pieces[i].first;
    }
}

/* ---- checks ---- */

static void take_payload(struct reader *r, struct mi_span payload)
{
    bool filler = payload.len == 0 || (payload.len == 1 && payload.data[0] == 0);
    if (r->empty && !filler)
        r->why = "mqtt.empty stands with a payload";
    if (r->empty)
        payload.len = 0;
    r->out->payload = payload;
}

static const char *topic_fault(struct mi_span topic)
{
    if (topic.len == 0)
        return "mqtt.topic is missing or empty";
    if (topic.len > MI_MAX_MQTT_STRING)
        return "mqtt.topic is longer than MQTT allows";
    if (!mi_utf8_valid(topic))
        return "mqtt.topic is not UTF-8";
    for (size_t i = 0; i < topic.len; i++)
        if (topic.data[i] == '\0' || topic.data[i] == '+' || topic.data[i] == '#')
            return "mqtt.topic has a character that no topic of a PUBLISH may have";
    return NULL;
}

static const char *properties_fault(struct mi_span block)
{
    struct mi_property p;
    size_t at = 0;
    uint64_t seen = 0;
    int more;
    while ((more = mi_properties_next(block, &at, &p)) == 1) {
        if (p.id != MI_PROP_USER && (seen >> p.id & 1))
            return "mqtt.properties repeats a property that may stand once";
        seen |= 1ull << p.id;
    }
    return more < 0 ? "mqtt.properties is malformed" : NULL;
}

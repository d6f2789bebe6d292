/*
 * envelope_fuzz: any bytes as header block and payload are judged without fault; what is judged to be MQTT is
 * encoded and decoded again to the same message. Input: u32 LE bytes of the block, block, payload.
 */
#include <stdlib.h>
#include <string.h>

#include "message/envelope.h"
#include "message/headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_equal(struct mi_span a, struct mi_span b)
{
    must(mi_span_equal(a, b));
}

static void read_as_text(struct mi_span block)
{
    struct mi_header h;
    size_t at = 0;
    while (mi_headers_next(block, &at, &h) == 1) {
        char text[48];
        struct mi_span out;
        if (mi_header_text(&h, text, sizeof text, &out))
            must(out.len == h.value.len || out.len < sizeof text);
    }
}

static void encode_again(const struct mi_message *m)
{
    struct mi_envelope e;
    struct mi_buf payload, scratch;
    struct mi_message back;
    const char *why;
    mi_envelope_init(&e);
    must(mi_envelope_encode(&e, m));
    mi_buf_init(&payload, e.prefix.len + m->payload.len);
    mi_buf_init(&scratch, 1 << 24);
    must(mi_buf_add_span(&payload, mi_buf_span(&e.prefix)) && mi_buf_add_span(&payload, m->payload));
    must(mi_envelope_decode(mi_buf_span(&e.headers), mi_buf_span(&payload), &back, &scratch, &why) ==
         MI_DECODED_MQTT);
    must_equal(m->topic, back.topic);
    must_equal(m->payload, back.payload);
    must_equal(m->client_id, back.client_id);
    must_equal(m->username, back.username);
    must_equal(m->origin, back.origin);
    must_equal(m->properties, back.properties);
    must(m->qos == back.qos && m->retain == back.retain && m->will == back.will &&
         m->time_us == back.time_us);
    mi_buf_fini(&scratch);
    mi_buf_fini(&payload);
    mi_envelope_fini(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4)
        return 0;
    size_t len = mi_get_u32le(data);
    if (len > size - 4)
        len = size - 4;
    struct mi_span block = {data + 4, len}, payload = {data + 4 + len, size - 4 - len};
    struct mi_buf scratch;
    struct mi_message m;
    const char *why;
    mi_buf_init(&scratch, 1 << 24);
    read_as_text(block);
    if (mi_envelope_decode(block, payload, &m, &scratch, &why) == MI_DECODED_MQTT)
        encode_again(&m);
    mi_buf_fini(&scratch);
    return 0;
}

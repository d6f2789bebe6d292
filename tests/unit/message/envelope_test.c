/* envelope: whatever message goes in comes out, every block is one that any Iggy SDK decodes, the bytes are
 * golden, and contradictions are told from leniency. */
#include "message/envelope.h"
#include "message/headers.h"
#include "random_message.h"
#include "reference_decoder.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_HEADERS = 20000 };

static struct reference_header decoded[MANY_HEADERS];

/* ---- helpers ---- */

static struct mi_span bytes(const char *data, size_t len)
{
    return (struct mi_span){(const uint8_t *)data, len};
}

/* The Iggy payload as a copy of exactly its size, so that a sanitizer sees a read past its end. */
static struct mi_span joined(const struct mi_envelope *e, struct mi_span payload)
{
    size_t len = e->prefix.len + payload.len;
    uint8_t *data = malloc(len ? len : 1);
    if (e->prefix.len)
        memcpy(data, e->prefix.data, e->prefix.len);
    if (payload.len)
        memcpy(data + e->prefix.len, payload.data, payload.len);
    return (struct mi_span){data, len};
}

static bool same(const struct mi_message *a, const struct mi_message *b)
{
    return mi_span_equal(a->topic, b->topic) && mi_span_equal(a->payload, b->payload) && a->qos == b->qos &&
           a->retain == b->retain && a->will == b->will && a->maybe_dup == b->maybe_dup &&
           mi_span_equal(a->client_id, b->client_id) && mi_span_equal(a->username, b->username) &&
           mi_span_equal(a->origin, b->origin) && a->time_us == b->time_us &&
           mi_span_equal(a->properties, b->properties);
}

static int reference_count(struct mi_span block, size_t limit)
{
    const char *fault;
    int count = reference_decode(block.data, block.len, limit, decoded, MANY_HEADERS, &fault);
    if (count < 0)
        printf("\n    independent decoder: %s\n", fault);
    return count;
}

/* Encodes, judges the blocks with the independent decoder, decodes, compares. True when the message
 * overflowed. */
static bool round_trip(struct mi_envelope *e, const struct mi_message *m)
{
    CU_ASSERT_TRUE_FATAL(mi_envelope_encode(e, m));
    struct mi_span payload = joined(e, m->payload), headers = mi_buf_span(&e->headers);
    CU_ASSERT_TRUE(payload.len > 0);
    CU_ASSERT_TRUE(reference_count(headers, MI_MAX_HEADER_BLOCK) > 0);
    struct mi_header h;
    bool overflow = mi_headers_find(headers, mi_span_of("mqtt.envelope"), &h);
    size_t filler = m->payload.len == 0;
    CU_ASSERT_EQUAL(overflow, e->prefix.len > filler);
    if (overflow) {
        size_t len = mi_get_u32le(payload.data);
        CU_ASSERT_EQUAL_FATAL(len, e->prefix.len - 4 - filler);
        CU_ASSERT_TRUE(reference_count((struct mi_span){payload.data + 4, len}, MI_MAX_OVERFLOW_BYTES) > 0);
    }
    struct mi_message back;
    struct mi_buf scratch;
    const char *why;
    mi_buf_init(&scratch, 2 * (headers.len + payload.len) + 64);
    CU_ASSERT_EQUAL(mi_envelope_decode(headers, payload, &back, &scratch, &why), MI_DECODED_MQTT);
    CU_ASSERT_TRUE(same(m, &back));
    mi_buf_fini(&scratch);
    free((void *)payload.data);
    return overflow;
}

/* ---- there and back ---- */

static void random_messages_come_back_whole(void)
{
    uint64_t state = random_seed("random messages");
    struct random_message r;
    struct mi_envelope e;
    random_message_init(&r);
    mi_envelope_init(&e);
    unsigned overflowed = 0, empty = 0, with_properties = 0;
    for (int i = 0; i < 2000; i++) {
        random_message_make(&r, &state);
        overflowed += round_trip(&e, &r.message);
        empty += r.message.payload.len == 0;
        with_properties += r.message.properties.len > 0;
    }
    CU_ASSERT_TRUE(overflowed > 10 && overflowed < 1500);
    CU_ASSERT_TRUE(empty > 10);
    CU_ASSERT_TRUE(with_properties > 500);
    mi_envelope_fini(&e);
    random_message_fini(&r);
}

static void everything_at_its_maximum_comes_back(void)
{
    struct mi_buf topic, properties, blob;
    mi_buf_init(&topic, 65535);
    mi_buf_init(&blob, 65535);
    mi_buf_init(&properties, 1 << 20);
    while (topic.len + 3 <=
           65535) /* 255 is a multiple of 3: shifted by one, each cut falls inside a character */
        mi_buf_add_text(&topic, topic.len ? "\xe2\x82\xac" : "t");
    mi_buf_add_text(&topic, topic.len == 65533 ? "xy" : "");
    CU_ASSERT_TRUE(topic.len >= 65533);
    for (unsigned i = 0; i < 65535; i++)
        mi_buf_add_byte(&blob, (uint8_t)(i * 7));
    mi_properties_add_bytes(&properties, MI_PROP_CORRELATION_DATA, mi_buf_span(&blob));
    mi_properties_add_pair(&properties, mi_buf_span(&topic), mi_buf_span(&topic));
    mi_properties_add_pair(&properties, mi_span_of(""), mi_span_of(""));
    struct mi_message m = {.topic = mi_buf_span(&topic),
                           .payload = mi_span_of("p"),
                           .client_id = mi_buf_span(&topic),
                           .username = mi_buf_span(&topic),
                           .origin = mi_span_of("o"),
                           .properties = mi_buf_span(&properties)};
    struct mi_envelope e;
    mi_envelope_init(&e);
    CU_ASSERT_TRUE(round_trip(&e, &m));
    m.payload.len = 0; /* overflow together with an empty payload */
    CU_ASSERT_TRUE(round_trip(&e, &m));
    mi_envelope_fini(&e);
    mi_buf_fini(&topic);
    mi_buf_fini(&blob);
    mi_buf_fini(&properties);
}

/* The edge between the two forms, byte by byte. */
static void the_edge_of_the_overflow_loses_nothing(void)
{
    struct mi_buf blob, properties;
    mi_buf_init(&blob, 65535);
    mi_buf_init(&properties, 1 << 20);
    for (unsigned i = 0; i < 65535; i++)
        mi_buf_add_byte(&blob, (uint8_t)i);
    struct mi_envelope e;
    mi_envelope_init(&e);
    unsigned plain = 0, overflowed = 0;
    size_t largest = 0;
    for (size_t last = 19000; last<24000; last += last> 20500 && last < 22500 ? 1 : 97) {
        mi_buf_reset(&properties);
        mi_properties_add_bytes(&properties, MI_PROP_CORRELATION_DATA, mi_buf_span(&blob));
        mi_properties_add_bytes(&properties, MI_PROP_RESPONSE_TOPIC, (struct mi_span){blob.data, last});
        struct mi_message m = {.topic = mi_span_of("t"),
                               .payload = mi_span_of("p"),
                               .origin = mi_span_of("o"),
                               .properties = mi_buf_span(&properties)};
        if (round_trip(&e, &m))
            overflowed++;
        else
            plain++;
        if (e.headers.len > largest)
            largest = e.headers.len;
    }
    CU_ASSERT_TRUE(plain > 10 && overflowed > 10);
    CU_ASSERT_TRUE(largest <= MI_ENVELOPE_BLOCK_BYTES && largest > MI_ENVELOPE_BLOCK_BYTES - 300);
    mi_envelope_fini(&e);
    mi_buf_fini(&blob);
    mi_buf_fini(&properties);
}

/* No broker shows such strings; if one does, the block stays decodable and nothing but the topic is refused.
 */
static void strings_that_are_not_utf8_are_raw(void)
{
    uint8_t bad[600];
    memset(bad, 0xff, sizeof bad);
    struct mi_message m = {.topic = mi_span_of("t"),
                           .payload = mi_span_of("p"),
                           .client_id = {bad, 300},
                           .username = {bad, 1},
                           .origin = {bad, 600}};
    struct mi_envelope e;
    mi_envelope_init(&e);
    round_trip(&e, &m);
    m.topic = (struct mi_span){bad, 300};
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m));
    CU_ASSERT_TRUE(reference_count(mi_buf_span(&e.headers), MI_MAX_HEADER_BLOCK) > 0);
    struct mi_buf scratch;
    struct mi_message back;
    const char *why;
    mi_buf_init(&scratch, 10000);
    CU_ASSERT_EQUAL(mi_envelope_decode(mi_buf_span(&e.headers), m.payload, &back, &scratch, &why),
                    MI_DECODED_BROKEN);
    CU_ASSERT_STRING_EQUAL(why, "mqtt.topic is not UTF-8");
    mi_buf_fini(&scratch);
    mi_envelope_fini(&e);
}

/* ---- for people ---- */

static bool has(const struct mi_envelope *e, const char *key)
{
    struct mi_header h;
    return mi_headers_find(mi_buf_span(&e->headers), mi_span_of(key), &h);
}

static void shown_properties_appear_only_when_they_fit(void)
{
    uint8_t text[256];
    memset(text, 'x', sizeof text);
    static const struct {
        size_t len;
        uint8_t first;
        bool shown;
    } cases[] = {{0, 'x', false}, {1, 'x', true}, {255, 'x', true}, {256, 'x', false}, {5, 0xff, false}};
    struct mi_envelope e;
    mi_envelope_init(&e);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mi_buf properties;
        mi_buf_init(&properties, 1000);
        text[0] = cases[i].first;
        mi_properties_add_bytes(&properties, MI_PROP_CONTENT_TYPE, (struct mi_span){text, cases[i].len});
        struct mi_message m = {.topic = mi_span_of("t"),
                               .payload = mi_span_of("p"),
                               .origin = mi_span_of("o"),
                               .properties = mi_buf_span(&properties)};
        round_trip(&e, &m);
        CU_ASSERT_EQUAL(has(&e, "mqtt.content_type"), cases[i].shown);
        CU_ASSERT_FALSE(has(&e, "mqtt.response_topic"));
        mi_buf_fini(&properties);
    }
    mi_envelope_fini(&e);
}

static void reasons_can_be_added_to_every_block(void)
{
    struct mi_buf blob, properties;
    mi_buf_init(&blob, 70000);
    mi_buf_init(&properties, 1 << 20);
    while (blob.len < 65535)
        mi_buf_add_byte(&blob, 'b');
    for (int i = 0; i < 3; i++)
        mi_properties_add_pair(&properties, mi_buf_span(&blob), mi_buf_span(&blob));
    struct mi_message m = {.topic = mi_span_of("t"),
                           .payload = mi_span_of("p"),
                           .origin = mi_span_of("o"),
                           .properties = mi_buf_span(&properties)};
    struct mi_envelope e;
    mi_envelope_init(&e);
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m));
    size_t before = e.headers.len;
    CU_ASSERT_TRUE(mi_envelope_add_header(&e.headers, "mqtt.dead_letter.reason", mi_span_of("first")));
    CU_ASSERT_TRUE(mi_envelope_add_header(&e.headers, "mqtt.dead_letter.stream", mi_span_of("s")));
    CU_ASSERT_TRUE(
        mi_envelope_add_header(&e.headers, "mqtt.dead_letter.reason", mi_span_of("refused"))); /* replaces */
    CU_ASSERT_TRUE(mi_envelope_add_header(&e.headers, "mqtt.dead_letter.empty", mi_span_of("")));
    blob.data[254] = 0xc3, blob.data[255] = 0xa4;
    CU_ASSERT_TRUE(mi_envelope_add_header(&e.headers, "long", (struct mi_span){blob.data, 1000}));
    blob.data[0] = 0xff;
    CU_ASSERT_TRUE(mi_envelope_add_header(&e.headers, "raw", (struct mi_span){blob.data, 1000}));
    CU_ASSERT_TRUE(reference_count(mi_buf_span(&e.headers), MI_MAX_HEADER_BLOCK) > 0);
    struct mi_header h;
    CU_ASSERT_TRUE(mi_headers_find(mi_buf_span(&e.headers), mi_span_of("long"), &h));
    CU_ASSERT_EQUAL(h.value.len, 254); /* not inside the character */
    CU_ASSERT_TRUE(mi_headers_find(mi_buf_span(&e.headers), mi_span_of("mqtt.dead_letter.reason"), &h));
    CU_ASSERT_TRUE(mi_span_equal(h.value, mi_span_of("refused")));
    CU_ASSERT_FALSE(has(&e, "mqtt.dead_letter.empty"));
    CU_ASSERT_EQUAL(e.headers.len - before, (10 + 23 + 7) + (10 + 23 + 1) + (10 + 4 + 254) + (10 + 3 + 255));
    CU_ASSERT_FALSE(mi_envelope_add_header(&e.headers, "", mi_span_of("x")));
    mi_envelope_fini(&e);
    mi_buf_fini(&blob);
    mi_buf_fini(&properties);
}

/* ---- golden bytes ---- */

static bool golden_message(const char *name, struct mi_message *m, struct mi_buf *space)
{
    *m = (struct mi_message){.topic = mi_span_of("building/7/room/12/temperature"),
                             .payload = mi_span_of("21.5"),
                             .qos = 1,
                             .client_id = mi_span_of("sensor-12"),
                             .username = mi_span_of("sensors"),
                             .origin = mi_span_of("0123456789abcdef0123456789abcdef"),
                             .time_us = 1795000000123456};
    if (strcmp(name, "typical") == 0)
        return true;
    m->username = m->client_id = mi_span_of("");
    m->qos = 0;
    if (strcmp(name, "empty") == 0) {
        m->retain = m->will = m->maybe_dup = true;
        m->topic = mi_span_of("a");
        m->payload = mi_span_of("");
        return true;
    }
    if (strcmp(name, "properties") == 0) {
        m->qos = 2, m->topic = mi_span_of("cmd"), m->client_id = mi_span_of("c"),
        m->payload = mi_span_of("{}");
        mi_properties_add_byte(space, MI_PROP_PAYLOAD_FORMAT, 1);
        mi_properties_add_bytes(space, MI_PROP_CONTENT_TYPE, mi_span_of("application/json"));
        mi_properties_add_bytes(space, MI_PROP_RESPONSE_TOPIC, mi_span_of("reply"));
        mi_properties_add_bytes(space, MI_PROP_CORRELATION_DATA,
                                (struct mi_span){(const uint8_t *)"\0\1\xff", 3});
        mi_properties_add_pair(space, mi_span_of("k"), mi_span_of("1"));
        mi_properties_add_pair(space, mi_span_of("k"), mi_span_of(""));
        m->properties = mi_buf_span(space);
        return true;
    }
    if (strcmp(name, "long_topic") == 0) {
        for (int i = 0; i < 150; i++)
            mi_buf_add_text(space, "\xc3\xa4");
        m->topic = mi_buf_span(space), m->payload = mi_span_of("x");
        return true;
    }
    return false;
}

static void add_hex(struct mi_buf *b, const char *hex)
{
    unsigned byte;
    for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
        mi_buf_add_byte(b, (uint8_t)byte);
}

static void check_golden(const char *name, const struct mi_buf *headers, const struct mi_buf *payload)
{
    struct mi_message m;
    struct mi_envelope e;
    struct mi_buf space;
    mi_buf_init(&space, 10000);
    mi_envelope_init(&e);
    CU_ASSERT_TRUE_FATAL(golden_message(name, &m, &space));
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m));
    CU_ASSERT_TRUE(mi_span_equal(mi_buf_span(&e.headers), mi_buf_span(headers)));
    struct mi_span iggy = joined(&e, m.payload);
    CU_ASSERT_TRUE(mi_span_equal(iggy, mi_buf_span(payload)));
    free((void *)iggy.data);
    mi_envelope_fini(&e);
    mi_buf_fini(&space);
}

static void field_107_the_bytes_are_those_of_the_golden_file(void)
{
    char *text = mi_read_file(MI_GOLDEN_FILE), *rest = NULL, name[32] = "";
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    struct mi_buf headers, payload;
    mi_buf_init(&headers, 10000);
    mi_buf_init(&payload, 10000);
    unsigned checked = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (sscanf(line, "case %31s", name) == 1) {
            mi_buf_reset(&headers);
            mi_buf_reset(&payload);
        } else if (strncmp(line, "headers ", 8) == 0) {
            add_hex(&headers, line + 8);
        } else if (strncmp(line, "payload ", 8) == 0) {
            add_hex(&payload, line + 8);
            check_golden(name, &headers, &payload);
            checked++;
        }
    }
    CU_ASSERT_EQUAL(checked, 4);
    mi_buf_fini(&headers);
    mi_buf_fini(&payload);
    free(text);
}

/* ---- reading what others wrote ---- */

struct entry {
    const char *key;
    int kind;
    const char *value;
    size_t len;
};

static enum mi_decoded decode_entries(const struct entry *entries, size_t count, struct mi_span payload,
                                      struct mi_message *m)
{
    static struct mi_buf block, scratch; /* kept between calls: m points into them */
    const char *why;
    mi_buf_fini(&block);
    mi_buf_fini(&scratch);
    mi_buf_init(&block, 1 << 20);
    mi_buf_init(&scratch, 1 << 20);
    for (size_t i = 0; i < count; i++) {
        uint8_t head[5] = {MI_HEADER_STRING};
        mi_put_u32le(head + 1, (uint32_t)strlen(entries[i].key));
        mi_buf_add(&block, head, sizeof head);
        mi_buf_add_text(&block, entries[i].key);
        head[0] = (uint8_t)entries[i].kind;
        mi_put_u32le(head + 1, (uint32_t)entries[i].len);
        mi_buf_add(&block, head, sizeof head);
        mi_buf_add(&block, entries[i].value, entries[i].len);
    }
    enum mi_decoded result = mi_envelope_decode(mi_buf_span(&block), payload, m, &scratch, &why);
    CU_ASSERT_EQUAL(why != NULL, result == MI_DECODED_BROKEN || result == MI_DECODED_UNKNOWN);
    return result;
}

#define DECODE(entries, payload, m) decode_entries(entries, sizeof(entries) / sizeof *(entries), payload, m)

static void native_messages_are_payload_only(void)
{
    struct mi_message m;
    struct mi_span payload = mi_span_of("native");
    const struct entry other[] = {{"device", 2, "d1", 2}, {"empty", 2, "", 0}, {"mqtt.qos", 9, "\1", 1}};
    CU_ASSERT_EQUAL(DECODE(other, payload, &m), MI_DECODED_NATIVE);
    CU_ASSERT_TRUE(mi_span_equal(m.payload, payload));
    CU_ASSERT_EQUAL(m.qos, 0);
    CU_ASSERT_EQUAL(decode_entries(other, 0, payload, &m), MI_DECODED_NATIVE);
}

static void order_repeats_and_strangers_do_not_matter(void)
{
    struct mi_message m;
    const struct entry entries[] = {
        {"mqtt.topic.2", 2, "c", 1},      {"mqtt.topic", 2, "old", 3},   {"x", 77, "", 0},
        {"mqtt.topic.1", 2, "b", 1},      {"mqtt.topic", 2, "a", 1},     {"mqtt.client_id", 2, "", 0},
        {"mqtt.topic.x", 2, "no", 2},     {"mqtt.topic.01", 2, "no", 2}, {"mqtt.topic.", 2, "no", 2},
        {"mqtt.topical", 2, "no", 2},     {"mqtt.new", 6, "abcd", 4},    {"mqtt.empty", 3, "\0", 1},
        {"mqtt.username", 1, "u\xff", 2}, {"mqtt.retain", 3, "\1", 1},
    };
    CU_ASSERT_EQUAL(DECODE(entries, mi_span_of("p"), &m), MI_DECODED_MQTT);
    CU_ASSERT_TRUE(mi_span_equal(m.topic, mi_span_of("abc")));
    CU_ASSERT_TRUE(mi_span_equal(m.username, mi_span_of("u\xff")));
    CU_ASSERT_TRUE(mi_span_equal(m.payload, mi_span_of("p")));
    CU_ASSERT_TRUE(m.retain);
    const struct entry alone[] = {{"mqtt.topic", 2, "a/b", 3}};
    CU_ASSERT_EQUAL(DECODE(alone, mi_span_of("p"), &m), MI_DECODED_MQTT);
    CU_ASSERT_EQUAL(m.time_us + m.qos + m.retain, 0);
}

/* Each is the topic "t" and one more entry. */
static void contradictions_are_broken(void)
{
    static const struct entry cases[] = {
        {"mqtt.qos", 9, "\3", 1},
        {"mqtt.qos", 2, "1", 1},
        {"mqtt.qos", 9, "\1\0", 2},
        {"mqtt.qos", 9, "", 0},
        {"mqtt.retain", 3, "\2", 1},
        {"mqtt.retain", 9, "\1", 1},
        {"mqtt.time", 12, "\0\0\0\0", 4},
        {"mqtt.time", 7, "\0\0\0\0\0\0\0\0", 8},
        {"mqtt.empty", 3, "\1", 1}, /* with a payload */
        {"mqtt.topic.2", 2, "gap", 3},
        {"mqtt.topic.99999999999999999999", 2, "x", 1},
        {"mqtt.topic.1", 9, "\1", 1},
        {"mqtt.topic", 2, "", 0},
        {"mqtt.topic", 2, "a/#", 3},
        {"mqtt.topic", 2, "a/+/b", 5},
        {"mqtt.topic", 2, "a\0b", 3},
        {"mqtt.topic", 1, "\xff", 1},
        {"mqtt.client_id.1", 2, "x", 1},
        {"mqtt.origin", 12, "12345678", 8},
        {"mqtt.properties", 2, "\1\1", 2},
        {"mqtt.properties", 1, "\1", 1},
        {"mqtt.properties", 1, "\2\0\0\0\1", 5},
        {"mqtt.properties", 1, "\1\1\1\1", 4}, /* payload format twice */
        {"mqtt.properties.1", 1, "\1\1", 2},
        {"mqtt.envelope", 9, "\1", 1}, /* with a payload that holds no block */
        {"mqtt.envelope", 3, "\1", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct entry both[] = {{"mqtt.topic", 2, "t", 1}, cases[i]};
        struct mi_message m;
        CU_ASSERT_EQUAL(DECODE(both, mi_span_of("payload"), &m), MI_DECODED_BROKEN);
    }
    const struct entry no_topic[] = {{"mqtt.envelope", 9, "\1", 1}};
    struct mi_message m;
    CU_ASSERT_EQUAL(DECODE(no_topic, bytes("\0\0\0\0p", 5), &m), MI_DECODED_BROKEN);
    const struct entry with_topic[] = {{"mqtt.envelope", 9, "\1", 1}, {"mqtt.topic", 2, "t", 1}};
    CU_ASSERT_EQUAL(DECODE(with_topic, bytes("\0\0\0\0p", 5), &m), MI_DECODED_MQTT);
    CU_ASSERT_TRUE(mi_span_equal(m.payload, mi_span_of("p")));
    CU_ASSERT_EQUAL(DECODE(with_topic, bytes("\2\0\0\0p", 5), &m), MI_DECODED_BROKEN);
    CU_ASSERT_EQUAL(DECODE(with_topic, bytes("\0\0\0", 3), &m), MI_DECODED_BROKEN);
    CU_ASSERT_EQUAL(DECODE(with_topic, mi_span_of(""), &m), MI_DECODED_BROKEN);
}

static void a_later_version_is_unknown_and_a_cut_block_broken(void)
{
    struct mi_message m;
    const struct entry later[] = {{"mqtt.envelope", 9, "\2", 1}, {"mqtt.topic", 2, "t", 1}};
    CU_ASSERT_EQUAL(DECODE(later, mi_span_of("p"), &m), MI_DECODED_UNKNOWN);
    struct mi_envelope e;
    mi_envelope_init(&e);
    m = (struct mi_message){.topic = mi_span_of("t"), .payload = mi_span_of("p"), .origin = mi_span_of("o")};
    CU_ASSERT_TRUE(mi_envelope_encode(&e, &m));
    struct mi_buf scratch;
    const char *why;
    mi_buf_init(&scratch, 1000);
    struct mi_span cut = {e.headers.data, e.headers.len - 1};
    CU_ASSERT_EQUAL(mi_envelope_decode(cut, mi_span_of("p"), &m, &scratch, &why), MI_DECODED_BROKEN);
    mi_buf_fini(&scratch);
    mi_envelope_fini(&e);
}

static CU_TestInfo tests[] = {
    {"random messages come back whole", random_messages_come_back_whole},
    {"everything at its maximum comes back", everything_at_its_maximum_comes_back},
    {"the edge of the overflow loses nothing", the_edge_of_the_overflow_loses_nothing},
    {"strings that are not UTF-8 are raw", strings_that_are_not_utf8_are_raw},
    {"shown properties appear only when they fit", shown_properties_appear_only_when_they_fit},
    {"reasons can be added to every block", reasons_can_be_added_to_every_block},
    {"field 107: the bytes are those of the golden file", field_107_the_bytes_are_those_of_the_golden_file},
    {"native messages are payload only", native_messages_are_payload_only},
    {"order, repeats and strangers do not matter", order_repeats_and_strangers_do_not_matter},
    {"contradictions are broken", contradictions_are_broken},
    {"a later version is unknown and a cut block broken", a_later_version_is_unknown_and_a_cut_block_broken},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("envelope", tests)

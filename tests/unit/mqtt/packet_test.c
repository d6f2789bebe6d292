/* packet: what is written is what MQTT 5 says byte by byte; what is read is bounded by its packet. */
#include "mqtt/packet.h"
#include "message/message.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct mi_buf out, scratch;

static void start(void)
{
    mi_buf_init(&out, 1 << 20);
    mi_buf_init(&scratch, 1 << 20);
}

static void end(void)
{
    mi_buf_fini(&out);
    mi_buf_fini(&scratch);
}

static bool wrote(const void *bytes, size_t len)
{
    bool same = out.len == len && memcmp(out.data, bytes, len) == 0;
    mi_buf_reset(&out);
    return same;
}
#define WROTE(text) wrote(text, sizeof text - 1)

static void packets_are_written(void)
{
    start();
    struct mi_packet_login login = {
        .client_id = "me", .keepalive_s = 60, .session_expiry_s = 1, .receive_maximum = 5};
    CU_ASSERT_TRUE(mi_packet_connect(&out, &login));
    CU_ASSERT_TRUE(WROTE("\x10\x17\0\4MQTT\5\0\0\x3c\x08\x11\0\0\0\1\x21\0\5\0\2me"));
    login.username = "u";
    login.password = "pw";
    CU_ASSERT_TRUE(mi_packet_connect(&out, &login));
    CU_ASSERT_TRUE(WROTE("\x10\x1e\0\4MQTT\5\xc0\0\x3c\x08\x11\0\0\0\1\x21\0\5\0\2me\0\1u\0\2pw"));
    CU_ASSERT_TRUE(mi_packet_subscribe(&out, 7, "a/#"));
    CU_ASSERT_TRUE(WROTE("\x82\x09\0\7\0\0\3a/#\x2e"));
    CU_ASSERT_TRUE(mi_packet_unsubscribe(&out, 8, "a"));
    CU_ASSERT_TRUE(WROTE("\xa2\x06\0\x08\0\0\1a"));
    CU_ASSERT_TRUE(mi_packet_acknowledge(&out, MI_PUBACK, 258));
    CU_ASSERT_TRUE(WROTE("\x40\2\1\2"));
    CU_ASSERT_TRUE(mi_packet_ping(&out));
    CU_ASSERT_TRUE(WROTE("\xc0\0"));
    CU_ASSERT_TRUE(mi_packet_goodbye(&out));
    CU_ASSERT_TRUE(WROTE("\xe0\7\0\5\x11\0\0\0\0"));
    char longer[301];
    memset(longer, 'x', 300);
    longer[300] = '\0';
    CU_ASSERT_TRUE(mi_packet_subscribe(&out, 1, longer));
    CU_ASSERT_TRUE(out.len == 3 + 2 + 1 + 2 + 300 + 1 && out.data[1] == 0xb2 && out.data[2] == 0x02);
    end();
}

static int64_t read_bytes(const void *bytes, size_t len, struct mi_packet *p)
{
    /* Of its own allocation, so that a sanitizer sees a byte too far. */
    uint8_t *copy = malloc(len + (len == 0));
    memcpy(copy, bytes, len);
    static struct mi_packet kept;
    static uint8_t *last;
    int64_t n = mi_packet_read((struct mi_span){copy, len}, &kept, &scratch);
    *p = kept;
    free(last);
    last = copy; /* spans point into it until the next one */
    return n;
}
#define READ(text, p) read_bytes(text, sizeof text - 1, p)

static void answers_are_read(void)
{
    struct mi_packet p;
    start();
    CU_ASSERT_EQUAL(READ("\x20\3\1\0\0", &p), 5);
    CU_ASSERT_TRUE(p.type == MI_CONNACK && p.session_present && p.reason == 0);
    CU_ASSERT_EQUAL(READ("\x20\6\0\x87\3\x13\0\x1e", &p), 8);
    CU_ASSERT_TRUE(!p.session_present && p.reason == 0x87 && p.server_keepalive == 30);
    CU_ASSERT_EQUAL(READ("\x20\2\0\1", &p), 4); /* MQTT 3.1.1's */
    CU_ASSERT_STRING_EQUAL(mi_packet_reason(p.reason), "MQTT 5 is not spoken there");
    CU_ASSERT_EQUAL(READ("\x90\4\0\7\0\x02", &p), 6);
    CU_ASSERT_TRUE(p.type == MI_SUBACK && p.id == 7 && p.reason == 2);
    CU_ASSERT_EQUAL(READ("\x62\2\0\x09", &p), 4);
    CU_ASSERT_TRUE(p.type == MI_PUBREL && p.id == 9);
    CU_ASSERT_EQUAL(READ("\xe0\1\x8e", &p), 3);
    CU_ASSERT_TRUE(p.type == MI_DISCONNECT && p.reason == 0x8e);
    CU_ASSERT_EQUAL(READ("\xe0\0", &p), 2);
    CU_ASSERT_EQUAL(READ("\xd0\0 more", &p), 2);
    end();
}

/* Expiry 5, subscription identifier 200, content type "t", user property a=b. */
#define PROPERTIES "\x13\x02\0\0\0\5\x0b\xc8\x01\x03\0\1t\x26\0\1a\0\1b"

static void a_publish_is_read(void)
{
    struct mi_packet p;
    struct mi_property property;
    start();
    CU_ASSERT_EQUAL(READ("\x3d\x1b\0\1t\1\2" PROPERTIES "xy", &p), 29);
    CU_ASSERT_TRUE(p.type == MI_PUBLISH && p.qos == 2 && p.retain && p.dup && p.id == 258);
    CU_ASSERT_TRUE(mi_span_equal(p.topic, mi_span_of("t")) && mi_span_equal(p.payload, mi_span_of("xy")));
    CU_ASSERT_TRUE(
        mi_span_equal(p.properties, (struct mi_span){(const uint8_t *)"\3\0\1t\x26\0\1a\0\1b", 11}));
    CU_ASSERT_TRUE(mi_properties_find(p.properties, MI_PROP_USER, mi_span_of("a"), &property));
    CU_ASSERT_EQUAL(READ("\x30\4\0\1t\0", &p), 6);
    CU_ASSERT_TRUE(p.qos == 0 && p.id == 0 && p.payload.len == 0 && p.properties.len == 0);
    end();
}

static void a_packet_in_pieces_waits_for_its_end(void)
{
    static const char whole[] = "\x3d\x1b\0\1t\1\2" PROPERTIES "xy";
    struct mi_packet p;
    start();
    for (size_t n = 0; n < sizeof whole - 1; n++)
        CU_ASSERT_EQUAL(read_bytes(whole, n, &p), 0);
    end();
}

static void what_no_server_sends_is_refused(void)
{
    struct mi_packet p;
    start();
    static const struct {
        const char *bytes;
        size_t len;
    } bad[] = {
#define BAD(text) {text, sizeof text - 1}
        BAD("\x10\0"), /* CONNECT */
        BAD("\x00\0"), /* no type */
        BAD("\xf0\0"), /* AUTH was not asked for */
        BAD("\x20\0"), /* CONNACK without reason */
        BAD("\x20\1\0"),
        BAD("\x20\2\0\0"),                    /* without properties */
        BAD("\x20\5\0\0\2\x13\0"),            /* a property that ends too early */
        BAD("\x20\4\0\0\1\x7f"),              /* an unknown one */
        BAD("\x20\4\0\0\5\x13"),              /* longer than the packet */
        BAD("\x36\7\0\1t\0\1\0x"),            /* QoS 3 */
        BAD("\x30\3\0\0\0"),                  /* empty topic */
        BAD("\x30\3\0\5t"),                   /* topic longer than the packet */
        BAD("\x32\6\0\1t\0\0\0"),             /* packet id 0 */
        BAD("\x30\x0a\0\1t\6\x26\0\1a\0\5b"), /* a value longer than the properties */
        BAD("\x30\xff\xff\xff\xff\x01"),      /* a length of five bytes */
        BAD("\x90\2\0\1"),                    /* SUBACK without reason */
        BAD("\x62\1\0"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_EQUAL(read_bytes(bad[i].bytes, bad[i].len, &p), -1);
    end();
}

static void random_bytes_do_no_harm(void)
{
    uint32_t seed = 1;
    struct mi_packet p;
    start();
    for (int i = 0; i < 200000; i++) {
        uint8_t bytes[40];
        size_t len = (seed >> 8) % sizeof bytes;
        for (size_t k = 0; k < len; k++) {
            seed = seed * 1664525u + 1013904223u;
            bytes[k] = (uint8_t)(seed >> 24);
        }
        if (len > 1) {
            bytes[0] = (uint8_t)(0x30 | (bytes[0] & 0x0f));
            bytes[1] = (uint8_t)(len - 2);
        }
        int64_t n = read_bytes(bytes, len, &p);
        CU_ASSERT_TRUE(n <= (int64_t)len);
        if (n > 0 && p.type == MI_PUBLISH) {
            size_t at = 0;
            struct mi_property one;
            int more;
            while ((more = mi_properties_next(p.properties, &at, &one)) == 1)
                continue;
            CU_ASSERT_EQUAL(more, 0); /* a block as the envelope wants it */
        }
        seed = seed * 1664525u + 1013904223u;
    }
    end();
}

static CU_TestInfo tests[] = {
    {"packets are written", packets_are_written},
    {"answers are read", answers_are_read},
    {"a PUBLISH is read", a_publish_is_read},
    {"a packet in pieces waits for its end", a_packet_in_pieces_waits_for_its_end},
    {"what no server sends is refused", what_no_server_sends_is_refused},
    {"random bytes do no harm", random_bytes_do_no_harm},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("MQTT packets", tests)

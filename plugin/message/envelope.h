/*
 * envelope: MQTT message <-> Iggy headers and payload, without loss (design section 5).
 *
 * The Iggy payload is the MQTT payload itself, so that native consumers need no decoder; all else travels in
 * headers as one raw block (headers.h). Pure; any thread.
 *
 *   mqtt.qos            uint8    always
 *   mqtt.time           uint64   always: microseconds since 1970 UTC when the broker received it
 *   mqtt.retain, mqtt.will, mqtt.maybe_dup   bool, only when true
 *   mqtt.empty          bool     the MQTT payload was empty; one zero byte stands in its place, because Iggy
 * refuses empty payloads mqtt.origin         string   identity of the bridge mqtt.topic          string
 * always mqtt.client_id, mqtt.username   string mqtt.content_type, mqtt.response_topic   string, only for
 * people and native consumers: present when 1-255 bytes of UTF-8; never read back, mqtt.properties is what
 * counts mqtt.properties     raw      MQTT 5 property block in MQTT's own encoding (message.h), when any
 * property is set mqtt.envelope       uint8    1: overflow, see below
 *
 * Long values: Iggy allows 255 bytes per value, so every string and the property block go on in numbered
 * headers: mqtt.topic, mqtt.topic.1, mqtt.topic.2 ... Strings are cut between characters, so that each piece
 * is UTF-8 by itself. This holds for client id, user name and origin too: nothing is ever truncated. Empty
 * values have no header.
 *
 * A string that is not valid UTF-8 (no broker should show one) is sent with kind raw in all its pieces:
 * decodable by every consumer, byte for byte. Read back, client id, user name and origin may be raw; a raw
 * topic is BROKEN unless it is UTF-8 after all, since it must not reach a subscriber.
 *
 * Overflow: what exceeds MI_ENVELOPE_BLOCK_BYTES stands before the payload: u32 LE length of block, block of
 * further headers in the same entry form, payload (or its filler byte). Small headers are written first, so
 * that only the ends of long values overflow.
 */
#ifndef MI_ENVELOPE_H
#define MI_ENVELOPE_H

#include "base/error.h"
#include "base/limits.h"
#include "message/message.h"

/* Bytes of headers that mi_envelope_encode makes at most. Below MI_MAX_HEADER_BLOCK, so that
 * mi_envelope_add_header has room for the reasons of a dead letter in every message. */
#define MI_ENVELOPE_BLOCK_BYTES (MI_MAX_HEADER_BLOCK - 4096)

/* Upper bound of what stands before the payload: properties of one MQTT packet (256 MB at most), with the
 * overhead of their pieces. */
#define MI_MAX_OVERFLOW_BYTES (320u << 20)

struct mi_envelope {
    struct mi_buf headers; /* raw block for Iggy, at most MI_ENVELOPE_BLOCK_BYTES after encoding */
    struct mi_buf prefix;  /* what stands before the MQTT payload in the Iggy payload; empty without overflow,
                              with the  filler byte at its end when the message is empty */
};
void mi_envelope_init(struct mi_envelope *e);
void mi_envelope_fini(struct mi_envelope *e);

/* Encodes; the Iggy payload is e->prefix followed by m->payload. What e held before is replaced, its memory
 * is used again. false only when memory is out (or a message is beyond what MQTT allows). m->properties is
 * taken as it is. */
bool mi_envelope_encode(struct mi_envelope *e, const struct mi_message *m);

/* Adds one string header to a block made by mi_envelope_encode (dead-letter reasons), in place of one of that
 * name; a value over 255 bytes is cut between characters, one that is not UTF-8 is sent as raw, an empty one
 * is left out. false when the name is not 1-255 bytes of UTF-8, memory is out, or the block would pass
 * MI_MAX_HEADER_BLOCK. */
bool mi_envelope_add_header(struct mi_buf *headers, const char *name, struct mi_span value);

enum mi_decoded {
    MI_DECODED_MQTT,    /* made by this envelope, or like it: out is filled in */
    MI_DECODED_NATIVE,  /* no mqtt.topic header: only out->payload is filled in */
    MI_DECODED_UNKNOWN, /* mqtt.envelope with a version that this code does not know */
    MI_DECODED_BROKEN   /* headers that cannot be read, or contradict each other; why says what */
};

/* Decodes leniently. Headers may come in any order; unknown ones are ignored, and so are keys that are not
 * strings; of a repeated one the last counts, as in Iggy, and the block before the payload comes after the
 * headers. All but mqtt.topic may be missing (a native producer may set it alone: QoS 0, no retain, time 0).
 *
 * BROKEN are: a block that cannot be read to its end; a known header with another kind or byte count; QoS
 * above 2; numbered pieces with a gap or without their first; a topic that no PUBLISH may carry (empty, over
 * 65,535 bytes, not UTF-8, NUL, + or #); properties that are malformed, or repeat one that may stand once;
 * mqtt.empty with a payload other than nothing or one zero byte; mqtt.envelope 1 without mqtt.topic, or with
 * a block that is longer than the payload; no memory. Whether a $-topic may be published is the caller's
 * question.
 *
 * Spans of out point into headers, payload and scratch, which is reset first and must outlive out; why is
 * static text, set only for UNKNOWN and BROKEN. scratch grows at most to twice headers and payload together,
 * usually not at all. */
enum mi_decoded mi_envelope_decode(struct mi_span headers, struct mi_span payload, struct mi_message *out,
                                   struct mi_buf *scratch, const char **why);

#endif

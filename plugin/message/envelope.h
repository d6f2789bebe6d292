/*
 * envelope: MQTT message <-> Iggy headers and payload, without loss (design section 5).
 *
 * The Iggy payload is the MQTT payload itself, so that native consumers need no decoder; all else travels in headers
 * as one raw block (headers.h). What exceeds Iggy's 100,000 bytes of headers stands before the payload ("overflow":
 * u32 LE length of block, block of further headers in the same entry form, payload) and mqtt.envelope says so.
 */
#ifndef MI_ENVELOPE_H
#define MI_ENVELOPE_H

#include "base/error.h"
#include "message/message.h"

/* Upper bound of a header block that stands before the payload: a topic and every property at MQTT's maximum, and
 * user properties of any number up to the broker's packet limit. */
#define MI_MAX_OVERFLOW_BYTES (256u << 20)

struct mi_envelope {
    struct mi_buf headers; /* raw block for Iggy, at most MI_MAX_HEADER_BLOCK bytes */
    struct mi_buf prefix;  /* what stands before the MQTT payload in the Iggy payload; empty without overflow, the one
                              filler byte when the message is empty */
};
void mi_envelope_init(struct mi_envelope *e);
void mi_envelope_fini(struct mi_envelope *e);

/* Encodes; the Iggy payload is e->prefix followed by m->payload. false only when memory is out. */
bool mi_envelope_encode(struct mi_envelope *e, const struct mi_message *m);

/* Adds one string header to a block made by mi_envelope_encode (dead-letter reasons); a value over 255 bytes is cut
 * between characters. */
bool mi_envelope_add_header(struct mi_buf *headers, const char *name, struct mi_span value);

enum mi_decoded {
    MI_DECODED_MQTT,    /* made by this envelope: out is filled in */
    MI_DECODED_NATIVE,  /* no mqtt.topic header: only out->payload is filled in */
    MI_DECODED_UNKNOWN, /* mqtt.envelope with a version that this code does not know */
    MI_DECODED_BROKEN   /* headers that cannot be read, or contradict each other; why says what */
};
/* Decodes leniently: unknown headers are ignored, headers in any order, a wrong kind of a known header is BROKEN.
 * Spans of out point into headers, payload and scratch, which is reset first and must outlive out. */
enum mi_decoded mi_envelope_decode(struct mi_span headers, struct mi_span payload, struct mi_message *out,
                                   struct mi_buf *scratch, const char **why);

#endif

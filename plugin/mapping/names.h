/*
 * names: which bytes may be an Iggy name, and which may stand for one level of an MQTT topic.
 */
#ifndef MI_MAPPING_NAMES_H
#define MI_MAPPING_NAMES_H

#include "base/bytes.h"

enum mi_name_fault {
    MI_NAME_GOOD,
    MI_NAME_EMPTY,
    MI_NAME_LONG,   /* over 255 bytes */
    MI_NAME_NUMBER, /* Iggy would read it as a numeric id: all digits, also behind one '+' (Rust's u32 parser)
                     */
    MI_NAME_BYTES   /* not UTF-8, or a NUL */
};

/* Can Iggy address a stream or topic of this name by its name? (API reference 6: 1-255 bytes of UTF-8.) */
enum mi_name_fault mi_name_check(struct mi_span name);

/* Well-formed UTF-8 (no surrogates, no overlong forms) without NUL. */
bool mi_text_valid(struct mi_span text);

/* Has it a control character (U+0000 to U+001F, U+007F to U+009F)? Mosquitto allows none in a topic. */
bool mi_has_control(struct mi_span text);

/* May this text be put into an MQTT topic as one level: not empty, no '/', '+', '#', NUL or control
 * character? */
bool mi_level_safe(struct mi_span text);
/* As mi_level_safe for a whole topic: '/' is allowed, a '$' at the start and more than 65,535 bytes are not.
 */
bool mi_topic_safe(struct mi_span topic);

#endif

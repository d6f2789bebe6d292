/*
 * json_reader: a pull parser over one whole answer in memory. It builds no tree: the caller asks for the next
 * member or item and says what it wants it to be; what it does not know it skips. Numbers stay exact (128
 * bits). Strings are unescaped in place, so the text must be writable, and spans point into it.
 *
 * Errors stick: after the first one every call returns false, and json_end tells. Nesting is bounded. Lenient
 * where a newer server may differ (unknown members, any order), strict about syntax, because a cut answer
 * must never pass.
 *
 *     struct json j = json_start(text, len);
 *     for (bool more = json_object(&j); more && json_member(&j, &key);)
 *         if (json_key_is(key, "offset"))
 *             json_u64(&j, &offset);
 *         else
 *             json_skip(&j);
 *     return json_end(&j);
 */
#ifndef IGGY_JSON_READER_H
#define IGGY_JSON_READER_H

#include <string.h>

#include "base/bytes.h"

#include "iggy_client.h"

#define JSON_MAX_DEPTH 63

struct json {
    uint8_t *at;
    uint8_t *end;
    uint64_t started; /* bit d: the container at depth d has had an item */
    unsigned depth;
    bool failed;
};

enum json_type { JSON_NONE, JSON_OBJECT, JSON_ARRAY, JSON_STRING, JSON_NUMBER, JSON_BOOL, JSON_NULL };

struct json json_start(uint8_t *text, size_t len);
/* Kind of the next value, which stays unread; JSON_NONE when there is none or after an error. */
enum json_type json_peek(struct json *j);

/* Enters an object or array; false with the error set when the value is something else. */
bool json_object(struct json *j);
bool json_array(struct json *j);
/* The next member's name, with its value to be read next; false after the last one (the object is left) or an
 * error. */
bool json_member(struct json *j, struct mi_span *key);
/* Is there one more item, to be read next? False after the last one (the array is left) or an error. */
bool json_item(struct json *j);

/* Values. A value of another type, or one that does not fit, is an error. */
bool json_string(struct json *j, struct mi_span *value);
bool json_bool(struct json *j, bool *value);
bool json_u32(struct json *j, uint32_t *value);
bool json_u64(struct json *j, uint64_t *value);
bool json_u128(struct json *j, struct iggy_id *value);
/* A base64 string, decoded in place. */
bool json_base64(struct json *j, struct mi_span *value);
/* Any value, whatever it is. */
bool json_skip(struct json *j);
/* Any value as its text, for a later json_start or for handing on; strings in it are not unescaped. */
bool json_raw(struct json *j, struct mi_span *text);

/* True when everything was read without an error and nothing but white space is left. */
bool json_end(struct json *j);
/* Marks the text as unusable for a reason of the caller's. Returns false. */
bool json_fail(struct json *j);

/* Here, so that comparing with a literal costs no call. */
static inline bool json_key_is(struct mi_span key, const char *name)
{
    size_t len = strlen(name);
    return key.len == len && memcmp(key.data, name, len) == 0;
}

#endif

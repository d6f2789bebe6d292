/*
 * request: reads what a client asks for, `$iggy/FROM/FILTER`. Pure.
 *
 *   first                    from the oldest message that is kept
 *   last-100                 the newest 100 that match
 *   90s 15m 2h 7d 4w         the last 90 seconds, 15 minutes, ...
 *   2026-11-29T12:00:00Z     since then (RFC 3339; fractions and offsets are allowed, and since MQTT keeps
 * "+" for wildcards, an offset to the east is written %2B01:00) c_...                    a cursor: where an
 * earlier answer ended
 */
#ifndef MI_HISTORY_REQUEST_H
#define MI_HISTORY_REQUEST_H

#include "base/bytes.h"

enum mi_from { MI_FROM_FIRST, MI_FROM_LAST, MI_FROM_TIME, MI_FROM_CURSOR };

struct mi_request {
    enum mi_from kind;
    uint64_t last;         /* MI_FROM_LAST: how many */
    uint64_t since_us;     /* MI_FROM_TIME: microseconds since 1970 UTC */
    struct mi_span from;   /* as written; for MI_FROM_CURSOR the cursor */
    struct mi_span filter; /* the MQTT filter behind it */
};

/* text begins with "$iggy/" and lives as long as out is used; now_us is what ages count from. False with why
 * (static text). Whether filter is a good MQTT filter is not looked at, except that it is not empty. */
bool mi_request_parse(struct mi_span text, uint64_t now_us, struct mi_request *out, const char **why);

/* Where "$iggy/" (or a closing "$iggy") begins as a level of its own; SIZE_MAX: nowhere. What stands before
 * it is a listener's mount point: Mosquitto puts it in front of every filter and topic. */
size_t mi_request_begins(struct mi_span text);

/* Is this a shared subscription ($share/GROUP/FILTER)? Then filter_at is where FILTER begins. */
bool mi_request_is_shared(struct mi_span text, size_t *filter_at);

#endif

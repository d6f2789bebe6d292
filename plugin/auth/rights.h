/*
 * rights: what one Iggy user may do, by names, as a table that is asked on the broker's thread.
 *
 * Made by the bridge thread (rights_book.h), immutable, any thread. Asking is two look-ups in one hash table.
 */
#ifndef MI_RIGHTS_H
#define MI_RIGHTS_H

#include "base/bytes.h"

enum mi_right { MI_RIGHT_SEND = 1, MI_RIGHT_POLL = 2 };

struct mi_iggy_rights;

struct mi_named_grant {
    struct mi_span stream, topic; /* topic empty: all topics of the stream */
    unsigned rights;              /* enum mi_right */
};

/* everywhere: rights on all streams, those that do not exist yet included. Copies the names. NULL when memory
 * is out. */
struct mi_iggy_rights *mi_rights_new(unsigned everywhere, const struct mi_named_grant *grants, size_t count);
void mi_rights_free(struct mi_iggy_rights *r);

/* NULL rights: no. */
bool mi_rights_allow(const struct mi_iggy_rights *r, struct mi_span stream, struct mi_span topic,
                     enum mi_right right);
/* On whatever stream and topic it may be. */
bool mi_rights_allow_everywhere(const struct mi_iggy_rights *r, enum mi_right right);

#endif

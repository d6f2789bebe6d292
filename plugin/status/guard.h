/*
 * guard: who may see the pages: a bearer token, a client certificate, both or neither. Private to this
 * folder.
 */
#ifndef MI_STATUS_GUARD_H
#define MI_STATUS_GUARD_H

#include <microhttpd.h>
#include <stdbool.h>

#include "status/listener.h"

struct mi_guard {
    char *token;      /* NULL: none is asked for */
    bool certificate; /* one of the daemon's client CAs is asked for */
};

/* Does the text hold certificates? The daemon would take any text, and then refuse everybody. */
bool mi_guard_is_pem(const char *text);

/* Copies what it needs. false: memory is out, and the guard is as it was. */
bool mi_guard_set(struct mi_guard *g, const struct mi_listener_access *access);
void mi_guard_clear(struct mi_guard *g);

/* 200, or what the asker gets instead: 401 (no or a wrong token), 403 (no client certificate that the CAs
 * signed for a client). */
unsigned mi_guard_check(const struct mi_guard *g, struct MHD_Connection *connection);

#endif

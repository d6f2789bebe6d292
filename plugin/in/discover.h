/*
 * discover: finds the streams and topics that fit the templates of routes ("building_{building}"), now and
 * then, and reports each pair. Bridge thread.
 */
#ifndef MI_DISCOVER_H
#define MI_DISCOVER_H

#include "config/config.h"
#include "iggy_client.h"

struct mi_discover;

/* found is called from the client's callbacks for every pair that fits route (index), each round again; whole
 * after each round in which every question was answered: what a later round finds is new. */
struct mi_discover *mi_discover_new(struct iggy_client *client,
                                    void (*found)(void *context, size_t route, struct mi_span stream,
                                                  struct mi_span topic),
                                    void (*whole)(void *context), void *context);
void mi_discover_free(struct mi_discover *d); /* cancels its requests */

/* config: whose routes; NULL: none. Starts anew. */
void mi_discover_set_config(struct mi_discover *d, const struct mi_config *config);
/* Starts a round when one is due; returns when it wants to be called again. */
uint64_t mi_discover_step(struct mi_discover *d, uint64_t now_ns);

/* Does discovery look for the targets of this route? */
bool mi_discover_seeks(const struct mi_config *config, size_t route);

#endif

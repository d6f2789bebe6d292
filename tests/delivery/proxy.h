/*
 * proxy: a TCP proxy on loopback in a thread of the test, between the plugin and an Iggy server: the network,
 * and what goes wrong in it.
 */
#ifndef DELIVERY_PROXY_H
#define DELIVERY_PROXY_H

#include <stdbool.h>
#include <stdint.h>

enum proxy_mode {
    PROXY_FORWARD,
    PROXY_SWALLOW, /* connections open and stay, nothing comes through: packets are dropped */
    PROXY_STALL,   /* half open: nothing is even read, until the buffers are full */
    PROXY_NOISE,   /* random bytes instead of an answer */
    PROXY_HEADERS, /* an HTTP answer whose headers never end */
    PROXY_HUGE,    /* a well-formed answer of 100 MB */
    PROXY_MODES
};

struct proxy;
struct proxy *proxy_new(uint16_t to_port); /* forwards at once; NULL when it cannot listen */
void proxy_free(struct proxy *p);          /* NULL is allowed */
uint16_t proxy_port(const struct proxy *p);
/* Holds for connections that are open, too. */
void proxy_set(struct proxy *p, enum proxy_mode mode);
/* Lets so many requests with messages through and swallows everything that comes after them. */
void proxy_swallow_after(struct proxy *p, unsigned produces);
/* Closes all connections. */
void proxy_cut(struct proxy *p);
/* How many requests with messages came from the client so far. */
unsigned proxy_produces(struct proxy *p);

#endif

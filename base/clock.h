/*
 * clock: the two clocks, and random bits, behind functions that tests replace.
 *
 * Timers, ages and back-offs use the monotonic clock only; the wall clock only makes stamps (mqtt.time).
 */
#ifndef MI_CLOCK_H
#define MI_CLOCK_H

#include <stdint.h>

#define MI_NS_PER_MS 1000000ull
#define MI_NS_PER_S 1000000000ull

struct mi_clock {
    uint64_t (*now_ns)(void *context);  /* monotonic nanoseconds */
    uint64_t (*wall_us)(void *context); /* microseconds since 1970 UTC */
    uint64_t (*random)(void *context);  /* 64 unpredictable bits */
    void *context;
};

/* CLOCK_MONOTONIC, CLOCK_REALTIME and getrandom(2). Any thread. */
extern const struct mi_clock mi_clock_system;

static inline uint64_t mi_now_ns(const struct mi_clock *c)
{
    return c->now_ns(c->context);
}
static inline uint64_t mi_wall_us(const struct mi_clock *c)
{
    return c->wall_us(c->context);
}
static inline uint64_t mi_random(const struct mi_clock *c)
{
    return c->random(c->context);
}

/* The one of two times that comes first. */
static inline uint64_t mi_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif

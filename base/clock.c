#include "base/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

static uint64_t read_clock(clockid_t id, uint64_t per_second)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * per_second + (uint64_t)t.tv_nsec / (MI_NS_PER_S / per_second);
}

static uint64_t system_now_ns(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC, MI_NS_PER_S);
}

static uint64_t system_wall_us(void *context)
{
    (void)context;
    return read_clock(CLOCK_REALTIME, 1000000);
}

static uint64_t system_random(void *context)
{
    (void)context;
    uint64_t bits = 0;
    /* Up to 256 bytes never come short once the pool is ready; only a signal before that can interrupt. */
    while (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits && errno == EINTR)
        continue;
    return bits;
}

const struct mi_clock mi_clock_system = {system_now_ns, system_wall_us, system_random, 0};

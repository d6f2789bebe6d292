/*
 * synthetic: the beginning of a partition that nobody wrote: any number of messages, each made when it is
 * read. For topics that are larger than a machine.
 *
 * Message i has the id i + 1, the time first_us + i * step_us (append and mqtt.time), the MQTT topic PREFIX/d
 * where d is i modulo 10, QoS 1, and a payload of so many bytes that begins with i in decimal and a blank.
 */
#ifndef DEV_SYNTHETIC_H
#define DEV_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

struct dev_message;

struct dev_synthetic {
    uint64_t count; /* offsets 0 to count - 1 */
    uint64_t first_us, step_us;
    uint32_t payload; /* bytes, 32 to 65536 */
    char prefix[64];
};

/* Calls each for up to count messages from offset on, until it returns false (then *more is false). Returns
 * how many were given. */
uint32_t dev_synthetic_read(const struct dev_synthetic *s, uint64_t offset, uint32_t count,
                            bool (*each)(void *arg, const struct dev_message *message), void *arg,
                            bool *more);
/* The first offset whose time is not before that; count when there is none. */
uint64_t dev_synthetic_offset_at(const struct dev_synthetic *s, uint64_t timestamp);

#endif

/*
 * log: how every part speaks without knowing where the words go.
 *
 * A struct mi_log is a level filter and a function; the broker folder points it at a bounded queue that the
 * main thread empties into mosquitto_log_printf (which is not thread-safe), the tool at stderr, a test at its
 * own list. Lines are limited per cause: mi_log_limited lets one through per interval and counts the others.
 */
#ifndef MI_LOG_H
#define MI_LOG_H

#include <stdint.h>

enum mi_log_level { MI_LOG_ERROR, MI_LOG_WARNING, MI_LOG_NOTICE, MI_LOG_INFO, MI_LOG_DEBUG };

struct mi_log {
    /* Takes one line without newline. May be called from any thread; must not block on I/O. */
    void (*write)(void *context, enum mi_log_level level, const char *line);
    void *context;
};

/* One line, at most 900 bytes (Mosquitto cuts at 1000). log may be NULL: then nothing happens. */
void mi_log_line(const struct mi_log *log, enum mi_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The limiter of one cause ("stream missing", "connection refused"); zeroed at its start; owned by one
 * thread. */
struct mi_log_limit {
    uint64_t next_ns;    /* monotonic; before this lines are only counted */
    uint64_t suppressed; /* lines held back since the last one that was written */
};

/* As mi_log_line, at most once per interval_ns of the monotonic time now_ns; says how many it held back. */
void mi_log_limited(const struct mi_log *log, struct mi_log_limit *limit, uint64_t now_ns,
                    uint64_t interval_ns, enum mi_log_level level, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

enum { LINE_MAX_BYTES = 900 };

void mi_log_line(const struct mi_log *log, enum mi_log_level level, const char *format, ...)
{
    if (!log || !log->write)
        return;
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log->write(log->context, level, line);
}

void mi_log_limited(const struct mi_log *log, struct mi_log_limit *limit, uint64_t now_ns,
                    uint64_t interval_ns, enum mi_log_level level, const char *format, ...)
{
    if (now_ns < limit->next_ns) {
        limit->suppressed++;
        return;
    }
    if (!log || !log->write)
        return;
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (limit->suppressed && n >= 0 && (size_t)n < sizeof line)
        snprintf(line + n, sizeof line - (size_t)n, " (%llu such lines held back)",
                 (unsigned long long)limit->suppressed);
    limit->suppressed = 0;
    limit->next_ns = now_ns + interval_ns;
    log->write(log->context, level, line);
}

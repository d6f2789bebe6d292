#include "journal/fault.h"

#if MI_FAULTS || defined(MI_JOURNAL_FAULTS)
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static char armed[64];
static atomic_long passages_left;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
    const char *value = getenv("MI_FAULT");
    if (!value)
        return;
    size_t len = strcspn(value, ":");
    if (len >= sizeof armed)
        return;
    memcpy(armed, value, len);
    atomic_store(&passages_left, value[len] == ':' ? strtol(value + len + 1, NULL, 10) : 1);
}

static bool is_armed(const char *name)
{
    pthread_once(&once, read_environment);
    return armed[0] && strcmp(armed, name) == 0;
}

void mi_fault(const char *name)
{
    if (is_armed(name) && atomic_fetch_sub(&passages_left, 1) == 1)
        raise(SIGKILL);
}

bool mi_fault_next(const char *name)
{
    if (!is_armed(name))
        return false;
    if (atomic_load(&passages_left) == 1)
        return true;
    atomic_fetch_sub(&passages_left, 1);
    return false;
}
#else
typedef int mi_fault_points_are_off; /* ISO C wants something in every file */
#endif

/*
 * fault: named points at which a crash test kills the process, as kill -9 would.
 *
 * Compiled in with MI_FAULTS (or MI_JOURNAL_FAULTS, which the crash tests of the journal set for their own
 * copy of it); otherwise nothing. MI_FAULT=name[:n] in the environment arms one point: it kills at its n-th
 * passage (1 without n).
 */
#ifndef MI_FAULT_H
#define MI_FAULT_H

#include <stdbool.h>

#if MI_FAULTS || defined(MI_JOURNAL_FAULTS)
/* Kills the process when that point is armed and its time has come. Any thread. */
void mi_fault(const char *name);
/* For points in the middle of a write: true when the caller should write a part and then call mi_fault. */
bool mi_fault_next(const char *name);
#else
static inline void mi_fault(const char *name)
{
    (void)name;
}
static inline bool mi_fault_next(const char *name)
{
    (void)name;
    return false;
}
#endif

#endif

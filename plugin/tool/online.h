/*
 * online: asks Iggy whether the configured account may do what the configuration needs. Nothing is changed:
 * whether a topic may be sent to is tried with a partition that no topic has.
 */
#ifndef MI_ONLINE_H
#define MI_ONLINE_H

#include "config/config.h"

/* Prints a line per need, on stdout: "ok", "MISSING" with the mend, "without" with what happens without it,
 * or
 * "?" where it cannot be tried. True when nothing is missing. */
bool mi_check_online(const struct mi_config *config);

#endif

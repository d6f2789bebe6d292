/*
 * target: the server under test: iggy-devserver or a real Iggy, started on loopback with a directory of its
 * own.
 */
#ifndef CONTRACT_TARGET_H
#define CONTRACT_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* kind: "devserver" or "real"; version: "0.8" or "0.9". For "real" the binary is $IGGY_SERVER_08, or
 * $IGGY_SERVER, or iggy-server on PATH (0.9). False when there is none. */
bool target_choose(const char *kind, const char *version, const char *devserver);
/* Starts it with an empty directory and waits until it takes logins. False with the reason on stderr. */
bool target_start(void);
/* SIGKILL, or SIGTERM (and then a clean end), then the same again on the same directory. */
bool target_restart(bool graceful);
/* Ends it and removes its directory. False when it had to be killed or ended with an error. */
bool target_end(void);

bool target_is_08(void);
bool target_is_real(void);
uint16_t target_port(void);
/* iggy-devserver's only. */
uint16_t target_admin_port(void);
/* Logs root in again. False when that fails. */
bool target_login(void);
/* Root's bearer token; a new one after each start. */
const char *target_token(void);

#endif

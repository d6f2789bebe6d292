/*
 * session_name: the name under which the plugin's own subscription keeps its session in the broker, over
 * restarts. Random and kept in the journal's directory: the bridge's identity stands in every message of its,
 * and whoever knows the name of a session can take it over.
 */
#ifndef MI_SESSION_NAME_H
#define MI_SESSION_NAME_H

#include "base/error.h"

enum { MI_SESSION_NAME_HEX = 32 };

/* Reads the file "session" in the directory, or draws a name and writes it. -1 with err. Blocks on the disk:
 * for the start. */
int mi_session_name(const char *directory, char name[MI_SESSION_NAME_HEX + 1], struct mi_error *err);

#endif

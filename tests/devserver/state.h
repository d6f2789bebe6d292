/*
 * state: the file DIR/state.json, which keeps across restarts all but the messages: streams, topics,
 * partitions, options, consumer offsets, groups, users with passwords and access tokens. Written whole,
 * beside the old one, then renamed. Numbers of 64 bits are strings, since cJSON has doubles.
 */
#ifndef DEV_STATE_H
#define DEV_STATE_H

#include <stdbool.h>

struct dev_server;

/* Reads the file, if there is one. *found tells. False with a line on stderr when it cannot be used. */
bool dev_state_load(struct dev_server *server, bool *found);
/* Writes it when something changed. False on an I/O error. */
bool dev_state_save(struct dev_server *server);

#endif

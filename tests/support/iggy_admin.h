/*
 * iggy_admin: what an administrator does at an Iggy server between the steps of a test: users and their
 * permissions, streams made and deleted. As root, synchronous, over plain HTTP.
 */
#ifndef MI_TEST_IGGY_ADMIN_H
#define MI_TEST_IGGY_ADMIN_H

#include <stdbool.h>
#include <stdint.h>

/* One request to 127.0.0.1:port; in body ' stands for ". The status; 0: no answer. */
int mi_iggy_admin(uint16_t port, const char *method, const char *path, const char *body);
/* The number member "id" of what GET path shows; -1: there is none. */
long mi_iggy_admin_id(uint16_t port, const char *path);

/* Streams and topics (one partition each) by name; the id, -1 when it failed. */
long mi_iggy_admin_stream(uint16_t port, const char *stream);
long mi_iggy_admin_topic(uint16_t port, const char *stream, const char *topic);

/* The JSON of permissions: one global right or NULL; and, with stream >= 0, one right on that stream or NULL
 * and one on that topic of it or NULL. Lives until the next call. */
const char *mi_iggy_permissions(const char *global, long stream, const char *on_stream, long topic,
                                const char *on_topic);
/* A user with the password "secret"; permissions: JSON, "null": none. */
bool mi_iggy_admin_user(uint16_t port, const char *name, const char *permissions);
bool mi_iggy_admin_permit(uint16_t port, const char *name, const char *permissions);

#endif

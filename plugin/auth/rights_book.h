/*
 * rights_book: the Iggy users that are known, what their permissions say, and what that means by names.
 *
 * Permissions name streams and topics by ids, and ids are given out again. A right counts only for what its
 * id meant when the right was first seen: the book remembers created_at then, and from the moment that
 * another created_at stands under the id the right opens nothing. It counts again only as a new right: when
 * that entry of the permissions was taken away (or changed) and given again. An id that meant nothing when
 * the right was first seen stays without meaning in the same way. "First seen" begins anew with every start
 * of the broker: what happened before cannot be known, permissions hold no times.
 *
 * What an id means is only taken from lists that were asked for after the permissions were read ("rounds"),
 * so that a stream made just before its right was given is there.
 *
 * Pure; bridge thread.
 */
#ifndef MI_RIGHTS_BOOK_H
#define MI_RIGHTS_BOOK_H

#include "auth/id_map.h"
#include "auth/rights.h"

struct mi_rights_book;
struct mi_rights_user; /* lives until it is dropped */

/* NULL when memory is out. */
struct mi_rights_book *mi_rights_book_new(size_t max_users);
void mi_rights_book_free(struct mi_rights_book *b);
struct mi_id_map *mi_rights_book_ids(struct mi_rights_book *b);

enum mi_user_change {
    MI_USER_SAME,
    MI_USER_CHANGED,  /* new, or with other permissions */
    MI_USER_REPLACED, /* another account under the name, or switched off: whoever is logged in is somebody
                         else */
    MI_USER_NO_ROOM   /* there are max_users others (drop one), or memory is out */
};
/* A record that was read in round: it resolves by later rounds. The span of the name is copied. now_ns: when
 * it was wanted last; 0: nobody did, it is only known. */
enum mi_user_change mi_rights_book_record(struct mi_rights_book *b, const struct iggy_user *record,
                                          uint32_t round, uint64_t now_ns);

struct mi_rights_user *mi_rights_book_find(const struct mi_rights_book *b, struct mi_span name);
struct mi_span mi_rights_user_name(const struct mi_rights_user *u);
void mi_rights_book_drop(struct mi_rights_book *b, struct mi_rights_user *u);
size_t mi_rights_book_count(const struct mi_rights_book *b);
/* Who was not wanted for the longest time; NULL: there is nobody. */
struct mi_rights_user *mi_rights_book_oldest(const struct mi_rights_book *b);
/* The users in an order that drops and records do not disturb much: the i-th, for going round. */
struct mi_rights_user *mi_rights_book_at(const struct mi_rights_book *b, size_t i);

/* Is there anything in its permissions that waits for a round? */
bool mi_rights_user_waits(const struct mi_rights_user *u);
/* Calls each with the id of every stream on whose topics some user has a right: those whose details the round
 * must read. May repeat an id. */
void mi_rights_book_wanted(const struct mi_rights_book *b, void (*each)(void *arg, uint32_t stream_id),
                           void *arg);

/* Resolves what the rounds so far can resolve. True when the rights are others than at the last call (or this
 * is the first): *rights is then a new table for the caller, NULL when memory is out (ask again). */
bool mi_rights_user_resolve(struct mi_rights_book *b, struct mi_rights_user *u,
                            struct mi_iggy_rights **rights);
/* The table got lost on its way: the next call makes it anew. */
void mi_rights_user_make_again(struct mi_rights_user *u);

#endif

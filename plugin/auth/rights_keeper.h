/*
 * rights_keeper: keeps the rights of Iggy's users up to date (design section 10): asks the server with the
 * bridge's own account, fills the book (rights_book.h) and tells the main thread (rights_news.h).
 *
 * Every refresh: who there is (GET /users), each one's record (spread over the time, 100 a second at most, so
 * with many users a turn takes longer), which streams there are, and the topics of those on whose topics
 * somebody has a right. Needs the rights read_users and read_streams; without them nobody has rights, and the
 * log says so. While the server cannot be asked everything stays as it was.
 *
 * Users whose names mean something else in the API (digits only, "me", "logout") cannot be asked for and have
 * no rights.
 *
 * An account that is deleted, switched off or made again under its name loses its rights, and whoever is
 * logged in under it is to go.
 *
 * Bridge thread, unless a comment says otherwise.
 */
#ifndef MI_RIGHTS_KEEPER_H
#define MI_RIGHTS_KEEPER_H

#include "auth/rights_news.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "iggy_client.h"

struct mi_rights_keeper_options {
    struct iggy_client *client;  /* freed before the keeper */
    struct mi_rights_news *news; /* outlives the keeper */
    const struct mi_clock *clock;
    const struct mi_log *log;
    uint64_t refresh_ns;
    size_t max_users;
    void (*wake_main)(void *context); /* something is in news */
    void *context;
};

struct mi_rights_keeper;
struct mi_rights_keeper *mi_rights_keeper_new(const struct mi_rights_keeper_options *options,
                                              struct mi_error *err);
void mi_rights_keeper_free(struct mi_rights_keeper *k);
void mi_rights_keeper_set_refresh(struct mi_rights_keeper *k, uint64_t refresh_ns);

/* Does what is due; when it wants to be called again. */
uint64_t mi_rights_keeper_step(struct mi_rights_keeper *k, uint64_t now_ns);

/* Somebody logged in: this is the record that his login showed. done is called, perhaps at once, when his
 * rights are on their way to the main thread, or could not be had (then nothing is allowed yet): the right
 * moment to let him in, for the first thing that a client does is to subscribe. */
void mi_rights_keeper_admit(struct mi_rights_keeper *k, const struct iggy_user *record,
                            void (*done)(void *arg), void *arg);

#endif

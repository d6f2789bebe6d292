/*
 * interest: which topics somebody may want, so that routes with feed: on_subscribe read only then (design
 * section 8).
 *
 * The main thread keeps the table of filters per client, fed by the broker's events, and hands the bridge
 * thread an immutable picture when the set of different filters has changed. What is not known counts as
 * wanted: until somebody says what restored sessions and the broker's own bridges subscribed to, everything
 * is.
 */
#ifndef MI_INTEREST_H
#define MI_INTEREST_H

#include "base/bytes.h"
#include "base/clock.h"

/* ---- the table: main thread ---- */

struct mi_interest;
/* max_filters: above so many different filters everything counts as wanted, until there are fewer; above
 * MI_INTEREST_MAX_PAIRS subscriptions from then on for ever. The clock's random bits keep clients from
 * choosing filters that collide. NULL when memory is out. */
struct mi_interest *mi_interest_new(size_t max_filters, const struct mi_clock *clock);
void mi_interest_free(struct mi_interest *t);
#define MI_INTEREST_MAX_PAIRS 1000000u

/* A subscription was granted or asked for. A shared one ($share/group/filter) counts like its filter; those
 * below $iggy/ and other $-topics are nobody's interest. Repeating is harmless. persistent: the session may
 * outlive its connection. When memory is out everything counts as wanted from then on. */
void mi_interest_subscribe(struct mi_interest *t, struct mi_span client, struct mi_span filter,
                           bool persistent);
void mi_interest_unsubscribe(struct mi_interest *t, struct mi_span client, struct mi_span filter);
/* The connection ended: a session that cannot outlive it is forgotten. */
void mi_interest_disconnected(struct mi_interest *t, struct mi_span client);
/* A connection began, or is known to have begun since the last disconnect: clean takes the place of the
 * former session. No effect on a client that did not disconnect. */
void mi_interest_connected(struct mi_interest *t, struct mi_span client, bool clean);
/* The session ended: all its subscriptions are gone. */
void mi_interest_session_ended(struct mi_interest *t, struct mi_span client);

/* Looks at the next few clients that are away (a part of all, in turns) and forgets those of which gone says
 * that their session ended, which no event tells. True when all have been looked at once. */
bool mi_interest_sweep(struct mi_interest *t, bool (*gone)(void *context, const char *client), void *context);

/* Filters that are wanted though no client of ours stands for them (restored sessions, the broker's bridges):
 * unknown true counts as "everything". Starts true. */
void mi_interest_set_unknown(struct mi_interest *t, bool unknown);

/* Does that client have a subscription that counts? */
bool mi_interest_knows(const struct mi_interest *t, struct mi_span client);

/* Different filters now. */
size_t mi_interest_filters(const struct mi_interest *t);

/* ---- the picture: shared, immutable ---- */

struct mi_interest_picture;
/* The picture of now, held for the caller; the same one while nothing changed. Costs a few nanoseconds a
 * filter; sorting is left to the first who asks the picture. NULL when memory is out: the caller keeps its
 * former one. */
struct mi_interest_picture *mi_interest_picture(struct mi_interest *t);
bool mi_interest_changed(const struct mi_interest *t); /* since the last mi_interest_picture; one load */

struct mi_interest_picture *mi_interest_picture_hold(struct mi_interest_picture *p); /* any thread */
void mi_interest_picture_release(struct mi_interest_picture *p); /* any thread; NULL is allowed */
/* Does any wanted filter overlap with this filter, that is, is there a topic that both match? NULL picture:
 * yes. Any thread. Both are plain MQTT filters; wildcards do not reach topics that begin with $. */
bool mi_interest_wants(const struct mi_interest_picture *p, const char *filter);

#endif

/*
 * crowd: brokers of one log (cluster.h) with one route for fed/#, clients that publish retained values on
 * them, and what the log and the brokers hold in the end.
 */
#ifndef CROWD_H
#define CROWD_H

#include "cluster.h"

#include <pthread.h>

enum { CROWD_TOPICS = 5, CROWD_ROUND = 120 };

#define CROWD_ROUTES(more)                                                                                \
    "'routes':[{'name':'all','filter':'fed/#','direction':'both','stream':'fed','topic':'messages'," more \
    "'create':{'partitions':3},'start':'latest'}]}"

/* Brokers that run; conf: lines for mosquitto.conf, may be NULL. */
struct cluster *crowd_cluster(size_t brokers, const char *conf, const char *json);
/* Waits until every broker reads: what comes before that is not its business with start: latest. */
void crowd_wait_for_readers(struct cluster *c);
/* Waits until that broker has searched the log for retained values. */
void crowd_wait_for_rebuilds(struct cluster *c, size_t broker);

/* Publishes retained values on the topics first..last; "": deletes. */
void crowd_say(struct cluster *c, size_t broker, const char *payload, size_t first, size_t last);

/* One client that publishes CROWD_ROUND random retained values and deletes, on a thread of its own. */
struct crowd_member {
    struct cluster *cluster;
    size_t broker;
    uint64_t random;
    pthread_t thread;
    bool ok; /* all of it was acknowledged */
};
void crowd_start(struct crowd_member *m, struct cluster *c, size_t broker, uint64_t seed);
bool crowd_join(struct crowd_member *m);
/* FEDERATION_SEED, or another one each time; printed. */
uint64_t crowd_seed(void);

/* Does the broker hold what the log says? say: print what differs. */
bool crowd_equal(struct cluster *c, size_t broker, bool say);
/* Waits until the log holds so many messages (0: however many) and the broker's values are those of the log.
 */
void crowd_settles(struct cluster *c, size_t broker, size_t messages);

#endif

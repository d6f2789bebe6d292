/*
 * transport: the few calls of iggy_client that out needs, as a table, so that tests put a model of the server
 * in their place. Meaning, ownership and threads of each are those of iggy_client.h.
 */
#ifndef MI_TRANSPORT_H
#define MI_TRANSPORT_H

#include "iggy_client.h"

#define MI_ANY_SIGNS UINT64_MAX

struct mi_transport {
    uint64_t (*signs)(void *context);
    /* iggy_produce_unless_signs, or with MI_ANY_SIGNS iggy_produce */
    iggy_request (*produce)(void *context, uint64_t signs, struct iggy_span stream, struct iggy_span topic,
                            const struct iggy_batch *batch, iggy_produced_fn done, void *arg);
    iggy_request (*poll)(void *context, const struct iggy_poll *poll, iggy_polled_fn done, void *arg);
    iggy_request (*get_topic)(void *context, struct iggy_span stream, struct iggy_span topic,
                              iggy_topic_fn done, void *arg);
    iggy_request (*create_stream)(void *context, struct iggy_span name, iggy_done done, void *arg);
    iggy_request (*create_topic)(void *context, struct iggy_span stream, struct iggy_span name,
                                 const struct iggy_topic_options *options, iggy_done done, void *arg);
    iggy_request (*get_stats)(void *context, iggy_stats_fn done, void *arg);
    void (*cancel)(void *context, iggy_request request);
    void *context;
};

/* The real one: context is the client. */
struct mi_transport mi_transport_of(struct iggy_client *client);

#endif

/*
 * transport: the table over the real client.
 */
#include "out/transport.h"

static uint64_t signs(void *context)
{
    return iggy_client_signs(context);
}

static iggy_request produce(void *context, uint64_t seen, struct iggy_span stream, struct iggy_span topic,
                            const struct iggy_batch *batch, iggy_produced_fn done, void *arg)
{
    if (seen == MI_ANY_SIGNS)
        return iggy_produce(context, stream, topic, batch, done, arg);
    return iggy_produce_unless_signs(context, seen, stream, topic, batch, done, arg);
}

static iggy_request poll_messages(void *context, const struct iggy_poll *poll, iggy_polled_fn done, void *arg)
{
    return iggy_poll(context, poll, done, arg);
}

static iggy_request get_topic(void *context, struct iggy_span stream, struct iggy_span topic,
                              iggy_topic_fn done, void *arg)
{
    return iggy_get_topic(context, stream, topic, done, arg);
}

static iggy_request create_stream(void *context, struct iggy_span name, iggy_done done, void *arg)
{
    return iggy_create_stream(context, name, done, arg);
}

static iggy_request create_topic(void *context, struct iggy_span stream, struct iggy_span name,
                                 const struct iggy_topic_options *options, iggy_done done, void *arg)
{
    return iggy_create_topic(context, stream, name, options, done, arg);
}

static iggy_request get_stats(void *context, iggy_stats_fn done, void *arg)
{
    return iggy_get_stats(context, done, arg);
}

static void cancel(void *context, iggy_request request)
{
    iggy_client_cancel(context, request);
}

struct mi_transport mi_transport_of(struct iggy_client *client)
{
    return (struct mi_transport){
        .signs = signs,
        .produce = produce,
        .poll = poll_messages,
        .get_topic = get_topic,
        .create_stream = create_stream,
        .create_topic = create_topic,
        .get_stats = get_stats,
        .cancel = cancel,
        .context = client,
    };
}

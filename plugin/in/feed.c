/* feed: routes with feed on_subscribe are read only while somebody may want their messages. */
#include "in/in_private.h"

#include "in/wanted.h"

enum { TARGETS_PER_TURN = 100 };

static bool is_wanted(struct mi_in *in, const struct mi_target *t)
{
    return mi_wanted(in->interest, in->config, t->route, mi_span_of(t->stream), mi_span_of(t->topic),
                     &in->topic);
}

static bool was_read(const struct mi_target *t)
{
    for (uint32_t p = 0; p < t->reader_count; p++)
        if (t->readers[p]->placed)
            return true;
    return false;
}

/* Its readers stay where they are and do nothing. */
static void stop(struct mi_in *in, struct mi_target *t)
{
    t->rests = t->at_tail || was_read(t);
    mi_watch_set(&in->watch, t, false, t->may_ask);
    for (uint32_t p = 0; p < t->reader_count; p++)
        mi_in_stop_reader(in, t->readers[p]);
    in->resting += t->reader_count;
}

static void to_tail(struct mi_target *t)
{
    t->at_tail = true;
    t->rests = false;
    for (uint32_t p = 0; p < t->reader_count; p++)
        t->readers[p]->placed = false;
}

/* At the tail: what came meanwhile was nobody's. Subscriptions of a persistent session stand while it is
 * away, so what such a session wants does not rest. */
static void go_on(struct mi_in *in, struct mi_target *t)
{
    in->resting -= t->reader_count;
    if (t->rests || was_read(t)) /* an answer may have placed them after the stop */
        to_tail(t);
    mi_watch_set(&in->watch, t, true, t->may_ask);
    for (uint32_t p = 0; p < t->reader_count; p++)
        mi_in_consider(in, t->readers[p]);
    mi_watch_look_at(&in->watch, t);
}

void mi_in_feed_first(struct mi_in *in, struct mi_target *t)
{
    t->wanted = is_wanted(in, t);
    if (t->wanted && t->rests)
        to_tail(t);
    if (t->wanted)
        return;
    t->rests = was_read(t);
    in->resting += t->reader_count;
}

bool mi_in_feed_step(struct mi_in *in, uint64_t now)
{
    if (!in->interest_changed)
        return false;
    size_t count = mi_target_set_count(in->set);
    for (size_t n = 0; n < TARGETS_PER_TURN && in->interest_at < count; n++) {
        struct mi_target *t = mi_target_set_at(in->set, in->interest_at++);
        bool wanted = is_wanted(in, t);
        if (wanted == t->wanted)
            continue;
        if (wanted)
            go_on(in, t);
        else
            stop(in, t);
        in->changed = true;
        mi_watch_traffic(&in->watch, now);
    }
    in->interest_changed = in->interest_at < count;
    return in->interest_changed;
}

void mi_in_set_interest(struct mi_in *in, struct mi_interest_picture *picture)
{
    mi_interest_picture_hold(picture);
    mi_interest_picture_release(in->interest);
    in->interest = picture;
    in->interest_at = 0;
    in->interest_changed = true;
}

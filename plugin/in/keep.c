/* keep: which position goes to the state file, and is shown in Iggy. */
#include "in/in_private.h"

enum { MIRROR_EVERY_S = 1 };

static bool waits_for_save(const struct mi_in *in, const struct mi_reader *r)
{
    return mi_save_gate_waits(in->o.gate) && mi_in_route(in, r->target)->position == MI_POSITION_SAVED;
}

static void kept(struct mi_in *in, struct mi_reader *r)
{
    in->changed = true;
    mi_queue_add(&in->unmirrored, &r->unmirrored);
}

void mi_in_moved(struct mi_in *in, struct mi_reader *r)
{
    if (waits_for_save(in, r))
        mi_queue_add(&in->unsaved, &r->unsaved);
    else if (mi_track_keep(&r->track))
        kept(in, r);
}

void mi_in_keep_forget(struct mi_reader *r)
{
    mi_queue_remove(&r->unsaved);
    mi_queue_remove(&r->unmirrored);
}

/* Of what is found from now on the next scan tells. */
static void rebuild_kept(struct mi_in *in)
{
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        const struct mi_target *t = mi_target_set_at(in->set, i);
        for (uint32_t p = 0; p < t->reader_count; p++)
            if (t->readers[p]->scan_decided)
                t->readers[p]->rebuild = false;
    }
    in->rebuild_kept = MI_REBUILD_KEPT;
    in->changed = true;
}

/* Retained values that the broker was given are like messages: it has to save them. */
static void look_at_rebuild(struct mi_in *in, bool saved)
{
    if (in->rebuild_kept == MI_REBUILD_CAPTURED && saved)
        rebuild_kept(in);
    else if (in->rebuild_kept == MI_REBUILD_OPEN && mi_in_scans_done(in))
        in->rebuild_kept = MI_REBUILD_CAPTURED;
}

static void look(struct mi_in *in, bool saved)
{
    look_at_rebuild(in, saved);
    for (struct mi_link *l = in->unsaved.first, *next; l; l = next) {
        struct mi_reader *r = l->owner;
        next = l->next;
        bool moved = waits_for_save(in, r) ? mi_track_looked(&r->track, saved) : mi_track_keep(&r->track);
        if (moved)
            kept(in, r);
        if (!mi_track_unkept(&r->track))
            mi_queue_remove(l);
    }
}

/* About once a second for each reader that moves. */
static uint64_t mirror(struct mi_in *in, uint64_t now)
{
    uint64_t due;
    while (in->unmirrored.first) {
        struct mi_reader *r = in->unmirrored.first->owner;
        const struct mi_target *t = r->target;
        uint64_t next_ns = r->mirrored_ns ? r->mirrored_ns + MIRROR_EVERY_S * MI_NS_PER_S : 0;
        if (now < next_ns)
            return next_ns;
        if (!mi_mirror_may(in->mirror, now, &due))
            return due;
        mi_queue_remove(&r->unmirrored);
        r->mirrored_ns = now;
        if (r->track.kept.next > 0)
            mi_mirror_store(in->mirror, mi_span_of(t->stream), mi_span_of(t->topic), r->partition,
                            r->track.kept.next - 1, now);
    }
    return UINT64_MAX;
}

uint64_t mi_in_keep_step(struct mi_in *in, uint64_t now)
{
    bool saved, rebuilt = in->rebuild_kept != MI_REBUILD_KEPT && mi_in_scans_done(in);
    if (rebuilt && !mi_save_gate_waits(in->o.gate))
        rebuild_kept(in);
    bool waits = in->unsaved.first || rebuilt;
    if (waits && mi_save_gate_look(in->o.gate, now, &saved))
        look(in, saved);
    uint64_t look_due = waits ? mi_save_gate_due(in->o.gate) : UINT64_MAX;
    uint64_t mirror_due = mirror(in, now);
    return look_due < mirror_due ? look_due : mirror_due;
}

void mi_in_ended(struct mi_in *in, bool saved)
{
    mi_in_collect(in);
    if (mi_in_scans_done(in) && (saved || !mi_save_gate_waits(in->o.gate)))
        rebuild_kept(in);
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        const struct mi_target *t = mi_target_set_at(in->set, i);
        for (uint32_t p = 0; p < t->reader_count; p++)
            if (saved || !waits_for_save(in, t->readers[p]))
                mi_track_keep(&t->readers[p]->track);
    }
}

void mi_in_store_lost(struct mi_in *in)
{
    in->o.rebuild = true;
    for (size_t i = 0; i < mi_target_set_count(in->set); i++) {
        const struct mi_target *t = mi_target_set_at(in->set, i);
        for (uint32_t p = 0; p < t->reader_count; p++)
            t->readers[p]->rebuild = true;
    }
}

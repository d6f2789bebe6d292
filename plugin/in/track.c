#include "in/track.h"

bool mi_track_out(const struct mi_track *t)
{
    return t->former || t->out_next > t->next;
}

/* What was read is also delivered as soon as nothing is on its way. */
static bool settle(struct mi_track *t)
{
    if (mi_track_out(t) || (t->next == t->read_next && t->marked == t->read_marked))
        return false;
    t->next = t->read_next;
    t->mark = t->read_mark;
    t->marked = t->read_marked;
    return true;
}

static struct mi_place here(const struct mi_track *t)
{
    return (struct mi_place){t->next, t->mark, t->marked};
}

bool mi_track_unkept(const struct mi_track *t)
{
    return t->kept.next != t->next || t->kept.marked != t->marked;
}

bool mi_track_keep(struct mi_track *t)
{
    bool moved = mi_track_unkept(t);
    t->kept = t->captured = here(t);
    return moved;
}

bool mi_track_looked(struct mi_track *t, bool saved)
{
    uint64_t before = t->kept.next;
    if (saved)
        t->kept = t->captured;
    t->captured = here(t);
    return t->kept.next != before;
}

bool mi_track_place(struct mi_track *t, uint64_t at, const struct mi_mark *before)
{
    bool left_behind = t->out_next > t->next;
    if (left_behind) {
        t->former = true;
        t->former_out_next = t->out_next;
    }
    t->read_next = at;
    t->read_marked = before != NULL;
    if (before)
        t->read_mark = *before;
    t->out_next = 0;
    if (!t->former) {
        settle(t);
    } else if (at < t->next) {
        /* Until the former ones are with the broker: at worst they come again after a crash. */
        t->next = at;
        t->marked = false;
    }
    mi_track_keep(t);
    return left_behind;
}

void mi_track_put(struct mi_track *t, uint64_t offset)
{
    t->out_next = offset + 1;
}

bool mi_track_read(struct mi_track *t, const struct mi_mark *mark)
{
    t->read_next = mark->offset + 1;
    t->read_mark = *mark;
    t->read_marked = true;
    return settle(t);
}

bool mi_track_skip_to(struct mi_track *t, uint64_t next)
{
    t->read_next = next;
    t->read_marked = false;
    return settle(t);
}

bool mi_track_delivered(struct mi_track *t, const struct mi_mark *mark, bool former)
{
    if (former) {
        if (mark->offset + 1 >= t->former_out_next)
            t->former = false;
        return settle(t);
    }
    t->former = false; /* they went before */
    if (mark->offset + 1 > t->next) {
        t->next = mark->offset + 1;
        t->mark = *mark;
        t->marked = true;
    }
    settle(t);
    return true;
}

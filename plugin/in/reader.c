#include "in/reader.h"

enum { FIRST_COUNT = 32, COUNT_MAX = 1000 };

static struct mi_judgement judge_check(struct mi_reader *r, const struct iggy_polled *answer);
static struct mi_judgement judge_since(struct mi_reader *r, const struct iggy_polled *answer);
static struct mi_judgement judge_messages(struct mi_reader *r, const struct iggy_polled *answer);
static struct mi_judgement judge_tail(struct mi_reader *r, const struct iggy_polled *answer);

static uint64_t place_of(const struct mi_reader *r)
{
    return r->track.read_next;
}

static void bound_live(struct mi_reader *r)
{
    uint64_t behind = r->end > place_of(r) ? r->end - place_of(r) : 0;
    if (r->live > behind)
        r->live = behind;
}

bool mi_reader_place(struct mi_reader *r, uint64_t at, const struct mi_mark *before)
{
    r->placed = true;
    r->discard = r->polling;
    r->check = at > 0 && !before; /* which message is it? Asked while nothing else is to do */
    r->since = r->lost = false;
    r->hollow_end = 0;
    bool new_life = mi_track_place(&r->track, at, before);
    bound_live(r);
    return new_life;
}

void mi_reader_doubt(struct mi_reader *r)
{
    r->check = r->unseen = r->placed;
    r->since = r->lost = false;
    r->discard = r->polling;
}

void mi_reader_missing(struct mi_reader *r)
{
    r->unseen = true;
    r->check = r->placed;
}

void mi_reader_saw_end(struct mi_reader *r, uint64_t end, uint32_t round, bool from_start)
{
    uint64_t before = r->end_known || from_start ? r->end : end;
    if (end > before && (r->end_round == round || from_start))
        r->live += end - before;
    r->unseen = false;
    r->end = end;
    r->end_known = true;
    r->end_round = round;
    bound_live(r);
}

/* ---- asking ---- */

enum mi_ask mi_reader_wants(const struct mi_reader *r, bool blind, bool idle_too)
{
    bool news = place_of(r) < r->end;
    if (r->unseen && !blind)
        return MI_ASK_NOTHING;
    if (!r->placed || r->lost)
        return blind ? MI_ASK_TAIL : MI_ASK_NOTHING;
    if (r->since)
        return MI_ASK_SINCE;
    if (r->check && place_of(r) > 0 && (r->track.read_marked || !news))
        return MI_ASK_CHECK;
    return news || idle_too ? MI_ASK_MESSAGES : MI_ASK_NOTHING;
}

static uint32_t count_by_size(const struct mi_reader *r, uint32_t most, size_t max_bytes)
{
    size_t fit = r->message_bytes ? max_bytes / 2 / r->message_bytes : FIRST_COUNT;
    if (fit > COUNT_MAX)
        fit = COUNT_MAX;
    if (fit > most)
        fit = most;
    return fit ? (uint32_t)fit : 1;
}

void mi_reader_question(struct mi_reader *r, enum mi_ask ask, uint32_t most, size_t max_bytes,
                        struct iggy_poll *poll)
{
    poll->partition_id = r->partition;
    poll->strategy = ask == MI_ASK_TAIL    ? IGGY_FROM_LAST
                     : ask == MI_ASK_SINCE ? IGGY_FROM_TIMESTAMP
                                           : IGGY_FROM_OFFSET;
    poll->value = ask == MI_ASK_SINCE   ? r->track.read_mark.stamp_us + 1
                  : ask == MI_ASK_CHECK ? place_of(r) - 1
                  : ask == MI_ASK_TAIL  ? 0
                                        : place_of(r);
    poll->count = ask == MI_ASK_CHECK || ask == MI_ASK_TAIL ? 1 : count_by_size(r, most, max_bytes);
    poll->max_bytes = max_bytes;
    r->asked_overlap =
        ask == MI_ASK_MESSAGES && r->overlap && !r->no_overlap && r->track.read_marked && place_of(r) > 0;
    poll->value -= r->asked_overlap;
    poll->count += r->asked_overlap;
    r->asked = ask;
    r->asked_count = poll->count;
    r->asked_end = r->end;
}

void mi_reader_sized(struct mi_reader *r, size_t answer_bytes, size_t messages)
{
    if (messages == 0)
        return;
    size_t sample = answer_bytes / messages + 1;
    if (sample > UINT32_MAX / 2)
        sample = UINT32_MAX / 2;
    if (sample >= r->message_bytes)
        r->message_bytes = (uint32_t)sample;
    else
        r->message_bytes -= (r->message_bytes - (uint32_t)sample + 3) / 4;
}

bool mi_reader_too_large(struct mi_reader *r, size_t max_bytes)
{
    r->no_overlap = r->asked_overlap;
    if (r->asked_count <= 1)
        return false;
    size_t at_least = max_bytes / r->asked_count * 2 + 1; /* a quarter of the count next time */
    r->message_bytes = at_least > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)at_least;
    return true;
}

/* ---- answers ---- */

static bool sane(const struct mi_reader *r, const struct iggy_polled *answer)
{
    if (answer->count > 0 && answer->partition_id != r->partition)
        return false;
    for (size_t i = 0; i < answer->count; i++)
        if (answer->messages[i].offset >= INT64_MAX ||
            (i > 0 && answer->messages[i].offset <= answer->messages[i - 1].offset))
            return false;
    return true;
}

struct mi_judgement mi_reader_judge(struct mi_reader *r, const struct iggy_polled *answer)
{
    if (!sane(r, answer))
        return (struct mi_judgement){.unfit = true};
    switch (r->asked) {
    case MI_ASK_TAIL:
        return judge_tail(r, answer);
    case MI_ASK_CHECK:
        return judge_check(r, answer);
    case MI_ASK_SINCE:
        return judge_since(r, answer);
    case MI_ASK_MESSAGES:
        return judge_messages(r, answer);
    case MI_ASK_NOTHING:
        break;
    }
    return (struct mi_judgement){.unfit = true};
}

static struct mi_mark mark_of(const struct iggy_polled_message *m)
{
    return (struct mi_mark){m->offset, m->id.hi, m->id.lo, m->timestamp};
}

/* Blind: at the tail, which for one that lost its tail is where it goes on. */
static struct mi_judgement judge_tail(struct mi_reader *r, const struct iggy_polled *answer)
{
    struct mi_judgement j = {0};
    struct mi_mark last = {0};
    if (answer->count > 0)
        last = mark_of(&answer->messages[0]);
    uint64_t tail = answer->count ? last.offset + 1 : 0;
    bool newer = r->track.read_marked && last.stamp_us > r->track.read_mark.stamp_us;
    if (r->lost && (tail >= place_of(r) || newer)) { /* by time, as with details below */
        r->lost = false;
        r->since = r->track.read_marked;
        return j;
    }
    j.found = r->lost ? MI_FOUND_TAIL_LOST : MI_FOUND_NOTHING;
    j.new_life = mi_reader_place(r, tail, answer->count ? &last : NULL);
    return j;
}

/* Does the log reach so far, though nothing was returned? Then retention emptied it. 0 may also say "nothing"
 * or "not told" (0.8). */
static bool reaches(const struct iggy_polled *answer, uint64_t offset)
{
    return answer->current_offset > 0 && answer->current_offset >= offset;
}

static bool same(const struct mi_reader *r, const struct iggy_polled_message *m)
{
    return m->id.hi == r->track.read_mark.id_hi && m->id.lo == r->track.read_mark.id_lo;
}

static struct mi_judgement judge_check(struct mi_reader *r, const struct iggy_polled *answer)
{
    struct mi_judgement j = {0};
    uint64_t before = place_of(r) - 1;
    if (answer->count == 0) {
        r->check = false;
        r->lost = !reaches(answer, before);
        j.need_details = r->lost;
        return j;
    }
    struct mi_mark m = mark_of(&answer->messages[0]);
    if (m.offset < before)
        return (struct mi_judgement){.unfit = true};
    r->check = false;
    if (m.offset > before)
        return j;
    if (!r->track.read_marked) {
        mi_track_read(&r->track, &m);
    } else if (!same(r, &answer->messages[0])) {
        r->since = true;
        j.found = MI_FOUND_REUSED;
    }
    return j;
}

static struct mi_judgement judge_since(struct mi_reader *r, const struct iggy_polled *answer)
{
    struct mi_judgement j = {0};
    r->since = false;
    /* The end that was known before it was asked: what is behind that is new in any case. */
    if (answer->count == 0 && r->end_known && r->asked_end < place_of(r)) {
        j.found = MI_FOUND_TAIL_LOST;
        j.new_life = mi_reader_place(r, r->asked_end, NULL);
        r->discard = false;
        return j;
    }
    if (answer->count == 0)
        return j;
    j.take = true;
    uint64_t first = answer->messages[0].offset;
    if (first >= place_of(r))
        return j; /* nothing was lost: retention had taken what there was before */
    uint64_t stamp = r->track.read_mark.stamp_us;
    j.found = MI_FOUND_TAIL_LOST;
    j.new_life = mi_reader_place(r, first, NULL);
    r->skip_until_us = stamp;
    r->check = false;
    r->discard = false;
    return j;
}

/* Is the message before the place still the same? True: the answer needs no further look, *j says all. */
static bool judge_overlap(struct mi_reader *r, const struct iggy_polled *answer, struct mi_judgement *j)
{
    bool another =
        answer->count > 0 && answer->messages[0].offset == place_of(r) - 1 && !same(r, &answer->messages[0]);
    bool ends_before = answer->count == 0 && !reaches(answer, place_of(r) - 1);
    if (another) {
        r->since = true;
        j->found = MI_FOUND_REUSED;
    }
    if (ends_before) {
        r->lost = true;
        j->need_details = true;
    }
    return another || ends_before;
}

static struct mi_judgement judge_messages(struct mi_reader *r, const struct iggy_polled *answer)
{
    struct mi_judgement j = {0};
    uint64_t place = place_of(r);
    struct iggy_polled rest = *answer;
    r->no_overlap = false;
    if (r->asked_overlap && judge_overlap(r, answer, &j))
        return j;
    if (r->asked_overlap && rest.count > 0 && rest.messages[0].offset == place - 1) {
        rest.messages++;
        rest.count--;
    }
    answer = &rest;
    r->check = r->check && r->track.read_marked; /* else it only was to learn what these messages tell too */
    if (answer->count == 0) {
        /* Was it known to reach further? Then either retention or a lost tail; details tell which. */
        if (r->asked_end > place) {
            r->hollow_end = r->asked_end;
            j.need_details = true;
        }
        r->end = place;
        return j;
    }
    if (answer->messages[answer->count - 1].offset < place)
        return (struct mi_judgement){.unfit = true};
    uint64_t first = answer->messages[0].offset;
    if (first > place && r->read_any) {
        j.found = MI_FOUND_EXPIRED;
        j.expired = first - place;
    }
    j.take = true;
    return j;
}

bool mi_reader_fresh(struct mi_reader *r, const struct iggy_polled_message *m)
{
    if (m->offset < place_of(r)) /* a server may start earlier than asked */
        return false;
    if (m->timestamp <= r->skip_until_us)
        return false;
    r->skip_until_us = 0;
    return true;
}

/* ---- topic details ---- */

/* Nothing came although the log was known to reach to hollow_end. It still does, and holds nothing below:
 * retention. */
static struct mi_judgement settle_hollow(struct mi_reader *r, const struct iggy_partition *p)
{
    struct mi_judgement j = {0};
    uint64_t to = r->hollow_end, place = place_of(r);
    r->hollow_end = 0;
    if (r->end < to || p->messages_count > r->end - to || to <= place)
        return j;
    if (r->read_any) {
        j.found = MI_FOUND_EXPIRED;
        j.expired = to - place;
    }
    mi_track_skip_to(&r->track, to);
    return j;
}

struct mi_judgement mi_reader_details(struct mi_reader *r, const struct iggy_partition *p)
{
    struct mi_judgement j = {0};
    if (r->lost && r->end < place_of(r) && !r->track.read_marked) {
        j.found = MI_FOUND_TAIL_LOST;
        j.new_life = mi_reader_place(r, r->end, NULL);
        return j;
    }
    /* By time, with this end known before: when nothing newer is found then, what comes at it will be new.
     * The end alone says nothing: the log may have grown past the place again. */
    r->since = r->since || (r->lost && r->track.read_marked);
    r->lost = false;
    /* A poll may have seen more than these details, which were asked before: so look before believing it. */
    if (r->end < place_of(r) && !r->since)
        r->check = true;
    if (r->hollow_end && !r->polling)
        return settle_hollow(r, p);
    return j;
}

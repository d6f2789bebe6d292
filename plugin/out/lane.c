/*
 * lane: the state machine.
 */
#include "out/lane.h"

#define NS_PER_MS 1000000ull

typedef enum mi_lane_action (*handler)(struct mi_lane_machine *m, const struct mi_lane_input *in);

static enum mi_lane_action in_idle(struct mi_lane_machine *m, const struct mi_lane_input *in);
static enum mi_lane_action in_flight(struct mi_lane_machine *m, const struct mi_lane_input *in);
static enum mi_lane_action in_pause(struct mi_lane_machine *m, const struct mi_lane_input *in);
static enum mi_lane_action in_settling(struct mi_lane_machine *m, const struct mi_lane_input *in);
static enum mi_lane_action in_reading_back(struct mi_lane_machine *m, const struct mi_lane_input *in);
static enum mi_lane_action in_checking(struct mi_lane_machine *m, const struct mi_lane_input *in);

void mi_lane_init(struct mi_lane_machine *m, bool unknown, uint64_t now_ns, uint64_t settle_ns)
{
    *m = (struct mi_lane_machine){
        .state = unknown ? MI_LANE_SETTLING : MI_LANE_IDLE, .due_ns = now_ns, .settle_ns = settle_ns};
}

enum mi_lane_action mi_lane_step(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    static const handler HANDLERS[MI_LANE_STATES] = {
        [MI_LANE_IDLE] = in_idle,         [MI_LANE_IN_FLIGHT] = in_flight,
        [MI_LANE_BACKOFF] = in_pause,     [MI_LANE_HELD] = in_pause,
        [MI_LANE_SETTLING] = in_settling, [MI_LANE_READING_BACK] = in_reading_back,
        [MI_LANE_CHECKING] = in_checking,
    };
    return HANDLERS[m->state](m, in);
}

bool mi_lane_wants(const struct mi_lane_machine *m, uint32_t queued)
{
    return m->state == MI_LANE_IDLE && (queued || m->check);
}

uint32_t mi_lane_limit(const struct mi_lane_machine *m)
{
    return m->probe ? 1 : m->doubted ? m->limit : 0;
}

uint32_t mi_lane_skip(const struct mi_lane_machine *m)
{
    return m->probe;
}

uint64_t mi_backoff_ns(uint32_t failures, uint64_t min_ns, uint64_t max_ns, uint64_t after_ns,
                       uint64_t random)
{
    uint64_t d = min_ns;
    for (uint32_t i = 1; i < failures && d < max_ns; i++)
        d *= 2;
    if (d > max_ns)
        d = max_ns;
    uint64_t wait = d / 2 + (d ? random % (d / 2 + 1) : 0);
    return wait > after_ns ? wait : after_ns;
}

static void pause_until(struct mi_lane_machine *m, enum mi_lane_state state, const struct mi_lane_input *in)
{
    m->failures++;
    m->state = state;
    m->due_ns = in->now_ns + mi_backoff_ns(m->failures, in->retry_min_ns, in->retry_max_ns,
                                           in->retry_after_ns, in->random);
}

static void end_doubt(struct mi_lane_machine *m)
{
    m->doubted = m->limit = m->probe = 0;
    m->vouched = false;
}

static enum mi_lane_action in_idle(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    if (in->event == MI_EV_RESTART || in->event == MI_EV_SIGN)
        m->check = true; /* its turn comes, messages or not: see mi_lane_wants */
    if (in->event != MI_EV_WORK)
        return MI_DO_NOTHING;
    if (m->check) {
        m->check = false;
        m->state = MI_LANE_CHECKING;
        return MI_DO_CHECK;
    }
    if (m->probe && m->probe >= in->queued) /* nobody stands behind the suspects any more */
        m->probe = 0;
    m->state = MI_LANE_IN_FLIGHT;
    return MI_DO_SEND;
}

/* The batch is stored, by its answer or because it was found. */
static enum mi_lane_action stored(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    m->state = MI_LANE_IDLE;
    m->failures = 0;
    if (m->probe) {
        m->convicted = m->probe;
        end_doubt(m);
        return MI_DO_CONVICT;
    }
    if (m->doubted > in->sent) {
        m->doubted -= in->sent;
        m->limit = m->doubted / 2 ? m->doubted / 2 : 1;
        m->vouched = true;
    } else if (m->doubted) {
        end_doubt(m);
    }
    return MI_DO_FINISH;
}

/* A message alone is refused and nothing speaks for the server's health yet: the next ones are tried past it
 * at once, one by one. One that is accepted convicts all before it, each of which was refused alone just now;
 * none: the fault is not theirs. After the pause it begins with the first again, since a server that
 * recovered meanwhile must not convict. */
static enum mi_lane_action suspect(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    uint32_t most = m->failures + 1 < MI_MAX_PROBES ? m->failures + 1 : MI_MAX_PROBES;
    m->doubted = 1;
    m->limit = 1;
    if (m->probe < most && m->probe + 1 < in->queued) {
        m->probe++;
        m->state = MI_LANE_IDLE;
        return MI_DO_REBUILD;
    }
    m->probe = 0;
    pause_until(m, MI_LANE_HELD, in);
    return MI_DO_COMPLAIN;
}

static enum mi_lane_action refused(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    if (m->probe)
        return suspect(m, in);
    if (in->sent > 1) {
        if (!m->doubted)
            m->vouched = false;
        m->doubted = in->sent;
        m->limit = in->sent / 2;
        m->state = MI_LANE_IDLE;
        return MI_DO_REBUILD;
    }
    if (!m->vouched)
        return suspect(m, in);
    m->state = MI_LANE_IDLE;
    m->convicted = 1;
    end_doubt(m);
    return MI_DO_CONVICT;
}

/* A probe that was not stored: time passes before the next request, so the suspect's refusal is no longer
 * fresh. */
static enum mi_lane_action start_over(struct mi_lane_machine *m)
{
    bool probing = m->probe > 0;
    m->probe = 0;
    return probing ? MI_DO_REBUILD : MI_DO_NOTHING;
}

static enum mi_lane_action in_flight(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    switch (in->event) {
    case MI_EV_STORED:
        return stored(m, in);
    case MI_EV_NOT_STORED:
        pause_until(m, MI_LANE_BACKOFF, in);
        return start_over(m);
    case MI_EV_LINK:
        m->state = MI_LANE_IDLE;
        return start_over(m);
    case MI_EV_UNKNOWN:
        m->state = MI_LANE_SETTLING;
        m->settle_ns = in->sent_ns + MI_SETTLE_MS * NS_PER_MS;
        m->due_ns = in->now_ns + MI_SETTLE_LOOK_MS * NS_PER_MS;
        return MI_DO_NOTHING;
    case MI_EV_TARGET:
        start_over(m);
        pause_until(m, MI_LANE_HELD, in);
        return MI_DO_REFRESH;
    case MI_EV_MESSAGE:
        return refused(m, in);
    case MI_EV_SIGN:
    case MI_EV_RESTART:
        m->check = true;
        return MI_DO_NOTHING;
    default:
        return MI_DO_NOTHING;
    }
}

static enum mi_lane_action in_pause(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    if (in->event == MI_EV_RESTART || in->event == MI_EV_SIGN)
        m->check = true;
    if ((in->event == MI_EV_TIMER && in->now_ns >= m->due_ns) ||
        (in->event == MI_EV_TARGET_READY && m->state == MI_LANE_HELD))
        m->state = MI_LANE_IDLE;
    return MI_DO_NOTHING;
}

static enum mi_lane_action in_settling(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    if (in->event == MI_EV_SIGN || in->event == MI_EV_RESTART)
        m->check = true;
    if (in->event == MI_EV_RESTART && m->settle_ns > in->now_ns)
        m->settle_ns = m->due_ns = in->now_ns;
    if (in->event != MI_EV_TIMER || in->now_ns < m->due_ns)
        return MI_DO_NOTHING;
    m->state = MI_LANE_READING_BACK;
    m->read_ns = in->now_ns;
    return MI_DO_READ_BACK;
}

/* Looks again: when absence will count, or a little later, whichever comes first. */
static enum mi_lane_action look_again(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    pause_until(m, MI_LANE_SETTLING, in);
    if (m->settle_ns > in->now_ns && m->due_ns > m->settle_ns)
        m->due_ns = m->settle_ns;
    return MI_DO_NOTHING;
}

static enum mi_lane_action in_reading_back(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    switch (in->event) {
    case MI_EV_READ_ALL:
        return stored(m, in);
    case MI_EV_READ_DENIED:
        if (in->now_ns < m->settle_ns) {
            m->state = MI_LANE_SETTLING;
            m->due_ns = m->settle_ns;
            return MI_DO_NOTHING;
        }
        break;
    case MI_EV_READ_ABSENT:
        if (m->read_ns < m->settle_ns)
            return look_again(m, in);
        break;
    case MI_EV_READ_FAILED:
        return look_again(m, in);
    case MI_EV_RESTART: /* this read began before: the next one counts */
        m->read_ns = 0;
        if (m->settle_ns > in->now_ns)
            m->settle_ns = in->now_ns;
        m->check = true;
        return MI_DO_NOTHING;
    case MI_EV_SIGN:
        m->check = true;
        return MI_DO_NOTHING;
    default:
        return MI_DO_NOTHING;
    }
    m->state = MI_LANE_IDLE;
    m->failures = 0;
    m->probe = 0;
    return MI_DO_RESEND;
}

static enum mi_lane_action in_checking(struct mi_lane_machine *m, const struct mi_lane_input *in)
{
    switch (in->event) {
    case MI_EV_SIGN:
    case MI_EV_RESTART:
    case MI_EV_CHECK_FAILED:
        m->check = true;
        if (in->event == MI_EV_CHECK_FAILED)
            pause_until(m, MI_LANE_BACKOFF, in);
        return MI_DO_NOTHING;
    case MI_EV_CHECK_LOST: /* the copies may partly be there: read back before they are sent */
        m->state = MI_LANE_SETTLING;
        m->settle_ns = m->due_ns = in->now_ns;
        return MI_DO_REBUILD;
    case MI_EV_CHECK_OK:
        m->state = MI_LANE_IDLE;
        return MI_DO_NOTHING;
    default:
        return MI_DO_NOTHING;
    }
}

const char *mi_lane_state_name(enum mi_lane_state state)
{
    static const char *const NAMES[MI_LANE_STATES] = {"idle",     "in_flight",    "backoff", "held",
                                                      "settling", "reading_back", "checking"};
    return (unsigned)state < MI_LANE_STATES ? NAMES[state] : "?";
}

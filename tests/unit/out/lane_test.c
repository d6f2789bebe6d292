/*
 * lane: every event in every state, then the paths that matter, then random events.
 */
#include "out/lane.h"
#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static struct mi_lane_input input(enum mi_lane_event event, uint64_t now)
{
    return (struct mi_lane_input){.event = event,
                                  .now_ns = now,
                                  .retry_min_ns = 100 * MS,
                                  .retry_max_ns = 10000 * MS,
                                  .sent_ns = 1000 * MS,
                                  .random = 7,
                                  .sent = 10,
                                  .queued = 20};
}

/* What each event leads to, with a timer that is due, no doubt and nothing to check. S is the state as it
 * was. */
#define S MI_LANE_STATES
struct cell {
    enum mi_lane_state state;
    enum mi_lane_action action;
};
static const struct cell EXPECTED[MI_LANE_STATES][MI_LANE_EVENTS] =
    {
        [MI_LANE_IDLE] =
            {
                [MI_EV_WORK] = {MI_LANE_IN_FLIGHT, MI_DO_SEND},
                [MI_EV_TIMER] = {S, MI_DO_NOTHING},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_IN_FLIGHT] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {S, MI_DO_NOTHING},
                [MI_EV_STORED] = {MI_LANE_IDLE, MI_DO_FINISH},
                [MI_EV_NOT_STORED] = {MI_LANE_BACKOFF, MI_DO_NOTHING},
                [MI_EV_LINK] = {MI_LANE_IDLE, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {MI_LANE_SETTLING, MI_DO_NOTHING},
                [MI_EV_TARGET] = {MI_LANE_HELD, MI_DO_REFRESH},
                [MI_EV_MESSAGE] = {MI_LANE_IDLE, MI_DO_REBUILD},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_BACKOFF] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {MI_LANE_IDLE, MI_DO_NOTHING},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_HELD] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {MI_LANE_IDLE, MI_DO_NOTHING},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {MI_LANE_IDLE, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_SETTLING] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {MI_LANE_READING_BACK, MI_DO_READ_BACK},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_READING_BACK] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {S, MI_DO_NOTHING},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {MI_LANE_IDLE, MI_DO_FINISH},
                [MI_EV_READ_ABSENT] = {MI_LANE_IDLE, MI_DO_RESEND},
                [MI_EV_READ_FAILED] = {MI_LANE_SETTLING, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {MI_LANE_IDLE, MI_DO_RESEND},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_FAILED] = {S, MI_DO_NOTHING},
            },
        [MI_LANE_CHECKING] =
            {
                [MI_EV_WORK] = {S, MI_DO_NOTHING},
                [MI_EV_TIMER] = {S, MI_DO_NOTHING},
                [MI_EV_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_NOT_STORED] = {S, MI_DO_NOTHING},
                [MI_EV_LINK] = {S, MI_DO_NOTHING},
                [MI_EV_UNKNOWN] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET] = {S, MI_DO_NOTHING},
                [MI_EV_MESSAGE] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ALL] = {S, MI_DO_NOTHING},
                [MI_EV_READ_ABSENT] = {S, MI_DO_NOTHING},
                [MI_EV_READ_FAILED] = {S, MI_DO_NOTHING},
                [MI_EV_READ_DENIED] = {S, MI_DO_NOTHING},
                [MI_EV_TARGET_READY] = {S, MI_DO_NOTHING},
                [MI_EV_SIGN] = {S, MI_DO_NOTHING},
                [MI_EV_RESTART] = {S, MI_DO_NOTHING},
                [MI_EV_CHECK_OK] = {MI_LANE_IDLE, MI_DO_NOTHING},
                [MI_EV_CHECK_LOST] = {MI_LANE_SETTLING, MI_DO_REBUILD},
                [MI_EV_CHECK_FAILED] = {MI_LANE_BACKOFF, MI_DO_NOTHING},
            },
};

static void test_every_event_in_every_state(void)
{
    for (int s = 0; s < MI_LANE_STATES; s++) {
        for (int e = 0; e < MI_LANE_EVENTS; e++) {
            struct mi_lane_machine m = {
                .state = (enum mi_lane_state)s, .due_ns = 5 * MS, .settle_ns = 5 * MS};
            struct mi_lane_input in = input((enum mi_lane_event)e, 2000 * MS);
            m.read_ns = 6 * MS;
            enum mi_lane_action action = mi_lane_step(&m, &in);
            const struct cell *x = &EXPECTED[s][e];
            CU_ASSERT_EQUAL(action, x->action);
            CU_ASSERT_EQUAL(m.state, x->state == S ? (enum mi_lane_state)s : x->state);
            bool sign =
                e == MI_EV_SIGN || e == MI_EV_RESTART || (s == MI_LANE_CHECKING && e == MI_EV_CHECK_FAILED);
            CU_ASSERT_EQUAL(m.check, sign);
        }
    }
}

static enum mi_lane_action step(struct mi_lane_machine *m, enum mi_lane_event event, uint64_t now,
                                uint32_t sent, uint32_t queued)
{
    struct mi_lane_input in = input(event, now);
    in.sent = sent;
    in.queued = queued;
    return mi_lane_step(m, &in);
}

static void test_a_check_comes_before_the_next_post(void)
{
    struct mi_lane_machine m;
    mi_lane_init(&m, false, 0, 0);
    CU_ASSERT_FALSE(mi_lane_wants(&m, 0));
    step(&m, MI_EV_WORK, 0, 0, 5);
    step(&m, MI_EV_RESTART, 0, 5, 5);
    step(&m, MI_EV_STORED, 0, 5, 5);
    CU_ASSERT_TRUE(mi_lane_wants(&m, 0));
    CU_ASSERT_EQUAL(step(&m, MI_EV_WORK, 0, 0, 5), MI_DO_CHECK);
    CU_ASSERT_EQUAL(step(&m, MI_EV_CHECK_OK, 0, 0, 5), MI_DO_NOTHING);
    CU_ASSERT_EQUAL(step(&m, MI_EV_WORK, 0, 0, 5), MI_DO_SEND);
}

static void test_absence_counts_only_from_the_settle_time_on(void)
{
    struct mi_lane_machine m;
    mi_lane_init(&m, false, 0, 0);
    step(&m, MI_EV_WORK, 1000 * MS, 0, 10);
    step(&m, MI_EV_UNKNOWN, 1100 * MS, 10, 10);
    unsigned looks = 0;
    for (uint64_t now = m.due_ns; m.state != MI_LANE_IDLE; now = m.due_ns) {
        CU_ASSERT_EQUAL_FATAL(step(&m, MI_EV_TIMER, now, 10, 10), MI_DO_READ_BACK);
        enum mi_lane_action action = step(&m, MI_EV_READ_ABSENT, now + MS, 10, 10);
        CU_ASSERT_EQUAL(action == MI_DO_RESEND, now >= 13000 * MS);
        CU_ASSERT_TRUE_FATAL(++looks < 50);
    }
    CU_ASSERT_TRUE(looks >= 3);
}

static void test_a_restart_ends_the_settling(void)
{
    struct mi_lane_machine m;
    mi_lane_init(&m, false, 0, 0);
    step(&m, MI_EV_WORK, 1000 * MS, 0, 10);
    step(&m, MI_EV_UNKNOWN, 1100 * MS, 10, 10);
    step(&m, MI_EV_TIMER, 1200 * MS, 10, 10);
    step(&m, MI_EV_RESTART, 1300 * MS, 10, 10); /* the read that is under way began before */
    CU_ASSERT_EQUAL(step(&m, MI_EV_READ_ABSENT, 1400 * MS, 10, 10), MI_DO_NOTHING);
    CU_ASSERT_EQUAL(step(&m, MI_EV_TIMER, m.due_ns, 10, 10), MI_DO_READ_BACK);
    CU_ASSERT_EQUAL(step(&m, MI_EV_READ_ABSENT, m.due_ns, 10, 10), MI_DO_RESEND);
    CU_ASSERT_TRUE(m.check);
}

/* A server that refuses exactly message number bad of n: plays the owner of the queue. */
static void convict_one(uint32_t n, uint32_t bad)
{
    struct mi_lane_machine m;
    uint32_t queue[64], count = n, convicted = UINT32_MAX, requests = 0;
    mi_lane_init(&m, false, 0, 0);
    for (uint32_t i = 0; i < n; i++)
        queue[i] = i;
    while (count && requests++ < 200) {
        if (m.state == MI_LANE_HELD)
            step(&m, MI_EV_TIMER, m.due_ns, 0, count);
        if (step(&m, MI_EV_WORK, 0, 0, count) != MI_DO_SEND)
            break;
        uint32_t skip = mi_lane_skip(&m), limit = mi_lane_limit(&m), sent = count - skip;
        if (limit && sent > limit)
            sent = limit;
        bool refused = false;
        for (uint32_t i = skip; i < skip + sent; i++)
            refused |= queue[i] == bad;
        enum mi_lane_action action = step(&m, refused ? MI_EV_MESSAGE : MI_EV_STORED, 0, sent, count);
        uint32_t gone = action == MI_DO_FINISH ? sent : 0;
        if (action == MI_DO_CONVICT) {
            CU_ASSERT_EQUAL(m.convicted, 1);
            CU_ASSERT_EQUAL(convicted, UINT32_MAX);
            convicted = queue[0];
            gone = refused ? 1 : 2;
        }
        count -= gone;
        memmove(queue, queue + gone, count * sizeof *queue);
    }
    if (n > 1) {
        CU_ASSERT_EQUAL(convicted, bad);
        CU_ASSERT_EQUAL(count, 0);
    } else {
        CU_ASSERT_EQUAL(convicted, UINT32_MAX); /* nothing speaks for the server */
    }
}

static void test_field_109_halving_finds_any_one_bad_message(void)
{
    for (uint32_t n = 1; n <= 33; n++)
        for (uint32_t bad = 0; bad < n; bad++)
            convict_one(n, bad);
}

static void test_field_21_back_off_grows_within_its_bounds(void)
{
    for (uint32_t failures = 1; failures < 40; failures++) {
        for (uint64_t r = 0; r < 1000; r += 7) {
            uint64_t d = mi_backoff_ns(failures, 100 * MS, 10000 * MS, 0, r * 123456789ull);
            uint64_t full = failures > 7 ? 10000 * MS : (100 * MS) << (failures - 1);
            full = full > 10000 * MS ? 10000 * MS : full;
            CU_ASSERT_TRUE(d >= full / 2 && d <= full);
        }
    }
    CU_ASSERT_EQUAL(mi_backoff_ns(1, 100 * MS, 10000 * MS, 60000 * MS, 1), 60000 * MS);
    CU_ASSERT_EQUAL(mi_backoff_ns(3, 0, 0, 0, 1), 0);
}

static void test_names(void)
{
    for (int s = 0; s < MI_LANE_STATES; s++)
        CU_ASSERT_STRING_NOT_EQUAL(mi_lane_state_name((enum mi_lane_state)s), "?");
    CU_ASSERT_STRING_EQUAL(mi_lane_state_name(MI_LANE_STATES), "?");
}

static CU_TestInfo tests[] = {
    {"every event in every state", test_every_event_in_every_state},
    {"a check comes before the next POST", test_a_check_comes_before_the_next_post},
    {"absence counts only from the settle time on", test_absence_counts_only_from_the_settle_time_on},
    {"a restart ends the settling", test_a_restart_ends_the_settling},
    {"field 109: halving finds any one bad message", test_field_109_halving_finds_any_one_bad_message},
    {"field 21: back-off grows within its bounds", test_field_21_back_off_grows_within_its_bounds},
    {"names", test_names},
    CU_TEST_INFO_NULL,
};

MI_SUITE_MAIN("out lane", tests)

/*
 * lane: what one (stream, topic, partition) does next. A pure state machine: no I/O, no allocation, no clock
 * of its own.
 *
 * One batch is under way per lane, so order per partition holds by construction. The machine knows counts,
 * not messages: its owner (ship.c, settle.c) keeps the queue, does what the returned action says, and reports
 * back with the next event.
 *
 *   IDLE          may send            WORK -> IN_FLIGHT, or CHECKING after SIGN, RESTART
 *   IN_FLIGHT     a produce request   its outcome -> IDLE, BACKOFF, SETTLING, HELD
 *   BACKOFF       not stored, wait    TIMER -> IDLE
 *   HELD          target or systemic  TIMER, TARGET_READY -> IDLE
 *   SETTLING      outcome unknown     TIMER -> READING_BACK
 *   READING_BACK  a poll request      READ_* -> IDLE, SETTLING
 *   CHECKING      polls whether the last confirmations still hold   CHECK_* -> IDLE, BACKOFF
 */
#ifndef MI_LANE_H
#define MI_LANE_H

#include <stdbool.h>
#include <stdint.h>

enum mi_lane_state {
    MI_LANE_IDLE,
    MI_LANE_IN_FLIGHT,
    MI_LANE_BACKOFF,
    MI_LANE_HELD,
    MI_LANE_SETTLING,
    MI_LANE_READING_BACK,
    MI_LANE_CHECKING,
    MI_LANE_STATES
};
const char *mi_lane_state_name(enum mi_lane_state state);

enum mi_lane_event {
    MI_EV_WORK,   /* messages wait and a request may be made */
    MI_EV_TIMER,  /* due_ns has come */
    MI_EV_STORED, /* outcomes of the produce request, see outcome.h */
    MI_EV_NOT_STORED,
    MI_EV_LINK, /* LINK and TOKEN: the whole out side waits, not this lane */
    MI_EV_UNKNOWN,
    MI_EV_TARGET,
    MI_EV_MESSAGE,
    MI_EV_READ_ALL,     /* read-back: all that was asked for is there */
    MI_EV_READ_ABSENT,  /* read-back reached the end of the partition and something is not there */
    MI_EV_READ_FAILED,  /* read-back got no answer; try again */
    MI_EV_READ_DENIED,  /* may not poll: the question stays open for ever */
    MI_EV_TARGET_READY, /* what was missing is there now */
    MI_EV_SIGN,         /* the server may have been restarted */
    MI_EV_RESTART,      /* the server was restarted: what it had not stored by now never will be */
    MI_EV_CHECK_OK,     /* the last confirmed message is where it was */
    MI_EV_CHECK_LOST,   /* it is not; what is lost is queued again in front */
    MI_EV_CHECK_FAILED, /* no answer; try again */
    MI_LANE_EVENTS
};

enum mi_lane_action {
    MI_DO_NOTHING,
    MI_DO_SEND,      /* send the batch at hand, or build one: mi_lane_limit messages, from mi_lane_skip on */
    MI_DO_FINISH,    /* the batch is stored: its messages are done */
    MI_DO_CONVICT,   /* the batch, if any was stored, is done; the first convicted messages of the queue are
                        dead letters */
    MI_DO_REBUILD,   /* take the batch apart: its messages wait again */
    MI_DO_REFRESH,   /* ask for the topic's details, create what may be created */
    MI_DO_READ_BACK, /* poll for what may be stored */
    MI_DO_RESEND,    /* take the batch apart; what was found is done, the rest is sent again */
    MI_DO_CHECK,     /* poll the last confirmed message */
    MI_DO_COMPLAIN   /* held because every message is refused: say so; the batch is taken apart */
};

enum {
    MI_SETTLE_MS = 12000, /* after this a request is committed or never will be; design section 7, measured */
    MI_SETTLE_LOOK_MS = 50, /* a first look for an unknown batch, since most are there at once */
    MI_MAX_PROBES = 8       /* messages sent past suspects before the lane starts over */
};

struct mi_lane_machine {
    enum mi_lane_state state;
    uint64_t due_ns;    /* BACKOFF, HELD, SETTLING: when TIMER is wanted */
    uint64_t settle_ns; /* SETTLING, READING_BACK: a read-back begun from here on proves absence */
    uint64_t read_ns;   /* READING_BACK: when it began */
    uint32_t failures;  /* in a row; drives the back-off */
    bool check;         /* confirmations must be checked before the next POST */
    uint32_t doubted;   /* messages at the head of the queue among which one was refused; 0: no doubt */
    uint32_t limit;     /* with doubt: most messages of the next batch */
    uint32_t probe;     /* >0: that many suspects stand alone at the head, the one behind them is sent past */
    uint32_t convicted; /* with MI_DO_CONVICT: messages at the head of the queue that are dead letters */
    bool vouched;       /* since the doubt began another message of this lane was accepted */
};

struct mi_lane_input {
    enum mi_lane_event event;
    uint64_t now_ns;
    uint64_t retry_min_ns, retry_max_ns;
    uint64_t retry_after_ns; /* what the server asked for, 0 nothing */
    uint64_t sent_ns;        /* UNKNOWN: when the request began */
    uint64_t random;         /* for the jitter */
    uint32_t sent;           /* outcomes: messages of the batch */
    uint32_t queued;         /* messages of the lane, those of the batch included */
};

/* unknown: the lane begins with messages that may have been sent before; they settle at settle_ns. */
void mi_lane_init(struct mi_lane_machine *m, bool unknown, uint64_t now_ns, uint64_t settle_ns);

/* The one function that changes a lane's state. An event that has no meaning in a state changes nothing. */
enum mi_lane_action mi_lane_step(struct mi_lane_machine *m, const struct mi_lane_input *in);

/* Has it something to do at once: messages, or a check that is due? */
bool mi_lane_wants(const struct mi_lane_machine *m, uint32_t queued);

/* Most messages of the next batch (0: no limit of doubt) and how many at the head it leaves out. */
uint32_t mi_lane_limit(const struct mi_lane_machine *m);
uint32_t mi_lane_skip(const struct mi_lane_machine *m);

/* Exponential with full jitter above the half: between d/2 and d, d = min * 2^failures up to max; at least
 * after_ns. */
uint64_t mi_backoff_ns(uint32_t failures, uint64_t min_ns, uint64_t max_ns, uint64_t after_ns,
                       uint64_t random);

#endif

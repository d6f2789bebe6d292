/*
 * faults: what shall go wrong, as rules that each count down, and the plan that they make for one request.
 *
 * A rule has a route group ("produce", "poll", ...; empty: all). Every request takes one use of each rule
 * that fits. The rules are set by admin.c, the plan is carried out by http.c.
 */
#ifndef DEV_FAULTS_H
#define DEV_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

struct dev_partition;
struct dev_request;

enum dev_action {
    DEV_DELAY,            /* value ms, before anything happens */
    DEV_DELAY_ANSWER,     /* value ms, between effect and answer */
    DEV_ANSWER,           /* value: an HTTP status, id: Iggy's number; no effect */
    DEV_ANSWER_504,       /* 504; value: a dev_effect */
    DEV_CUT,              /* closes the connection without an answer; value: a dev_effect */
    DEV_TRUNCATE,         /* effect, then half of the answer, then a close */
    DEV_SLOW,             /* value bytes of the body per second */
    DEV_GARBLE,           /* effect, then 200 with a body that is no JSON */
    DEV_NO_CONFIRMATIONS, /* produce: an empty list */
    DEV_EXTRA_MEMBERS,    /* poll: members that no client knows */
    DEV_ACTIONS
};

enum dev_effect {
    DEV_NO_EFFECT,
    DEV_EFFECT,
    DEV_LATE_EFFECT /* after late_ms, when the answer is long gone */
};

struct dev_rule {
    char group[16];
    enum dev_action action;
    uint32_t left; /* UINT32_MAX: for ever */
    uint64_t value;
    uint32_t id;
    uint32_t late_ms;
    char text[128]; /* of DEV_ANSWER with 307: the location */
};

struct dev_plan {
    bool active[DEV_ACTIONS];
    struct dev_rule rules[DEV_ACTIONS]; /* valid where active */
    bool no_confirmations, extra_members;
};

enum { DEV_MAX_RULES = 64 };

struct dev_faults {
    struct dev_rule rules[DEV_MAX_RULES];
    unsigned rule_count;
    struct dev_plan plan;  /* of the request that is being run now */
    char reject_text[128]; /* poison: a batch that contains it is refused; empty: none */
    uint32_t fresh_polls;  /* so many polls of every new partition are answered 504 */
    uint64_t injected, poisoned;
};

/* False when there are too many rules. */
bool dev_fault_add(struct dev_faults *faults, const struct dev_rule *rule);
void dev_fault_clear(struct dev_faults *faults);
/* Takes one use of each rule that fits the group into the plan. */
void dev_fault_take(struct dev_faults *faults, const char *group, struct dev_plan *plan);
/* Writes the answer of DEV_ANSWER or DEV_ANSWER_504. */
void dev_fault_answer(struct dev_request *r, const struct dev_rule *rule);
/* True when this poll of a new partition shall fail. */
bool dev_fault_fresh(struct dev_faults *faults, struct dev_partition *partition);
void dev_fault_count_poison(struct dev_faults *faults);

#endif

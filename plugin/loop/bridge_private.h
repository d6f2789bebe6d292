/*
 * bridge_private: the struct behind bridge.h, grouped by the thread that may touch a field. For the files of
 * this folder.
 */
#ifndef MI_BRIDGE_PRIVATE_H
#define MI_BRIDGE_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "auth/rights_keeper.h"
#include "iggy_client.h"
#include "in/in.h"
#include "in/save_gate.h"
#include "loop/bridge.h"
#include "loop/commit_wait.h"
#include "loop/control.h"
#include "loop/disk_thread.h"
#include "out/out.h"
#include "status/listener.h"

struct mi_bridge {
    /* set before start, then constant */
    struct mi_bridge_options options;
    struct mi_journal *journal;
    struct mi_slots *slots;
    struct mi_inbox *inbox;
    struct iggy_client *client; /* used by the bridge thread; iggy_client_wake by others */
    struct mi_out *out;
    struct mi_in *in;
    struct mi_history *history;
    struct mi_iggy_backend *logins;     /* NULL: not configured */
    struct mi_rights_news *rights_news; /* NULL: not configured */
    struct mi_rights_keeper *rights;    /* the same; the bridge thread's */
    struct mi_listener *listener;       /* NULL: off */
    struct mi_control *control;         /* NULL: it could not be made */
    int watch;                          /* epoll descriptor of the main thread's, -1: none */
    struct mi_disk_thread *disk;
    struct mi_commit_wait *commit_wait;
    struct mi_save_gate gate; /* the bridge thread's while it runs */
    pthread_t thread;
    bool running;
    /* any thread */
    atomic_bool sleeping; /* the bridge thread may be waiting: a wake is needed */
    atomic_bool stopping;
    _Atomic uint64_t last_tick_ns;
    /* under lock */
    pthread_mutex_t lock;
    struct mi_config *next_config;             /* of a reload, held; NULL: none */
    struct mi_interest_picture *next_interest; /* held; NULL: none since the last look */
    char subscription_error[256];
    char reload_error[512]; /* empty: the last reload was taken over */
    /* main thread */
    bool ran; /* it was started at least once */
    bool began_clean;
    uint64_t began_at; /* next sequence of the journal then */
    bool store_behind;
    struct mi_span outstanding; /* from the last clean end; in state, until start */
    struct mi_buf last_words;   /* what is outstanding now, for the last state */
    bool ended_clean;           /* the last state may say so */
    /* bridge thread */
    struct mi_config *config;
    struct mi_buf state;
    bool state_waits; /* the last state could not be handed over yet */
    uint64_t state_due_ns;
    uint64_t state_release;
    uint64_t released;
    bool burst; /* messages come fast: look by time instead of being woken */
    uint64_t rate_since_ns, rate_sequence;
    uint64_t stop_deadline_ns; /* 0: not stopping yet */
};

/* report.c: callbacks of the status listener. Bridge thread. */
bool mi_bridge_ready(void *bridge, const char **why);
bool mi_bridge_status(void *bridge, struct mi_buf *json);

#endif

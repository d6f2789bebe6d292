#include "loop/disk_thread.h"

#include "loop/state.h"
#include "loop/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct mi_disk_thread {
    /* set before start, then constant */
    struct mi_journal *journal;
    struct mi_slots *slots;
    const struct mi_clock *clock;
    const struct mi_log *log;
    int wake_fd;
    pthread_t thread;
    bool running;
    /* any thread */
    atomic_bool wanted;
    atomic_bool stopping;
    _Atomic uint64_t written;
    /* under lock */
    pthread_mutex_t lock;
    struct mi_buf submitted;
    uint64_t submitted_release;
    bool has_submitted;
    /* disk thread only */
    struct mi_buf writing;
    struct mi_log_limit write_failed;
};

static void *run(void *arg);

struct mi_disk_thread *mi_disk_thread_new(struct mi_journal *journal, struct mi_slots *slots,
                                          const struct mi_clock *clock, const struct mi_log *log)
{
    struct mi_disk_thread *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->journal = journal;
    d->slots = slots;
    d->clock = clock;
    d->log = log;
    d->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (d->wake_fd < 0) {
        free(d);
        return NULL;
    }
    pthread_mutex_init(&d->lock, NULL);
    mi_buf_init(&d->submitted, MI_STATE_MAX_BYTES);
    mi_buf_init(&d->writing, MI_STATE_MAX_BYTES);
    return d;
}

void mi_disk_thread_free(struct mi_disk_thread *d)
{
    if (!d)
        return;
    close(d->wake_fd);
    mi_buf_fini(&d->submitted);
    mi_buf_fini(&d->writing);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int mi_disk_thread_start(struct mi_disk_thread *d, struct mi_error *err)
{
    d->running = mi_thread_start(&d->thread, "disk thread", run, d, err) == 0;
    return d->running ? 0 : -1;
}

void mi_disk_thread_stop(struct mi_disk_thread *d)
{
    if (!d || !d->running)
        return;
    atomic_store(&d->stopping, true);
    mi_disk_thread_wake(d);
    pthread_join(d->thread, NULL);
    d->running = false;
}

void mi_disk_thread_wake(struct mi_disk_thread *d)
{
    if (atomic_exchange(&d->wanted, true))
        return;
    uint64_t one = 1;
    ssize_t n = write(d->wake_fd, &one, sizeof one);
    (void)n; /* EAGAIN means the counter is full: it is awake already */
}

bool mi_disk_thread_submit(struct mi_disk_thread *d, struct mi_buf *content, uint64_t release)
{
    pthread_mutex_lock(&d->lock);
    bool free_now = !d->has_submitted;
    if (free_now) {
        struct mi_buf spare = d->submitted;
        d->submitted = *content;
        *content = spare;
        d->submitted_release = release;
        d->has_submitted = true;
    }
    pthread_mutex_unlock(&d->lock);
    if (free_now)
        mi_disk_thread_wake(d);
    return free_now;
}

uint64_t mi_disk_thread_written(struct mi_disk_thread *d)
{
    return atomic_load(&d->written);
}

/* ---- disk thread ---- */

static void write_submitted(struct mi_disk_thread *d)
{
    pthread_mutex_lock(&d->lock);
    bool has = d->has_submitted;
    uint64_t release = d->submitted_release;
    if (has) {
        struct mi_buf content = d->submitted;
        d->submitted = d->writing;
        d->writing = content;
    }
    pthread_mutex_unlock(&d->lock);
    if (!has)
        return;
    struct mi_error err;
    if (mi_slots_write(d->slots, mi_buf_span(&d->writing), &err) == 0)
        atomic_store(&d->written, release);
    else
        mi_log_limited(
            d->log, &d->write_failed, mi_now_ns(d->clock), 10 * MI_NS_PER_S, MI_LOG_ERROR,
            "state file: %s; messages stay in the journal and nothing is lost, but space is not given back",
            err.text);
    pthread_mutex_lock(&d->lock);
    d->has_submitted = false;
    pthread_mutex_unlock(&d->lock);
}

static void sleep_until_due(struct mi_disk_thread *d, uint64_t wait_ns)
{
    struct pollfd p = {.fd = d->wake_fd, .events = POLLIN};
    struct timespec t = {(time_t)(wait_ns / MI_NS_PER_S), (long)(wait_ns % MI_NS_PER_S)};
    if (ppoll(&p, 1, wait_ns == UINT64_MAX ? NULL : &t, NULL) > 0) {
        uint64_t count;
        ssize_t n = read(d->wake_fd, &count, sizeof count);
        (void)n;
    }
    /* From here on a new wish writes to the descriptor again, so none is lost between this and the next step.
     */
    atomic_store(&d->wanted, false);
}

static void *run(void *arg)
{
    struct mi_disk_thread *d = arg;
    for (;;) {
        bool last = atomic_load(&d->stopping);
        write_submitted(d);
        uint64_t wait_ns = mi_journal_disk_step(d->journal);
        if (last)
            return NULL;
        sleep_until_due(d, wait_ns);
    }
}

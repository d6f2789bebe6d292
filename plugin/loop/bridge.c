/*
 * bridge: construction in the order of dependence, one loop on the bridge thread, and the way down in
 * reverse.
 */
#include "loop/bridge.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/limits.h"
#include "loop/bridge_private.h"
#include "loop/state.h"
#include "loop/thread.h"
#include "out/checkpoint.h"

enum {
    STATE_INTERVAL_MS = 200, /* between two states on disk: bounds what is settled again after a crash */
    WAKE_REPEAT_MS = 2, /* a signal that lands just before the broker's epoll_wait is lost: say it again */
    BURST_LOOK_MS = 1,
    BURST_MESSAGES = 16, /* in that time */
    LONGEST_WAIT_MS = 1000,
    TICK_WITHIN_MS =
        1000 /* an idle 2.1 sleeps for up to a day, and through a SIGTERM that comes just before */
};

static bool build(struct mi_bridge *b, struct mi_error *err);
static void *run(void *arg);
static void turn(struct mi_bridge *b);
static void write_last_state(struct mi_bridge *b);

/* ---- main thread ---- */

struct mi_bridge *mi_bridge_new(const struct mi_bridge_options *options, struct mi_error *err)
{
    struct mi_bridge *b = calloc(1, sizeof *b);
    if (!b) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    b->options = *options;
    b->watch = -1;
    b->config = mi_config_hold(options->config);
    pthread_mutex_init(&b->lock, NULL);
    mi_buf_init(&b->state, MI_STATE_MAX_BYTES);
    mi_buf_init(&b->last_words, MI_STATE_MAX_BYTES / 2);
    atomic_store(&b->last_tick_ns, mi_now_ns(options->clock));
    if (!build(b, err)) {
        mi_bridge_free(b);
        return NULL;
    }
    return b;
}

static bool open_journal(struct mi_bridge *b, struct mi_error *err)
{
    const struct mi_config *c = b->config;
    struct mi_journal_options options = {
        .directory = c->journal_directory,
        .max_size = c->journal_max_size,
        .keep = c->journal_keep,
        .sync = c->journal_sync_always ? MI_SYNC_ALWAYS : MI_SYNC_INTERVAL,
        .sync_interval_ns = c->journal_sync_interval_ns,
        .clock = b->options.clock,
        .log = b->options.log,
    };
    struct mi_journal_report report = {0};
    if (mi_journal_open(&options, &b->journal, &report, err) != 0)
        return false;
    if (report.identity_changed)
        mi_log_line(
            b->options.log, MI_LOG_WARNING,
            "journal %s was copied from another place: this bridge is now %s and goes on counting the former "
            "identity as its own",
            c->journal_directory, mi_journal_identity(b->journal));
    if (report.torn_bytes || report.damaged_records)
        mi_log_line(b->options.log, MI_LOG_WARNING,
                    "journal %s: cut %llu bytes of an unfinished last record, skipped %llu damaged records "
                    "(%llu bytes)",
                    c->journal_directory, (unsigned long long)report.torn_bytes,
                    (unsigned long long)report.damaged_records, (unsigned long long)report.damaged_bytes);
    b->slots = mi_slots_open(c->journal_directory, "state", err);
    return b->slots != NULL;
}

static void client_log(void *context, const char *line)
{
    const struct mi_bridge *b = context;
    mi_log_line(b->options.log, MI_LOG_INFO, "%s", line);
}

static bool make_client(struct mi_bridge *b, struct mi_error *err)
{
    const struct mi_config *c = b->config;
    struct iggy_options options = {
        .urls = c->urls,
        .url_count = c->url_count,
        .username = c->username,
        .password = c->password,
        .token = c->token,
        .ca_file = c->ca_file,
        .client_cert_file = c->client_cert_file,
        .client_key_file = c->client_key_file,
        .connect_timeout_ms = c->connect_timeout_ms,
        .request_timeout_ms = c->request_timeout_ms,
        .max_connections = c->max_requests,
        .log = client_log,
        .log_context = b,
    };
    b->client = iggy_client_new(&options, err ? err->text : NULL, err ? sizeof err->text : 0);
    return b->client != NULL;
}

/* Reads the state file; damage is said and counts as "never written": every pending message is then settled
 * again. */
static void read_state(struct mi_bridge *b, struct mi_span *checkpoint, struct mi_span *positions,
                       struct mi_state_store *store)
{
    struct mi_error err;
    int found = mi_slots_read(b->slots, &b->state, &err);
    if (found < 0)
        mi_log_line(b->options.log, MI_LOG_WARNING,
                    "state file: %s; what was shipped since the start is read back from Iggy", err.text);
    if (found > 0 && !mi_state_split(mi_buf_span(&b->state), checkpoint, positions, store))
        mi_log_line(b->options.log, MI_LOG_WARNING, "state file: content of an unknown form is not used");
}

static bool is_own(void *context, struct mi_span origin)
{
    const struct mi_bridge *b = context;
    return mi_journal_is_own(b->journal, origin);
}

static void wake_main(void *context)
{
    const struct mi_bridge *b = context;
    b->options.wake_main(b->options.context);
}

/* A clean end is one that nothing came after: a broker that was killed before it wrote a state of its own
 * would still find the one before. */
static void look_at_store(struct mi_bridge *b, const struct mi_state_store *store)
{
    struct mi_journal_stats stats;
    mi_journal_stats(b->journal, &stats);
    mi_save_gate_init(&b->gate, &b->config->broker, NULL, NULL);
    b->began_at = stats.next_sequence;
    b->began_clean = store->clean && store->next_sequence == stats.next_sequence;
    b->store_behind = !b->began_clean || mi_save_gate_empty_store(&b->gate);
    if (!b->store_behind)
        b->outstanding = store->outstanding;
}

static bool make_engines(struct mi_bridge *b, struct mi_error *err)
{
    struct mi_span checkpoint = {0}, positions = {0};
    struct mi_state_store store = {0};
    read_state(b, &checkpoint, &positions, &store);
    look_at_store(b, &store);
    struct mi_out_options out = {
        .config = b->config,
        .client = b->client,
        .journal = b->journal,
        .metrics = b->options.metrics,
        .clock = b->options.clock,
        .log = b->options.log,
        .checkpoint = checkpoint,
    };
    b->out = mi_out_new(&out, err);
    if (!b->out)
        return false;
    struct mi_in_options in = {
        .config = b->config,
        .client = b->client,
        .inbox = b->inbox,
        .gate = &b->gate,
        .identity = mi_journal_identity(b->journal),
        .rebuild = mi_save_gate_empty_store(&b->gate),
        .metrics = b->options.metrics,
        .clock = b->options.clock,
        .log = b->options.log,
        .is_own = is_own,
        .wake = wake_main,
        .context = b,
    };
    b->in = mi_in_new(&in, err);
    if (!b->in)
        return false;
    if (positions.len && !mi_in_load(b->in, positions))
        mi_log_line(b->options.log, MI_LOG_WARNING,
                    "state file: positions cannot be read; readers start as configured");
    return true;
}

static void wake_bridge(void *context)
{
    struct mi_bridge *b = context;
    /* The load alone is what a message costs while the bridge thread looks by itself. */
    if (atomic_load(&b->sleeping) && atomic_exchange(&b->sleeping, false))
        iggy_client_wake(b->client);
}

static bool make_history(struct mi_bridge *b, struct mi_error *err)
{
    struct mi_history_options options = {
        .config = b->config,
        .client = b->client,
        .metrics = b->options.metrics,
        .clock = b->options.clock,
        .log = b->options.log,
        .wake_main = wake_main,
        .wake_bridge = wake_bridge,
        .context = b,
    };
    b->history = mi_history_new(&options, err);
    return b->history != NULL;
}

static void refresh_metrics(void *context)
{
    const struct mi_bridge *b = context;
    mi_out_refresh_metrics(b->out);
}

static struct mi_listener_access listener_access(const struct mi_config *c)
{
    return (struct mi_listener_access){.token = c->status_token,
                                       .cert = c->status_cert,
                                       .key = c->status_key,
                                       .client_ca = c->status_client_ca};
}

static void make_listener(struct mi_bridge *b)
{
    if (!b->config->status_address)
        return;
    struct mi_listener_options options = {
        .address = b->config->status_address,
        .port = b->config->status_port,
        .access = listener_access(b->config),
        .metrics = b->options.metrics,
        .log = b->options.log,
        .refresh = refresh_metrics,
        .ready = mi_bridge_ready,
        .status = mi_bridge_status,
        .context = b,
    };
    struct mi_error err;
    b->listener = mi_listener_new(&options, &err);
    if (!b->listener)
        mi_log_line(b->options.log, MI_LOG_WARNING, "status.listen: %s; the bridge works without it",
                    err.text);
}

static void wake_disk(void *context)
{
    struct mi_bridge *b = context;
    mi_disk_thread_wake(b->disk);
}

/* b->state still holds what read_state found. */
static uint64_t settled_at_start(const struct mi_bridge *b)
{
    struct mi_span checkpoint, positions;
    struct mi_state_store store;
    struct mi_checkpoint_reader reader;
    struct mi_checkpoint_item item;
    if (mi_state_split(mi_buf_span(&b->state), &checkpoint, &positions, &store) &&
        mi_checkpoint_open(&reader, checkpoint) && mi_checkpoint_next(&reader, &item) == 1 && item.tag == 'H')
        return item.head.window_start;
    return 0;
}

static bool make_logins(struct mi_bridge *b)
{
    if (b->config->auth.login != MI_LOGIN_FROM_IGGY)
        return true;
    struct mi_iggy_backend_options options = {
        .logins_per_second = b->config->auth.logins_per_second,
        .clock = b->options.clock,
        .log = b->options.log,
        .wake_bridge = wake_bridge,
        .context = b,
    };
    b->logins = mi_iggy_backend_new(&options);
    return b->logins != NULL;
}

/* A good login is answered when the user's rights are with the main thread. */
static void admit(void *context, const struct iggy_user *record, void (*done)(void *arg), void *arg)
{
    struct mi_bridge *b = context;
    mi_rights_keeper_admit(b->rights, record, done, arg);
}

static bool make_rights(struct mi_bridge *b, struct mi_error *err)
{
    const struct mi_auth_config *auth = &b->config->auth;
    if (auth->authorize != MI_AUTHORIZE_BY_IGGY)
        return true;
    b->rights_news = mi_rights_news_new();
    if (!b->rights_news)
        return false;
    struct mi_rights_keeper_options options = {
        .client = b->client,
        .news = b->rights_news,
        .clock = b->options.clock,
        .log = b->options.log,
        .refresh_ns = auth->refresh_ns,
        .max_users = auth->cache_size, /* who is remembered as logged in is known here, too */
        .wake_main = wake_main,
        .context = b,
    };
    b->rights = mi_rights_keeper_new(&options, err);
    if (b->rights && b->logins)
        mi_iggy_backend_set_admit(b->logins, admit, b);
    return b->rights != NULL;
}

static void make_control(struct mi_bridge *b)
{
    struct mi_control_options options = {
        .directory = b->config->journal_directory,
        .journal = b->journal,
        .settled_at_start = settled_at_start(b),
        .clock = b->options.clock,
        .wake_bridge = wake_bridge,
        .context = b,
    };
    struct mi_error err;
    b->control = mi_control_new(&options, &err);
    if (!b->control)
        mi_log_line(b->options.log, MI_LOG_WARNING,
                    "control socket: %s; dead letters can be taken out only while the broker is stopped",
                    err.text);
}

static bool build(struct mi_bridge *b, struct mi_error *err)
{
    if (!open_journal(b, err) || !make_client(b, err))
        return false;
    b->inbox = mi_inbox_new(b->config->inbox_messages, b->config->max_poll_bytes * 2);
    b->disk = mi_disk_thread_new(b->journal, b->slots, b->options.clock, b->options.log);
    b->commit_wait = mi_commit_wait_new();
    if (!b->inbox || !b->disk || !b->commit_wait || !make_logins(b) || !make_rights(b, err)) {
        mi_error_set(err, "out of memory or descriptors");
        return false;
    }
    mi_journal_set_wakers(b->journal, wake_disk, wake_bridge, b);
    if (!make_engines(b, err) || !make_history(b, err))
        return false;
    make_listener(b);
    make_control(b);
    return true;
}

int mi_bridge_start(struct mi_bridge *b, struct mi_error *err)
{
    if (b->running)
        return 0;
    if (mi_disk_thread_start(b->disk, err) != 0)
        return -1;
    if (mi_thread_start(&b->thread, "bridge thread", run, b, err) != 0) {
        mi_disk_thread_stop(b->disk);
        return -1;
    }
    b->running = b->ran = true;
    return 0;
}

void mi_bridge_free(struct mi_bridge *b)
{
    if (!b)
        return;
    if (b->running) {
        atomic_store(&b->stopping, true);
        iggy_client_wake(b->client);
        pthread_join(b->thread, NULL);
        mi_disk_thread_stop(b->disk);
    }
    if (b->out && b->in)
        write_last_state(b);
    mi_control_free(b->control);
    mi_listener_free(b->listener);
    mi_in_free(b->in);
    mi_history_free(b->history);
    mi_out_free(b->out);
    iggy_client_free(b->client);
    mi_rights_keeper_free(b->rights);
    mi_rights_news_free(b->rights_news);
    mi_iggy_backend_free(b->logins);
    mi_journal_close(b->journal);
    mi_disk_thread_free(b->disk);
    mi_commit_wait_free(b->commit_wait);
    mi_inbox_free(b->inbox);
    mi_slots_close(b->slots);
    mi_interest_picture_release(b->next_interest);
    mi_config_release(b->next_config);
    mi_config_release(b->config);
    mi_buf_fini(&b->state);
    mi_buf_fini(&b->last_words);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

bool mi_bridge_store_behind(const struct mi_bridge *b)
{
    return b->store_behind;
}

struct mi_span mi_bridge_outstanding(const struct mi_bridge *b)
{
    return b->outstanding;
}

void mi_bridge_keep_outstanding(struct mi_bridge *b, struct mi_span outstanding)
{
    mi_buf_reset(&b->last_words);
    mi_buf_add_span(&b->last_words, outstanding);
}

void mi_bridge_watch(struct mi_bridge *b, int epoll)
{
    b->watch = epoll;
}

struct mi_journal *mi_bridge_journal(struct mi_bridge *b)
{
    return b->journal;
}

struct mi_iggy_backend *mi_bridge_logins(struct mi_bridge *b)
{
    return b->logins;
}

struct mi_rights_news *mi_bridge_rights(struct mi_bridge *b)
{
    return b->rights_news;
}

void mi_bridge_wake(struct mi_bridge *b)
{
    wake_bridge(b);
}

struct mi_inbox *mi_bridge_inbox(struct mi_bridge *b)
{
    return b->inbox;
}

struct mi_history *mi_bridge_history(struct mi_bridge *b)
{
    return b->history;
}

void mi_bridge_set_config(struct mi_bridge *b, struct mi_config *config)
{
    pthread_mutex_lock(&b->lock);
    struct mi_config *unused = b->next_config;
    b->next_config = mi_config_hold(config);
    pthread_mutex_unlock(&b->lock);
    mi_config_release(unused);
    wake_bridge(b);
}

void mi_bridge_set_interest(struct mi_bridge *b, struct mi_interest_picture *picture)
{
    pthread_mutex_lock(&b->lock);
    struct mi_interest_picture *unused = b->next_interest;
    b->next_interest = mi_interest_picture_hold(picture);
    pthread_mutex_unlock(&b->lock);
    mi_interest_picture_release(unused);
    wake_bridge(b);
}

static void note(struct mi_bridge *b, char *kept, size_t size, const char *text)
{
    pthread_mutex_lock(&b->lock);
    size_t n = text ? strnlen(text, size - 1) : 0;
    memcpy(kept, text ? text : "", n);
    kept[n] = '\0';
    pthread_mutex_unlock(&b->lock);
}

void mi_bridge_note_reload(struct mi_bridge *b, const char *error)
{
    note(b, b->reload_error, sizeof b->reload_error, error);
}

void mi_bridge_note_subscription(struct mi_bridge *b, const char *error)
{
    note(b, b->subscription_error, sizeof b->subscription_error, error);
}

bool mi_bridge_target_missing(struct mi_bridge *b, struct mi_span stream, struct mi_span topic)
{
    return mi_out_target_missing(b->out, stream, topic);
}

static void wake_now(void *context)
{
    struct mi_bridge *b = context;
    iggy_client_wake(b->client);
}

bool mi_bridge_wait_settled(struct mi_bridge *b, uint64_t first, uint64_t last, uint64_t timeout_ns)
{
    return b->running && mi_commit_wait_for(b->commit_wait, first, last, timeout_ns, wake_now, b);
}

bool mi_bridge_route_full(struct mi_bridge *b, uint32_t route)
{
    return mi_out_route_full(b->out, route);
}

void mi_bridge_tick(struct mi_bridge *b)
{
    atomic_store_explicit(&b->last_tick_ns, mi_now_ns(b->options.clock), memory_order_relaxed);
    mi_control_tick(b->control);
}

/* ---- bridge thread ---- */

/* Its token and certificates are what a reload changes. */
static void renew_listener(struct mi_bridge *b, const struct mi_config *config)
{
    struct mi_listener_access access = listener_access(config);
    struct mi_error err;
    if (!b->listener)
        return;
    if (mi_listener_renew(b->listener, &access, &err) != 0)
        mi_log_line(b->options.log, MI_LOG_ERROR, "status: %s; the listener keeps what it had", err.text);
}

/* Files that cannot work change nothing: the bridge goes on with what it had, and says so. */
static void take_tls(struct mi_bridge *b, const struct mi_config *config)
{
    char error[300];
    if (iggy_client_set_tls(b->client, config->ca_file, config->client_cert_file, config->client_key_file,
                            error, sizeof error) == 0)
        return;
    mi_log_line(b->options.log, MI_LOG_ERROR, "reload: %s; the TLS files before stay in use", error);
    mi_bridge_note_reload(b, error);
    iggy_client_reset(b->client);
}

static void take_config(struct mi_bridge *b)
{
    pthread_mutex_lock(&b->lock);
    struct mi_config *config = b->next_config;
    b->next_config = NULL;
    pthread_mutex_unlock(&b->lock);
    if (!config)
        return;
    iggy_client_set_credentials(b->client, config->username, config->password, config->token);
    take_tls(b, config);
    mi_out_set_config(b->out, config);
    mi_in_set_config(b->in, config);
    mi_history_set_config(b->history, config);
    if (b->logins)
        mi_iggy_backend_set_rate(b->logins, config->auth.logins_per_second);
    if (b->rights)
        mi_rights_keeper_set_refresh(b->rights, config->auth.refresh_ns);
    renew_listener(b, config);
    mi_config_release(b->config);
    b->config = config;
}

static void take_interest(struct mi_bridge *b)
{
    pthread_mutex_lock(&b->lock);
    struct mi_interest_picture *picture = b->next_interest;
    b->next_interest = NULL;
    pthread_mutex_unlock(&b->lock);
    if (picture)
        mi_in_set_interest(b->in, picture);
    mi_interest_picture_release(picture);
}

static bool build_state(struct mi_bridge *b)
{
    struct mi_journal_stats stats;
    mi_journal_stats(b->journal, &stats);
    struct mi_state_store store = {.clean = b->ended_clean, .next_sequence = stats.next_sequence};
    if (b->ended_clean)
        store.outstanding = mi_buf_span(&b->last_words);
    return mi_state_begin(&b->state) && mi_out_checkpoint(b->out, &b->state, &b->state_release) &&
           mi_state_between(&b->state) && mi_in_save(b->in, &b->state) && mi_state_end(&b->state) &&
           mi_state_add_store(&b->state, &store);
}

/* Hands the state to the disk thread when something moved, and releases what an earlier one covers. */
static uint64_t keep_state(struct mi_bridge *b, uint64_t now)
{
    uint64_t written = mi_disk_thread_written(b->disk);
    if (written > b->released) {
        b->released = written;
        mi_journal_release(b->journal, written);
    }
    if (!mi_out_changed(b->out) && !mi_in_changed(b->in) && !b->state_waits)
        return UINT64_MAX;
    if (now < b->state_due_ns)
        return b->state_due_ns;
    /* While an earlier one is still being written this one waits: what it says is then made anew. */
    b->state_waits = !build_state(b) || !mi_disk_thread_submit(b->disk, &b->state, b->state_release);
    b->state_due_ns = now + STATE_INTERVAL_MS * MI_NS_PER_MS;
    return b->state_due_ns;
}

/* When the broker made its last TICK, by the wall clock: what it saved later, it saved at its end. */
static uint64_t last_tick_us(const struct mi_bridge *b)
{
    uint64_t ago_us = (mi_now_ns(b->options.clock) - atomic_load(&b->last_tick_ns)) / 1000;
    return mi_wall_us(b->options.clock) - ago_us;
}

/* A broker that gave up before its first TICK, as when its port is taken, changed nothing. But
 * Mosquitto 2.1.2 overwrites mosquitto.db with an empty one then. */
static bool ends_clean(const struct mi_bridge *b)
{
    struct mi_journal_stats stats;
    mi_journal_stats(b->journal, &stats);
    return b->ran ? mi_save_gate_last(&b->gate, last_tick_us(b))
                  : b->began_clean && stats.next_sequence == b->began_at && !mi_save_gate_changed(&b->gate);
}

static void write_last_state(struct mi_bridge *b)
{
    struct mi_error err;
    b->ended_clean = b->last_words.len > 0 && ends_clean(b);
    mi_in_ended(b->in, b->ended_clean);
    if (!b->ran && mi_save_gate_changed(&b->gate))
        mi_in_store_lost(b->in);
    if (build_state(b) && mi_slots_write(b->slots, mi_buf_span(&b->state), &err) != 0)
        mi_log_line(b->options.log, MI_LOG_ERROR,
                    "state file: %s; what was shipped last is read back at the next start", err.text);
}

static void wait_and_drive(struct mi_bridge *b, uint64_t due)
{
    uint64_t now = mi_now_ns(b->options.clock);
    uint64_t wait_ms = due <= now ? 0 : (due - now + MI_NS_PER_MS - 1) / MI_NS_PER_MS;
    if (wait_ms > LONGEST_WAIT_MS)
        wait_ms = LONGEST_WAIT_MS;
    struct iggy_wait extra[3];
    struct epoll_event ready[4];
    size_t count = 0;
    if (b->watch >= 0)
        extra[count++] = (struct iggy_wait){.fd = b->watch, .events = POLLIN};
    if (b->listener)
        extra[count++] = (struct iggy_wait){.fd = mi_listener_fd(b->listener), .events = POLLIN};
    if (b->control)
        extra[count++] = (struct iggy_wait){.fd = mi_control_fd(b->control), .events = POLLIN};
    iggy_client_drive(b->client, (uint32_t)wait_ms, extra, count);
    /* Taking them off is what ends their one shot. */
    if (b->watch >= 0 && extra[0].revents && epoll_wait(b->watch, ready, 4, 0) > 0)
        wake_main(b);
    if (b->listener)
        mi_listener_run(b->listener);
}

/* True when the loop may end: all is shipped, or the time for it is over and no request is left in the air.
 */
static bool stop_step(struct mi_bridge *b, uint64_t now)
{
    if (b->stop_deadline_ns == 0)
        b->stop_deadline_ns = now + b->config->stop_timeout_ns;
    if (mi_out_idle(b->out))
        return true;
    if (now < b->stop_deadline_ns)
        return false;
    mi_out_stop(b->out);
    return mi_out_quiet(b->out) || now >= b->stop_deadline_ns + MI_NS_PER_S;
}

static bool is_settled(void *context, uint64_t first, uint64_t last)
{
    const struct mi_bridge *b = context;
    return mi_out_run_settled(b->out, first, last);
}

/* Do messages come so fast that looking every BURST_LOOK_MS costs less than being woken for each? Measured: a
 * wake-up costs the broker's thread about as much as the append itself. */
static bool in_burst(struct mi_bridge *b, uint64_t now)
{
    uint64_t elapsed = now - b->rate_since_ns;
    if (elapsed >= BURST_LOOK_MS * MI_NS_PER_MS) {
        struct mi_journal_stats stats;
        mi_journal_stats(b->journal, &stats);
        uint64_t came = stats.next_sequence - b->rate_sequence;
        b->burst = came * BURST_LOOK_MS * MI_NS_PER_MS >= BURST_MESSAGES * elapsed;
        b->rate_since_ns = now;
        b->rate_sequence = stats.next_sequence;
    }
    return b->burst;
}

/* Is there anything that waits for TICK? */
static bool main_is_wanted(const struct mi_bridge *b)
{
    return !mi_inbox_empty(b->inbox) || !mi_history_idle(b->history) ||
           (b->control && mi_control_waits_for_main(b->control)) ||
           (b->rights_news && !mi_rights_news_empty(b->rights_news));
}

/* When the broker's loop should turn at the latest, so that signs of life and signals are not missed. */
static uint64_t keep_broker_turning(struct mi_bridge *b, uint64_t now)
{
    uint64_t due =
        atomic_load_explicit(&b->last_tick_ns, memory_order_relaxed) + TICK_WITHIN_MS * MI_NS_PER_MS;
    if (now < due)
        return due;
    wake_main(b); /* repeats until it comes */
    return now + TICK_WITHIN_MS * MI_NS_PER_MS;
}

static void turn(struct mi_bridge *b)
{
    uint64_t now = mi_now_ns(b->options.clock);
    bool burst = in_burst(b, now);
    /* Set before the journal is looked at: whoever appends after that look wakes the wait below. */
    atomic_store(&b->sleeping, !burst);
    take_config(b);
    take_interest(b);
    uint64_t due = mi_earlier(mi_out_step(b->out, now), mi_in_step(b->in, now));
    due = mi_earlier(due, mi_history_step(b->history, now));
    due = mi_earlier(due, keep_state(b, now));
    mi_commit_wait_look(b->commit_wait, mi_out_away(b->out), is_settled, b);
    if (b->logins)
        due = mi_earlier(due, mi_iggy_backend_step(b->logins, b->client, now));
    if (b->rights)
        due = mi_earlier(due, mi_rights_keeper_step(b->rights, now));
    if (b->control)
        due = mi_earlier(due, mi_control_step(b->control, now));
    if (main_is_wanted(b)) {
        wake_main(b);
        due = mi_earlier(due, now + WAKE_REPEAT_MS * MI_NS_PER_MS);
    }
    if (burst)
        due = mi_earlier(due, now + BURST_LOOK_MS * MI_NS_PER_MS);
    if (atomic_load(&b->stopping))
        due = mi_earlier(due, now + 10 * MI_NS_PER_MS);
    else
        due = mi_earlier(due, keep_broker_turning(b, now));
    wait_and_drive(b, due);
    atomic_store(&b->sleeping, false);
}

static void *run(void *arg)
{
    struct mi_bridge *b = arg;
    while (!atomic_load(&b->stopping) || !stop_step(b, mi_now_ns(b->options.clock)))
        turn(b);
    return NULL;
}

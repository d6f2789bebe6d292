/*
 * rights_keeper: rounds (what ids mean now) and records (who has which permissions), side by side; both end
 * in tell().
 */
#include "auth/rights_keeper.h"

#include <stdlib.h>
#include <string.h>

#include "auth/rights_book.h"

enum {
    RECORDS_AT_ONCE = 4,
    DETAILS_AT_ONCE = 4,
    RECORD_EVERY_MS = 10, /* at the most: 100 a second */
    AGAIN_MS = 1000,      /* after a round that failed */
    LOG_EVERY_S = 60,
    MAX_WAITING = 1024
};

struct slot {
    struct mi_rights_keeper *k;
    bool busy;
    uint32_t round; /* when it was asked */
    size_t len;
    uint8_t name[MI_MAX_USER_NAME];
};

struct waiting {
    uint32_t since;
    void (*done)(void *arg);
    void *arg;
};

struct names {
    struct mi_span *all; /* malloc'd texts */
    size_t count, room;
};

struct mi_rights_keeper {
    struct mi_rights_keeper_options options;
    struct mi_rights_book *book;
    uint64_t now_ns;
    /* rounds */
    uint32_t round;
    bool round_runs, round_wanted;
    uint64_t round_due_ns;
    struct names details; /* streams that are still to be read in this round */
    size_t details_busy;
    struct slot detail_slots[DETAILS_AT_ONCE];
    /* records */
    bool list_runs;
    bool blind;        /* the account may not read users */
    uint64_t cycle_ns; /* when this turn through all users began */
    size_t cursor;
    uint64_t record_due_ns;
    struct names found;
    struct slot record_slots[RECORDS_AT_ONCE];
    bool untold; /* the list of news was full */
    struct waiting waiting[MAX_WAITING];
    size_t waiting_count;
    struct mi_log_limit users_limit, streams_limit, room_limit;
};

static void start_round(struct mi_rights_keeper *k);
static void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                       size_t count);
static void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream);
static void ask_details(struct mi_rights_keeper *k);
static void end_round(struct mi_rights_keeper *k, bool whole);
static void start_cycle(struct mi_rights_keeper *k);
static void on_users(void *arg, const struct iggy_result *result, const struct iggy_user *users,
                     size_t count);
static void ask_records(struct mi_rights_keeper *k);
static void on_record(void *arg, const struct iggy_result *result, const struct iggy_user *user);
static void take_record(struct mi_rights_keeper *k, const struct iggy_user *record, uint32_t round,
                        uint64_t wanted_ns);
static void gone(struct mi_rights_keeper *k, struct mi_span name, bool kick);
static void tell(struct mi_rights_keeper *k, struct mi_rights_user *u);
static void tell_all(struct mi_rights_keeper *k);

struct mi_rights_keeper *mi_rights_keeper_new(const struct mi_rights_keeper_options *options,
                                              struct mi_error *err)
{
    struct mi_rights_keeper *k = calloc(1, sizeof *k);
    if (k) {
        k->options = *options;
        k->book = mi_rights_book_new(options->max_users);
        for (int i = 0; i < RECORDS_AT_ONCE; i++)
            k->record_slots[i].k = k;
        for (int i = 0; i < DETAILS_AT_ONCE; i++)
            k->detail_slots[i].k = k;
    }
    if (k && k->book)
        return k;
    mi_error_set(err, "out of memory");
    mi_rights_keeper_free(k);
    return NULL;
}

static void clear_names(struct names *n)
{
    while (n->count > 0)
        free((void *)n->all[--n->count].data);
}

void mi_rights_keeper_free(struct mi_rights_keeper *k)
{
    if (!k)
        return;
    mi_rights_book_free(k->book);
    clear_names(&k->details);
    clear_names(&k->found);
    free(k->details.all);
    free(k->found.all);
    free(k);
}

void mi_rights_keeper_set_refresh(struct mi_rights_keeper *k, uint64_t refresh_ns)
{
    k->options.refresh_ns = refresh_ns;
}

static bool add_name(struct names *n, struct iggy_span name, size_t max)
{
    if (n->count == n->room) {
        size_t room = n->room * 2 + 16;
        struct mi_span *wider = n->count < max ? realloc(n->all, room * sizeof *wider) : NULL;
        if (!wider)
            return false;
        n->all = wider;
        n->room = room;
    }
    uint8_t *text = malloc(name.len + 1);
    if (!text)
        return false;
    memcpy(text, name.data, name.len);
    n->all[n->count++] = (struct mi_span){text, name.len};
    return true;
}

/* When the next user's record is due in this turn; when the next turn begins. */
static uint64_t cursor_due(const struct mi_rights_keeper *k)
{
    size_t count = mi_rights_book_count(k->book);
    if (k->cursor >= count)
        return k->cycle_ns + k->options.refresh_ns;
    return k->cycle_ns + k->options.refresh_ns / count * k->cursor;
}

uint64_t mi_rights_keeper_step(struct mi_rights_keeper *k, uint64_t now_ns)
{
    k->now_ns = now_ns;
    if (k->cycle_ns == 0 ||
        (k->cursor >= mi_rights_book_count(k->book) && now_ns >= k->cycle_ns + k->options.refresh_ns))
        start_cycle(k);
    if (!k->round_runs && (k->round_wanted || now_ns >= k->round_due_ns))
        start_round(k);
    ask_records(k);
    if (k->untold && now_ns >= k->record_due_ns)
        tell_all(k);
    uint64_t due = mi_earlier(cursor_due(k), k->round_runs ? UINT64_MAX : k->round_due_ns);
    if (k->found.count > 0 || k->untold || mi_rights_news_any_asked(k->options.news))
        due = mi_earlier(due, k->record_due_ns);
    return due > now_ns ? due : now_ns + RECORD_EVERY_MS * MI_NS_PER_MS;
}

/* ---- rounds ---- */

static void start_round(struct mi_rights_keeper *k)
{
    k->round++;
    k->round_wanted = false;
    k->round_due_ns = k->now_ns + k->options.refresh_ns;
    k->round_runs = iggy_get_streams(k->options.client, on_streams, k) != 0;
    if (!k->round_runs)
        k->round_due_ns = k->now_ns + AGAIN_MS * MI_NS_PER_MS;
}

static void complain(struct mi_rights_keeper *k, struct mi_log_limit *limit, const char *right,
                     const struct iggy_result *result)
{
    if (result->http_status == 403)
        mi_log_limited(k->options.log, limit, k->now_ns, LOG_EVERY_S * MI_NS_PER_S, MI_LOG_ERROR,
                       "auth.authorize: the bridge's Iggy account lacks the right %s, so nobody has rights "
                       "on topics: %s",
                       right, result->text);
    else
        mi_log_limited(k->options.log, limit, k->now_ns, LOG_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                       "auth.authorize: rights cannot be looked up and stay as they are: %s", result->text);
}

static void want_details(void *arg, uint32_t stream_id)
{
    struct mi_rights_keeper *k = arg;
    const struct mi_id_stream *s = mi_id_map_want(mi_rights_book_ids(k->book), stream_id, k->round);
    if (s)
        add_name(&k->details, (struct iggy_span){s->name.data, s->name.len}, SIZE_MAX);
}

static void on_streams(void *arg, const struct iggy_result *result, const struct iggy_stream *streams,
                       size_t count)
{
    struct mi_rights_keeper *k = arg;
    if (result->kind != IGGY_OK ||
        !mi_id_map_set_streams(mi_rights_book_ids(k->book), streams, count, k->round)) {
        if (result->kind != IGGY_OK)
            complain(k, &k->streams_limit, "read_streams", result);
        end_round(k, false);
        return;
    }
    clear_names(&k->details);
    mi_rights_book_wanted(k->book, want_details, k);
    ask_details(k);
}

static void ask_details(struct mi_rights_keeper *k)
{
    for (int i = 0; i < DETAILS_AT_ONCE && k->details.count > 0; i++) {
        struct slot *s = &k->detail_slots[i];
        while (!s->busy && k->details.count > 0) {
            struct mi_span name = k->details.all[--k->details.count];
            s->round = k->round;
            s->busy = iggy_get_stream(k->options.client, (struct iggy_span){name.data, name.len}, on_stream,
                                      s) != 0;
            k->details_busy += s->busy;
            free((void *)name.data);
        }
    }
    if (k->details_busy == 0)
        end_round(k, true);
}

static void on_stream(void *arg, const struct iggy_result *result, const struct iggy_stream *stream)
{
    struct slot *s = arg;
    struct mi_rights_keeper *k = s->k;
    s->busy = false;
    k->details_busy--;
    if (result->kind == IGGY_OK)
        mi_id_map_set_topics(mi_rights_book_ids(k->book), stream, s->round);
    else if (result->http_status != 404)
        complain(k, &k->streams_limit, "read_streams", result);
    ask_details(k);
}

static void end_round(struct mi_rights_keeper *k, bool whole)
{
    k->round_runs = false;
    if (!whole)
        k->round_due_ns = k->now_ns + AGAIN_MS * MI_NS_PER_MS;
    tell_all(k);
    size_t kept = 0, count = k->waiting_count;
    for (size_t i = 0; i < count; i++) {
        struct waiting w = k->waiting[i];
        if (w.since < k->round)
            w.done(w.arg);
        else
            k->waiting[kept++] = w;
    }
    k->waiting_count = kept;
    k->round_wanted |= kept > 0;
}

/* ---- records ---- */

static void start_cycle(struct mi_rights_keeper *k)
{
    k->cycle_ns = k->now_ns;
    k->cursor = 0;
    if (!k->list_runs)
        k->list_runs = iggy_get_users(k->options.client, on_users, k) != 0;
}

static void say_no_room(struct mi_rights_keeper *k)
{
    mi_log_limited(k->options.log, &k->room_limit, k->now_ns, LOG_EVERY_S * MI_NS_PER_S, MI_LOG_WARNING,
                   "auth.authorize: Iggy has more than %zu users (auth.cache_size); those beyond get their "
                   "rights when they log in",
                   k->options.max_users);
}

static void on_users(void *arg, const struct iggy_result *result, const struct iggy_user *users, size_t count)
{
    struct mi_rights_keeper *k = arg;
    k->list_runs = false;
    if (result->kind != IGGY_OK)
        complain(k, &k->users_limit, "read_users", result);
    k->blind = result->http_status == 403;
    for (size_t i = mi_rights_book_count(k->book); k->blind && i > 0; i--)
        gone(k, mi_rights_user_name(mi_rights_book_at(k->book, i - 1)), false);
    if (count > 0)
        clear_names(&k->found);
    for (size_t i = 0; i < count; i++) {
        const struct mi_span name = {users[i].username.data, users[i].username.len};
        if (!users[i].active || name.len > MI_MAX_USER_NAME || mi_rights_book_find(k->book, name))
            continue;
        if (mi_rights_book_count(k->book) + k->found.count < k->options.max_users)
            add_name(&k->found, users[i].username, k->options.max_users);
        else
            say_no_room(k);
    }
}

static bool next_name(struct mi_rights_keeper *k, struct slot *s)
{
    struct mi_span name = {NULL, 0};
    s->len = mi_rights_news_asked(k->options.news, s->name);
    if (s->len > 0)
        return true;
    if (k->found.count > 0) {
        name = k->found.all[--k->found.count];
        s->len = name.len;
        memcpy(s->name, name.data, name.len);
        free((void *)name.data);
        return true;
    }
    if (k->cursor >= mi_rights_book_count(k->book) || k->now_ns < cursor_due(k))
        return false;
    name = mi_rights_user_name(mi_rights_book_at(k->book, k->cursor++));
    s->len = name.len;
    memcpy(s->name, name.data, name.len);
    return true;
}

static void ask_records(struct mi_rights_keeper *k)
{
    for (int i = 0; i < RECORDS_AT_ONCE && k->now_ns >= k->record_due_ns; i++) {
        struct slot *s = &k->record_slots[i];
        if (s->busy || !next_name(k, s))
            continue;
        s->round = k->round;
        s->busy = iggy_get_user(k->options.client, (struct iggy_span){s->name, s->len}, on_record, s) != 0;
        k->record_due_ns = k->now_ns + RECORD_EVERY_MS * MI_NS_PER_MS;
    }
}

static void on_record(void *arg, const struct iggy_result *result, const struct iggy_user *user)
{
    struct slot *s = arg;
    struct mi_rights_keeper *k = s->k;
    s->busy = false;
    if (result->kind == IGGY_OK)
        take_record(k, user, s->round, 0);
    else if (result->http_status == 404)
        gone(k, (struct mi_span){s->name, s->len}, true);
    else if (result->kind == IGGY_LOCAL)
        gone(k, (struct mi_span){s->name, s->len}, false);
    else
        complain(k, &k->users_limit, "read_users", result);
}

static void gone(struct mi_rights_keeper *k, struct mi_span name, bool kick)
{
    struct mi_rights_user *u = mi_rights_book_find(k->book, name);
    if (!u)
        return;
    mi_rights_news_put(k->options.news, name, NULL, kick);
    k->options.wake_main(k->options.context);
    mi_rights_book_drop(k->book, u);
}

/* wanted_ns 0: nobody logs in just now. */
static void take_record(struct mi_rights_keeper *k, const struct iggy_user *record, uint32_t round,
                        uint64_t wanted_ns)
{
    const struct mi_span name = {record->username.data, record->username.len};
    bool known = mi_rights_book_find(k->book, name);
    enum mi_user_change change = mi_rights_book_record(k->book, record, round, wanted_ns);
    if (change == MI_USER_NO_ROOM && wanted_ns && mi_rights_book_count(k->book) > 0) {
        struct mi_rights_user *oldest = mi_rights_book_oldest(k->book);
        gone(k, mi_rights_user_name(oldest), false);
        change = mi_rights_book_record(k->book, record, round, wanted_ns);
    }
    if (change == MI_USER_NO_ROOM)
        say_no_room(k);
    struct mi_rights_user *u = mi_rights_book_find(k->book, name);
    if (change == MI_USER_REPLACED && known) {
        mi_rights_news_put(k->options.news, name, NULL, true);
        k->options.wake_main(k->options.context);
        if (u && !wanted_ns) {
            mi_rights_book_drop(k->book, u);
            u = NULL;
        }
    }
    if (u) {
        k->round_wanted |= mi_rights_user_waits(u);
        tell(k, u);
    }
}

static void tell(struct mi_rights_keeper *k, struct mi_rights_user *u)
{
    struct mi_iggy_rights *rights = NULL;
    if (!mi_rights_user_resolve(k->book, u, &rights))
        return;
    if (!rights || !mi_rights_news_put(k->options.news, mi_rights_user_name(u), rights, false)) {
        mi_rights_user_make_again(u);
        k->untold = true;
    }
    k->options.wake_main(k->options.context);
}

/* Up to the one for whom there is no room. */
static void tell_all(struct mi_rights_keeper *k)
{
    k->untold = false;
    for (size_t i = 0; !k->untold && i < mi_rights_book_count(k->book); i++)
        tell(k, mi_rights_book_at(k->book, i));
}

/* Can the record be asked for by name? Else nobody would notice that it changed. */
static bool can_be_asked(struct mi_span name)
{
    return name.len <= MI_MAX_USER_NAME && iggy_name_usable((struct iggy_span){name.data, name.len}) &&
           !mi_span_equal(name, mi_span_of("me")) && !mi_span_equal(name, mi_span_of("logout"));
}

void mi_rights_keeper_admit(struct mi_rights_keeper *k, const struct iggy_user *record,
                            void (*done)(void *arg), void *arg)
{
    const struct mi_span name = {record->username.data, record->username.len};
    k->now_ns = mi_now_ns(k->options.clock);
    if (can_be_asked(name) && !k->blind)
        take_record(k, record, k->round, k->now_ns);
    const struct mi_rights_user *u = mi_rights_book_find(k->book, name);
    if (u && mi_rights_user_waits(u) && k->waiting_count < MAX_WAITING)
        k->waiting[k->waiting_count++] = (struct waiting){k->round, done, arg};
    else
        done(arg);
}

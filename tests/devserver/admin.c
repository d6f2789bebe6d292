/*
 * admin: a line reader over a few sockets, and a table of commands.
 */
#include "admin.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http.h"
#include "server.h"

enum { MAX_WORDS = 8, MAX_LINE = 1024 };

struct client {
    int fd; /* -1: free */
    char line[MAX_LINE];
    size_t len;
};

struct dev_admin {
    struct dev_server *server;
    int listener;
    struct client clients[DEV_ADMIN_CLIENTS];
    uint64_t paused_until_ms, reopen_at_ms; /* 0: not; UINT64_MAX: until told */
};

/* One command line. */
struct command {
    struct dev_admin *admin;
    struct dev_server *server;
    char group[16];
    char *words[MAX_WORDS];
    int count;
    const char *rest; /* the line behind the first word */
    struct mi_buf answer;
};

static void serve(struct dev_admin *admin, struct client *client);
static void execute(struct dev_admin *admin, char *line, int fd);
static void dispatch(struct command *c);

struct dev_admin *dev_admin_new(struct dev_server *server, uint16_t port)
{
    struct dev_admin *admin = calloc(1, sizeof *admin);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t len = sizeof address;
    int one = 1;
    if (!admin)
        return NULL;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    admin->server = server;
    for (int i = 0; i < DEV_ADMIN_CLIENTS; i++)
        admin->clients[i].fd = -1;
    admin->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(admin->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (admin->listener < 0 || bind(admin->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        listen(admin->listener, 16) < 0 ||
        getsockname(admin->listener, (struct sockaddr *)&address, &len) < 0) {
        fprintf(stderr, "iggy-devserver: cannot listen on 127.0.0.1:%u: %s\n", port, strerror(errno));
        dev_admin_free(admin);
        return NULL;
    }
    server->admin_port = ntohs(address.sin_port);
    return admin;
}

void dev_admin_free(struct dev_admin *admin)
{
    for (int i = 0; i < DEV_ADMIN_CLIENTS; i++)
        if (admin->clients[i].fd >= 0)
            close(admin->clients[i].fd);
    if (admin->listener >= 0)
        close(admin->listener);
    free(admin);
}

size_t dev_admin_poll(const struct dev_admin *admin, struct pollfd *fds)
{
    size_t n = 0;
    fds[n++] = (struct pollfd){.fd = admin->listener, .events = POLLIN};
    for (int i = 0; i < DEV_ADMIN_CLIENTS; i++)
        if (admin->clients[i].fd >= 0)
            fds[n++] = (struct pollfd){.fd = admin->clients[i].fd, .events = POLLIN};
    return n;
}

static void accept_client(struct dev_admin *admin)
{
    int fd = accept4(admin->listener, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; i < DEV_ADMIN_CLIENTS && fd >= 0; i++)
        if (admin->clients[i].fd < 0) {
            admin->clients[i] = (struct client){.fd = fd};
            return;
        }
    if (fd >= 0)
        close(fd);
}

void dev_admin_handle(struct dev_admin *admin, const struct pollfd *fds, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!fds[i].revents)
            continue;
        if (fds[i].fd == admin->listener)
            accept_client(admin);
        for (int k = 0; k < DEV_ADMIN_CLIENTS; k++)
            if (admin->clients[k].fd == fds[i].fd)
                serve(admin, &admin->clients[k]);
    }
}

static void serve(struct dev_admin *admin, struct client *client)
{
    ssize_t n = recv(client->fd, client->line + client->len, MAX_LINE - 1 - client->len, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || client->len + (size_t)n == MAX_LINE - 1) {
        close(client->fd);
        client->fd = -1;
        return;
    }
    client->len += (size_t)n;
    char *newline;
    while ((newline = memchr(client->line, '\n', client->len))) {
        *newline = '\0';
        if (newline > client->line && newline[-1] == '\r')
            newline[-1] = '\0';
        execute(admin, client->line, client->fd);
        client->len -= (size_t)(newline + 1 - client->line);
        memmove(client->line, newline + 1, client->len);
    }
}

static void execute(struct dev_admin *admin, char *line, int fd)
{
    struct command c = {.admin = admin, .server = admin->server};
    char copy[MAX_LINE], *save = NULL;
    mi_buf_init(&c.answer, 1 << 20);
    snprintf(copy, sizeof copy, "%s", line);
    for (char *w = strtok_r(copy, " \t", &save); w && c.count < MAX_WORDS; w = strtok_r(NULL, " \t", &save))
        c.words[c.count++] = w;
    if (c.count >= 3 && strcmp(c.words[0], "on") == 0) {
        snprintf(c.group, sizeof c.group, "%s", c.words[1]);
        memmove(c.words, c.words + 2, (size_t)(c.count - 2) * sizeof *c.words);
        c.count -= 2;
    }
    c.rest = c.count ? strstr(line, c.words[0]) : line;
    c.rest += c.count ? strlen(c.words[0]) : 0;
    c.rest += strspn(c.rest, " \t");
    if (c.count)
        dispatch(&c);
    else
        mi_buf_add_text(&c.answer, "error empty command");
    mi_buf_add_byte(&c.answer, '\n');
    for (size_t sent = 0; sent < c.answer.len;) {
        ssize_t n = send(fd, c.answer.data + sent, c.answer.len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    mi_buf_fini(&c.answer);
}

/* ---- commands ---- */

static void ok(struct command *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void ok(struct command *c, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    mi_buf_addf(&c->answer, text[0] ? "ok %s" : "ok%s", text);
}

static void refuse(struct command *c, const char *why)
{
    mi_buf_addf(&c->answer, "error %s", why);
}

static const char *word(const struct command *c, int i)
{
    return i < c->count ? c->words[i] : "";
}

static bool number(const struct command *c, int i, uint64_t *value)
{
    char *end;
    if (i >= c->count || !isdigit((unsigned char)c->words[i][0]))
        return false;
    *value = strtoull(c->words[i], &end, 10);
    return *end == '\0';
}

/* The count that ends a command: 1 when it is left out. */
static bool uses(const struct command *c, int i, uint32_t *left)
{
    uint64_t n = 1;
    if (i < c->count && strcmp(c->words[i], "always") == 0) {
        *left = UINT32_MAX;
        return true;
    }
    if (i < c->count && !number(c, i, &n))
        return false;
    *left = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
    return n > 0 && i + 1 >= c->count;
}

static void add_rule(struct command *c, struct dev_rule *rule, int count_at)
{
    snprintf(rule->group, sizeof rule->group, "%s", c->group);
    if (!uses(c, count_at, &rule->left))
        refuse(c, "the count must be a number above 0 or \"always\", and last");
    else if (!dev_fault_add(&c->server->faults, rule))
        refuse(c, "too many rules; clear some");
    else
        ok(c, "%s", "");
}

static void do_plain(struct command *c)
{
    static const struct {
        const char *word;
        enum dev_action action;
    } plain[] = {{"truncate", DEV_TRUNCATE},
                 {"garble", DEV_GARBLE},
                 {"no-confirmations", DEV_NO_CONFIRMATIONS},
                 {"extra-members", DEV_EXTRA_MEMBERS}};
    struct dev_rule rule = {0};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(plain[i].word, c->words[0]) == 0)
            rule.action = plain[i].action;
    add_rule(c, &rule, 1);
}

static void do_valued(struct command *c)
{
    struct dev_rule rule = {.action = strcmp(c->words[0], "slow") == 0    ? DEV_SLOW
                                      : strcmp(c->words[0], "delay") == 0 ? DEV_DELAY
                                                                          : DEV_DELAY_ANSWER};
    if (!number(c, 1, &rule.value) || (rule.action == DEV_SLOW && rule.value == 0))
        refuse(c, "wants a number (milliseconds, or bytes per second)");
    else
        add_rule(c, &rule, 2);
}

/* The words before|drop, after|commit, late MS; *next is the index behind them. */
static bool effect(const struct command *c, int at, struct dev_rule *rule, int *next)
{
    uint64_t ms;
    const char *w = word(c, at);
    *next = at + 1;
    if (strcmp(w, "before") == 0 || strcmp(w, "drop") == 0) {
        rule->value = DEV_NO_EFFECT;
    } else if (strcmp(w, "after") == 0 || strcmp(w, "commit") == 0) {
        rule->value = DEV_EFFECT;
    } else if (strcmp(w, "late") == 0 && number(c, at + 1, &ms)) {
        rule->value = DEV_LATE_EFFECT;
        rule->late_ms = (uint32_t)ms;
        *next = at + 2;
    } else {
        return false;
    }
    return true;
}

static void do_cut(struct command *c)
{
    struct dev_rule rule = {.action = DEV_CUT};
    int next;
    if (effect(c, 1, &rule, &next))
        add_rule(c, &rule, next);
    else
        refuse(c, "usage: cut before|after|late MS [count]");
}

static void do_next(struct command *c)
{
    struct dev_rule rule = {.action = DEV_ANSWER};
    uint64_t id = 0;
    int next = 2;
    if (!number(c, 1, &rule.value) || rule.value < 300 || rule.value > 599) {
        refuse(c, "usage: next STATUS [ID] [count]");
        return;
    }
    if (rule.value == 504) {
        rule.action = DEV_ANSWER_504;
        if (!effect(c, 2, &rule, &next)) {
            refuse(c, "usage: next 504 commit|drop|late MS [count]");
            return;
        }
    } else if (rule.value == 307) {
        snprintf(rule.text, sizeof rule.text, "%s", word(c, 2));
        next = 3;
    } else if ((rule.value == 400 || rule.value == 404 || rule.value == 503) && number(c, 2, &id)) {
        next = 3;
    }
    rule.id = (uint32_t)id;
    add_rule(c, &rule, next);
}

static void do_kill(struct command *c)
{
    bool open = dev_http_is_open(c->server->http);
    uint64_t before = dev_store_totals(&c->server->store).messages;
    dev_http_close(c->server->http, true);
    dev_store_lose_unsaved(&c->server->store);
    dev_sessions_forget(&c->server->users);
    /* The real server tells its start in whole seconds: a restart must be visible in it. */
    uint64_t now = dev_now_us();
    uint64_t next_second = (c->server->start_time / 1000000 + 1) * 1000000;
    c->server->start_time = now > next_second ? now : next_second;
    if (open && !dev_http_open(c->server->http))
        refuse(c, "cannot listen again");
    else
        ok(c, "lost %llu", (unsigned long long)(before - dev_store_totals(&c->server->store).messages));
}

static void do_refuse(struct command *c)
{
    uint64_t ms;
    if (strcmp(word(c, 1), "off") == 0) {
        c->admin->reopen_at_ms = dev_now_ms();
        dev_admin_tick(c->admin);
        if (!dev_http_is_open(c->server->http)) {
            refuse(c, "cannot listen again");
            return;
        }
    } else if (strcmp(word(c, 1), "on") == 0) {
        c->admin->reopen_at_ms = UINT64_MAX;
        dev_http_close(c->server->http, false);
    } else if (number(c, 1, &ms)) {
        c->admin->reopen_at_ms = dev_now_ms() + ms;
        dev_http_close(c->server->http, false);
    } else {
        refuse(c, "usage: refuse MS|on|off");
        return;
    }
    ok(c, "%s", "");
}

static void do_pause(struct command *c)
{
    uint64_t ms;
    if (!number(c, 1, &ms)) {
        refuse(c, "usage: pause MS");
        return;
    }
    c->admin->paused_until_ms = dev_now_ms() + ms;
    ok(c, "%s", "");
}

static void do_reject(struct command *c)
{
    if (strlen(c->rest) >= sizeof c->server->faults.reject_text) {
        refuse(c, "text too long");
        return;
    }
    strcpy(c->server->faults.reject_text, c->rest);
    ok(c, "%s", "");
}

static void do_fresh(struct command *c)
{
    uint64_t n;
    if (!number(c, 1, &n)) {
        refuse(c, "usage: fresh COUNT");
        return;
    }
    c->server->faults.fresh_polls = (uint32_t)n;
    ok(c, "%s", "");
}

static void do_expire_tokens(struct command *c)
{
    dev_sessions_forget(&c->server->users);
    ok(c, "%s", "");
}

static void do_token_lifetime(struct command *c)
{
    uint64_t seconds;
    if (!number(c, 1, &seconds)) {
        refuse(c, "usage: token-lifetime SECONDS");
        return;
    }
    c->server->users.token_lifetime_s = seconds;
    ok(c, "%s", "");
}

static void do_save(struct command *c)
{
    if (dev_store_save(&c->server->store))
        ok(c, "%s", "");
    else
        refuse(c, "cannot write");
}

static void do_clear(struct command *c)
{
    dev_fault_clear(&c->server->faults);
    c->admin->paused_until_ms = 0;
    if (!dev_http_is_open(c->server->http)) {
        c->admin->reopen_at_ms = dev_now_ms();
        dev_admin_tick(c->admin);
    }
    ok(c, "%s", "");
}

static void do_stats(struct command *c)
{
    struct dev_totals t = dev_store_totals(&c->server->store);
    ok(c,
       "version=%s requests=%llu connections=%u produced=%llu polled=%llu streams=%llu topics=%llu "
       "partitions=%llu "
       "messages=%llu bytes=%llu memory=%llu rules=%u injected=%llu poisoned=%llu",
       dev_version(c->server), (unsigned long long)c->server->requests, dev_http_connections(c->server->http),
       (unsigned long long)c->server->produced_messages, (unsigned long long)c->server->polled_messages,
       (unsigned long long)t.streams, (unsigned long long)t.topics, (unsigned long long)t.partitions,
       (unsigned long long)t.messages, (unsigned long long)t.bytes, (unsigned long long)t.memory,
       c->server->faults.rule_count, (unsigned long long)c->server->faults.injected,
       (unsigned long long)c->server->faults.poisoned);
}

/* The topic that two words name; NULL after a refusal. */
static struct dev_topic *topic_of(struct command *c)
{
    struct dev_stream *s = c->count >= 3 ? dev_stream_find(&c->server->store, c->words[1]) : NULL;
    struct dev_topic *t = s ? dev_topic_find(s, c->words[2]) : NULL;
    if (!t)
        refuse(c, "no such stream or topic");
    return t;
}

static void do_dump(struct command *c)
{
    struct dev_topic *t = topic_of(c);
    if (!t)
        return;
    mi_buf_addf(&c->answer, "ok messages=%llu", (unsigned long long)dev_topic_messages(t));
    for (uint32_t i = 0; i < t->partition_count; i++)
        mi_buf_addf(&c->answer, " %u=%llu", i, (unsigned long long)dev_log_messages(&t->partitions[i]->log));
}

static void do_expire(struct command *c)
{
    uint64_t partition, offset;
    struct dev_topic *t = topic_of(c);
    if (!t)
        return;
    if (!number(c, 3, &partition) || !number(c, 4, &offset) || partition >= t->partition_count) {
        refuse(c, "usage: expire STREAM TOPIC PARTITION OFFSET");
        return;
    }
    dev_log_drop_below(&t->partitions[partition]->log, offset);
    c->server->store.dirty = true;
    ok(c, "%s", "");
}

static void do_synthetic(struct command *c)
{
    static const char usage[] = "usage: synthetic STREAM TOPIC MESSAGES BYTES FIRST_US STEP_US MQTT-TOPIC";
    struct dev_synthetic s = {.count = 0};
    uint64_t bytes;
    struct dev_topic *t = topic_of(c);
    if (!t)
        return;
    if (!number(c, 3, &s.count) || !number(c, 4, &bytes) || !number(c, 5, &s.first_us) ||
        !number(c, 6, &s.step_us) || c->count != 8 || bytes < 32 || bytes > 65536 ||
        strlen(c->words[7]) >= sizeof s.prefix) {
        refuse(c, usage);
        return;
    }
    s.payload = (uint32_t)bytes;
    memcpy(s.prefix, c->words[7], strlen(c->words[7]) + 1);
    for (uint32_t i = 0; i < t->partition_count; i++)
        if (t->partitions[i]->log.next_offset > 0) {
            refuse(c, "the topic is not empty");
            return;
        }
    for (uint32_t i = 0; i < t->partition_count; i++)
        dev_log_begin_synthetic(&t->partitions[i]->log, &s);
    ok(c, "%s", "");
}

static const struct {
    const char *word;
    void (*run)(struct command *c);
} commands[] = {{"delay", do_valued},
                {"delay-answer", do_valued},
                {"slow", do_valued},
                {"truncate", do_plain},
                {"garble", do_plain},
                {"no-confirmations", do_plain},
                {"extra-members", do_plain},
                {"cut", do_cut},
                {"next", do_next},
                {"kill", do_kill},
                {"refuse", do_refuse},
                {"pause", do_pause},
                {"reject-message", do_reject},
                {"fresh", do_fresh},
                {"expire-tokens", do_expire_tokens},
                {"token-lifetime", do_token_lifetime},
                {"save", do_save},
                {"clear", do_clear},
                {"stats", do_stats},
                {"dump", do_dump},
                {"expire", do_expire},
                {"synthetic", do_synthetic}};

static void dispatch(struct command *c)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].word, c->words[0]) == 0) {
            commands[i].run(c);
            return;
        }
    refuse(c, "unknown command");
}

/* ---- time ---- */

uint64_t dev_admin_paused_ms(const struct dev_admin *admin)
{
    uint64_t now = dev_now_ms();
    return admin->paused_until_ms > now ? admin->paused_until_ms - now : 0;
}

void dev_admin_tick(struct dev_admin *admin)
{
    if (admin->reopen_at_ms == 0 || dev_now_ms() < admin->reopen_at_ms)
        return;
    if (dev_http_is_open(admin->server->http) || dev_http_open(admin->server->http))
        admin->reopen_at_ms = 0;
}

int dev_admin_timeout(const struct dev_admin *admin, int limit)
{
    uint64_t now = dev_now_ms(), times[2] = {admin->paused_until_ms, admin->reopen_at_ms};
    for (int i = 0; i < 2; i++)
        if (times[i] > now && times[i] - now < (uint64_t)limit)
            limit = (int)(times[i] - now);
    return limit;
}

/*
 * acl_file: the plugin's reader against the broker that the file is for. Random files, names, client ids and
 * topics; one broker without any plugin, which reads each file at SIGHUP, says what it allows, and the reader
 * must say the same.
 *
 * ACL_FILES: how many files (1200 unless set). ACL_SEED: the run to repeat; it is printed.
 */
#include "acl_clients.h"
#include "auth/acl_file.h"
#include "support/broker.h"
#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 14, WORD = 420, NAME = 40 };

static struct mi_broker broker;
static enum mi_acl_rules rules;
static struct acl_client clients[CLIENTS], publisher, sentinel;
static char names[CLIENTS][2][NAME]; /* user name, client id */
static const char *const all[] = {"#", "$d/#", "$u/#"};
static unsigned generation, wrong;
static uint64_t random_state;
static char *topics[ACL_TOPICS];

/* ---- chance ---- */

static unsigned roll(unsigned n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void seed(void)
{
    if (random_state)
        return;
    random_state = from_environment("ACL_SEED", (unsigned)time(NULL) ^ (unsigned)getpid() << 8);
    printf("ACL_SEED=%llu\n", (unsigned long long)random_state);
    random_state = random_state * 0x9E3779B97F4A7C15ull + 1;
}

static const char *long_word(void)
{
    static char word[WORD];
    memset(word, 'l', 300);
    return word;
}

static const char *level(void)
{
    static const char *const words[] = {"a", "b", "c1", "ann", "", "x y", "\xc3\xa9", "%c", "%u", "a%"};
    unsigned n = roll(14);
    if (n == 13)
        return roll(8) ? "a" : long_word();
    return n < 10 ? words[n] : names[roll(CLIENTS)][n & 1];
}

static const char *filter_level(bool last)
{
    static const char *const words[] = {"+", "+", "%c", "%u", "%c%u", "x%c", "%u.", "#"};
    return roll(2) ? level() : words[roll(last ? 8 : 7)];
}

/* A filter or, where wildcards and the names of a client are put in, a topic. */
static void make_filter(char *to, size_t size)
{
    unsigned levels = 1 + roll(4);
    static const char *const dollar[] = {"$d/", "$u/", "$u/", "$SYS/", "$share/", "$"};
    snprintf(to, size, "%s", roll(9) ? "" : dollar[roll(6)]);
    for (unsigned i = 0; i < levels; i++)
        snprintf(to + strlen(to), size - strlen(to), "%s%s", i ? "/" : "", filter_level(i + 1 == levels));
}

static void make_topic(const char *filter, char *to, size_t size)
{
    unsigned who = roll(CLIENTS);
    to[0] = '\0';
    for (; *filter && strlen(to) + WORD < size; filter++) {
        const char *put = (char[]){*filter, '\0'};
        if (*filter == '+' || *filter == '#')
            put = level();
        else if (*filter == '%' && (filter[1] == 'c' || filter[1] == 'u') && roll(5))
            put = names[who][*++filter == 'c'];
        snprintf(to + strlen(to), size - strlen(to), "%s", put);
    }
    if (roll(8) == 0)
        snprintf(to + strlen(to), size - strlen(to), "/%s", level());
}

/* ---- the broker and its clients ---- */

static bool write_acl(const char *text, size_t len)
{
    char path[300];
    snprintf(path, sizeof path, "%s/acl", broker.dir);
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text, 1, len, f) == len;
    return f && fclose(f) == 0 && ok;
}

static bool prepare(void)
{
    char conf[2000], path[300];
    if (!mi_broker_prepare(&broker, NULL, NULL))
        return false;
    snprintf(path, sizeof path, "%s/mosquitto.conf", broker.dir);
    snprintf(conf, sizeof conf,
             "%slistener %u 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\nsys_interval 0\n"
             "max_queued_messages 100000\nlog_dest stderr\nlog_type error\nlog_type information\n"
             "acl_file %s/acl\n",
             geteuid() == 0 ? "user root\n" : "", broker.port, broker.dir);
    return mi_write_file(path, conf);
}

static void choose_names(void)
{
    static const char *const fixed[][2] = {
        {NULL, "plain"}, {"ann", "dev1"}, {"bob", "a/b"}, {"", "dev2"}, {"$u", "$d"},
        {"a+b", "c1"},   {"ann", "c#"},   {"a/b", "x y"}, {"%u", "%c"}, {"b b", "ann"},
    };
    static const char *const bits[] = {"a", "b", "ann", "/", "$", "%c", " ", "1", "+"};
    for (unsigned i = 0; i < CLIENTS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            names[i][k][0] = '\0';
            if (i < 10)
                snprintf(names[i][k], NAME, "%s", fixed[i][k] ? fixed[i][k] : "");
            for (unsigned n = i < 10 ? 0 : 1 + roll(3); n > 0; n--)
                strncat(names[i][k], bits[roll(roll(4) ? 8 : 9)], NAME - 1 - strlen(names[i][k]));
        }
        if (i >= 10)
            snprintf(names[i][1] + strlen(names[i][1]), 4, "%u", i); /* each id is another */
    }
}

static void start(void)
{
    seed();
    if (clients[0].fd)
        return;
    choose_names();
    CU_ASSERT_TRUE_FATAL(prepare() && write_acl("", 0) && mi_broker_start(&broker));
    rules = mi_broker_is_2_1(&broker) ? MI_ACL_RULES_2_1 : MI_ACL_RULES_2_0;
    printf("mosquitto %s\n", mi_broker_version(&broker));
    for (unsigned i = 0; i < CLIENTS; i++)
        CU_ASSERT_TRUE_FATAL(
            acl_client_connect(&clients[i], broker.port, i ? names[i][0] : NULL, names[i][1]));
    CU_ASSERT_TRUE_FATAL(acl_client_connect(&publisher, broker.port, "publisher", "publisher"));
    CU_ASSERT_TRUE_FATAL(acl_client_connect(&sentinel, broker.port, "sentinel", "sentinel"));
}

/* Gives the broker the file and waits until it counts: its last lines let the sentinel write a topic that no
 * file before it did. */
static bool give(char *text, size_t size)
{
    char topic[40];
    char *gate[] = {topic};
    bool open = false;
    snprintf(topic, sizeof topic, "generation/%u", ++generation);
    snprintf(text + strlen(text), size - strlen(text),
             "\nuser publisher\ntopic #\ntopic $d/#\ntopic $u/#\nuser sentinel\ntopic %s\n", topic);
    if (!write_acl(text, strlen(text)) || !mi_broker_reload(&broker))
        return false;
    for (uint64_t end = mi_monotonic_ms() + 20000; !open && mi_monotonic_ms() < end; usleep(open ? 0 : 500)) {
        if (!acl_client_write(&sentinel, gate, 1, &open))
            return false;
    }
    return open;
}

/* ---- files ---- */

static void add_line(char *text, size_t size, const char *line)
{
    static const char *const ends[] = {"\n", "\n", "\n", "\r\n", " \n", "\t \n"};
    snprintf(text + strlen(text), size - strlen(text), "%s%s%s", roll(8) ? "" : "  ", line, ends[roll(6)]);
}

static void add_rule(char *text, size_t size, char filters[][2000], unsigned *count)
{
    static const char *const access[] = {"", "read ", "write ", "readwrite ", "deny ", "deny  ", " read "};
    char *filter = filters[*count], line[2200];
    make_filter(filter, 2000);
    const char *word = access[roll(7)];
    if (!*word && (strchr(filter, ' ') || !*filter))
        word = "read ";
    snprintf(line, sizeof line, "%s %s%s", roll(3) ? "topic" : "pattern", word, filter);
    /* Only what both take, so that the file counts: what is refused is the other test's. */
    char alone[2300];
    snprintf(alone, sizeof alone, "%s\n", line);
    struct mi_acl_file *f = mi_acl_file_parse(mi_span_of(alone), rules, NULL);
    if (f) {
        add_line(text, size, line);
        (*count)++;
    }
    mi_acl_file_free(f);
}

static void make_file(char *text, size_t size)
{
    enum { FILTERS = 30 };
    static char filters[FILTERS][2000];
    unsigned count = 0, lines = roll(16);
    text[0] = '\0';
    for (unsigned i = 0; i < lines; i++) {
        char line[100];
        unsigned kind = roll(12), who = roll(CLIENTS);
        if (kind == 0) {
            add_line(text, size, roll(2) ? "" : "\t");
        } else if (kind == 1) {
            snprintf(text + strlen(text), size - strlen(text), "# topic #\n");
        } else if (kind < 4 && names[who][0][strspn(names[who][0], " ")]) { /* of spaces: refused */
            snprintf(line, sizeof line, "user%s%s", roll(5) ? " " : "  \t", names[who][0]);
            add_line(text, size, line);
        } else {
            add_rule(text, size, filters, &count);
        }
    }
    for (unsigned i = 0; i < ACL_TOPICS; i++) {
        static char store[ACL_TOPICS][4000];
        char other[2000];
        topics[i] = store[i];
        do {
            make_filter(other, sizeof other);
            make_topic(count && roll(4) ? filters[roll(count)] : other, store[i], sizeof store[i]);
        } while (!store[i][0] || strpbrk(store[i], "+#"));
    }
}

/* ---- the comparison ---- */

static bool says(const struct mi_acl_file *f, unsigned who, const char *topic, enum mi_acl_access access)
{
    struct mi_acl_client client = {.client_id = mi_span_of(names[who][1])};
    if (who > 0)
        client.username = (struct mi_span){(const uint8_t *)names[who][0], strlen(names[who][0])};
    return mi_acl_file_allows(f, &client, mi_span_of(topic), access);
}

static void compare(const struct mi_acl_file *f, const char *text, unsigned who, const char *word,
                    enum mi_acl_access access, const bool *verdicts, const bool *asked, unsigned counts[2])
{
    for (unsigned i = 0; i < ACL_TOPICS; i++) {
        if (!asked[i])
            continue;
        counts[verdicts[i]]++;
        if (says(f, who, topics[i], access) == verdicts[i])
            continue;
        if (wrong++ < 3)
            printf("---- %s\n---- user \"%s\" id \"%s\" %s \"%s\": the broker %s\n", text,
                   who ? names[who][0] : "(none)", names[who][1], word, topics[i],
                   verdicts[i] ? "allows it" : "denies it");
    }
}

static bool run_file(char *text, size_t size, unsigned counts[2])
{
    bool every[ACL_TOPICS], sent[ACL_TOPICS], got[ACL_TOPICS];
    struct mi_error err = {""};
    make_file(text, size);
    if (!give(text, size))
        return false;
    struct mi_acl_file *f = mi_acl_file_parse(mi_span_of(text), rules, &err);
    bool ok = f != NULL;
    memset(every, 1, sizeof every);
    for (unsigned i = 0; ok && i < CLIENTS; i++) {
        ok = acl_client_write(&clients[i], topics, ACL_TOPICS, got);
        if (ok)
            compare(f, text, i, "writes", MI_ACL_WRITE, got, every, counts);
    }
    for (unsigned i = 0; ok && i < CLIENTS; i++)
        ok = acl_client_subscribe(&clients[i], all, 3, true);
    ok = ok && acl_client_write(&publisher, topics, ACL_TOPICS, sent);
    for (unsigned i = 0; i < ACL_TOPICS; i++) /* what the three filters do not cover comes to nobody */
        sent[i] &=
            topics[i][0] != '$' || strncmp(topics[i], "$d/", 3) == 0 || strncmp(topics[i], "$u/", 3) == 0;
    for (unsigned i = 0; ok && i < CLIENTS; i++) {
        ok = acl_client_read(&clients[i], got, ACL_TOPICS);
        if (ok)
            compare(f, text, i, "reads", MI_ACL_READ, got, sent, counts);
    }
    for (unsigned i = 0; ok && i < CLIENTS; i++)
        ok = acl_client_subscribe(&clients[i], all, 3, false);
    if (!ok)
        printf("---- %s\n---- %s\n", text, f ? "a connection was lost" : err.text);
    mi_acl_file_free(f);
    return ok;
}

static void the_reader_says_what_the_broker_says(void)
{
    static char text[200000];
    unsigned files = from_environment("ACL_FILES", 1200), counts[2] = {0, 0};
    start();
    for (unsigned i = 0; i < files && wrong < 3; i++)
        CU_ASSERT_TRUE_FATAL(run_file(text, sizeof text, counts));
    printf("%u files, %u verdicts of which %u allow, %u differ\n", files, counts[0] + counts[1], counts[1],
           wrong);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(counts[1] > files * 20); /* both verdicts are common */
    CU_ASSERT_TRUE(counts[0] > files * 20);
}

static void junk(char *text, size_t size)
{
    static const char *const bits[] = {
        "topic", "pattern", "user", " ", "  ", "\t", "read", "write",        "deny",   "ann",
        "a",     "/",       "#",    "+", "%c", "\r", "#x",   "\xef\xbb\xbf", "topic ", "user a"};
    text[0] = '\0';
    for (unsigned lines = 1 + roll(3); lines > 0; lines--) {
        for (unsigned n = roll(5); n > 0; n--)
            snprintf(text + strlen(text), size - strlen(text), "%s", bits[roll(20)]);
        snprintf(text + strlen(text), size - strlen(text), lines > 1 || roll(2) ? "\n" : "");
    }
}

/* Does a broker start with that file? */
static bool starts(void)
{
    char conf[300], log[300];
    snprintf(conf, sizeof conf, "%s/mosquitto.conf", broker.dir);
    snprintf(log, sizeof log, "%s/broker.log", broker.dir);
    const char *named = getenv("MOSQUITTO");
    char *argv[] = {named && *named ? (char *)named : (char *)"/usr/sbin/mosquitto", (char *)"-c", conf,
                    NULL};
    struct mi_process p = {0};
    bool open = false;
    if (!mi_process_start(&p, log, argv, NULL))
        return false;
    while (mi_process_alive(&p) && !(open = mi_wait_port(broker.port, 20)))
        ;
    mi_process_kill(&p);
    return open;
}

static void what_the_broker_refuses_is_refused(void)
{
    seed();
    if (!rules && !clients[0].fd)
        start();
    struct mi_broker running = broker;
    char text[400];
    unsigned counts[2] = {0, 0};
    CU_ASSERT_TRUE_FATAL(prepare());
    for (unsigned i = from_environment("ACL_FILES", 1200) / 20; i > 0; i--) {
        junk(text, sizeof text);
        CU_ASSERT_TRUE_FATAL(write_acl(text, strlen(text)));
        struct mi_acl_file *f = mi_acl_file_parse(mi_span_of(text), rules, NULL);
        bool taken = starts();
        counts[taken]++;
        if (taken != (f != NULL))
            printf("---- %s\n---- the broker %s it\n", text, taken ? "takes" : "refuses");
        CU_ASSERT_EQUAL(taken, f != NULL);
        mi_acl_file_free(f);
    }
    printf("%u taken, %u refused\n", counts[1], counts[0]);
    CU_ASSERT_TRUE(counts[0] > 0 && counts[1] > 0);
    mi_broker_remove(&broker);
    broker = running;
}

static void it_ends(void)
{
    for (unsigned i = 0; i < CLIENTS; i++)
        acl_client_close(&clients[i]);
    acl_client_close(&publisher);
    acl_client_close(&sentinel);
    CU_ASSERT_TRUE(mi_broker_stop(&broker, 10000));
    mi_broker_remove(&broker);
}

static CU_TestInfo tests[] = {
    {"the_reader_says_what_the_broker_says", the_reader_says_what_the_broker_says},
    {"what_the_broker_refuses_is_refused", what_the_broker_refuses_is_refused},
    {"it_ends", it_ends},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("acl_file", tests)

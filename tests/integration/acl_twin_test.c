/*
 * acl_twin: a broker with this plugin looking on (feed: on_subscribe) decides as one without it: every
 * PUBLISH, SUBSCRIBE, UNSUBSCRIBE and delivery, over random acl_files that both read at SIGHUP, and without
 * any. On 2.0 that is ACL_CHECK with the answers of broker.acl; on 2.1 the events.
 *
 * TWIN_FILES: how many files (400 unless set). TWIN_SEED: the run to repeat; it is printed.
 */
#include "acl_clients.h"
#include "support/broker.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 6, FILTERS = 10, TWINS = 2, LINE = 200, TEXT = 8000 };

/* The one with the plugin is the second. Without an Iggy: the plugin works as ever, and nothing interferes.
 */
static const char config[] =
    "{'iggy':{'url':'http://127.0.0.1:9','username':'iggy','password_file':'DIR/iggy.password'},"
    "'journal':{'directory':'DIR/journal'},'broker':{'acl':'%s'},'routes':[{'name':'r','filter':'a/#',"
    "'direction':'in','feed':'on_subscribe','stream':'s','topic':'t'}]}";

struct twin {
    struct mi_broker broker;
    struct acl_client clients[CLIENTS], publisher;
};

static struct twin *twins; /* two */
static const char *const names[CLIENTS][2] = {{NULL, "plain"}, {"ann", "dev1"}, {"bob", "a"},
                                              {"ann", "dev2"}, {"a", "b"},      {"b c", "dev3"}};
static char topics[ACL_TOPICS][LINE], filters[FILTERS][LINE + 20];
static uint64_t state;
static unsigned generation;

static unsigned roll(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void seed(void)
{
    state = from_environment("TWIN_SEED", (unsigned)time(NULL) ^ (unsigned)getpid() << 8);
    printf("TWIN_SEED=%llu ", (unsigned long long)state);
}

/* ---- files, topics, filters ---- */

static void make(char *to, bool wildcards, bool names_too)
{
    static const char *const words[] = {"a", "b", "dev1", "ann", "", "c d", "+", "%c", "%u"};
    unsigned levels = 1 + roll(4);
    do {
        to[0] = '\0';
        for (unsigned i = 0; i < levels; i++) {
            const char *word = words[roll(names_too ? 9 : wildcards ? 7 : 6)];
            if (wildcards && i + 1 == levels && roll(4) == 0)
                word = "#";
            else if (!wildcards && *word == '+')
                word = "a";
            snprintf(to + strlen(to), LINE - strlen(to), "%s%s", i ? "/" : "", word);
        }
    } while (!*to);
}

static void make_file(char *text)
{
    static const char *const access[] = {"read", "write", "readwrite", "deny"};
    char filter[LINE];
    text[0] = '\0';
    for (unsigned i = roll(14); i > 0; i--) {
        if (roll(4) == 0) {
            unsigned who = 1 + roll(CLIENTS - 1);
            snprintf(text + strlen(text), TEXT - strlen(text), "user %s\n", names[who][0]);
            continue;
        }
        bool pattern = roll(3) == 0;
        make(filter, true, pattern);
        snprintf(text + strlen(text), TEXT - strlen(text), "%s %s %s\n", pattern ? "pattern" : "topic",
                 access[roll(4)], filter);
    }
    /* The gate that tells when the file counts. */
    snprintf(text + strlen(text), TEXT - strlen(text),
             "user publisher\ntopic #\ntopic deny gate/#\n"
             "topic deny gates/%u\n",
             ++generation);
    for (unsigned i = 0; i < ACL_TOPICS; i++)
        make(topics[i], false, false);
    for (unsigned i = 0; i < FILTERS; i++) {
        make(filter, true, false);
        snprintf(filters[i], sizeof filters[i], "%s%s", roll(5) ? "" : "$share/g/", filter);
    }
}

/* ---- the two brokers ---- */

static bool write_file(struct twin *t, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/acl", t->broker.dir);
    return mi_write_file(path, text);
}

/* Who decides beside the plugin, and the lines of mosquitto.conf for it. */
struct ground {
    const char *acl, *lines;
};
static const struct ground by_file = {"acl_file", "acl_file DIR/acl\n"}, by_nobody = {"none", ""},
                           by_plugin = {"plugin", "plugin mosquitto_dynamic_security.so\n"
                                                  "plugin_opt_config_file DIR/acl\n"};

/* The bare twin's mosquitto.conf is the other's up to the line that loads our plugin. */
static bool take_plugin_out(struct twin *t)
{
    char path[300];
    snprintf(path, sizeof path, "%s/mosquitto.conf", t->broker.dir);
    char *conf = mi_read_file(path);
    char *ours = conf ? strstr(conf, "mosquitto_iggy.so\n") : NULL;
    while (ours && ours > conf && ours[-1] != '\n')
        ours--;
    if (ours)
        *ours = '\0';
    bool ok = ours && mi_write_file(path, conf);
    free(conf);
    return ok;
}

static bool prepare(struct twin *t, bool with_plugin, const struct ground *ground, const char *acl)
{
    char json[1000];
    if (!mi_broker_prepare(&t->broker, ground->lines, NULL) || !write_file(t, acl))
        return false;
    snprintf(json, sizeof json, config, ground->acl);
    return with_plugin ? mi_broker_config(&t->broker, json, 0) : take_plugin_out(t);
}

static void start(const struct ground *ground, const char *acl)
{
    twins = calloc(TWINS, sizeof *twins);
    CU_ASSERT_PTR_NOT_NULL_FATAL(twins);
    for (int i = 0; i < TWINS; i++) {
        struct twin *t = &twins[i];
        CU_ASSERT_TRUE_FATAL(prepare(t, i == 1, ground, acl) && mi_broker_start(&t->broker));
        for (unsigned k = 0; k < CLIENTS; k++)
            CU_ASSERT_TRUE_FATAL(acl_client_connect(&t->clients[k], t->broker.port,
                                                    ground == &by_plugin ? NULL : names[k][0], names[k][1]));
        CU_ASSERT_TRUE_FATAL(acl_client_connect(&t->publisher, t->broker.port,
                                                ground == &by_plugin ? NULL : "publisher", "publisher"));
    }
}

static void end(void)
{
    for (int i = 0; i < TWINS; i++) {
        CU_ASSERT_TRUE(mi_process_alive(&twins[i].broker.process));
        for (unsigned k = 0; k < CLIENTS; k++)
            acl_client_close(&twins[i].clients[k]);
        acl_client_close(&twins[i].publisher);
        mi_broker_remove(&twins[i].broker);
    }
    free(twins);
}

/* Waits until the file counts: it denies a topic that the one before allowed. */
static bool give(struct twin *t, const char *text)
{
    char topic[40];
    char *gate[] = {topic};
    bool open = true;
    snprintf(topic, sizeof topic, "gates/%u", generation);
    if (!write_file(t, text) || !mi_broker_reload(&t->broker))
        return false;
    for (uint64_t until = mi_monotonic_ms() + 20000; open && mi_monotonic_ms() < until;
         usleep(open ? 500 : 0))
        if (!acl_client_write(&t->publisher, gate, 1, &open))
            return false;
    return !open;
}

/* ---- the comparison ---- */

struct verdicts {
    bool written[ACL_TOPICS], delivered[ACL_TOPICS];
    uint8_t subscribed[FILTERS], unsubscribed[FILTERS];
};

static bool ask(struct twin *t, unsigned who, struct verdicts *v)
{
    char *all[ACL_TOPICS];
    const char *wanted[FILTERS];
    bool published[ACL_TOPICS];
    struct acl_client *c = &t->clients[who];
    for (unsigned i = 0; i < ACL_TOPICS; i++)
        all[i] = topics[i];
    for (unsigned i = 0; i < FILTERS; i++)
        wanted[i] = filters[i];
    return acl_client_write(c, all, ACL_TOPICS, v->written) &&
           acl_client_subscribe_codes(c, wanted, FILTERS, true, v->subscribed) &&
           acl_client_write(&t->publisher, all, ACL_TOPICS, published) &&
           acl_client_read(c, v->delivered, ACL_TOPICS) &&
           acl_client_subscribe_codes(c, wanted, FILTERS, false, v->unsubscribed);
}

struct counts {
    unsigned yes, no;
};

static bool same(const struct verdicts *a, const struct verdicts *b, unsigned who, struct counts *written,
                 struct counts *delivered)
{
    for (unsigned i = 0; i < ACL_TOPICS; i++) {
        a->written[i] ? written->yes++ : written->no++;
        a->delivered[i] ? delivered->yes++ : delivered->no++;
        if (a->written[i] != b->written[i] || a->delivered[i] != b->delivered[i]) {
            printf("\n  client %s, topic %s: write %d and %d, delivered %d and %d\n", names[who][1],
                   topics[i], a->written[i], b->written[i], a->delivered[i], b->delivered[i]);
            return false;
        }
    }
    for (unsigned i = 0; i < FILTERS; i++)
        if (a->subscribed[i] != b->subscribed[i] || a->unsubscribed[i] != b->unsubscribed[i]) {
            printf("\n  client %s, filter %s: subscribe %u and %u, unsubscribe %u and %u\n", names[who][1],
                   filters[i], a->subscribed[i], b->subscribed[i], a->unsubscribed[i], b->unsubscribed[i]);
            return false;
        }
    return true;
}

static void compare(struct counts *written, struct counts *delivered)
{
    for (unsigned who = 0; who < CLIENTS; who++) {
        struct verdicts v[TWINS];
        CU_ASSERT_TRUE_FATAL(ask(&twins[0], who, &v[0]) && ask(&twins[1], who, &v[1]));
        CU_ASSERT_TRUE(same(&v[0], &v[1], who, written, delivered));
    }
}

static void random_acl_files_are_obeyed_as_without_the_plugin(void)
{
    static char text[TEXT];
    struct counts written = {0, 0}, delivered = {0, 0};
    unsigned files = from_environment("TWIN_FILES", 400);
    seed();
    start(&by_file, "");
    for (unsigned n = 0; n < files; n++) {
        make_file(text);
        CU_ASSERT_TRUE_FATAL(give(&twins[0], text) && give(&twins[1], text));
        compare(&written, &delivered);
    }
    CU_ASSERT_TRUE(written.yes > 500 && written.no > 500);
    CU_ASSERT_TRUE(delivered.yes > 500 && delivered.no > 500);
    end();
}

/* Dynamic security for anonymous clients: what it says by default, and some rules against that. */
static void make_dynamic_security(char *text)
{
    static const char *const kinds[] = {"publishClientSend", "publishClientReceive", "subscribePattern",
                                        "unsubscribePattern"};
    static const char *const truth[] = {"false", "true"};
    char filter[LINE];
    make_file(text);
    snprintf(text, TEXT,
             "{\"defaultACLAccess\":{\"publishClientSend\":%s,\"publishClientReceive\":%s,\"subscribe\":%s,"
             "\"unsubscribe\":%s},\"clients\":[],\"groups\":[{\"groupname\":\"g\",\"clients\":[],"
             "\"roles\":[{\"rolename\":\"r\"}]}],\"anonymousGroup\":\"g\","
             "\"roles\":[{\"rolename\":\"r\",\"acls\":[",
             truth[roll(2)], truth[roll(2)], truth[roll(2)], truth[roll(2)]);
    for (unsigned i = 0; i < 12; i++) {
        make(filter, true, false);
        snprintf(text + strlen(text), TEXT - strlen(text),
                 "%s{\"acltype\":\"%s\",\"topic\":\"%s\",\"priority\":%u,\"allow\":%s}", i ? "," : "",
                 kinds[roll(4)], filter, roll(5), truth[roll(2)]);
    }
    snprintf(text + strlen(text), TEXT - strlen(text), "]}]}");
}

static void another_plugin_decides_as_without_this_one(void)
{
    static char text[TEXT];
    struct counts written = {0, 0}, delivered = {0, 0};
    seed();
    for (unsigned n = 0; n < 12; n++) {
        make_dynamic_security(text);
        start(&by_plugin, text);
        compare(&written, &delivered);
        end();
    }
    CU_ASSERT_TRUE(written.yes > 100 && written.no > 100);
    CU_ASSERT_TRUE(delivered.yes + delivered.no > 0);
}

static void without_any_everything_is_allowed_as_without_the_plugin(void)
{
    static char text[TEXT];
    struct counts written = {0, 0}, delivered = {0, 0};
    seed();
    start(&by_nobody, "");
    for (unsigned n = 0; n < 20; n++) {
        make_file(text);
        compare(&written, &delivered);
    }
    CU_ASSERT_TRUE(written.yes > 500 && written.no == 0);
    CU_ASSERT_TRUE(delivered.yes > 500);
    end();
}

/* broker.acl: none, and then a SIGHUP brings an acl_file: it is not passed over. */
static void an_acl_file_that_comes_with_a_reload_counts(void)
{
    char path[300], line[400];
    char *topic[] = {(char *)"x/y"};
    bool allowed = false;
    seed();
    start(&by_nobody, "");
    struct twin *t = &twins[1];
    CU_ASSERT_TRUE(acl_client_write(&t->clients[0], topic, 1, &allowed) && allowed);
    snprintf(path, sizeof path, "%s/mosquitto.conf", t->broker.dir);
    char *conf = mi_read_file(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(conf);
    snprintf(line, sizeof line, "acl_file %s/acl\n", t->broker.dir);
    char *longer = malloc(strlen(conf) + strlen(line) + 1);
    sprintf(longer, "%s%s", line, conf);
    CU_ASSERT_TRUE(mi_write_file(path, longer) && write_file(t, "topic other\n"));
    free(conf);
    free(longer);
    CU_ASSERT_TRUE(mi_broker_reload(&t->broker));
    for (uint64_t until = mi_monotonic_ms() + 10000; allowed && mi_monotonic_ms() < until; usleep(500))
        CU_ASSERT_TRUE_FATAL(acl_client_write(&t->clients[0], topic, 1, &allowed));
    CU_ASSERT_FALSE(allowed);
    CU_ASSERT_TRUE(mi_broker_says(&t->broker, "stays in force", 5000));
    end();
}

static CU_TestInfo tests[] = {
    {"random acl_files are obeyed as without the plugin", random_acl_files_are_obeyed_as_without_the_plugin},
    {"another plugin decides as without this one", another_plugin_decides_as_without_this_one},
    {"without any everything is allowed, as without the plugin",
     without_any_everything_is_allowed_as_without_the_plugin},
    {"an acl_file that comes with a reload counts", an_acl_file_that_comes_with_a_reload_counts},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("acl twin", tests)

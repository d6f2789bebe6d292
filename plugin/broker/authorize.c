#include "broker/authorize.h"

#include <stdlib.h>
#include <string.h>

#include "auth/rights_table.h"
#include "history/request.h"
#include "mapping/targets.h"

enum {
    MAX_REMEMBERED = 512, /* bytes of a topic */
    ASK_AGAIN_MS = 50 /* between two names that are asked for: strangers' names cost Iggy a request each */
};

struct kick {
    struct kick *next;
    char username[MI_MAX_USER_NAME + 1];
};

/* What the last topic is mapped to: one message is checked for each of its subscribers. */
struct last_topic {
    uint8_t text[MAX_REMEMBERED];
    size_t len; /* 0: none */
    struct mi_hit hits[MI_MAX_HITS];
    size_t count;
    bool complete;
};

struct mi_authorize {
    struct mi_authorize_options options;
    struct mi_topic_targets *targets;
    struct mi_rights_table *table;
    struct kick *kicks;
    uint64_t ask_ns;
    struct last_topic last;
};

static void take_news(struct mi_authorize *a);
static const struct mi_iggy_rights *rights_of(struct mi_authorize *a, struct mi_span username);

static struct mi_topic_targets *make_targets(const struct mi_config *c, struct mi_error *err)
{
    return mi_topic_targets_new(c->rules, c->route_count, c->topic_cache, err);
}

struct mi_authorize *mi_authorize_new(const struct mi_authorize_options *options, struct mi_error *err)
{
    struct mi_authorize *a = calloc(1, sizeof *a);
    mi_error_set(err, "out of memory");
    if (!a)
        return NULL;
    a->options = *options;
    mi_config_hold(options->config);
    a->table = mi_rights_table_new();
    a->targets = a->table ? make_targets(options->config, err) : NULL;
    if (a->targets)
        return a;
    mi_authorize_free(a);
    return NULL;
}

void mi_authorize_free(struct mi_authorize *a)
{
    if (!a)
        return;
    for (struct kick *k = a->kicks, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    mi_topic_targets_free(a->targets);
    mi_rights_table_free(a->table);
    mi_config_release(a->options.config);
    free(a);
}

int mi_authorize_set_config(struct mi_authorize *a, struct mi_config *config, struct mi_error *err)
{
    struct mi_topic_targets *targets = make_targets(config, err);
    if (!targets)
        return -1;
    mi_topic_targets_free(a->targets);
    a->targets = targets;
    a->last.len = 0;
    mi_config_hold(config);
    mi_config_release(a->options.config);
    a->options.config = config;
    return 0;
}

/* ---- decisions ---- */

static bool allows(const struct mi_iggy_rights *rights, const struct mi_hit *hits, size_t count,
                   bool complete, enum mi_right right)
{
    if (!complete)
        return mi_rights_allow_everywhere(rights, right);
    for (size_t i = 0; i < count; i++)
        if (!mi_rights_allow(rights, hits[i].stream, hits[i].topic, right))
            return false;
    return true;
}

/* What a reader's topic is mapped to does not hang on the reader. */
static void look_up(struct mi_authorize *a, const struct mi_authorize_client *client, struct mi_span topic,
                    enum mi_topic_targets_for what)
{
    struct last_topic *last = &a->last;
    const struct mi_map_input input = {
        .topic = topic, .client_id = client->client_id, .username = client->username};
    if (what == MI_TARGETS_READ && topic.len > 0 && topic.len == last->len &&
        memcmp(last->text, topic.data, topic.len) == 0)
        return;
    last->count = mi_topic_targets_of(a->targets, &input, what, last->hits, &last->complete);
    last->len = 0;
    if (what == MI_TARGETS_READ && topic.len <= MAX_REMEMBERED) {
        last->len = topic.len;
        memcpy(last->text, topic.data, topic.len);
    }
}

static bool decide(struct mi_authorize *a, const struct mi_authorize_client *client, struct mi_span topic,
                   enum mi_topic_targets_for what)
{
    const struct last_topic *last = &a->last;
    take_news(a);
    look_up(a, client, topic, what);
    if (last->count == 0 && last->complete)
        return a->options.config->auth.unmapped != MI_UNMAPPED_DENY;
    return allows(rights_of(a, client->username), last->hits, last->count, last->complete,
                  what == MI_TARGETS_PUBLISH ? MI_RIGHT_SEND : MI_RIGHT_POLL);
}

static bool counted(struct mi_authorize *a, bool allowed, enum mi_global_counter counter)
{
    if (!allowed)
        mi_metrics_add(a->options.metrics, counter, 1);
    return allowed;
}

bool mi_authorize_publish(struct mi_authorize *a, const struct mi_authorize_client *client,
                          struct mi_span topic)
{
    return counted(a, decide(a, client, topic, MI_TARGETS_PUBLISH), MI_G_RIGHTS_PUBLISH_DENIED);
}

bool mi_authorize_read(struct mi_authorize *a, const struct mi_authorize_client *client, struct mi_span topic)
{
    return counted(a, decide(a, client, topic, MI_TARGETS_READ), MI_G_RIGHTS_READ_DENIED);
}

static bool starts_with(struct mi_span s, const char *text)
{
    size_t len = strlen(text);
    return s.len >= len && memcmp(s.data, text, len) == 0;
}

/* What stands behind $share/GROUP/. */
static struct mi_span without_share(struct mi_span filter)
{
    if (!starts_with(filter, "$share/"))
        return filter;
    const uint8_t *end = filter.data + filter.len;
    const uint8_t *slash = memchr(filter.data + 7, '/', filter.len - 7);
    return slash ? (struct mi_span){slash + 1, (size_t)(end - slash) - 1} : filter;
}

bool mi_authorize_subscribe(struct mi_authorize *a, const struct mi_authorize_client *client,
                            struct mi_span filter)
{
    filter = without_share(filter);
    if (filter.len == 0 || memchr(filter.data, '+', filter.len) || memchr(filter.data, '#', filter.len))
        return true;
    if (mi_request_begins(filter) != SIZE_MAX) /* each message of the past is checked by its own topic */
        return true;
    return counted(a, decide(a, client, filter, MI_TARGETS_READ), MI_G_RIGHTS_SUBSCRIBE_DENIED);
}

/* ---- what is known of the users ---- */

static const struct mi_iggy_rights *rights_of(struct mi_authorize *a, struct mi_span username)
{
    if (username.len == 0 || username.len > MI_MAX_USER_NAME)
        return NULL;
    const struct mi_iggy_rights *rights = mi_rights_table_find(a->table, username);
    if (rights)
        return rights;
    uint64_t now = mi_now_ns(&mi_clock_system);
    if (now >= a->ask_ns && mi_rights_news_ask(a->options.news, username)) {
        a->ask_ns = now + ASK_AGAIN_MS * MI_NS_PER_MS;
        a->options.wake_bridge(a->options.context);
    }
    return NULL;
}

static void remember_kick(struct mi_authorize *a, const struct mi_rights_news_item *i)
{
    struct kick *k = malloc(sizeof *k);
    if (!k)
        return; /* without rights he is already */
    memcpy(k->username, i->name, i->name_len);
    k->username[i->name_len] = '\0';
    k->next = a->kicks;
    a->kicks = k;
}

static void take_news(struct mi_authorize *a)
{
    struct mi_rights_news_item *next;
    for (struct mi_rights_news_item *i = mi_rights_news_take(a->options.news); i; i = next) {
        next = i->next;
        mi_rights_table_set(a->table, (struct mi_span){i->name, i->name_len}, i->rights);
        if (i->kick && i->name_len <= MI_MAX_USER_NAME)
            remember_kick(a, i);
        free(i);
    }
}

void mi_authorize_tick(struct mi_authorize *a, void (*kick)(void *context, const char *username),
                       void *context)
{
    take_news(a);
    while (a->kicks) {
        struct kick *k = a->kicks;
        a->kicks = k->next;
        kick(context, k->username);
        free(k);
    }
}

#include "broker/via.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "loop/session_name.h"
#include "mqtt/subscriber.h"

enum { MESSAGES_PER_TICK = 200 };

struct mi_via {
    struct mi_plugin *plugin;
    struct mi_subscriber *subscriber;
    struct mi_config *config; /* held: whose texts the subscriber uses */
    int watch;
    char client_id[64];
    char told[256];    /* of its trouble, for /status.json */
    char password[33]; /* empty: none was drawn */
};

static bool take(void *context, const struct mi_packet *publish);

static void draw_password(struct mi_via *v)
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != sizeof bytes)
        return;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(v->password + 2 * i, 3, "%02x", bytes[i]);
    explicit_bzero(bytes, sizeof bytes);
}

struct mi_via *mi_via_new(struct mi_plugin *p, struct mi_error *err)
{
    struct mi_via *v = calloc(1, sizeof *v);
    if (!v) {
        mi_error_set(err, "out of memory");
        return NULL;
    }
    v->plugin = p;
    v->watch = epoll_create1(EPOLL_CLOEXEC);
    draw_password(v);
    struct mi_subscriber_options none = {.clock = &mi_clock_system, .log = p->log};
    v->subscriber = mi_subscriber_new(&none);
    if (v->watch < 0 || !v->subscriber) {
        mi_error_set(err, "no descriptor or memory: %s", strerror(errno));
        mi_via_free(v);
        return NULL;
    }
    return v;
}

void mi_via_free(struct mi_via *v)
{
    if (!v)
        return;
    mi_subscriber_free(v->subscriber);
    mi_config_release(v->config);
    explicit_bzero(v->password, sizeof v->password);
    if (v->watch >= 0)
        close(v->watch);
    free(v);
}

int mi_via_descriptor(const struct mi_via *v)
{
    return v->watch;
}

static bool collect(const struct mi_config *c, struct mi_filters *filters)
{
    for (size_t i = 0; i < c->route_count; i++) {
        if (!c->routes[i].subscription || !(c->routes[i].direction & MI_OUT))
            continue;
        char *plain = mi_filter_without_names(c->rules[i].filter);
        bool added = plain && mi_filters_add(filters, plain);
        free(plain);
        if (!added)
            return false;
    }
    return true;
}

static void show(struct mi_via *v)
{
    const char *trouble = v->config->subscriptions ? mi_subscriber_trouble(v->subscriber) : "";
    mi_metrics_set(v->plugin->metrics, MI_G_SUBSCRIBED, mi_subscriber_ready(v->subscriber));
    if (strcmp(trouble, v->told) == 0)
        return;
    snprintf(v->told, sizeof v->told, "%s", trouble);
    mi_bridge_note_subscription(v->plugin->bridge, v->told);
}

/* Once there is a route that needs it. */
static bool name_session(struct mi_via *v, const struct mi_config *c)
{
    char name[MI_SESSION_NAME_HEX + 1];
    struct mi_error err;
    if (*v->client_id || !c->subscriptions)
        return true;
    if (mi_session_name(c->journal_directory, name, &err) != 0) {
        mi_log_line(v->plugin->log, MI_LOG_ERROR, "routes with \"via\": \"subscription\" get nothing: %s",
                    err.text);
        return false;
    }
    snprintf(v->client_id, sizeof v->client_id, "mosquitto-iggy-%s", name);
    return true;
}

void mi_via_follow_config(struct mi_via *v)
{
    struct mi_plugin *p = v->plugin;
    struct mi_config *c = p->config;
    struct mi_filters filters = {0};
    if (!name_session(v, c))
        return;
    if (!collect(c, &filters)) {
        mi_log_line(p->log, MI_LOG_ERROR,
                    "\"via\": \"subscription\": out of memory; the routes before it stay");
        mi_filters_clear(&filters);
        return;
    }
    struct mi_subscriber_options options = {
        .host = c->self_host,
        .port = c->self_port,
        .username = c->self_username,
        .password = c->self_password,
        .client_id = v->client_id,
        .clock = &mi_clock_system,
        .log = p->log,
        .watch = v->watch,
        .take = take,
        .context = v,
    };
    if (!options.username && p->logins && *v->password) {
        options.username = v->client_id;
        options.password = v->password;
    }
    mi_subscriber_follow(v->subscriber, &options, &filters);
    struct mi_config *former = v->config;
    v->config = mi_config_hold(c);
    mi_config_release(former);
    show(v);
}

static bool take(void *context, const struct mi_packet *publish)
{
    struct mi_via *v = context;
    struct mi_message m = {
        .topic = publish->topic,
        .payload = publish->payload,
        .qos = publish->qos,
        .retain = publish->retain,
        .maybe_dup = publish->dup,
        .properties = publish->properties,
    };
    return mi_hook_subscribed(v->plugin->hook, &m);
}

bool mi_via_tick(struct mi_via *v)
{
    if (!v->config || !v->config->subscriptions)
        return false;
    bool more = mi_subscriber_step(v->subscriber, MESSAGES_PER_TICK);
    show(v);
    return more;
}

bool mi_via_knows(const struct mi_via *v, const char *username, const char *password)
{
    if (!v || !*v->password || !username || !password || strcmp(username, v->client_id) != 0)
        return false;
    size_t len = strlen(password);
    unsigned char different = len != strlen(v->password);
    for (size_t i = 0; i < len; i++)
        different |= (unsigned char)(password[i] ^ v->password[i % (sizeof v->password - 1)]);
    return !different;
}

bool mi_via_is_own(const struct mi_via *v, struct mi_span client_id)
{
    return v && mi_span_equal(client_id, mi_span_of(v->client_id));
}

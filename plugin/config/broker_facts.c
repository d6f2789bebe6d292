/*
 * broker_facts: the block "broker" beside what the broker's own file says.
 *
 * What is not stated is taken from the file, but for acl: who decides must be stated where it matters, since
 * a wrong guess would grant or deny. What is stated and contradicts the file is refused.
 */
#include "config/build.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/broker_file.h"

static void complete(struct mi_build *b, const struct mi_broker_file *f);
static void check_acl(struct mi_build *b, const struct mi_broker_file *f);
static void check_deaf(struct mi_build *b);
static void check_acl_stated(struct mi_build *b);
static void check_authorize(struct mi_build *b);
static void check_history(struct mi_build *b);
static void check_limits(struct mi_build *b);

void mi_check_broker(struct mi_build *b)
{
    const struct mi_broker_file *f = b->broker ? b->broker->file : NULL;
    b->config->history = mi_is_given(b->given, MI_AT_ROOT, "history");
    if (f) {
        complete(b, f);
        check_acl(b, f);
    }
    check_deaf(b);
    check_acl_stated(b);
    check_authorize(b);
    check_history(b);
    check_limits(b);
}

static bool reads(const struct mi_build *b)
{
    for (size_t i = 0; i < b->draft_count; i++)
        if (b->drafts[i].route.direction & MI_IN)
            return true;
    return false;
}

/* ---- completing ---- */

static void take_text(struct mi_build *b, const char *key, const char **stated, const char *found)
{
    if (!*stated && found)
        *stated = mi_build_text(b, found, strlen(found));
    else if (found && strcmp(*stated, found) != 0)
        mi_refuse(b, "broker", key, "\"%s\" contradicts the broker's own file, which has %s: leave it out",
                  *stated, found);
}

static void take_truth(struct mi_build *b, const char *key, enum mi_yes_no *stated, bool found)
{
    if (*stated == MI_NOT_STATED)
        *stated = found ? MI_YES : MI_NO;
    else if ((*stated == MI_YES) != found)
        mi_refuse(b, "broker", key, "contradicts the broker's own file (%s): leave it out",
                  b->broker->file->path);
}

static void take_number(struct mi_build *b, const char *key, uint64_t *stated, uint64_t found)
{
    if (*stated == UINT64_MAX)
        *stated = found;
    else if (*stated != found)
        mi_refuse(b, "broker", key,
                  "%" PRIu64 " contradicts the broker's own file, which has %" PRIu64 ": leave it out",
                  *stated, found);
}

/* As conf.c puts it together. */
static const char *database(struct mi_build *b, const struct mi_broker_file *f)
{
    const char *folder = f->persistence_location, *name = f->persistence_file;
    const char *other = b->broker->series == MI_SERIES_2_1 ? getenv("MOSQUITTO_PERSISTENCE_LOCATION") : NULL;
    folder = other ? other : folder;
    name = name ? name : "mosquitto.db";
    size_t len = folder ? strlen(folder) : 0, size = len + strlen(name) + 2;
    char *path = mi_build_take(b, size);
    if (path)
        snprintf(path, size, "%s%s%s", folder ? folder : "", len > 0 && folder[len - 1] != '/' ? "/" : "",
                 name);
    return path;
}

static void complete(struct mi_build *b, const struct mi_broker_file *f)
{
    struct mi_broker_facts *facts = &b->config->broker;
    /* With a plugin that keeps the store the file says "false", and yet it is not empty at the next start. */
    if (f->persistence || !f->persist_plugin)
        take_truth(b, "persistence", &facts->persistence, f->persistence);
    take_truth(b, "bridges", &facts->bridges, f->bridges);
    if (f->persistence)
        take_text(b, "persistence_file", &facts->persistence_file, database(b, f));
    /* With autosave_on_changes the number counts changes, not seconds. */
    if (f->persistence && !f->autosave_on_changes)
        take_number(b, "autosave_interval", &facts->autosave_interval_s, f->autosave_interval_s);
    take_number(b, "max_queued_messages", &facts->max_queued_messages, f->max_queued_messages);
    facts->deaf = f->ours && !mi_broker_file_hears_all(f);
    take_text(b, "acl_file", &facts->acl_file, mi_broker_file_section(f)->acl_file);
}

/* ---- who decides ---- */

/* A plugin decides for its listener, and with global_plugin for all. */
static const struct mi_broker_section *with_plugin(const struct mi_broker_file *f)
{
    const struct mi_broker_section *own = mi_broker_file_section(f);
    return own->plugin ? own : &f->sections[0];
}

static bool is_acl_file_plugin(const char *path)
{
    return path && strstr(path, "acl_file") != NULL;
}

static void check_acl(struct mi_build *b, const struct mi_broker_file *f)
{
    const struct mi_broker_section *own = mi_broker_file_section(f), *other = with_plugin(f);
    bool any_plugin = own->other_plugins || f->sections[0].other_plugins;
    const char *plugin = is_acl_file_plugin(other->plugin) ? NULL : other->plugin;
    switch (b->config->broker.acl) {
    case MI_ACL_NOT_STATED:
        break;
    case MI_ACL_NONE:
        if (own->acl_file)
            mi_refuse(b, "broker", "acl",
                      "none contradicts the broker's own file, which has an acl_file (%s): say acl_file",
                      own->acl_where);
        else if (other->plugin)
            mi_refuse(b, "broker", "acl",
                      "none contradicts the broker's own file, which loads %s (%s): say plugin",
                      other->plugin, other->plugin_where);
        else if (any_plugin)
            mi_warn(b, "broker", "acl",
                    "none, but the broker loads other plugins: should one of them decide topic rights, say "
                    "plugin");
        break;
    case MI_ACL_FILE:
        if (plugin)
            mi_refuse(b, "broker", "acl",
                      "acl_file contradicts the broker's own file, which loads %s beside it (%s): say plugin",
                      plugin, other->plugin_where);
        else if (!own->acl_file && !is_acl_file_plugin(other->plugin))
            mi_refuse(
                b, "broker", "acl",
                "acl_file contradicts the broker's own file, which has none where this plugin is loaded "
                "(%s): everything would be denied; say none, or name an acl_file there",
                f->path);
        break;
    case MI_ACL_PLUGIN:
        if (!any_plugin)
            mi_refuse(
                b, "broker", "acl",
                "plugin contradicts the broker's own file, which loads no other plugin (%s): everything "
                "would be denied; say acl_file or none",
                f->path);
        break;
    }
}

static const struct mi_route_draft *on_subscribe(const struct mi_build *b)
{
    for (size_t i = 0; i < b->draft_count; i++)
        if ((b->drafts[i].route.direction & MI_IN) && b->drafts[i].route.feed == MI_FEED_ON_SUBSCRIBE)
            return &b->drafts[i];
    return NULL;
}

static void check_deaf(struct mi_build *b)
{
    const struct mi_route_draft *route = on_subscribe(b);
    if (route && b->config->broker.deaf)
        mi_route_finding(
            b, route, false, "feed",
            "\"on_subscribe\" works as \"always\": the broker loads this plugin for one listener of "
            "several (per_listener_settings, plugin_use), so the subscriptions of the others are not "
            "seen; load it for all (on Mosquitto 2.1 by global_plugin)");
}

static void check_acl_stated(struct mi_build *b)
{
    static const char choices[] = "none, acl_file or plugin (a plugin cannot see it, and a wrong guess would "
                                  "grant or deny)";
    const struct mi_route_draft *route = on_subscribe(b);
    enum mi_series series = b->broker ? b->broker->series : MI_SERIES_NOT_KNOWN;
    bool events = b->config->events_subscribe || b->config->events_unsubscribe;
    if (b->config->broker.acl != MI_ACL_NOT_STATED)
        return;
    if (b->config->history)
        mi_refuse(b, "broker", "acl", "must be stated for history: say who decides topic rights, %s",
                  choices);
    else if (b->config->auth.authorize != MI_AUTHORIZE_BY_NOBODY)
        mi_refuse(b, "broker", "acl",
                  "must be stated for auth.authorize: say who decides topic rights beside it, %s", choices);
    else if (route && series == MI_SERIES_2_0)
        mi_refuse(b, "broker", "acl",
                  "must be stated for \"feed\": \"on_subscribe\" (%s) on Mosquitto 2.0, which shows a "
                  "subscription only to those who decide it: say who does, %s",
                  route->where, choices);
    else if (events && series == MI_SERIES_2_0)
        mi_refuse(
            b, "broker", "acl",
            "must be stated for subscriptions as client_events on Mosquitto 2.0, which shows them only to "
            "those who decide them: say who does, %s",
            choices);
    else if (events && series == MI_SERIES_NOT_KNOWN)
        mi_warn(b, "broker", "acl",
                "is not stated: on Mosquitto 2.0 subscriptions as client_events need it, one of %s", choices);
    else if (route && series == MI_SERIES_NOT_KNOWN)
        mi_warn(b, "broker", "acl",
                "is not stated: on Mosquitto 2.0 \"feed\": \"on_subscribe\" (%s) needs it, one of %s",
                route->where, choices);
}

static void check_authorize(struct mi_build *b)
{
    const struct mi_auth_config *a = &b->config->auth;
    if (a->authorize != MI_AUTHORIZE_BY_IGGY)
        return;
    if (a->unmapped == MI_UNMAPPED_NEXT && b->config->broker.acl == MI_ACL_NONE)
        mi_refuse(b, "auth", "unmapped",
                  "next leaves such topics to whoever broker.acl names, and it says none: say allow or deny");
    if (a->login != MI_LOGIN_FROM_IGGY)
        mi_warn(b, "auth", "authorize",
                "takes an MQTT user name for the Iggy user of that name, and the plugin does not check "
                "passwords (auth.login): a password_file or another plugin must, and for the same people");
}

static void check_history(struct mi_build *b)
{
    const struct mi_config *c = b->config;
    enum mi_series series = b->broker ? b->broker->series : MI_SERIES_NOT_KNOWN;
    if (!c->history)
        return;
    if (c->history_rights == MI_HISTORY_BY_SUBSCRIBE && series == MI_SERIES_2_0)
        mi_refuse(
            b, "history", "rights",
            "\"subscribe\" needs Mosquitto 2.1: on 2.0 nobody tells that a SUBSCRIBE was granted; leave "
            "it out");
    else if (c->history_rights == MI_HISTORY_BY_ACL && c->broker.acl == MI_ACL_PLUGIN)
        mi_refuse(b, "history", "rights",
                  "what another plugin (broker.acl) lets a client read cannot be asked for: on Mosquitto 2.1 "
                  "say \"subscribe\" and let that plugin decide about subscriptions to $iggy/#; on 2.0 "
                  "history cannot be had then");
    else if (c->history_rights == MI_HISTORY_BY_ACL && c->broker.acl == MI_ACL_FILE && !c->broker.acl_file)
        mi_refuse(b, "broker", "acl_file",
                  "is not known, and history reads it to find who may read what: name it here");
}

/* ---- limits ---- */

static void check_queue(struct mi_build *b, uint64_t queue)
{
    const struct mi_config *c = b->config;
    bool page_given = mi_is_given(b->given, MI_AT_HISTORY, "page");
    if (c->history && (uint64_t)c->history_page * 2 > queue)
        mi_warn(b, "history", page_given ? "page" : NULL,
                "a page of %u is more than half of the broker's max_queued_messages (%" PRIu64
                "): the broker would drop what does not fit; use at most %" PRIu64,
                c->history_page, queue, queue / 2);
    for (size_t i = 0; i < b->draft_count; i++) {
        const struct mi_route *r = &b->drafts[i].route;
        char sentence[300];
        if (!(r->direction & MI_IN) || (r->catch_up_rate > 0 && r->catch_up_rate <= queue))
            continue;
        snprintf(sentence, sizeof sentence,
                 "a backlog comes faster (%u a second, 0: no bound) than the broker queues for one client "
                 "(max_queued_messages %" PRIu64 "): whoever is slower than that for a second loses messages",
                 r->catch_up_rate, queue);
        mi_route_finding(b, &b->drafts[i], false, "catch_up_rate", sentence);
    }
}

static void check_limits(struct mi_build *b)
{
    const struct mi_broker_view *view = b->broker;
    uint64_t queue = b->config->broker.max_queued_messages;
    if (!reads(b) && !b->config->history)
        return;
    if (view && !view->file)
        mi_warn(b, "broker", NULL,
                "the broker's own file cannot be read (%s): what is not stated here of persistence, "
                "autosave_interval, max_queued_messages and bridges is not known, and the safe value counts",
                view->why ? view->why : "no -c argument");
    if (queue != UINT64_MAX && queue > 0)
        check_queue(b, queue);
    else if (queue == 0 && !(view && view->file && view->file->max_queued_bytes > 0))
        mi_warn(b, "broker", "max_queued_messages",
                "0 bounds nothing: what waits for slow subscribers fills the broker's memory; set "
                "max_queued_messages or max_queued_bytes in mosquitto.conf");
}

/*
 * config: everything an operator can say, as one validated, immutable struct (design section 4).
 *
 * Comes from the plugin_opt_ lines, or from the file that plugin_opt_config_file names; one option table
 * (options.h) drives reading, checking, defaults and the generated reference page. Reading happens on the
 * main thread (cJSON); the result is shared by counting holders.
 */
#ifndef MI_CONFIG_H
#define MI_CONFIG_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"
#include "mapping/topic_map.h"

enum mi_when_full { MI_FULL_DISCONNECT, MI_FULL_DELIVER_WITHOUT_COPY };
enum mi_on_missing { MI_MISSING_HOLD, MI_MISSING_REFUSE };
enum mi_refuse { MI_REFUSE_REASON, MI_REFUSE_DISCONNECT };
enum mi_retain_in { MI_RETAIN_KEEP, MI_RETAIN_NEVER, MI_RETAIN_ALWAYS };
enum mi_start { MI_START_LATEST, MI_START_EARLIEST };
enum mi_feed { MI_FEED_ALWAYS, MI_FEED_ON_SUBSCRIBE };
/* When a position may move: after the broker saved what was injected, or as soon as it took it. */
enum mi_position_rule { MI_POSITION_SAVED, MI_POSITION_TAKEN };
/* Who decides the broker's topic rights beside this plugin. */
enum mi_broker_acl { MI_ACL_NOT_STATED, MI_ACL_NONE, MI_ACL_FILE, MI_ACL_PLUGIN };
enum mi_yes_no { MI_NOT_STATED, MI_NO, MI_YES };
enum mi_history_rights { MI_HISTORY_BY_ACL, MI_HISTORY_BY_SUBSCRIBE };

/* Who knows the MQTT clients' users; what happens when nobody there can be asked, and to whom they refuse. */
enum mi_login_from { MI_LOGIN_FROM_NOBODY, MI_LOGIN_FROM_IGGY, MI_LOGIN_FROM_POSTGRESQL };
enum mi_on_unavailable { MI_AWAY_DENY, MI_AWAY_CACHED, MI_AWAY_NEXT };
enum mi_otherwise { MI_OTHERWISE_DENY, MI_OTHERWISE_NEXT };
/* Whose rights on topics count here, and on topics that no route has to do with. */
enum mi_authorize_by { MI_AUTHORIZE_BY_NOBODY, MI_AUTHORIZE_BY_IGGY, MI_AUTHORIZE_BY_POSTGRESQL };
enum mi_unmapped { MI_UNMAPPED_ALLOW, MI_UNMAPPED_DENY, MI_UNMAPPED_NEXT };

struct mi_auth_config {
    enum mi_login_from login; /* a reload cannot change it */
    enum mi_otherwise otherwise;
    enum mi_on_unavailable on_unavailable;
    uint64_t login_wait_ns; /* 0: never. Where the broker must be answered at once: every client waits */
    uint32_t cache_size;    /* logins; a reload cannot change it */
    uint64_t cache_age_ns, refused_age_ns, stale_age_ns;
    uint32_t rate_per_user, rate_per_address; /* wrong tries a minute; 0: no bound */
    uint32_t logins_per_second;               /* that Iggy is asked for */
    enum mi_authorize_by authorize;           /* a reload cannot change it */
    enum mi_unmapped unmapped;
    uint64_t refresh_ns;                      /* how long rights may be behind what Iggy says */
    const char *connection_file, *connection; /* of PostgreSQL; as read from the file, never logged */
    uint64_t database_timeout_ns;
};

/* Index i of routes is rule i of the map. "unmatched" is the last route, with filter "#". */
struct mi_route {
    const char *name;
    uint32_t id; /* XXH32 of the name, seed 0: journaled; two names with one hash are refused at load */
    enum mi_direction direction;
    bool subscription; /* "via": fed by the plugin's own subscription instead of the MESSAGE event */
    /* targets */
    bool create;                /* make stream and topic when they are missing */
    uint32_t create_partitions; /* 1-1000; also the partition count where details may not be read */
    bool durable;
    uint32_t max_targets;       /* most (stream, topic) pairs a templated route may create */
    uint64_t message_expiry_us; /* of created topics; 0 the server's default */
    /* out */
    enum mi_when_full when_full;
    enum mi_on_missing on_missing;
    enum mi_refuse refuse;
    uint64_t parked_max_size; /* bytes */
    bool send_client_id, send_username;
    uint64_t wait_for_iggy_ns; /* 0: off. MESSAGE waits so long for the commit, and with it every client */
    /* in */
    uint8_t in_qos; /* of native messages */
    enum mi_retain_in retain;
    uint64_t max_age_us; /* 0: any age */
    enum mi_start start;
    enum mi_feed feed;
    uint32_t catch_up_rate; /* messages a second while a reader is behind; 0: no bound */
    enum mi_position_rule position;
    bool stamp; /* injected messages carry a user property by which the out side knows them */
};

/* What a plugin cannot see of its broker (design section 4). As stated in the file; what it leaves out was
 * read from the broker's own file where that could be read (broker_file.h), else it is not stated. */
struct mi_broker_facts {
    enum mi_broker_acl acl;
    const char *acl_file; /* path; NULL: none or not known */
    enum mi_yes_no persistence;
    const char *persistence_file; /* path of mosquitto.db; NULL: not known */
    uint64_t autosave_interval_s; /* 0: the broker saves at its end only; UINT64_MAX: not known */
    uint64_t max_queued_messages; /* 0: no limit; UINT64_MAX: not known */
    enum mi_yes_no bridges;       /* has connections to other brokers */
    bool deaf;                    /* this plugin hears only the clients of one listener of several */
};

struct mi_config {
    const char *name;
    const char *file; /* NULL when it came from plugin_opt_ lines */
    /* iggy */
    const char *const *urls;
    size_t url_count;
    const char *username, *password; /* password as read from its file; never logged */
    const char *token;
    const char *password_file, *token_file; /* where they came from */
    const char *ca_file, *client_cert_file, *client_key_file;
    uint32_t request_timeout_ms, connect_timeout_ms;
    /* journal; a reload cannot change these */
    const char *journal_directory;
    uint64_t journal_max_size, journal_keep, journal_sync_interval_ns;
    bool journal_sync_always;
    /* out */
    uint32_t max_requests, max_batch_messages;
    uint64_t max_batch_bytes;
    uint64_t retry_min_ns, retry_max_ns;
    uint64_t park_after_ns;
    uint64_t stop_timeout_ns; /* how long a stopping broker waits for what is in flight */
    /* in */
    uint64_t max_poll_bytes;
    uint32_t inbox_messages; /* bounded */
    uint32_t inject_per_tick;
    uint64_t rebuild_size;   /* bytes of retained values that are gathered for an empty store */
    uint32_t watch_requests; /* a second, for finding out where something new is */
    /* the broker */
    struct mi_broker_facts broker;
    bool subscriptions; /* a route has "via": "subscription" */
    const char *self_address;
    const char *self_host; /* IP address, or the path of a Unix socket */
    uint16_t self_port;
    const char *self_username, *self_password_file, *self_password;
    /* history */
    bool history; /* the block is there: clients may ask for it */
    uint32_t history_page;
    uint64_t history_max_scan; /* bytes that one request may read from Iggy */
    uint64_t history_max_time_ns;
    uint32_t history_max_requests; /* at a time, in all */
    enum mi_history_rights history_rights;
    /* client events */
    bool events;         /* the block is there */
    size_t events_route; /* then: index of their route, which takes no PUBLISH */
    const char *events_stream, *events_topic;
    bool events_connect, events_disconnect, events_refused, events_subscribe, events_unsubscribe;
    struct mi_auth_config auth;
    /* dead letters; NULL: files beside the journal */
    const char *dead_letter_stream, *dead_letter_topic;
    uint64_t dead_letter_file_max;
    /* status */
    const char *status_address; /* NULL: off */
    uint16_t status_port;
    const char *status_token_file, *status_cert_file, *status_key_file, *status_client_ca_file;
    const char *status_token, *status_cert, *status_key, *status_client_ca; /* their content, or NULL */
    int wake_signal; /* real-time signal number: SIGRTMIN + wake_signal_offset */
    uint32_t wake_signal_offset;
    /* routes */
    struct mi_route *routes;
    const struct mi_rule_spec *rules; /* as stated, beside routes */
    size_t route_count;
    uint32_t topic_cache; /* topics that the map remembers */
    struct mi_map *map;   /* the main thread's: mi_map_match uses its cache; all else is read-only */
};

/* One finding; line is 1-based, 0 when not known. */
struct mi_finding {
    bool refused;     /* else a warning */
    const char *file; /* NULL: the broker's own file (plugin_opt_ lines) */
    unsigned line;
    const char *key;      /* "routes[2].filter" or "plugin_opt_topic"; "": the file as a whole */
    const char *sentence; /* what is wrong and how to mend it */
};
typedef void (*mi_find)(void *context, const struct mi_finding *finding);

struct mi_plugin_opt {
    const char *key, *value; /* key without "plugin_opt_" */
};

/* From the broker's plugin_opt_ lines; reads the file when config_file is among them. Returns NULL when
 * anything was refused (every finding is reported first). The caller holds the result. Main thread. */
struct mi_config *mi_config_from_options(const struct mi_plugin_opt *opts, size_t count, mi_find find,
                                         void *context);
/* What is known of the broker: its series and its own file (broker_file.h). */
enum mi_series { MI_SERIES_NOT_KNOWN, MI_SERIES_2_0, MI_SERIES_2_1 };
struct mi_broker_file;
struct mi_broker_view {
    enum mi_series series;
    const struct mi_broker_file *file; /* NULL: it could not be read */
    const char *why;                   /* a sentence, when it could not */
};
/* The same, with that: the block "broker" is completed from it, and what contradicts it is refused. view may
 * be NULL. */
struct mi_config *mi_config_from_broker(const struct mi_plugin_opt *opts, size_t count,
                                        const struct mi_broker_view *view, mi_find find, void *context);
/* From a file alone (the tool). A reload calls mi_config_from_options again with the options of the start:
 * they may hold plugin_opt_journal beside the file, and secrets are read again. */
struct mi_config *mi_config_from_file(const char *path, mi_find find, void *context);

/* Counts holders; any thread. The last release frees. */
struct mi_config *mi_config_hold(struct mi_config *c);
void mi_config_release(struct mi_config *c);

/* What a reload would change that it cannot (journal directory and so on): reports a warning per key. */
void mi_config_report_fixed(const struct mi_config *running, const struct mi_config *wanted, mi_find find,
                            void *context);

/* The effective configuration as JSON, secrets left out ("check --print"). */
bool mi_config_print(const struct mi_config *c, struct mi_buf *out);

/* docs/configuration.md, whole. */
bool mi_config_reference(struct mi_buf *out);

#endif

/* option_table: the rows of options.h, in the order of the reference page. */
#include "config/options.h"

#include "base/clock.h"
#include "config/build.h"

#include <stddef.h>

#define IN_CONFIG(member) \
    .offset = offsetof(struct mi_config, member), .width = sizeof((struct mi_config *)0)->member
#define IN_DRAFT(member) \
    .offset = offsetof(struct mi_route_draft, member), .width = sizeof((struct mi_route_draft *)0)->member
#define MS(n) ((n)*MI_NS_PER_MS)
#define SECONDS(n) ((n)*MI_NS_PER_S)
#define DAYS(n) (SECONDS(86400ull) * (n))

const struct mi_option mi_options[] = {
    {MI_AT_ROOT, "name", MI_TEXT, IN_CONFIG(name), .min = 1, .max = 255, .absent = "the host's name",
     .help = "A name of this bridge for people: logs and the status show it. Identities are random and kept "
             "in the journal directory."},
    {MI_AT_ROOT, "iggy", MI_OBJECT, .opens = MI_AT_IGGY, .help = "Where Iggy is and who logs in."},
    {MI_AT_ROOT, "journal", MI_OBJECT, .opens = MI_AT_JOURNAL,
     .help = "The disk queue between a PUBLISH and Iggy."},
    {MI_AT_ROOT, "routes", MI_ROUTES, .absent = "no route",
     .help = "The routes in order: the first that matches a PUBLISH takes it, unless it says \"continue\"."},
    {MI_AT_ROOT, "unmatched", MI_OBJECT, .opens = MI_AT_UNMATCHED, .absent = "not copied",
     .help = "Where a PUBLISH goes that no route takes: a last route of that name with the filter `#`."},
    {MI_AT_ROOT, "dead_letter", MI_OBJECT, .opens = MI_AT_DEAD_LETTER,
     .help = "Where messages go that Iggy can never accept."},
    {MI_AT_ROOT, "client_events", MI_OBJECT, .opens = MI_AT_CLIENT_EVENTS, .absent = "off",
     .help = "Clients that come, go, subscribe or are refused, as records in Iggy (client-events.md)."},
    {MI_AT_ROOT, "status", MI_OBJECT, .opens = MI_AT_STATUS,
     .help = "The HTTP listener for metrics and health."},
    {MI_AT_ROOT, "broker", MI_OBJECT, .opens = MI_AT_BROKER, .help = "What concerns Mosquitto itself."},
    {MI_AT_ROOT, "history", MI_OBJECT, .opens = MI_AT_HISTORY, .absent = "nobody can ask for history",
     .help = "Lets MQTT clients ask for the past of a topic with a SUBSCRIBE to `$iggy/FROM/FILTER`."},
    {MI_AT_ROOT, "auth", MI_OBJECT, .opens = MI_AT_AUTH, .absent = "the plugin decides nobody's login",
     .help = "Logins of MQTT clients (docs/security.md)."},
    {MI_AT_ROOT, "limits", MI_OBJECT, .opens = MI_AT_LIMITS,
     .help = "Bounds of requests, batches, retries and queues."},

    {MI_AT_IGGY, "url", MI_URLS, .fallback = "http://127.0.0.1:3000", .max = MI_MAX_URLS, .fixed = true,
     .plugin_opt = "url",
     .help = "`http://HOST:PORT` or `https://HOST:PORT` of Iggy's HTTP API, or a list of them: the next one "
             "is taken after a refused connection. As plugin_opt_url it may be repeated."},
    {MI_AT_IGGY, "username", MI_TEXT, IN_CONFIG(username), .min = 1, .max = 255, .plugin_opt = "username",
     .absent = "a token is used", .help = "Iggy user; goes with `password_file`."},
    {MI_AT_IGGY, "password_file", MI_PATH, IN_CONFIG(password_file), .plugin_opt = "password_file",
     .help = "File that holds the password and nothing else; the line end is cut off. Others must not be "
             "able to read or write it (0640 or 0600). Read again at every reload."},
    {MI_AT_IGGY, "token_file", MI_PATH, IN_CONFIG(token_file), .plugin_opt = "token_file",
     .help = "File that holds a personal access token, instead of `username` and `password_file`; the same "
             "permissions."},
    {MI_AT_IGGY, "ca_file", MI_PATH, IN_CONFIG(ca_file), .absent = "the system's CAs",
     .help =
         "PEM file of the CAs that may sign the certificate of an https server, instead of the system's. The "
         "host name is always checked. This file and the two below are read again at every reload and "
         "after every handshake that failed."},
    {MI_AT_IGGY, "client_cert_file", MI_PATH, IN_CONFIG(client_cert_file),
     .help = "PEM certificate that the bridge shows to the server; goes with `client_key_file`."},
    {MI_AT_IGGY, "client_key_file", MI_PATH, IN_CONFIG(client_key_file),
     .help = "PEM key of `client_cert_file`, without a pass phrase. Others must not be able to read or write "
             "it."},
    {MI_AT_IGGY, "connect_timeout", MI_TIME, IN_CONFIG(connect_timeout_ms), .unit_ns = MI_NS_PER_MS,
     .fallback = "5s", .min = MS(10), .max = SECONDS(600), .fixed = true,
     .help = "How long a connection may take to open; at most `request_timeout`."},
    {MI_AT_IGGY, "request_timeout", MI_TIME, IN_CONFIG(request_timeout_ms), .unit_ns = MI_NS_PER_MS,
     .fallback = "35s", .min = MS(10), .max = SECONDS(600), .fixed = true,
     .help = "How long a request may take. Iggy itself gives a produce up after 10 s: with less than that "
             "here, the bridge hangs up before the server has answered (a warning)."},

    {MI_AT_JOURNAL, "directory", MI_PATH, IN_CONFIG(journal_directory), .fallback = "/var/lib/mosquitto/iggy",
     .fixed = true, .plugin_opt = "journal",
     .help = "Folder of the journal; made when its parent exists. The broker's user must own it. One broker "
             "per folder."},
    {MI_AT_JOURNAL, "max_size", MI_SIZE, IN_CONFIG(journal_max_size), .fallback = "1GB", .min = 1000000,
     .max = 1ull << 50, .fixed = true,
     .help = "Most bytes of the journal on disk, `keep` included. What happens to a PUBLISH beyond it says "
             "the route's `when_journal_full`."},
    {MI_AT_JOURNAL, "keep", MI_SIZE, IN_CONFIG(journal_keep), .fallback = "256MB", .max = 1ull << 50,
     .fixed = true,
     .help = "Bytes of shipped messages that stay, to be sent again should Iggy lose them in a crash; the "
             "first to go when space is needed."},
    {MI_AT_JOURNAL, "sync", MI_CHOICE, IN_CONFIG(journal_sync_always), .choices = "interval|always",
     .fallback = "interval", .fixed = true,
     .help = "`always`: a QoS 1 or 2 message is on the disk before its PUBACK (one device sync each, for the "
             "whole broker). `interval`: at a loss of power what came within the last `sync_interval` may be "
             "lost; a crash of the broker loses nothing either way."},
    {MI_AT_JOURNAL, "sync_interval", MI_TIME, IN_CONFIG(journal_sync_interval_ns), .unit_ns = 1,
     .fallback = "100ms", .min = MS(1), .max = SECONDS(60), .fixed = true,
     .help = "Time between two syncs with `\"sync\": \"interval\"`."},

    {MI_AT_ROUTE, "name", MI_TEXT, IN_DRAFT(rule.name), .min = 1, .max = 255, .required = true,
     .help = "Name of the route, unique; logs and metrics show it. What waits in the journal is tied to it: "
             "renaming a route makes it a new one."},
    {MI_AT_ROUTE, "filter", MI_TEXT, IN_DRAFT(rule.filter), .min = 1, .max = 65535,
     .absent = "`regex` instead, or neither for `in`",
     .help = "MQTT filter. A level may be named: `{room}` is a `+`, a last `{rest...}` is a `#`."},
    {MI_AT_ROUTE, "regex", MI_TEXT, IN_DRAFT(rule.regex), .min = 1, .max = 65535,
     .help = "Regular expression (PCRE2) instead of `filter`; it must match the whole topic. Groups are "
             "`{1}`, `{2}`, ... or `{name}`."},
    {MI_AT_ROUTE, "direction", MI_CHOICE, IN_DRAFT(route.direction), .choices = "out|in|both",
     .first = MI_OUT, .required = true, .help = "`out`: from MQTT to Iggy; `in`: from Iggy to MQTT; `both`."},
    {MI_AT_ROUTE, "via", MI_CHOICE, IN_DRAFT(route.subscription), .choices = "publish|subscription",
     .fallback = "publish", .only = MI_OUT,
     .help = "`publish`: each PUBLISH of a client is copied before it is acknowledged. `subscription`: the "
             "route is fed by a subscription of the plugin to its own broker, and so gets wills, messages of "
             "MQTT bridges and what other routes bring from Iggy, too; needs a `filter` and `broker.address` "
             "(operations.md)."},
    {MI_AT_ROUTE, "stream", MI_TEXT, IN_DRAFT(rule.stream), .min = 1, .max = 4096, .required = true,
     .unmatched = true,
     .help = "Iggy stream; a template: `{NAME}` of a named level or group, `{1}`.. (wildcards or groups in "
             "order), `{topic}`, `{client_id}`, `{username}`, `{property:NAME}`."},
    {MI_AT_ROUTE, "topic", MI_TEXT, IN_DRAFT(rule.topic), .min = 1, .max = 4096, .required = true,
     .unmatched = true, .help = "Iggy topic; a template as `stream`."},
    {MI_AT_ROUTE, "partition_key", MI_TEXT, IN_DRAFT(rule.partition_key), .min = 1, .max = 4096,
     .unmatched = true, .only = MI_OUT, .absent = "`{topic}`",
     .help = "Template of the key that chooses the partition: XXH32(key) mod partitions, as Iggy's SDKs do. "
             "Order is kept per partition."},
    {MI_AT_ROUTE, "balanced", MI_BOOL, IN_DRAFT(rule.balanced), .fallback = "false", .unmatched = true,
     .only = MI_OUT,
     .help = "Spread over the partitions without a key, instead of `partition_key`; order is then kept "
             "within a partition only."},
    {MI_AT_ROUTE, "continue", MI_BOOL, IN_DRAFT(rule.go_on), .fallback = "false", .only = MI_OUT,
     .help = "Try later routes too after this one took a PUBLISH."},
    {MI_AT_ROUTE, "mqtt_topic", MI_TEXT, IN_DRAFT(rule.mqtt_topic), .min = 1, .max = 65535, .only = MI_IN,
     .absent = "the filter, when it is a plain topic",
     .help =
         "Template of the MQTT topic of messages that native producers wrote: `{header:NAME}`, `{stream}`, "
         "`{topic}` (Iggy's), `{partition}` and the names that the stream and topic templates show."},
    {MI_AT_ROUTE, "create", MI_CREATE, .unmatched = true,
     .absent = "`true` for constant names, `false` for templates",
     .help = "Make stream and topic when they are missing: `true`, `false`, or an object that says how "
             "(`routes[].create` below)."},
    {MI_AT_ROUTE, "when_journal_full", MI_CHOICE, IN_DRAFT(route.when_full),
     .choices = "disconnect|deliver_without_copy", .fallback = "disconnect", .unmatched = true,
     .only = MI_OUT,
     .help = "What happens to a QoS 1 or 2 PUBLISH that the journal cannot take: refuse it, or deliver it to "
             "subscribers without a copy in Iggy (counted)."},
    {MI_AT_ROUTE, "on_missing", MI_CHOICE, IN_DRAFT(route.on_missing), .choices = "hold|refuse",
     .fallback = "hold", .unmatched = true, .only = MI_OUT,
     .help = "A stream or topic that is known to be missing: keep the messages and retry, or refuse the "
             "PUBLISH."},
    {MI_AT_ROUTE, "parked_max_size", MI_SIZE, IN_DRAFT(route.parked_max_size), .fallback = "256MB",
     .min = 65536, .max = 1ull << 40, .unmatched = true, .only = MI_OUT,
     .help = "Most bytes of this route's messages that are parked beside the journal while their targets do "
             "not take them (`limits.park_after`). Past it the route refuses as `when_journal_full` says; "
             "what the journal has acknowledged already is still parked."},
    {MI_AT_ROUTE, "refuse", MI_CHOICE, IN_DRAFT(route.refuse), .choices = "reason|disconnect",
     .fallback = "reason", .unmatched = true, .only = MI_OUT,
     .help = "How an MQTT 5 client is refused: by a reason code in the PUBACK, or by a disconnect. MQTT "
             "3.1.1 has no reason codes: its clients are disconnected."},
    {MI_AT_ROUTE, "wait_for_iggy", MI_TIME, IN_DRAFT(route.wait_for_iggy_ns), .unit_ns = 1, .min = MS(1),
     .max = SECONDS(1), .unmatched = true, .only = MI_OUT, .absent = "off",
     .help =
         "After a QoS 1 or 2 message is in the journal, wait up to this long for Iggy's commit before it is "
         "acknowledged; then it is acknowledged all the same and counted as late. **Every client of the "
         "broker "
         "waits meanwhile.** While Iggy is known to be away nothing waits."},
    {MI_AT_ROUTE, "send_client_id", MI_BOOL, IN_DRAFT(route.send_client_id), .fallback = "true",
     .unmatched = true, .only = MI_OUT,
     .help = "Put the publisher's client id into the header `mqtt.client_id`."},
    {MI_AT_ROUTE, "send_username", MI_BOOL, IN_DRAFT(route.send_username), .fallback = "true",
     .unmatched = true, .only = MI_OUT,
     .help = "Put the publisher's user name into the header `mqtt.username`."},
    {MI_AT_ROUTE, "qos", MI_COUNT, IN_DRAFT(route.in_qos), .fallback = "1", .max = 2, .only = MI_IN,
     .help = "QoS of messages that native producers wrote; what came from MQTT keeps its own."},
    {MI_AT_ROUTE, "retain", MI_CHOICE, IN_DRAFT(route.retain), .choices = "keep|never|always",
     .fallback = "keep", .only = MI_IN,
     .help =
         "Retain flag of what is delivered: as it was published (native messages: off), never, or always."},
    {MI_AT_ROUTE, "max_age", MI_TIME, IN_DRAFT(route.max_age_us), .unit_ns = 1000, .min = MS(1),
     .max = DAYS(36500), .only = MI_IN, .absent = "any age",
     .help = "Messages that are older are skipped (counted)."},
    {MI_AT_ROUTE, "start", MI_CHOICE, IN_DRAFT(route.start), .choices = "latest|earliest",
     .fallback = "latest", .only = MI_IN,
     .help = "Where reading begins the first time, when there is no position yet."},
    {MI_AT_ROUTE, "feed", MI_CHOICE, IN_DRAFT(route.feed), .choices = "always|on_subscribe",
     .fallback = "always", .only = MI_IN,
     .help =
         "Read whenever the broker runs, or only while somebody may want it: a subscription that overlaps "
         "the route's topics. On Mosquitto 2.0 `on_subscribe` needs `broker.acl`."},
    {MI_AT_ROUTE, "catch_up_rate", MI_COUNT, IN_DRAFT(route.catch_up_rate), .fallback = "1000",
     .max = 10000000, .only = MI_IN,
     .help =
         "Messages a second that a backlog is delivered with, so that the broker's queues do not overflow; "
         "new messages go through at once. 0: no bound."},
    {MI_AT_ROUTE, "position", MI_CHOICE, IN_DRAFT(route.position), .choices = "saved|taken",
     .fallback = "saved", .only = MI_IN,
     .help = "When the place of reading moves on: `saved` waits until the broker wrote its `mosquitto.db` "
             "(with persistence, else as `taken`), so that a killed broker gets again what it lost; `taken` "
             "moves as soon as the broker has a message, and nothing comes twice."},
    {MI_AT_ROUTE, "stamp", MI_BOOL, IN_DRAFT(route.stamp), .fallback = "false", .only = MI_IN,
     .help = "Give what is delivered the MQTT 5 user property `mosquitto-iggy-origin`, by which a bridge of "
             "the same log knows its own messages when they come back through an MQTT bridge."},

    {MI_AT_CREATE, "partitions", MI_COUNT, IN_DRAFT(route.create_partitions), .fallback = "1", .min = 1,
     .max = 1000,
     .help = "Partitions of a topic that is made. Also what is assumed where Iggy does not let the bridge "
             "read a topic's details."},
    {MI_AT_CREATE, "durable", MI_BOOL, IN_DRAFT(route.durable), .fallback = "true",
     .help = "The server answers only when a message is on its disk. Otherwise Iggy may lose the newest "
             "messages in a crash, and the bridge sends them again from what `journal.keep` holds."},
    {MI_AT_CREATE, "max_targets", MI_COUNT, IN_DRAFT(route.max_targets), .fallback = "100", .min = 1,
     .max = 100000, .help = "Most different (stream, topic) pairs that one route with templates may make."},
    {MI_AT_CREATE, "message_expiry", MI_TIME, IN_DRAFT(route.message_expiry_us), .unit_ns = 1000,
     .min = SECONDS(1), .max = DAYS(36500), .word = "never", .absent = "the server's default",
     .help = "How long Iggy keeps the messages of a topic that is made; `never`: they do not expire."},

    {MI_AT_DEAD_LETTER, "stream", MI_TEXT, IN_CONFIG(dead_letter_stream), .min = 1, .max = MI_MAX_IGGY_NAME,
     .absent = "a file beside the journal", .help = "Stream of the dead letters; goes with `topic`."},
    {MI_AT_DEAD_LETTER, "topic", MI_TEXT, IN_CONFIG(dead_letter_topic), .min = 1, .max = MI_MAX_IGGY_NAME,
     .absent = "a file beside the journal", .help = "Topic of the dead letters; goes with `stream`."},
    {MI_AT_DEAD_LETTER, "max_file_size", MI_SIZE, IN_CONFIG(dead_letter_file_max), .fallback = "64MB",
     .min = 4096, .max = 1ull << 40,
     .help = "Most bytes of the file of dead letters, which takes what Iggy does not. A full one holds the "
             "route; nothing is dropped."},

    {MI_AT_CLIENT_EVENTS, "stream", MI_TEXT, IN_CONFIG(events_stream), .min = 1, .max = MI_MAX_IGGY_NAME,
     .required = true,
     .help = "Stream of the events. It and `topic` are made when they are missing; the topic with one "
             "partition."},
    {MI_AT_CLIENT_EVENTS, "topic", MI_TEXT, IN_CONFIG(events_topic), .min = 1, .max = MI_MAX_IGGY_NAME,
     .required = true, .help = "Topic of the events; the client id is the partition key."},
    {MI_AT_CLIENT_EVENTS, "connect", MI_BOOL, IN_CONFIG(events_connect), .fallback = "true",
     .help = "Clients that connected. Mosquitto 2.0 does not tell."},
    {MI_AT_CLIENT_EVENTS, "disconnect", MI_BOOL, IN_CONFIG(events_disconnect), .fallback = "true",
     .help = "Clients that went, with the broker's reason (2.0 knows none: -1)."},
    {MI_AT_CLIENT_EVENTS, "refused", MI_BOOL, IN_CONFIG(events_refused), .fallback = "true",
     .help = "Logins that this plugin refused (`auth`); what the broker or another plugin refuses is not "
             "seen."},
    {MI_AT_CLIENT_EVENTS, "subscribe", MI_BOOL, IN_CONFIG(events_subscribe), .fallback = "false",
     .help = "Subscriptions. On Mosquitto 2.0 this needs `broker.acl`, and shows what was asked for, before "
             "the rights are checked."},
    {MI_AT_CLIENT_EVENTS, "unsubscribe", MI_BOOL, IN_CONFIG(events_unsubscribe), .fallback = "false",
     .help = "Subscriptions that ended by an UNSUBSCRIBE; the same on 2.0."},

    {MI_AT_STATUS, "listen", MI_ADDRESS, IN_CONFIG(status_address), .fixed = true, .absent = "off",
     .help = "`HOST:PORT` (an IP address) of the listener for `/metrics`, `/health`, `/ready` and "
             "`/status.json`: `127.0.0.1:9465`, `[::1]:9465`. Another address than loopback needs "
             "`token_file` or `client_ca_file`. Port 0 takes any free one. A port that is taken is a "
             "warning."},
    {MI_AT_STATUS, "token_file", MI_PATH, IN_CONFIG(status_token_file),
     .help = "File with a token of at least 16 characters that a caller must send as `Authorization: Bearer "
             "TOKEN`; `/health` and `/ready` answer without it, with their status only. Permissions as "
             "`iggy.password_file`; read again at every reload."},
    {MI_AT_STATUS, "cert_file", MI_PATH, IN_CONFIG(status_cert_file),
     .help = "PEM certificate (with its chain) of the listener, which then speaks https; goes with "
             "`key_file`. Read again at every reload."},
    {MI_AT_STATUS, "key_file", MI_PATH, IN_CONFIG(status_key_file),
     .help = "PEM key of `cert_file`, without a pass phrase; permissions as `iggy.password_file`."},
    {MI_AT_STATUS, "client_ca_file", MI_PATH, IN_CONFIG(status_client_ca_file),
     .help = "PEM file of CAs: a caller must show a client certificate that one of them signed. With "
             "`token_file` both are asked for. Needs `cert_file`."},

    {MI_AT_BROKER, "address", MI_TEXT, IN_CONFIG(self_address), .fallback = "127.0.0.1:1883", .min = 1,
     .max = 255,
     .help = "`HOST:PORT` (an IP address) of a listener of this broker without TLS, or the path of its Unix "
             "socket; for routes with `\"via\": \"subscription\"`."},
    {MI_AT_BROKER, "username", MI_TEXT, IN_CONFIG(self_username), .min = 1, .max = 65535,
     .absent = "anonymous",
     .help = "User that this subscription logs in to the broker as; goes with `password_file`. It needs the "
             "right to read what those routes copy."},
    {MI_AT_BROKER, "password_file", MI_PATH, IN_CONFIG(self_password_file),
     .help = "File with the password of `username`; permissions as `iggy.password_file`, read again at every "
             "reload."},
    {MI_AT_BROKER, "wake_signal", MI_COUNT, IN_CONFIG(wake_signal_offset), .fallback = "5", .min = 1,
     .max = 29, .fixed = true,
     .help = "The broker's main thread is woken by the real-time signal SIGRTMIN + this number; change it "
             "when another plugin uses the same."},

    {MI_AT_BROKER, "acl", MI_CHOICE, IN_CONFIG(broker.acl), .choices = "none|acl_file|plugin",
     .first = MI_ACL_NONE, .absent = "not stated",
     .help = "Who decides the broker's topic rights beside this plugin: its `acl_file`, another plugin, or "
             "nobody. A plugin cannot see it. Needed for `feed: on_subscribe` on Mosquitto 2.0, for "
             "`history` and for `auth.authorize`; never guessed."},
    {MI_AT_BROKER, "acl_file", MI_PATH, IN_CONFIG(broker.acl_file), .fixed = true,
     .absent = "what the broker's file says", .help = "Path of the broker's `acl_file`."},
    {MI_AT_BROKER, "persistence", MI_CHOICE, IN_CONFIG(broker.persistence), .choices = "false|true",
     .first = MI_NO, .fixed = true, .absent = "what the broker's file says",
     .help = "Does the broker keep its sessions and retained messages in a `mosquitto.db`?"},
    {MI_AT_BROKER, "persistence_file", MI_PATH, IN_CONFIG(broker.persistence_file), .fixed = true,
     .absent = "what the broker's file says", .help = "Path of that `mosquitto.db`."},
    {MI_AT_BROKER, "autosave_interval", MI_TIME, IN_CONFIG(broker.autosave_interval_s),
     .unit_ns = MI_NS_PER_S, .max = DAYS(365), .unknown = true, .fixed = true,
     .absent = "what the broker's file says",
     .help = "How often the broker saves it; `0s`: only at its end."},
    {MI_AT_BROKER, "max_queued_messages", MI_COUNT, IN_CONFIG(broker.max_queued_messages), .max = 1000000000,
     .unknown = true, .fixed = true, .absent = "what the broker's file says",
     .help =
         "The broker's own limit of messages that wait for one client; what exceeds it the broker drops."},
    {MI_AT_BROKER, "bridges", MI_CHOICE, IN_CONFIG(broker.bridges), .choices = "false|true", .first = MI_NO,
     .fixed = true, .absent = "what the broker's file says",
     .help = "Has the broker MQTT bridges of its own (`connection`)? They subscribe unseen, so with one "
             "everything is wanted (`feed: on_subscribe`)."},

    {MI_AT_HISTORY, "page", MI_COUNT, IN_CONFIG(history_page), .fallback = "500", .min = 1, .max = 100000,
     .help = "Most messages that one request gets; at most half of the broker's `max_queued_messages`."},
    {MI_AT_HISTORY, "max_scan", MI_SIZE, IN_CONFIG(history_max_scan), .fallback = "256MB", .min = 65536,
     .max = 1ull << 40,
     .help = "Most bytes that one request reads from Iggy; then its result is cut, and says so."},
    {MI_AT_HISTORY, "max_time", MI_TIME, IN_CONFIG(history_max_time_ns), .unit_ns = 1, .fallback = "30s",
     .min = MS(100), .max = SECONDS(3600), .help = "Longest time that one request may take; then it is cut."},
    {MI_AT_HISTORY, "max_requests", MI_COUNT, IN_CONFIG(history_max_requests), .fallback = "32", .min = 1,
     .max = 10000, .help = "Requests for history at a time, of all clients; a further one is refused."},
    {MI_AT_HISTORY, "rights", MI_CHOICE, IN_CONFIG(history_rights), .choices = "acl|subscribe",
     .fallback = "acl",
     .help = "Whose past a client may see: what `broker.acl` lets it read, or (Mosquitto 2.1, with a plugin "
             "that decides) whatever it may subscribe to below `$iggy/`."},

    {MI_AT_AUTH, "login", MI_CHOICE, IN_CONFIG(auth.login), .choices = "none|iggy|postgresql",
     .fallback = "none", .fixed = true,
     .help = "Who knows the MQTT clients' users. `iggy`: an MQTT user is an Iggy user, with that password or "
             "with a personal access token in its place (the user name may then be empty). `postgresql`: the "
             "table `mqtt_user` of a database (docs/postgresql.md); `mosquitto_iggy_postgresql.so` must lie "
             "beside the plugin. `none`: the plugin has no part in logins."},
    {MI_AT_AUTH, "otherwise", MI_CHOICE, IN_CONFIG(auth.otherwise), .choices = "deny|next",
     .fallback = "deny",
     .help = "What happens to a user name and password that are refused there: the client is refused, or the "
             "broker's other plugins and its `password_file` decide. With `next` a CONNECT waits up to "
             "`login_wait` on Mosquitto 2.1 too, since the broker cannot ask them later."},
    {MI_AT_AUTH, "on_unavailable", MI_CHOICE, IN_CONFIG(auth.on_unavailable), .choices = "deny|cached|next",
     .fallback = "deny",
     .help = "While nobody can be asked: refuse who is not remembered within `cache_age`, or let in who is "
             "remembered within `stale_age`, or leave it to the broker's other plugins and its "
             "`password_file`."},
    {MI_AT_AUTH, "login_wait", MI_TIME, IN_CONFIG(auth.login_wait_ns), .unit_ns = 1, .fallback = "100ms",
     .max = SECONDS(1),
     .help =
         "Mosquitto 2.0 must be answered at once: how long a CONNECT that is not remembered waits for its "
         "check. **Every client of the broker waits meanwhile**; all waits together take at most a tenth "
         "of the broker's time, and nobody waits while Iggy is known to be away. What takes longer is "
         "refused, and the client's next try is answered from memory. `0ms`: never wait. Not used on "
         "Mosquitto 2.1, where a CONNECT is answered later, except with `\"otherwise\": \"next\"`."},
    {MI_AT_AUTH, "cache_size", MI_COUNT, IN_CONFIG(auth.cache_size), .fallback = "10000", .min = 16,
     .max = 1000000, .fixed = true,
     .help =
         "Logins that are remembered, as keyed hashes: so many right ones, and as many refused ones. More "
         "than you have users, or a reload disconnects some."},
    {MI_AT_AUTH, "cache_age", MI_TIME, IN_CONFIG(auth.cache_age_ns), .unit_ns = 1, .fallback = "5m",
     .max = DAYS(1),
     .help = "How long a right login is not asked for again. So long an old password, or an account that was "
             "deleted, still lets a client connect."},
    {MI_AT_AUTH, "refused_age", MI_TIME, IN_CONFIG(auth.refused_age_ns), .unit_ns = 1, .fallback = "10s",
     .max = SECONDS(3600), .help = "How long a refused login is not asked for again."},
    {MI_AT_AUTH, "stale_age", MI_TIME, IN_CONFIG(auth.stale_age_ns), .unit_ns = 1, .fallback = "1d",
     .max = DAYS(365), .help = "How long a right login counts with `\"on_unavailable\": \"cached\"`."},
    {MI_AT_AUTH, "rate_per_user", MI_COUNT, IN_CONFIG(auth.rate_per_user), .fallback = "30", .max = 1000000,
     .help = "Wrong tries a minute for one user name, ten at once; further ones are refused without asking. "
             "Right ones do not count. 0: no bound."},
    {MI_AT_AUTH, "rate_per_address", MI_COUNT, IN_CONFIG(auth.rate_per_address), .fallback = "120",
     .max = 1000000,
     .help = "Wrong tries a minute from one address, a sixth of that at once (ten at least). Right ones do "
             "not count. 0: no bound."},
    {MI_AT_AUTH, "logins_per_second", MI_COUNT, IN_CONFIG(auth.logins_per_second), .fallback = "30", .min = 1,
     .max = 1000,
     .help = "Logins a second that Iggy is asked for, two at a time: each costs it about 15 ms of the thread "
             "that serves its HTTP. Who comes faster waits up to five seconds."},
    {MI_AT_AUTH, "authorize", MI_CHOICE, IN_CONFIG(auth.authorize), .choices = "none|iggy|postgresql",
     .fallback = "none", .fixed = true,
     .help =
         "Whose rights on topics count beside what `broker.acl` says. `iggy`: to publish on a topic that a "
         "route has to do with, a client's user needs Iggy's right to send to the stream and topic behind "
         "it, and to read it the right to poll (docs/security.md). Needs the rights read_users and "
         "read_streams, and `broker.acl`. `postgresql`: a row of the table `mqtt_acl` must allow it "
         "(docs/postgresql.md); needs `broker.acl`."},
    {MI_AT_AUTH, "unmapped", MI_CHOICE, IN_CONFIG(auth.unmapped), .choices = "allow|deny|next",
     .fallback = "allow",
     .help = "Topics that no route has to do with, under `\"authorize\": \"iggy\"`: there is nothing against "
             "them, they "
             "are refused, or whoever `broker.acl` names must allow them. What `broker.acl` denies stays "
             "denied in each case."},
    {MI_AT_AUTH, "refresh", MI_TIME, IN_CONFIG(auth.refresh_ns), .unit_ns = 1, .fallback = "30s",
     .min = MS(100), .max = SECONDS(3600),
     .help = "How often users and their rights are read again, under `authorize`: so long may a change "
             "take, and longer with more than 100 users per second of it."},
    {MI_AT_AUTH, "connection_file", MI_PATH, IN_CONFIG(auth.connection_file), .absent = "not used",
     .help =
         "With `postgresql`: file that holds how to reach the database, as libpq takes it "
         "(`host=/run/postgresql "
         "dbname=mqtt user=mosquitto`, or a `postgresql://` URI), and nothing else. Others must not be able "
         "to read or write it (0640 or 0600). Read again at every reload."},
    {MI_AT_AUTH, "database_timeout", MI_TIME, IN_CONFIG(auth.database_timeout_ns), .unit_ns = 1,
     .fallback = "5s", .min = MS(100), .max = SECONDS(60), .fixed = true,
     .help = "With `postgresql`: how long a connection, a query and the wait for one's turn may take."},

    {MI_AT_LIMITS, "max_requests", MI_COUNT, IN_CONFIG(max_requests), .fallback = "24", .min = 1,
     .max = MI_MAX_REQUESTS,
     .help = "Requests to Iggy at the same time; the server refuses the 33rd of a login."},
    {MI_AT_LIMITS, "max_batch_messages", MI_COUNT, IN_CONFIG(max_batch_messages), .fallback = "1000",
     .min = 1, .max = MI_MAX_BATCH_MESSAGES, .help = "Messages of one produce request."},
    {MI_AT_LIMITS, "max_batch_bytes", MI_SIZE, IN_CONFIG(max_batch_bytes), .fallback = "1900KB", .min = 65536,
     .max = MI_MAX_BATCH_BYTES,
     .help = "Bytes of one produce request as sent; the server refuses more than 2 MB. A message of its own "
             "may not be larger either: about 1.4 MB of payload."},
    {MI_AT_LIMITS, "retry_min", MI_TIME, IN_CONFIG(retry_min_ns), .unit_ns = 1, .fallback = "100ms",
     .min = MS(1), .max = SECONDS(600),
     .help = "First pause before a request is sent again; it doubles, with jitter."},
    {MI_AT_LIMITS, "retry_max", MI_TIME, IN_CONFIG(retry_max_ns), .unit_ns = 1, .fallback = "10s",
     .min = MS(1), .max = SECONDS(3600), .help = "Longest pause before a request is sent again."},
    {MI_AT_LIMITS, "park_after", MI_TIME, IN_CONFIG(park_after_ns), .unit_ns = 1, .fallback = "30s",
     .min = MS(1), .max = DAYS(1),
     .help =
         "A stream and topic that is missing, forbidden or refuses everything for so long has its messages "
         "parked in a file of its own beside the journal, so that nobody waits behind them; at once when "
         "they fill the window."},
    {MI_AT_LIMITS, "stop_timeout", MI_TIME, IN_CONFIG(stop_timeout_ns), .unit_ns = 1, .fallback = "5s",
     .max = SECONDS(600),
     .help = "How long a stopping broker waits for requests that are under way. What does not get through "
             "stays in the journal."},
    {MI_AT_LIMITS, "max_poll_bytes", MI_SIZE, IN_CONFIG(max_poll_bytes), .fallback = "4MB", .min = 65536,
     .max = 256000000,
     .help = "Bytes of one poll answer from Iggy. A single message beyond it is skipped (counted)."},
    {MI_AT_LIMITS, "watch_requests", MI_COUNT, IN_CONFIG(watch_requests), .fallback = "200", .min = 1,
     .max = 100000,
     .help = "Requests a second to find out which streams, topics and partitions have something new; "
             "reading itself is not counted."},
    {MI_AT_LIMITS, "inbox_messages", MI_COUNT, IN_CONFIG(inbox_messages), .fallback = "10000", .min = 1,
     .max = 1000000, .fixed = true,
     .help = "Messages from Iggy that wait for the broker; polling pauses when that many do. Their bytes are "
             "bounded by twice `max_poll_bytes`."},
    {MI_AT_LIMITS, "inject_per_tick", MI_COUNT, IN_CONFIG(inject_per_tick), .fallback = "200", .min = 1,
     .max = 100000,
     .help = "Messages from Iggy that the broker takes in one turn of its loop, before it serves its clients "
             "again."},
    {MI_AT_LIMITS, "rebuild_size", MI_SIZE, IN_CONFIG(rebuild_size), .fallback = "16MB", .max = 1ull << 40,
     .fixed = true,
     .help =
         "A broker that starts without retained messages of its own, or is new to a log, gathers the last "
         "retained value of each topic from before the place where reading begins: most bytes of these "
         "values at a time. What does not fit is left out (counted). `0B`: it gathers none."},
    {MI_AT_LIMITS, "topic_cache", MI_COUNT, IN_CONFIG(topic_cache), .fallback = "10000", .max = 10000000,
     .help = "MQTT topics whose route is remembered; 0 for none."},
};
const size_t mi_option_count = sizeof mi_options / sizeof *mi_options;
_Static_assert(sizeof mi_options / sizeof *mi_options <= MI_MAX_OPTIONS, "given[] of build.h is too short");

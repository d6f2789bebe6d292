/*
 * iggy_client: Apache Iggy's HTTP API for C.
 *
 * Supports Iggy 0.8 and 0.9 and newer, found by probing; older servers are refused. The client has no thread
 * of its own: its caller drives it with iggy_client_drive, and every callback runs inside that call (or
 * inside iggy_client_free never). One client belongs to one thread; only iggy_client_wake may be called from
 * others.
 *
 * Each call makes one logical request, at most one attempt, except that an answer 401 leads to one new login
 * and one repetition (Iggy's HTTP sessions end at every server restart). Nothing here waits, sleeps or
 * retries: the caller learns from struct iggy_result what happened and what may be done, and decides.
 *
 * Strings and spans given to a call are copied before it returns. Spans handed to a callback live until it
 * returns. Callbacks get a pointer to what was read in any case; it is all zero (a string empty) unless the
 * kind is IGGY_OK.
 *
 * A callback may make and cancel requests, but neither drive nor free its client.
 */
#ifndef IGGY_CLIENT_H
#define IGGY_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Only the shared library exports: a program that links the static one keeps its own list of exported
 * symbols. */
#if defined(__GNUC__) && defined(IGGY_CLIENT_EXPORTS)
#define IGGY_API __attribute__((visibility("default")))
#else
#define IGGY_API
#endif

/* ---- results
 * ------------------------------------------------------------------------------------------------- */

/* What went wrong, from the inside out. */
enum iggy_kind {
    IGGY_OK = 0,
    IGGY_LOCAL,   /* refused before anything was sent: unusable name, too large, no credentials; text says why
                   */
    IGGY_CONNECT, /* no connection: refused, unreachable, name not found, TLS failed, also when the server
                     refuses the client certificate. Nothing was sent, or nothing that the server took */
    IGGY_CUT,     /* the connection ended before a whole answer came */
    IGGY_TIMEOUT, /* no whole answer within the request timeout */
    IGGY_HTTP,    /* an answer with a status that is not 2xx */
    IGGY_GARBLED, /* a 2xx answer that cannot be read, or one larger than the bound */
    IGGY_TOO_OLD, /* the server is older than 0.8 */
    IGGY_LOGIN,   /* the login that the request needed failed; http_status and code are the login's (0 when it
                     was   cut or timed out). For a second the client tries no other login, and requests fail at
                     once */
    IGGY_CANCELLED, /* iggy_client_cancel or a change of credentials */
    IGGY_HELD_BACK  /* iggy_produce_unless_signs: there was a sign first. Nothing was sent */
};

/* Whether the request had an effect on the server: the question that decides if sending again can duplicate.
 */
enum iggy_effect {
    IGGY_EFFECT_DONE,   /* yes */
    IGGY_EFFECT_NONE,   /* certainly not */
    IGGY_EFFECT_UNKNOWN /* perhaps, perhaps later */
};

/* Whether the same request makes sense again. */
enum iggy_retry {
    IGGY_RETRY_NEVER, /* it will be refused again unchanged */
    IGGY_RETRY_LATER  /* after a pause; at least retry_after_ms */
};

struct iggy_result {
    enum iggy_kind kind;
    enum iggy_effect effect;
    enum iggy_retry retry;
    int http_status;         /* 0 when there was no answer */
    uint32_t code;           /* Iggy's error number (the "id" member), 0 when there was none */
    uint32_t retry_after_ms; /* from Retry-After, else 0 */
    bool new_connection;     /* the request opened a new TCP connection: one sign of a restarted server */
    bool logged_in_again;    /* a token that had not expired was refused: another sign */
    bool too_large;          /* with IGGY_GARBLED: the answer was cut off at its bound, not read */
    size_t answer_bytes;     /* bytes of the answer's body that came */
    char text[240];          /* for people: one sentence with endpoint, status and reason; never a secret */
};

/* Name of a kind, for logs and metrics: "ok", "connect", ... */
IGGY_API const char *iggy_kind_name(enum iggy_kind kind);

struct iggy_span {
    const uint8_t *data;
    size_t len;
};

/* A message id, exact: hi is the upper 64 of 128 bits. */
struct iggy_id {
    uint64_t hi, lo;
};

/* ---- the client
 * ---------------------------------------------------------------------------------------------- */

struct iggy_client;

struct iggy_options {
    const char *const
        *urls;        /* "http://host:port" or https; tried in turn after a failed connection or 503 id 58 */
    size_t url_count; /* at least 1 */
    const char *username; /* with password: JWT by login, renewed before it expires */
    const char *password;
    const char *token;   /* a personal access token instead; bearer on 0.9, token login on 0.8 */
    const char *ca_file; /* PEM, only these CAs; NULL: the system's store. The host name is always checked */
    const char *client_cert_file; /* PEM, NULL: none */
    const char *client_key_file;  /* PEM without a pass phrase; NULL: in client_cert_file */
    uint32_t connect_timeout_ms;  /* 0: 5000 */
    uint32_t request_timeout_ms;  /* 0: 35000, longer than the server's produce deadline of 10 s */
    size_t max_answer_bytes;      /* 0: 16 MiB; a longer answer is IGGY_GARBLED */
    uint32_t max_connections;     /* 0: 24 */
    /* One line for people; may be NULL. Called from iggy_client_drive. */
    void (*log)(void *context, const char *line);
    void *log_context;
};

/* Makes a client and opens nothing. Returns NULL with a sentence in error (may be NULL) when the options
 * cannot work: no URL, a TLS file that is unreadable or holds something else, key without certificate, user
 * without password. */
IGGY_API struct iggy_client *iggy_client_new(const struct iggy_options *options, char *error,
                                             size_t error_size);

/* Ends all requests (their callbacks are not called) and frees the client. NULL is allowed. */
IGGY_API void iggy_client_free(struct iggy_client *client);

/* A descriptor of the caller's own that iggy_client_drive waits for beside the client's. */
struct iggy_wait {
    int fd;
    short events;  /* POLLIN, POLLOUT */
    short revents; /* out */
};

/* Waits up to timeout_ms (0: not at all) for the client's sockets, the caller's descriptors or
 * iggy_client_wake, then does what can be done and calls the callbacks of what has ended. Returns requests
 * still under way. */
IGGY_API size_t iggy_client_drive(struct iggy_client *client, uint32_t timeout_ms, struct iggy_wait *extra,
                                  size_t extra_count);

/* Makes iggy_client_drive return early. Any thread; async-signal-unsafe. */
IGGY_API void iggy_client_wake(struct iggy_client *client);

/* Changes user, password or token from now on; requests under way end as they would. */
IGGY_API int iggy_client_set_credentials(struct iggy_client *client, const char *username,
                                         const char *password, const char *token);

/* Closes idle connections and forgets what was probed: after a reload of TLS files or of DNS. */
IGGY_API void iggy_client_reset(struct iggy_client *client);

/* Other TLS files from now on (as in struct iggy_options; NULL: none), and what iggy_client_reset does. -1
 * with a sentence in error when they cannot work: then those before stay. The files are also read again after
 * a handshake that failed, so one that was renewed in place is taken up at the next try. */
IGGY_API int iggy_client_set_tls(struct iggy_client *client, const char *ca_file,
                                 const char *client_cert_file, const char *client_key_file, char *error,
                                 size_t error_size);

/* Why the last request of the caller's own login reached nobody, or nobody who let it in; empty once one did.
 * A sentence for people, never a secret; valid until the next iggy_client_drive. */
IGGY_API const char *iggy_client_trouble(const struct iggy_client *client);

enum iggy_server { IGGY_SERVER_UNKNOWN, IGGY_SERVER_0_8, IGGY_SERVER_0_9 };
/* What the probe found; IGGY_SERVER_0_9 stands for 0.9 and everything newer. */
IGGY_API enum iggy_server iggy_client_server(const struct iggy_client *client);

/* True when name can travel in a URL path and mean a name: 1-255 bytes, not all digits, not '+' and digits
 * (measured: the server reads "+7" as the id 7). */
IGGY_API bool iggy_name_usable(struct iggy_span name);

/* Identifies a request under way; 0 is none. */
typedef uint64_t iggy_request;

/* Ends a request; its callback is called with IGGY_CANCELLED before this returns. Unknown ids are ignored. */
IGGY_API void iggy_client_cancel(struct iggy_client *client, iggy_request request);

/* Ends with nothing but a result. */
typedef void (*iggy_done)(void *arg, const struct iggy_result *result);

/* All request functions below return 0 when memory is out, and then never call the callback; any other
 * failure, IGGY_LOCAL included, comes through the callback, from the next iggy_client_drive. */

/* ---- producing
 * ----------------------------------------------------------------------------------------------- */

/* One produce body, built once, sent as often as needed. Belongs to the caller; not tied to a client. */
struct iggy_batch;

IGGY_API struct iggy_batch *iggy_batch_new(void);
IGGY_API void iggy_batch_free(struct iggy_batch *batch);
/* Empties it and chooses the partition of all its messages. */
IGGY_API void iggy_batch_start(struct iggy_batch *batch, uint32_t partition_id);
/* As iggy_batch_start, but the server chooses: by key (1-255 bytes), or in turn when key.len is 0. */
IGGY_API void iggy_batch_start_keyed(struct iggy_batch *batch, struct iggy_span key);
/* Adds a message. headers is the raw header block (may be empty): entries of key kind (1 byte), key length
 * (u32 LE), key, value kind, value length (u32 LE), value. The payload is the concatenation of two parts
 * (either may be empty, not both). Returns false, and the batch as it was, when memory is out or the payload
 * is empty. */
IGGY_API bool iggy_batch_add(struct iggy_batch *batch, struct iggy_id id, struct iggy_span headers,
                             struct iggy_span payload_1, struct iggy_span payload_2);
IGGY_API size_t iggy_batch_count(const struct iggy_batch *batch);
/* Exact bytes of the request body as it stands. */
IGGY_API size_t iggy_batch_bytes(const struct iggy_batch *batch);
/* Upper bound of what one message adds to iggy_batch_bytes; pure. */
IGGY_API size_t iggy_batch_message_bytes(size_t header_bytes, size_t payload_bytes);

struct iggy_produced {
    bool confirmed;        /* the server sent an offset (0.9 and newer; may be absent there too) */
    uint32_t partition_id; /* with confirmed */
    uint64_t base_offset;  /* with confirmed: offset of the first message; the batch is one consecutive run */
    bool persisted;        /* the server says it is on disk, not only in memory */
};
typedef void (*iggy_produced_fn)(void *arg, const struct iggy_result *result,
                                 const struct iggy_produced *produced);

/* Sends the batch, which must live unchanged until the callback. */
IGGY_API iggy_request iggy_produce(struct iggy_client *client, struct iggy_span stream,
                                   struct iggy_span topic, const struct iggy_batch *batch,
                                   iggy_produced_fn done, void *arg);

/* How many signs there were that the server is another process than before: a token was refused before its
 * end, or a connection had to be opened while none of those used before was alive. The first connection is
 * one too.
 */
IGGY_API uint64_t iggy_client_signs(const struct iggy_client *client);
/* As iggy_produce, but for a caller that wants to look at the server after each sign before it sends anything
 * more: nothing is sent, and the result is IGGY_HELD_BACK, once iggy_client_signs is another than signs. */
IGGY_API iggy_request iggy_produce_unless_signs(struct iggy_client *client, uint64_t signs,
                                                struct iggy_span stream, struct iggy_span topic,
                                                const struct iggy_batch *batch, iggy_produced_fn done,
                                                void *arg);

/* ---- polling
 * ------------------------------------------------------------------------------------------------- */

enum iggy_strategy { IGGY_FROM_OFFSET, IGGY_FROM_TIMESTAMP, IGGY_FROM_FIRST, IGGY_FROM_LAST, IGGY_FROM_NEXT };

struct iggy_poll {
    struct iggy_span stream, topic;
    uint32_t partition_id;
    enum iggy_strategy strategy;
    uint64_t value; /* an offset, or microseconds since 1970 */
    uint32_t count;
    const char *consumer; /* NULL: "1" */
    bool auto_commit;
    size_t max_bytes; /* 0: the client's max_answer_bytes; a longer answer is cut off and is IGGY_GARBLED */
};

struct iggy_polled_message {
    struct iggy_id id;
    uint64_t offset;
    uint64_t timestamp;        /* microseconds: append time */
    uint64_t origin_timestamp; /* microseconds: when the server decoded the message */
    struct iggy_span headers;  /* as one raw block, whichever form the server sent */
    struct iggy_span payload;
};

struct iggy_polled {
    uint32_t partition_id;
    uint64_t current_offset; /* newest offset; 0 for an empty partition too. 0.8 answers 0 when nothing is
                                returned */
    size_t count;
    const struct iggy_polled_message *messages;
};
typedef void (*iggy_polled_fn)(void *arg, const struct iggy_result *result, const struct iggy_polled *polled);

IGGY_API iggy_request iggy_poll(struct iggy_client *client, const struct iggy_poll *poll, iggy_polled_fn done,
                                void *arg);

/* ---- streams, topics, partitions
 * ------------------------------------------------------------------------------ */

struct iggy_partition {
    uint32_t id;
    uint64_t created_at;     /* microseconds */
    uint64_t current_offset; /* tail; ambiguous with messages_count 0 */
    uint64_t messages_count; /* net of expiry */
};

struct iggy_topic {
    uint32_t id;
    struct iggy_span name;
    uint64_t created_at;
    uint64_t messages_count;
    uint32_t partitions_count;
    const struct iggy_partition *partitions; /* partitions_count of them in details, NULL in lists */
};
typedef void (*iggy_topic_fn)(void *arg, const struct iggy_result *result, const struct iggy_topic *topic);

struct iggy_stream {
    uint32_t id;
    struct iggy_span name;
    uint64_t created_at;
    uint64_t messages_count;
    uint32_t topics_count;
    const struct iggy_topic *topics; /* topics_count of them in details, NULL in lists */
};
typedef void (*iggy_stream_fn)(void *arg, const struct iggy_result *result, const struct iggy_stream *stream);
typedef void (*iggy_streams_fn)(void *arg, const struct iggy_result *result,
                                const struct iggy_stream *streams, size_t count);

IGGY_API iggy_request iggy_get_streams(struct iggy_client *client, iggy_streams_fn done, void *arg);
IGGY_API iggy_request iggy_get_stream(struct iggy_client *client, struct iggy_span stream,
                                      iggy_stream_fn done, void *arg);
IGGY_API iggy_request iggy_get_topic(struct iggy_client *client, struct iggy_span stream,
                                     struct iggy_span topic, iggy_topic_fn done, void *arg);
/* "Exists already" is IGGY_OK for both creations. */
IGGY_API iggy_request iggy_create_stream(struct iggy_client *client, struct iggy_span name, iggy_done done,
                                         void *arg);

struct iggy_topic_options {
    uint32_t partitions;        /* 1-1000 */
    uint64_t message_expiry_us; /* 0: the server's default, UINT64_MAX: never */
    uint64_t max_bytes;         /* 0: the server's default, UINT64_MAX: unlimited */
    bool durable; /* on disk before the answer. The option's name is asked of the server (GET /options/topic);
                     a server that cannot is told in the result's text and the topic is created without */
};
IGGY_API iggy_request iggy_create_topic(struct iggy_client *client, struct iggy_span stream,
                                        struct iggy_span name, const struct iggy_topic_options *options,
                                        iggy_done done, void *arg);
IGGY_API iggy_request iggy_delete_stream(struct iggy_client *client, struct iggy_span stream, iggy_done done,
                                         void *arg);
IGGY_API iggy_request iggy_delete_topic(struct iggy_client *client, struct iggy_span stream,
                                        struct iggy_span topic, iggy_done done, void *arg);
IGGY_API iggy_request iggy_create_partitions(struct iggy_client *client, struct iggy_span stream,
                                             struct iggy_span topic, uint32_t count, iggy_done done,
                                             void *arg);
IGGY_API iggy_request iggy_delete_partitions(struct iggy_client *client, struct iggy_span stream,
                                             struct iggy_span topic, uint32_t count, iggy_done done,
                                             void *arg);

/* ---- consumer offsets
 * ----------------------------------------------------------------------------------------- */

struct iggy_offset {
    uint64_t current; /* tail of the partition */
    bool stored;      /* false: nothing is stored (the server answers 404; here that is IGGY_OK) */
    uint64_t offset;  /* with stored: the last processed offset, inclusive */
};
typedef void (*iggy_offset_fn)(void *arg, const struct iggy_result *result, const struct iggy_offset *offset);

IGGY_API iggy_request iggy_get_offset(struct iggy_client *client, struct iggy_span stream,
                                      struct iggy_span topic, uint32_t partition_id, const char *consumer,
                                      iggy_offset_fn done, void *arg);
IGGY_API iggy_request iggy_store_offset(struct iggy_client *client, struct iggy_span stream,
                                        struct iggy_span topic, uint32_t partition_id, const char *consumer,
                                        uint64_t offset, iggy_done done, void *arg);
IGGY_API iggy_request iggy_delete_offset(struct iggy_client *client, struct iggy_span stream,
                                         struct iggy_span topic, uint32_t partition_id, const char *consumer,
                                         iggy_done done, void *arg);

/* ---- server and users
 * ----------------------------------------------------------------------------------------- */

/* Public health endpoint; needs no login. */
IGGY_API iggy_request iggy_ping(struct iggy_client *client, iggy_done done, void *arg);

struct iggy_stats {
    uint64_t start_time;      /* microseconds; changes with every start of the server */
    struct iggy_span version; /* "0.9.0", may be empty */
};
typedef void (*iggy_stats_fn)(void *arg, const struct iggy_result *result, const struct iggy_stats *stats);
/* Needs the right read_servers. */
IGGY_API iggy_request iggy_get_stats(struct iggy_client *client, iggy_stats_fn done, void *arg);

struct iggy_user {
    uint32_t id;
    uint64_t created_at;
    struct iggy_span username;
    bool active;
    struct iggy_span permissions; /* the JSON value as the server sent it, "null" when there are none */
};
typedef void (*iggy_user_fn)(void *arg, const struct iggy_result *result, const struct iggy_user *user);
/* The client's own user; needs no right. */
IGGY_API iggy_request iggy_get_me(struct iggy_client *client, iggy_user_fn done, void *arg);
IGGY_API iggy_request iggy_get_user(struct iggy_client *client, struct iggy_span name, iggy_user_fn done,
                                    void *arg);
/* All users, without their permissions. Needs the right read_users. */
typedef void (*iggy_users_fn)(void *arg, const struct iggy_result *result, const struct iggy_user *users,
                              size_t count);
IGGY_API iggy_request iggy_get_users(struct iggy_client *client, iggy_users_fn done, void *arg);

/* Rights, as a set. Of one stream only those from IGGY_MANAGE_STREAM on are given, of one topic only those
 * from IGGY_MANAGE_TOPIC on; the global ones are for every stream and topic. */
enum iggy_right {
    IGGY_MANAGE_SERVERS = 1 << 0,
    IGGY_READ_SERVERS = 1 << 1,
    IGGY_MANAGE_USERS = 1 << 2,
    IGGY_READ_USERS = 1 << 3,
    IGGY_MANAGE_STREAM = 1 << 4,
    IGGY_READ_STREAM = 1 << 5,
    IGGY_MANAGE_TOPIC = 1 << 6,
    IGGY_READ_TOPIC = 1 << 7,
    IGGY_POLL_MESSAGES = 1 << 8,
    IGGY_SEND_MESSAGES = 1 << 9
};
enum iggy_scope { IGGY_SCOPE_ALL, IGGY_SCOPE_STREAM, IGGY_SCOPE_TOPIC };
/* Do these rights of that scope let a user append to a topic, or poll it? Any of several does. */
IGGY_API bool iggy_rights_send(enum iggy_scope scope, uint32_t rights);
IGGY_API bool iggy_rights_poll(enum iggy_scope scope, uint32_t rights);

/* One entry of a user's permissions. Streams and topics are named by their ids, which the server gives out
 * again after a deletion, and rights on a deleted one stay: only created_at tells whom a right was given on.
 */
struct iggy_grant {
    enum iggy_scope scope;
    uint32_t stream_id, topic_id; /* as far as the scope needs them */
    uint32_t rights;
};
/* Reads what struct iggy_user shows, entry by entry (those without any right too); "null" has none. False
 * when it is no such text or memory is out; entries may have been given by then. Needs no client. */
IGGY_API bool iggy_permissions_read(struct iggy_span permissions,
                                    void (*grant)(void *arg, const struct iggy_grant *grant), void *arg);

/* permissions: JSON text or empty for none. */
IGGY_API iggy_request iggy_create_user(struct iggy_client *client, const char *username, const char *password,
                                       bool active, struct iggy_span permissions, iggy_done done, void *arg);
IGGY_API iggy_request iggy_delete_user(struct iggy_client *client, struct iggy_span name, iggy_done done,
                                       void *arg);
/* What the server says of somebody else's credentials. */
enum iggy_verdict {
    IGGY_VERDICT_UNKNOWN, /* it could not be asked, or did not say: never to be taken for a refusal */
    IGGY_VERDICT_REFUSED, /* no such user or token, not with this password, disabled */
    IGGY_VERDICT_GOOD
};
/* user is the record of whoever logged in, all zero unless the verdict is IGGY_VERDICT_GOOD. */
typedef void (*iggy_verdict_fn)(void *arg, const struct iggy_result *result, enum iggy_verdict verdict,
                                const struct iggy_user *user);
/* Checks a login by logging in, and reads the user's own record (no right is needed for that). The client's
 * own session is neither used nor changed. A login costs the server about 15 ms of the thread that serves
 * all of its HTTP. The copies of the secrets are wiped after use. */
IGGY_API iggy_request iggy_check_password(struct iggy_client *client, struct iggy_span username,
                                          struct iggy_span password, iggy_verdict_fn done, void *arg);
/* The same for a personal access token; user says whose it is. */
IGGY_API iggy_request iggy_check_token(struct iggy_client *client, struct iggy_span token,
                                       iggy_verdict_fn done, void *arg);
typedef void (*iggy_token_fn)(void *arg, const struct iggy_result *result, const char *token);
/* expiry_us: 0 never. The raw token is shown this once. */
IGGY_API iggy_request iggy_create_token(struct iggy_client *client, const char *name, uint64_t expiry_us,
                                        iggy_token_fn done, void *arg);
IGGY_API iggy_request iggy_delete_token(struct iggy_client *client, const char *name, iggy_done done,
                                        void *arg);

/* ---- helpers that need no client
 * ------------------------------------------------------------------------------ */

/* The partition that Iggy's SDKs choose for a key: XXH32 with seed 0 modulo the count. partitions must not be
 * 0. */
IGGY_API uint32_t iggy_partition_of_key(struct iggy_span key, uint32_t partitions);

#ifdef __cplusplus
}
#endif
#endif

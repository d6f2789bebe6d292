#include "transport.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "reason.h"
#include "sockets.h"
#include "transport_options.h"

#define UPLOAD_CHUNK 131072L /* bytes that libcurl copies from a request body at a time */
#define KEEP_BODY 262144     /* an answer buffer larger than this is not kept for the next exchange */
#define MAX_RETRY_AFTER_MS 3600000u

struct exchange {
    struct transport *transport;
    struct exchange *next, *previous; /* in active, or next in idle */
    CURL *easy;
    struct curl_slist *headers;
    struct mi_span body;
    size_t sent; /* bytes of body that libcurl has taken */
    struct mi_buf answer;
    bool began; /* a connection stands, and the request goes out */
    bool too_large;
    bool write;
    bool opened; /* its connection is new */
    bool guarded, held;
    uint64_t signs;
    size_t url;
    exchange_done done;
    void *arg;
    char why[CURL_ERROR_SIZE];
};

struct transport {
    struct transport_options *options;
    size_t url;
    CURLM *multi;
    int wake_fd;
    bool reset_wanted; /* the old connections go with the multi handle as soon as nothing uses it */
    struct exchange *active, *idle;
    size_t active_count;
    struct sockets sockets;
    uint64_t signs;
    struct mi_buf spare; /* the memory of an earlier answer */
    struct curl_waitfd *waits;
    size_t waits_size;
};

static CURLM *new_multi(const struct transport *t);
static bool prepare(struct transport *t, struct exchange *e, const struct exchange_request *request);
static void finish(struct transport *t, struct exchange *e, CURLcode code);
static void retire(struct transport *t, struct exchange *e);
static struct exchange *take_idle(struct transport *t);
static void free_exchange(struct exchange *e);
static bool perform(struct transport *t);
static void wait_for_events(struct transport *t, uint32_t timeout_ms, struct iggy_wait *extra, size_t count);

/* ---- life
 * ---------------------------------------------------------------------------------------------------- */

struct transport *transport_new(const struct iggy_options *options, char *error, size_t error_size)
{
    struct transport_options *own = transport_options_new(options, error, error_size);
    if (!own)
        return NULL;
    struct transport *t = calloc(1, sizeof *t);
    if (!t || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        snprintf(error, error_size, "out of memory");
        transport_options_free(own);
        free(t);
        return NULL;
    }
    t->options = own;
    t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    t->multi = new_multi(t);
    if (t->wake_fd < 0 || !t->multi) {
        snprintf(error, error_size, "cannot start the HTTP client: %s", strerror(errno));
        transport_free(t);
        return NULL;
    }
    return t;
}

static CURLM *new_multi(const struct transport *t)
{
    CURLM *multi = curl_multi_init();
    if (multi) {
        curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
        curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)t->options->max_connections);
    }
    return multi;
}

void transport_free(struct transport *t)
{
    if (!t)
        return;
    while (t->active)
        retire(t, t->active);
    for (struct exchange *e; (e = t->idle) != NULL;) {
        t->idle = e->next;
        free_exchange(e);
    }
    curl_multi_cleanup(t->multi);
    if (t->wake_fd >= 0)
        close(t->wake_fd);
    transport_options_free(t->options);
    sockets_fini(&t->sockets);
    mi_buf_fini(&t->spare);
    free(t->waits);
    free(t);
    curl_global_cleanup();
}

/* ---- starting and ending an exchange
 * -------------------------------------------------------------------------- */

struct exchange *transport_start(struct transport *t, const struct exchange_request *request,
                                 exchange_done done, void *arg)
{
    if (t->reset_wanted && !t->active) {
        CURLM *multi = new_multi(t);
        if (multi) {
            curl_multi_cleanup(t->multi);
            t->multi = multi;
            t->reset_wanted = false;
        }
    }
    struct exchange *e = take_idle(t);
    if (!e)
        return NULL;
    e->done = done;
    e->arg = arg;
    if (!prepare(t, e, request) || curl_multi_add_handle(t->multi, e->easy) != CURLM_OK) {
        curl_slist_free_all(e->headers);
        free_exchange(e);
        return NULL;
    }
    e->previous = NULL;
    e->next = t->active;
    if (e->next)
        e->next->previous = e;
    t->active = e;
    t->active_count++;
    return e;
}

bool transport_stop(struct transport *t, struct exchange *e)
{
    bool whole_sent = e->sent == e->body.len;
    retire(t, e);
    return whole_sent;
}

/* Takes it out of the multi handle and keeps it for the next exchange. */
static void retire(struct transport *t, struct exchange *e)
{
    curl_multi_remove_handle(t->multi, e->easy);
    curl_slist_free_all(e->headers);
    e->headers = NULL;
    if (e->previous)
        e->previous->next = e->next;
    else
        t->active = e->next;
    if (e->next)
        e->next->previous = e->previous;
    t->active_count--;
    mi_buf_fini(&e->answer);
    e->next = t->idle;
    t->idle = e;
}

static struct exchange *take_idle(struct transport *t)
{
    struct exchange *e = t->idle;
    if (e) {
        t->idle = e->next;
        return e;
    }
    e = calloc(1, sizeof *e);
    if (e && !(e->easy = curl_easy_init())) {
        free(e);
        return NULL;
    }
    return e;
}

static void free_exchange(struct exchange *e)
{
    curl_easy_cleanup(e->easy);
    mi_buf_fini(&e->answer);
    free(e);
}

/* ---- one handle
 * ------------------------------------------------------------------------------------------------ */

static size_t on_read(char *to, size_t size, size_t count, void *arg)
{
    struct exchange *e = arg;
    size_t room = size * count, left = e->body.len - e->sent;
    size_t n = left < room ? left : room;
    if (n > 0)
        memcpy(to, e->body.data + e->sent, n);
    e->sent += n;
    return n;
}

/* Called whenever a connection stands and the request is about to go out. The second time, libcurl would send
 * it again by itself, because a kept connection turned out to be dead. The server may have acted on it: not
 * for a write. */
static int on_begin(void *arg, char *to_ip, char *from_ip, int to_port, int from_port)
{
    (void)to_ip, (void)from_ip, (void)to_port, (void)from_port;
    struct exchange *e = arg;
    if (e->opened) {
        e->transport->signs += !sockets_alive(&e->transport->sockets, e->url);
        sockets_use(&e->transport->sockets, e);
        e->opened = false;
    }
    bool untouched = e->body.len > 0 && e->sent == 0;
    if (e->began && e->write && !untouched)
        return CURL_PREREQFUNC_ABORT;
    e->held = e->guarded && e->signs != e->transport->signs;
    if (e->held)
        return CURL_PREREQFUNC_ABORT;
    e->began = true;
    e->sent = 0;
    return CURL_PREREQFUNC_OK;
}

static curl_socket_t on_open(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)purpose;
    struct exchange *e = arg;
    e->opened = true;
    return sockets_open(&e->transport->sockets, e, e->url, address);
}

static int on_close(void *arg, curl_socket_t fd)
{
    struct transport *t = arg;
    return sockets_close(&t->sockets, fd);
}

/* libcurl rewinds a body before it sends it again; on_begin decides whether it may. */
static int on_rewind(void *arg, curl_off_t offset, int origin)
{
    struct exchange *e = arg;
    bool allowed = offset == 0 && origin == SEEK_SET && (!e->write || e->sent == 0);
    return allowed ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static size_t on_write(char *data, size_t size, size_t count, void *arg)
{
    struct exchange *e = arg;
    if (mi_buf_add(&e->answer, data, size * count))
        return size * count;
    e->too_large = size * count > e->answer.max - e->answer.len; /* else memory is out */
    return 0;
}

static bool set_headers(struct exchange *e, const struct exchange_request *request)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:");
    struct curl_slist *longer = list;
    if (longer && request->body.len > 0)
        longer = curl_slist_append(list, "Content-Type: application/json");
    if (longer && request->bearer) {
        size_t size = strlen(request->bearer) + sizeof "Authorization: Bearer ";
        char *line = malloc(size);
        if (line) {
            snprintf(line, size, "Authorization: Bearer %s", request->bearer);
            longer = curl_slist_append(list, line);
            explicit_bzero(line, size);
        } else {
            longer = NULL;
        }
        free(line);
    }
    e->headers = list;
    return longer != NULL && curl_easy_setopt(e->easy, CURLOPT_HTTPHEADER, list) == CURLE_OK;
}

static void set_body(struct exchange *e, const struct exchange_request *request)
{
    CURL *easy = e->easy;
    if (request->body.len > 0) {
        curl_easy_setopt(easy, CURLOPT_POST, 1L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(easy, CURLOPT_READDATA, e);
        curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, on_rewind);
        curl_easy_setopt(easy, CURLOPT_SEEKDATA, e);
        curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, UPLOAD_CHUNK);
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
}

static bool prepare(struct transport *t, struct exchange *e, const struct exchange_request *request)
{
    CURL *easy = e->easy;
    curl_easy_reset(easy);
    e->answer = t->spare;
    mi_buf_init(&t->spare, 0);
    mi_buf_reset(&e->answer);
    e->answer.max = request->max_answer;
    e->body = request->body;
    e->sent = 0;
    e->began = false;
    e->too_large = false;
    e->write = request->write;
    e->transport = t;
    e->opened = e->held = false;
    e->guarded = request->guarded;
    e->signs = request->signs;
    e->url = t->url;
    e->why[0] = '\0';

    struct mi_buf url;
    mi_buf_init(&url, 65536);
    mi_buf_add_text(&url, t->options->urls[t->url]);
    mi_buf_add_text(&url, request->path);
    bool ok = mi_buf_add_byte(&url, 0) &&
              curl_easy_setopt(easy, CURLOPT_URL, (const char *)url.data) == CURLE_OK &&
              transport_options_apply(t->options, easy) && set_headers(e, request);
    mi_buf_fini(&url);
    if (!ok)
        return false;
    set_body(e, request);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_begin);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, e);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, e);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, t);
    /* While the old multi handle is still in use, neither its connections nor the CAs that it keeps in
     * memory. */
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, t->reset_wanted ? 1L : 0L);
    if (t->reset_wanted)
        curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, e);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, e->why);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, e);
    return true;
}

/* ---- how it ended
 * ----------------------------------------------------------------------------------------------- */

static enum exchange_end end_of(const struct exchange *e, CURLcode code, bool new_connection)
{
    if (code == CURLE_OK)
        return EXCHANGE_ANSWERED;
    if (e->too_large)
        return EXCHANGE_TOO_LARGE;
    if (e->held)
        return EXCHANGE_HELD;
    if (!e->began || (new_connection && e->answer.len == 0 && reason_is_certificate_alert(e->why)))
        return EXCHANGE_NO_CONNECT;
    return code == CURLE_OPERATION_TIMEDOUT ? EXCHANGE_TIMEOUT : EXCHANGE_CUT;
}

/* Then the files may have been renewed, and what libcurl keeps of them in memory is old. */
static bool is_tls_failure(CURLcode code, enum exchange_end end)
{
    switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CLIENTCERT:
        return true;
    default:
        return code != CURLE_OK && code != CURLE_COULDNT_CONNECT && end == EXCHANGE_NO_CONNECT;
    }
}

static void read_headers(struct answer *answer, CURL *easy)
{
    curl_off_t retry_after = 0;
    curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &retry_after);
    if (retry_after > 0)
        answer->retry_after_ms =
            retry_after < MAX_RETRY_AFTER_MS / 1000 ? (uint32_t)retry_after * 1000 : MAX_RETRY_AFTER_MS;
    struct curl_header *header = NULL;
    if (curl_easy_header(easy, "Iggy-Durability", 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
        answer->durability = true;
        answer->persisted = strcasecmp(header->value, "persisted") == 0;
    }
}

static void finish(struct transport *t, struct exchange *e, CURLcode code)
{
    long status = 0, connects = 0;
    curl_easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(e->easy, CURLINFO_NUM_CONNECTS, &connects);
    struct answer answer = {
        .facts = {.end = end_of(e, code, connects > 0),
                  .whole_sent = e->sent == e->body.len,
                  .write = e->write},
        .url = e->url,
        .new_connection = connects > 0,
        .body = e->answer.data,
        .len = e->answer.len,
        .why = code == CURLE_OK ? ""
               : e->why[0]      ? e->why
                                : curl_easy_strerror(code),
    };
    /* The status line of an answer that did not arrive whole is not an answer. */
    if (answer.facts.end == EXCHANGE_ANSWERED || answer.facts.end == EXCHANGE_TOO_LARGE) {
        answer.facts.status = (int)status;
        read_headers(&answer, e->easy);
    }
    if (answer.facts.end == EXCHANGE_NO_CONNECT)
        transport_leave_url(t, e->url);
    if (is_tls_failure(code, answer.facts.end))
        transport_reset(t);
    exchange_done done = e->done;
    void *arg = e->arg;
    /* The callback may start the next exchange, with this one's handle: it gets copies. */
    struct mi_buf body = e->answer;
    mi_buf_init(&e->answer, 0);
    char why[CURL_ERROR_SIZE], room[CURL_ERROR_SIZE];
    snprintf(why, sizeof why, "%s", answer.why);
    bool https = strncasecmp(t->options->urls[e->url], "https:", 6) == 0;
    answer.why = reason_of(code, why, https, room);
    retire(t, e);
    done(arg, &answer);
    if (body.cap <= KEEP_BODY && !t->spare.data)
        t->spare = body;
    else
        mi_buf_fini(&body);
}

/* ---- driving
 * ----------------------------------------------------------------------------------------------------- */

bool transport_drive(struct transport *t, uint32_t timeout_ms, struct iggy_wait *extra, size_t extra_count)
{
    /* What was just started goes out before anything is waited for. */
    bool ended = perform(t);
    wait_for_events(t, ended ? 0 : timeout_ms, extra, extra_count);
    return perform(t) || ended;
}

static bool perform(struct transport *t)
{
    int running = 0, left = 0;
    bool ended = false;
    curl_multi_perform(t->multi, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(t->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE)
            continue;
        char *e = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &e);
        finish(t, (struct exchange *)(void *)e, code);
        ended = true;
    }
    return ended;
}

static short to_curl_events(short events)
{
    return (short)((events & POLLIN ? CURL_WAIT_POLLIN : 0) | (events & POLLOUT ? CURL_WAIT_POLLOUT : 0));
}

static short from_curl_events(short events)
{
    return (short)((events & CURL_WAIT_POLLIN ? POLLIN : 0) | (events & CURL_WAIT_POLLOUT ? POLLOUT : 0));
}

static bool reserve_waits(struct transport *t, size_t count)
{
    if (count <= t->waits_size)
        return true;
    struct curl_waitfd *waits = realloc(t->waits, count * sizeof *waits);
    if (!waits)
        return false;
    t->waits = waits;
    t->waits_size = count;
    return true;
}

static void wait_for_events(struct transport *t, uint32_t timeout_ms, struct iggy_wait *extra, size_t count)
{
    for (size_t i = 0; i < count; i++)
        extra[i].revents = 0;
    if (!reserve_waits(t, count + 1))
        return;
    t->waits[0] = (struct curl_waitfd){.fd = t->wake_fd, .events = CURL_WAIT_POLLIN};
    for (size_t i = 0; i < count; i++)
        t->waits[i + 1] = (struct curl_waitfd){.fd = extra[i].fd, .events = to_curl_events(extra[i].events)};
    int timeout = timeout_ms > INT32_MAX ? INT32_MAX : (int)timeout_ms;
    if (curl_multi_poll(t->multi, t->waits, (unsigned)count + 1, timeout, NULL) != CURLM_OK)
        return;
    for (size_t i = 0; i < count; i++)
        extra[i].revents = from_curl_events(t->waits[i + 1].revents);
    if (t->waits[0].revents) {
        uint64_t wakes;
        while (read(t->wake_fd, &wakes, sizeof wakes) < 0 && errno == EINTR)
            continue;
    }
}

/* An own descriptor and not curl_multi_wakeup, so that transport_reset may replace the multi handle at any
 * time. */
void transport_wake(struct transport *t)
{
    uint64_t one = 1;
    while (write(t->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

uint64_t transport_signs(const struct transport *t)
{
    return t->signs;
}

void transport_sign(struct transport *t)
{
    t->signs++;
}

size_t transport_active(const struct transport *t)
{
    return t->active_count;
}

/* ---- base URLs
 * ---------------------------------------------------------------------------------------------------- */

size_t transport_url(const struct transport *t)
{
    return t->url;
}

const char *transport_url_text(const struct transport *t, size_t url)
{
    return t->options->urls[url];
}

void transport_leave_url(struct transport *t, size_t url)
{
    if (t->url == url)
        t->url = (url + 1) % t->options->url_count;
}

bool transport_set_tls(struct transport *t, const char *ca_file, const char *cert_file, const char *key_file,
                       char *error, size_t error_size)
{
    return transport_options_set_tls(t->options, ca_file, cert_file, key_file, error, error_size);
}

void transport_reset(struct transport *t)
{
    t->reset_wanted = true;
}

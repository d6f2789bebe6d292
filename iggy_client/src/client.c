#include "client.h"

#include "request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ANSWER (16u << 20)
#define MAX_CONNECTIONS 24u

static bool check_credentials(const char *username, const char *password, const char *token, char *error,
                              size_t error_size);

static void on_settled(void *context, const struct iggy_result *failure)
{
    struct iggy_client *c = context;
    bool connected = session_new_connection(c->session);
    for (struct request *r = c->waiting.first; r; r = r->next)
        r->new_connection |= connected && !r->open;
    if (failure)
        requests_fail_waiting(c, failure);
}

static void on_log(void *context, const char *line)
{
    struct iggy_client *c = context;
    if (c->log)
        c->log(c->log_context, line);
}

struct iggy_client *iggy_client_new(const struct iggy_options *options, char *error, size_t error_size)
{
    char nowhere[1];
    if (!error || error_size == 0) {
        error = nowhere;
        error_size = sizeof nowhere;
    }
    if (!check_credentials(options->username, options->password, options->token, error, error_size))
        return NULL;
    struct transport *transport = transport_new(options, error, error_size);
    if (!transport)
        return NULL;
    struct iggy_client *c = calloc(1, sizeof *c);
    struct session_events events = {.settled = on_settled, .log = on_log, .context = c};
    struct session *session = c ? session_new(transport, &mi_clock_system, &events) : NULL;
    if (!session || !session_set_credentials(session, options->username, options->password, options->token)) {
        snprintf(error, error_size, "out of memory");
        session_free(session);
        transport_free(transport);
        free(c);
        return NULL;
    }
    c->transport = transport;
    c->session = session;
    c->max_answer = options->max_answer_bytes ? options->max_answer_bytes : MAX_ANSWER;
    c->max_connections = options->max_connections ? options->max_connections : MAX_CONNECTIONS;
    c->log = options->log;
    c->log_context = options->log_context;
    return c;
}

static bool check_credentials(const char *username, const char *password, const char *token, char *error,
                              size_t error_size)
{
    const char *fault = NULL;
    if (token && (username || password))
        fault = "give either user and password or a token, not both";
    else if (username && !password)
        fault = "a user is given without a password";
    else if (password && !username)
        fault = "a password is given without a user";
    else if (token && (token[0] == '\0' || strpbrk(token, "\r\n \t")))
        fault = "the token is empty or holds white space";
    if (fault)
        snprintf(error, error_size, "%s", fault);
    return fault == NULL;
}

void iggy_client_free(struct iggy_client *client)
{
    if (!client)
        return;
    requests_drop(client, &client->waiting);
    requests_drop(client, &client->sent);
    requests_drop(client, &client->ended);
    session_free(client->session);
    transport_free(client->transport);
    free(client);
}

size_t iggy_client_drive(struct iggy_client *client, uint32_t timeout_ms, struct iggy_wait *extra,
                         size_t extra_count)
{
    requests_start(client);
    bool delivered = requests_deliver(client);
    transport_drive(client->transport, delivered ? 0 : timeout_ms, extra, extra_count);
    requests_start(client);
    requests_deliver(client);
    return client->waiting.count + client->sent.count + client->ended.count;
}

void iggy_client_wake(struct iggy_client *client)
{
    transport_wake(client->transport);
}

int iggy_client_set_credentials(struct iggy_client *client, const char *username, const char *password,
                                const char *token)
{
    char error[100];
    if (!check_credentials(username, password, token, error, sizeof error)) {
        on_log(client, error);
        return -1;
    }
    return session_set_credentials(client->session, username, password, token) ? 0 : -1;
}

void iggy_client_reset(struct iggy_client *client)
{
    session_reset(client->session);
    transport_reset(client->transport);
}

int iggy_client_set_tls(struct iggy_client *client, const char *ca_file, const char *client_cert_file,
                        const char *client_key_file, char *error, size_t error_size)
{
    char nowhere[1];
    if (!error || error_size == 0) {
        error = nowhere;
        error_size = sizeof nowhere;
    }
    if (!transport_set_tls(client->transport, ca_file, client_cert_file, client_key_file, error, error_size))
        return -1;
    iggy_client_reset(client);
    return 0;
}

const char *iggy_client_trouble(const struct iggy_client *client)
{
    return client->trouble;
}

enum iggy_server iggy_client_server(const struct iggy_client *client)
{
    return session_server(client->session);
}

uint64_t iggy_client_signs(const struct iggy_client *client)
{
    return transport_signs(client->transport);
}

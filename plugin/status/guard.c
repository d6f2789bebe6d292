#include "status/guard.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool mi_guard_is_pem(const char *text)
{
    gnutls_x509_crt_t *list = NULL;
    unsigned count = 0;
    gnutls_datum_t data = {(unsigned char *)text, (unsigned)strlen(text)};
    if (gnutls_x509_crt_list_import2(&list, &count, &data, GNUTLS_X509_FMT_PEM, 0) < 0)
        return false;
    for (unsigned i = 0; i < count; i++)
        gnutls_x509_crt_deinit(list[i]);
    gnutls_free(list);
    return count > 0;
}

bool mi_guard_set(struct mi_guard *g, const struct mi_listener_access *access)
{
    char *token = access->token ? strdup(access->token) : NULL;
    if (access->token && !token)
        return false;
    mi_guard_clear(g);
    g->token = token;
    g->certificate = access->client_ca != NULL;
    return true;
}

void mi_guard_clear(struct mi_guard *g)
{
    if (g->token)
        explicit_bzero(g->token, strlen(g->token));
    free(g->token);
    g->token = NULL;
}

/* The time it takes tells the length of what was given, and nothing of the token. */
static bool same_token(const char *token, const char *given)
{
    size_t len = strlen(token), given_len = strlen(given);
    unsigned char different = given_len != len;
    for (size_t i = 0; i < given_len; i++)
        different |= (unsigned char)(given[i] ^ token[i % len]);
    return !different;
}

static bool has_token(const struct mi_guard *g, struct MHD_Connection *connection)
{
    static const char scheme[] = "Bearer ";
    const char *given =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
    if (!given || strncasecmp(given, scheme, sizeof scheme - 1) != 0)
        return false;
    given += sizeof scheme - 1;
    return same_token(g->token, given + strspn(given, " "));
}

/* The daemon only asks for a certificate; whether one came, and from whom, is looked at here. */
static bool has_certificate(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = 0;
    return info && info->tls_session &&
           gnutls_certificate_verify_peers(info->tls_session, &purpose, 1, &status) == 0 && status == 0;
}

unsigned mi_guard_check(const struct mi_guard *g, struct MHD_Connection *connection)
{
    if (g->certificate && !has_certificate(connection))
        return MHD_HTTP_FORBIDDEN;
    if (g->token && !has_token(g, connection))
        return MHD_HTTP_UNAUTHORIZED;
    return MHD_HTTP_OK;
}

#include "reason.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *certificate_alert(const char *curl_text);
static bool is_no_tls(const char *curl_text);

bool reason_is_certificate_alert(const char *curl_text)
{
    return certificate_alert(curl_text) != NULL;
}

const char *reason_of(CURLcode code, const char *curl_text, bool https, char room[CURL_ERROR_SIZE])
{
    const char *alert = certificate_alert(curl_text);
    if (alert && strcmp(alert, "certificate required") == 0)
        return "the server wants a client certificate";
    if (alert) {
        snprintf(room, CURL_ERROR_SIZE, "the server refuses the client certificate (%s)", alert);
        return room;
    }
    if (https && code == CURLE_SSL_CONNECT_ERROR && is_no_tls(curl_text))
        return "the answer is no TLS: is it http:// there?";
    bool odd =
        code == CURLE_GOT_NOTHING || code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY;
    if (!https && odd) {
        snprintf(room, CURL_ERROR_SIZE, "%s (is it https:// there?)", curl_text);
        return room;
    }
    return curl_text;
}

/* OpenSSL's name of the alert (RFC 8446, 6.2), NULL when there is none about certificates. Other TLS
 * libraries write otherwise: there the text stays as it is, and the effect is unknown. */
static const char *certificate_alert(const char *curl_text)
{
    static const char *const alerts[] = {"certificate required",
                                         "bad certificate",
                                         "unsupported certificate",
                                         "certificate revoked",
                                         "certificate expired",
                                         "certificate unknown",
                                         "unknown ca"};
    const char *alert = strstr(curl_text, " alert ");
    for (size_t i = 0; alert && i < sizeof alerts / sizeof alerts[0]; i++)
        if (strncmp(alert + strlen(" alert "), alerts[i], strlen(alerts[i])) == 0)
            return alerts[i];
    return NULL;
}

static bool is_no_tls(const char *curl_text)
{
    return strstr(curl_text, "wrong version number") || strstr(curl_text, "packet length too long") ||
           strstr(curl_text, "record layer failure");
}

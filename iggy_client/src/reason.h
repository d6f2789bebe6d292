/*
 * reason: why an exchange failed, in words for people where libcurl's do not say what to do.
 */
#ifndef IGGY_REASON_H
#define IGGY_REASON_H

#include <curl/curl.h>
#include <stdbool.h>

/* Is this text of libcurl an alert by which a server refuses the client's certificate, or the lack of one? In
 * TLS 1.3 it comes only after the first request went out, which the server then never took (RFC 8446, 4.4.2.4
 * and 6.2). */
bool reason_is_certificate_alert(const char *curl_text);

/* The words for code and libcurl's text about it; https: what the URL says. May be curl_text or lie in room.
 */
const char *reason_of(CURLcode code, const char *curl_text, bool https, char room[CURL_ERROR_SIZE]);

#endif

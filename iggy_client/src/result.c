#include "result.h"

#include "json_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an error body says; empty spans where it says nothing. */
struct error_body {
    uint32_t id;
    struct mi_span code, reason;
};

static bool read_error(struct error_body *error, uint8_t *text, size_t len);
static void clean(char *text);
static void describe(char *text, size_t size, const struct answer *answer, const struct error_body *error);

void result_of_answer(struct iggy_result *result, struct answer *answer, const char *label, const char *url,
                      bool quiet)
{
    struct error_body error = {0};
    bool failed = answer->facts.status >= 300;
    char *plain = NULL;
    if (failed && answer->facts.end == EXCHANGE_ANSWERED) {
        /* Not all errors are JSON: the reader unescapes in place, so the plain text is kept for the sentence
         * first. */
        plain =
            strndup(answer->body ? (const char *)answer->body : "", answer->len < 120 ? answer->len : 120);
        if (!read_error(&error, answer->body, answer->len))
            error = (struct error_body){0, {0}, mi_span_of(plain)};
    }
    if (quiet)
        error.reason = (struct mi_span){0};
    answer->facts.code = error.id;
    struct outcome o = classify(&answer->facts);
    memset(result, 0, sizeof *result);
    result->kind = o.kind;
    result->effect = o.effect;
    result->retry = o.retry;
    result->http_status = answer->facts.status;
    result->code = error.id;
    result->retry_after_ms = answer->retry_after_ms;
    result->new_connection = answer->new_connection;
    result->too_large = answer->facts.end == EXCHANGE_TOO_LARGE;
    result->answer_bytes = answer->len;
    if (o.kind != IGGY_OK) {
        char what[112];
        describe(what, sizeof what, answer, &error);
        snprintf(result->text, sizeof result->text, "%.70s at %.50s: %s", label, url, what);
        clean(result->text);
    }
    free(plain);
}

/* {"id":2010,"code":"topic_id_not_found","reason":"...","field":"topic_id"} */
static bool read_error(struct error_body *error, uint8_t *text, size_t len)
{
    struct json j = json_start(text, len);
    struct mi_span key;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "id"))
            json_u32(&j, &error->id);
        else if (json_key_is(key, "code"))
            json_string(&j, &error->code);
        else if (json_key_is(key, "reason"))
            json_string(&j, &error->reason);
        else
            json_skip(&j);
    }
    return json_end(&j);
}

static int shown(struct mi_span s, size_t most)
{
    return (int)(s.len < most ? s.len : most);
}

static const char *chars(struct mi_span s)
{
    return s.data ? (const char *)s.data : "";
}

static void describe(char *text, size_t size, const struct answer *answer, const struct error_body *error)
{
    if (answer->facts.end == EXCHANGE_TOO_LARGE) {
        snprintf(text, size, "the answer is larger than allowed (status %d)", answer->facts.status);
    } else if (answer->facts.end != EXCHANGE_ANSWERED) {
        snprintf(text, size, "%s", answer->why);
    } else if (error->code.len > 0) {
        snprintf(text, size, "%d %.*s (%u)%s%.*s", answer->facts.status, shown(error->code, 40),
                 chars(error->code), error->id, error->reason.len ? ": " : "", shown(error->reason, 90),
                 chars(error->reason));
    } else {
        snprintf(text, size, "status %d %.*s", answer->facts.status, shown(error->reason, 90),
                 chars(error->reason));
    }
}

/* Text from outside must not break a log line: no control characters, no half character at the end. */
static void clean(char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            text[i] = ' ';
    size_t start = len;
    while (start > 0 && len - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start > 0 && (unsigned char)text[start - 1] >= 0xC0) {
        unsigned char lead = (unsigned char)text[start - 1];
        size_t wanted = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (len - start < wanted)
            len = start - 1;
    }
    while (len > 0 && text[len - 1] == ' ')
        len--;
    text[len] = '\0';
}

void result_set(struct iggy_result *result, enum iggy_kind kind, enum iggy_retry retry, const char *format,
                ...)
{
    memset(result, 0, sizeof *result);
    result->kind = kind;
    result->effect = IGGY_EFFECT_NONE;
    result->retry = retry;
    va_list args;
    va_start(args, format);
    vsnprintf(result->text, sizeof result->text, format, args);
    va_end(args);
    clean(result->text);
}

void result_garbled(struct iggy_result *result, bool write)
{
    struct outcome o = classify_garbled(write);
    result->kind = o.kind;
    result->effect = o.effect;
    result->retry = o.retry;
    snprintf(result->text, sizeof result->text,
             "an answer with status %d that cannot be read: is this an Iggy server?", result->http_status);
}

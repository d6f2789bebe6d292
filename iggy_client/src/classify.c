#include "classify.h"

#include <stddef.h>

struct row {
    int status;    /* HTTP status */
    uint32_t code; /* Iggy's number, 0: any */
    enum iggy_effect effect;
    enum iggy_retry retry;
};

/* Answers that are not 2xx; the first row that fits counts. What is not here is unheard of: unknown, later.
 */
static const struct row rows[] = {
    {400, IGGY_CODE_REQUEST_TOO_OLD, IGGY_EFFECT_UNKNOWN, IGGY_RETRY_LATER},
    {400, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {401, 0, IGGY_EFFECT_NONE, IGGY_RETRY_LATER},
    {403, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {404, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {405, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {409, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {413, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {415, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {422, 0, IGGY_EFFECT_NONE, IGGY_RETRY_NEVER},
    {429, 0, IGGY_EFFECT_NONE, IGGY_RETRY_LATER},
    {503, IGGY_CODE_NOT_COMMITTED, IGGY_EFFECT_UNKNOWN, IGGY_RETRY_LATER},
    {503, 0, IGGY_EFFECT_NONE, IGGY_RETRY_LATER},
    {504, 0, IGGY_EFFECT_UNKNOWN, IGGY_RETRY_LATER},
};

static struct outcome classify_status(const struct exchange_facts *facts)
{
    if (facts->status >= 200 && facts->status < 300)
        return (struct outcome){IGGY_OK, IGGY_EFFECT_DONE, IGGY_RETRY_NEVER};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == facts->status && (rows[i].code == 0 || rows[i].code == facts->code))
            return (struct outcome){IGGY_HTTP, rows[i].effect, rows[i].retry};
    return (struct outcome){IGGY_HTTP, IGGY_EFFECT_UNKNOWN, IGGY_RETRY_LATER};
}

static bool is_success(int status)
{
    return status >= 200 && status < 300;
}

struct outcome classify(const struct exchange_facts *facts)
{
    struct outcome o = {IGGY_CUT, IGGY_EFFECT_UNKNOWN, IGGY_RETRY_LATER};
    switch (facts->end) {
    case EXCHANGE_ANSWERED:
        o = classify_status(facts);
        break;
    case EXCHANGE_NO_CONNECT:
        return (struct outcome){IGGY_CONNECT, IGGY_EFFECT_NONE, IGGY_RETRY_LATER};
    case EXCHANGE_HELD:
        return (struct outcome){IGGY_HELD_BACK, IGGY_EFFECT_NONE, IGGY_RETRY_LATER};
    case EXCHANGE_CUT:
        break;
    case EXCHANGE_TIMEOUT:
        o.kind = IGGY_TIMEOUT;
        break;
    case EXCHANGE_TOO_LARGE:
        o = is_success(facts->status) ? classify_garbled(facts->write) : classify_status(facts);
        break;
    }
    bool unanswered = facts->end == EXCHANGE_CUT || facts->end == EXCHANGE_TIMEOUT;
    if (o.effect == IGGY_EFFECT_UNKNOWN && (!facts->write || (unanswered && !facts->whole_sent)))
        o.effect = IGGY_EFFECT_NONE;
    return o;
}

struct outcome classify_garbled(bool write)
{
    return (struct outcome){IGGY_GARBLED, write ? IGGY_EFFECT_UNKNOWN : IGGY_EFFECT_NONE, IGGY_RETRY_LATER};
}

const char *iggy_kind_name(enum iggy_kind kind)
{
    switch (kind) {
    case IGGY_OK:
        return "ok";
    case IGGY_LOCAL:
        return "local";
    case IGGY_CONNECT:
        return "connect";
    case IGGY_CUT:
        return "cut";
    case IGGY_TIMEOUT:
        return "timeout";
    case IGGY_HTTP:
        return "http";
    case IGGY_GARBLED:
        return "garbled";
    case IGGY_TOO_OLD:
        return "too_old";
    case IGGY_LOGIN:
        return "login";
    case IGGY_CANCELLED:
        return "cancelled";
    case IGGY_HELD_BACK:
        return "held_back";
    }
    return "unknown";
}

/*
 * outcome: the table.
 */
#include "out/outcome.h"

#include <stddef.h>

enum { ANY = -1 };

/* The first line that fits wins. */
static const struct {
    int kind; /* enum iggy_kind or ANY */
    int status;
    int64_t code;
    enum mi_outcome outcome;
} TABLE[] = {
    {IGGY_OK, ANY, ANY, MI_OUTCOME_STORED},       {IGGY_CONNECT, ANY, ANY, MI_OUTCOME_LINK},
    {IGGY_TOO_OLD, ANY, ANY, MI_OUTCOME_LINK},    {IGGY_LOGIN, ANY, ANY, MI_OUTCOME_TOKEN},
    {IGGY_LOCAL, ANY, ANY, MI_OUTCOME_TARGET},    {IGGY_HTTP, 401, ANY, MI_OUTCOME_TOKEN},
    {IGGY_HTTP, 403, ANY, MI_OUTCOME_TARGET},     {IGGY_HTTP, 404, ANY, MI_OUTCOME_TARGET},
    {IGGY_HTTP, 413, ANY, MI_OUTCOME_MESSAGE},    {IGGY_HTTP, 422, ANY, MI_OUTCOME_MESSAGE},
    {IGGY_HTTP, 400, 4022, MI_OUTCOME_MESSAGE},   {IGGY_HTTP, 400, 4023, MI_OUTCOME_MESSAGE},
    {IGGY_HTTP, 400, 4024, MI_OUTCOME_MESSAGE},   {IGGY_HTTP, 400, 4028, MI_OUTCOME_MESSAGE},
    {IGGY_HTTP, 429, ANY, MI_OUTCOME_NOT_STORED}, {IGGY_HTTP, 503, 57, MI_OUTCOME_UNKNOWN},
    {IGGY_HTTP, 503, ANY, MI_OUTCOME_NOT_STORED},
};

enum mi_outcome mi_outcome_of(const struct iggy_result *result)
{
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        if ((TABLE[i].kind == ANY || TABLE[i].kind == (int)result->kind) &&
            (TABLE[i].status == ANY || TABLE[i].status == result->http_status) &&
            (TABLE[i].code == ANY || TABLE[i].code == (int64_t)result->code))
            return TABLE[i].outcome;
    }
    /* Cut, cancelled and so on: the client knows when nothing had left this machine yet. */
    return result->kind != IGGY_HTTP && result->effect == IGGY_EFFECT_NONE ? MI_OUTCOME_NOT_STORED
                                                                           : MI_OUTCOME_UNKNOWN;
}

const char *mi_outcome_name(enum mi_outcome outcome)
{
    static const char *const NAMES[MI_OUTCOMES] = {"stored",  "not stored", "no connection",  "login refused",
                                                   "unknown", "target",     "message refused"};
    return (unsigned)outcome < MI_OUTCOMES ? NAMES[outcome] : "?";
}

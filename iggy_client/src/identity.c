#include "identity.h"

#include <string.h>

#include "json_reader.h"
#include "names.h"

void identity_write_login(struct mi_buf *to, struct iggy_span username, struct iggy_span password)
{
    mi_buf_add_text(to, "{\"username\":");
    names_add_json(to, username);
    mi_buf_add_text(to, ",\"password\":");
    names_add_json(to, password);
    mi_buf_add_text(to, "}");
}

void identity_write_token(struct mi_buf *to, struct iggy_span token)
{
    mi_buf_add_text(to, "{\"token\":");
    names_add_json(to, token);
    mi_buf_add_text(to, "}");
}

static void read_access_token(struct json *j, struct identity *identity)
{
    struct mi_span key;
    for (bool more = json_object(j); more && json_member(j, &key);) {
        if (json_key_is(key, "token"))
            json_string(j, &identity->token);
        else if (json_key_is(key, "expiry"))
            json_u64(j, &identity->expiry_s);
        else
            json_skip(j);
    }
}

bool identity_read(struct answer *answer, struct identity *identity)
{
    struct json j = json_start(answer->body, answer->len);
    struct mi_span key;
    for (bool more = json_object(&j); more && json_member(&j, &key);) {
        if (json_key_is(key, "user_id"))
            json_u32(&j, &identity->user);
        else if (!json_key_is(key, "access_token") || json_peek(&j) != JSON_OBJECT)
            json_skip(&j);
        else
            read_access_token(&j, identity);
    }
    return json_end(&j) && identity->token.len > 0 &&
           memchr(identity->token.data, '\n', identity->token.len) == NULL &&
           memchr(identity->token.data, '\r', identity->token.len) == NULL;
}

/* Iggy's numbers for "not with these credentials". 43 and 44: a length that no name or password of a user can
 * have. 20: how 0.8 says that there is no such token. */
static const struct {
    bool token;
    int status;
    uint32_t code;
} refusals[] = {
    {false, 400, 42}, {false, 400, 43}, {false, 400, 44}, {false, 400, 47}, {true, 401, 0},
    {true, 404, 20},  {true, 400, 42},  {true, 400, 47},  {true, 400, 53},  {true, 400, 54},
};

enum iggy_verdict identity_verdict(const struct iggy_result *result, bool token)
{
    if (result->kind == IGGY_OK)
        return IGGY_VERDICT_GOOD;
    if (result->kind != IGGY_HTTP)
        return IGGY_VERDICT_UNKNOWN;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
        if (refusals[i].token == token && refusals[i].status == result->http_status &&
            (refusals[i].code == 0 || refusals[i].code == result->code))
            return IGGY_VERDICT_REFUSED;
    return IGGY_VERDICT_UNKNOWN;
}

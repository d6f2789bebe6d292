/*
 * identity: the bodies of Iggy's logins: what is sent, and who the answer says that is. Pure.
 */
#ifndef IGGY_IDENTITY_H
#define IGGY_IDENTITY_H

#include "base/bytes.h"

#include "iggy_client.h"
#include "transport.h"

#define IDENTITY_LOGIN_PATH "/users/login"
#define IDENTITY_TOKEN_PATH "/personal-access-tokens/login"

/* Append the body of a login; to->failed when it does not fit. */
void identity_write_login(struct mi_buf *to, struct iggy_span username, struct iggy_span password);
void identity_write_token(struct mi_buf *to, struct iggy_span token);

struct identity {
    uint32_t user;
    struct mi_span token; /* into the answer; fit for a header line */
    uint64_t expiry_s;    /* Unix time */
};

/* {"user_id":0,"access_token":{"token":"...","expiry":1785513600}} */
bool identity_read(struct answer *answer, struct identity *identity);

/* What the answer to a login says of the user: refused only where the server said so in so many words (0.8
 * and 0.9 use different ones); everything else means that nobody knows. token: it was a token's login. */
enum iggy_verdict identity_verdict(const struct iggy_result *result, bool token);

#endif

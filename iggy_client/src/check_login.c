/* check_login: somebody else's login, checked without touching the client's own session. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "identity.h"
#include "names.h"
#include "request.h"
#include "result.h"
#include "users.h"

#define MAX_LOGIN_ANSWER 65536
#define MAX_USER_ANSWER (4u << 20) /* the permissions of a user with rights on thousands of topics */

static void tell(struct request *r, enum iggy_verdict verdict, const struct iggy_user *user)
{
    static const struct iggy_user nobody = {.permissions = {(const uint8_t *)"null", 4}};
    ((iggy_verdict_fn)r->done)(r->arg, &r->result, verdict, user ? user : &nobody);
}

/* The user's own record, read with the user's own token. What goes wrong here is no refusal: the login was
 * right. */
static bool end_record(struct request *r, struct answer *answer)
{
    struct iggy_user user = {0};
    if (answer && !users_read(answer, &user))
        request_garbled(r);
    if (r->result.kind != IGGY_OK)
        tell(r, IGGY_VERDICT_UNKNOWN, NULL);
    else
        tell(r, user.active ? IGGY_VERDICT_GOOD : IGGY_VERDICT_REFUSED, &user);
    return true;
}

static bool ask_record(struct request *r, const struct identity *identity)
{
    r->bearer = strndup((const char *)identity->token.data, identity->token.len);
    if (!r->bearer)
        return false;
    r->end = end_record;
    r->method = "GET";
    r->max_answer = MAX_USER_ANSWER;
    mi_buf_reset(&r->path);
    request_path(r, "/users/%" PRIu32, identity->user);
    request_wipe_body(r);
    request_again(r);
    return true;
}

static bool end_login(struct request *r, struct answer *answer, bool token)
{
    struct identity identity = {0};
    if (answer && !identity_read(answer, &identity))
        request_garbled(r);
    bool on_its_way = r->result.kind == IGGY_OK && ask_record(r, &identity);
    if (answer)
        explicit_bzero(answer->body, answer->len);
    if (on_its_way)
        return false;
    if (r->result.kind == IGGY_OK)
        result_set(&r->result, IGGY_LOCAL, IGGY_RETRY_LATER, "out of memory");
    bool impossible = r->result.kind == IGGY_LOCAL && r->result.retry == IGGY_RETRY_NEVER;
    tell(r, impossible ? IGGY_VERDICT_REFUSED : identity_verdict(&r->result, token), NULL);
    return true;
}

static bool end_password(struct request *r, struct answer *answer)
{
    return end_login(r, answer, false);
}

static bool end_token(struct request *r, struct answer *answer)
{
    return end_login(r, answer, true);
}

static bool is_text(struct iggy_span s)
{
    return mi_utf8_valid((struct mi_span){s.data, s.len});
}

/* Room for the whole body at once: a buffer that grows would leave copies of the secret behind. */
static bool reserve(struct request *r, size_t bytes)
{
    enum { MOST_PER_BYTE = 6, FRAME = 64 }; /* \u001f */
    return mi_buf_reserve(&r->own_body, bytes * MOST_PER_BYTE + FRAME) != NULL;
}

static struct request *new_check(struct iggy_client *client, request_end end, const char *path,
                                 iggy_verdict_fn done, void *arg)
{
    struct request *r = request_new(client, "POST", end, (request_callback)done, arg);
    request_path(r, "%s", path);
    if (r) {
        r->open = true;
        r->write = false; /* asking twice changes nothing */
        r->max_answer = MAX_LOGIN_ANSWER;
    }
    return r;
}

iggy_request iggy_check_password(struct iggy_client *client, struct iggy_span username,
                                 struct iggy_span password, iggy_verdict_fn done, void *arg)
{
    struct request *r = new_check(client, end_password, IDENTITY_LOGIN_PATH, done, arg);
    if (!is_text(username) || !is_text(password))
        request_refuse(r, "a user name or password that is not UTF-8 is nobody's");
    else if (r && reserve(r, username.len + password.len))
        identity_write_login(&r->own_body, username, password);
    return request_submit(r);
}

iggy_request iggy_check_token(struct iggy_client *client, struct iggy_span token, iggy_verdict_fn done,
                              void *arg)
{
    struct request *r = new_check(client, end_token, IDENTITY_TOKEN_PATH, done, arg);
    if (!is_text(token))
        request_refuse(r, "a token that is not UTF-8 is nobody's");
    else if (r && reserve(r, token.len))
        identity_write_token(&r->own_body, token);
    return request_submit(r);
}

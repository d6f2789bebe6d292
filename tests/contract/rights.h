/*
 * rights: permission objects for users of tests.
 */
#ifndef CONTRACT_RIGHTS_H
#define CONTRACT_RIGHTS_H

/* The "permissions" JSON with the named global right (NULL: none) and, when stream_right or topic_right is
 * not NULL, that right on stream number stream and on its topic 0. Lives until the next call. */
const char *rights_json(const char *global_right, int stream, const char *stream_right,
                        const char *topic_right);
/* Makes (or makes again) user NAME with password "secret" and these permissions and logs in; the token lives
 * until the next call. */
const char *user_token(const char *name, const char *permissions);

#endif

/*
 * raw_login: a CONNECT with whatever bytes a test wants for user name and password, and the broker's answer.
 */
#ifndef MI_TEST_RAW_LOGIN_H
#define MI_TEST_RAW_LOGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mi_raw_login {
    uint16_t port;         /* on 127.0.0.1 */
    int protocol;          /* 4 or 5 */
    const char *client_id; /* NULL or "": the broker chooses */
    bool keep_session;
    const char *username, *password;   /* NULL: none */
    size_t username_len, password_len; /* 0: as a string */
};

/* What came instead of a CONNACK's code. */
enum { MI_LOGIN_CLOSED = -1, MI_LOGIN_SILENT = -2 };

/* Sends the CONNECT; a socket, -1 when there is no connection. */
int mi_raw_login_send(const struct mi_raw_login *l);
/* Waits for the answer: the CONNACK's code, MI_LOGIN_CLOSED or MI_LOGIN_SILENT. */
int mi_raw_login_answer(int fd, unsigned timeout_ms);
/* Both, and closes the connection again. */
int mi_raw_login(const struct mi_raw_login *l);

#endif

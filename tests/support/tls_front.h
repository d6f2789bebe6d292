/*
 * tls_front: TLS in front of a plain server, with certificates made on the spot. It ends TLS and hands the
 * bytes on to a plain port, so that a stub or the devserver serves https too. What does not pass the
 * handshake never reaches it.
 */
#ifndef MI_TLS_FRONT_H
#define MI_TLS_FRONT_H

#include <stdbool.h>

#include "support/process.h"

/* A key and the certificate of it. */
struct identity;

enum identity_use { IDENTITY_CA, IDENTITY_SERVER, IDENTITY_CLIENT };

/* names: as in subjectAltName ("IP:127.0.0.1,DNS:localhost"), NULL: none. It is valid from a day before the
 * given days from now (negative: it has expired) until then. issuer NULL: signs itself. Ends the program when
 * that fails. */
struct identity *identity_new(enum identity_use use, const char *names, int days,
                              const struct identity *issuer);
void identity_free(struct identity *identity);
/* Writes them as PEM. */
void identity_write_cert(const struct identity *identity, const char *path);
void identity_write_key(const struct identity *identity, const char *path);
/* With a pass phrase. */
void identity_write_locked_key(const struct identity *identity, const char *path);

struct tls_front;

/* Starts on a free port of 127.0.0.1 and hands on to plain_url ("http://127.0.0.1:PORT"). */
struct tls_front *tls_front_start(const char *plain_url, const struct identity *server);
void tls_front_stop(struct tls_front *front);
unsigned tls_front_port(const struct tls_front *front);
/* For connections from now on: the server's certificate, and the CA that clients' ones must have (NULL: none
 * is demanded). version: 0x0303 (TLS 1.2) or 0x0304, the newest that is spoken. */
void tls_front_use(struct tls_front *front, const struct identity *server, const struct identity *client_ca,
                   int version);
/* Connections that were taken, and those whose handshake went through. */
int tls_front_connections(struct tls_front *front);
int tls_front_handshakes(struct tls_front *front);

#endif

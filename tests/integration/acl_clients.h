/*
 * acl_clients: MQTT 5 clients that find out what a broker lets them do, many topics in one exchange: the
 * answer to a QoS 1 PUBLISH is the verdict for WRITE, what arrives before the answer to a PINGREQ that for
 * READ.
 */
#ifndef ACL_CLIENTS_H
#define ACL_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ACL_TOPICS = 24 };

struct acl_client {
    int fd;
    const char *username; /* NULL: none */
    const char *client_id;
    bool refused;   /* the last CONNECT was, for good */
    size_t len, at; /* what of in is there, what of it is read */
    uint8_t in[65536];
};

bool acl_client_connect(struct acl_client *c, uint16_t port, const char *username, const char *client_id);
/* The same with a password, and with a will (topic; its payload is one byte 250) where will is not NULL. On
 * Mosquitto 2.0, where a login that takes too long is answered at the next try, it tries again for some
 * seconds. */
bool acl_client_log_in(struct acl_client *c, uint16_t port, const char *username, const char *password,
                       const char *client_id, const char *will);
/* Waits for the end of the connection. */
bool acl_client_is_cut(struct acl_client *c, unsigned timeout_ms);
void acl_client_close(struct acl_client *c);

/* Publishes to each topic, the topic's number as payload; allowed[i]: the broker took it. */
bool acl_client_write(struct acl_client *c, char *const *topics, size_t count, bool *allowed);
/* Subscribes to the filters or takes that back; waits for the answer. */
bool acl_client_subscribe(struct acl_client *c, const char *const *filters, size_t count, bool on);
/* The same, and what the broker answered to each: 0 to 2 granted (0 or 17 taken back), 0x80 and above
 * refused. */
bool acl_client_subscribe_codes(struct acl_client *c, const char *const *filters, size_t count, bool on,
                                uint8_t *codes);
/* Which numbers have been delivered by now: seen[i]. */
bool acl_client_read(struct acl_client *c, bool *seen, size_t count);

#endif

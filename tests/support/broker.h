/*
 * broker: a real mosquitto on a free loopback port, with the plugin, a folder of its own and a generated
 * mosquitto.conf.
 *
 * The environment variable MOSQUITTO names the program (default: mosquitto in PATH, then /usr/sbin), so that
 * the same tests run with other versions; MOSQUITTO_IGGY_PLUGIN another plugin file than the one that was
 * built.
 */
#ifndef MI_TEST_BROKER_H
#define MI_TEST_BROKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/process.h"

struct mi_broker {
    struct mi_process process; /* its output: the broker's log */
    char dir[256];             /* holds mosquitto.conf, iggy.json, iggy.password, journal/, broker.log */
    uint16_t port, status_port;
    const char *program; /* set between prepare and start: instead of MOSQUITTO; NULL: none */
};

/* Makes the folder and chooses the port. extra: further lines for mosquitto.conf that stand before the plugin
 * line (may be NULL). plugin_lines: what follows the plugin line, plugin_opt_ lines; NULL:
 * plugin_opt_config_file of iggy.json. */
bool mi_broker_prepare(struct mi_broker *b, const char *extra, const char *plugin_lines);
/* Writes iggy.json: the text with each DIR replaced by the folder, IGGY by "http://127.0.0.1:iggy_port",
 * STATUS by "127.0.0.1:status_port", BROKER by "127.0.0.1:port", and ' by ". */
bool mi_broker_config(struct mi_broker *b, const char *json, uint16_t iggy_port);
/* Writes the password file that the configurations name: DIR/iggy.password. */
bool mi_broker_password(struct mi_broker *b, const char *password);
/* Starts it and waits until it listens; false, with the end of its log on stdout, when it does not. */
bool mi_broker_start(struct mi_broker *b);
/* Starts it and waits for it to exit by itself; its exit status, -1 when it keeps running (it is stopped
 * then). */
int mi_broker_start_and_exit(struct mi_broker *b);
/* SIGHUP. */
bool mi_broker_reload(struct mi_broker *b);
/* SIGTERM; true when it ended by itself with status 0 within timeout_ms. */
bool mi_broker_stop(struct mi_broker *b, unsigned timeout_ms);
/* kill -9. */
void mi_broker_kill(struct mi_broker *b);
/* Stops it in any case and removes the folder. */
void mi_broker_remove(struct mi_broker *b);

/* Waits until the log holds that text. */
bool mi_broker_says(const struct mi_broker *b, const char *text, unsigned timeout_ms);
/* How often the log holds it now. */
size_t mi_broker_count(const struct mi_broker *b, const char *text);
/* "2.0.11" as the broker's log names it; empty before a start. */
const char *mi_broker_version(const struct mi_broker *b);
bool mi_broker_is_2_1(const struct mi_broker *b);

#endif

/*
 * mqtt_replay: sends a recording (recording.h) to a broker on loopback and waits until each PUBLISH is
 * acknowledged.
 *
 *   mqtt_replay --port N --file FILE [--paced]   --paced keeps the recorded times, else as fast as the broker
 * takes them mqtt_replay --count --file FILE              prints the number of PUBLISHes mqtt_replay
 * --free-port                      prints a TCP port that is free on 127.0.0.1
 */
#include "recording.h"

#include <mosquitto.h>
#include <stdlib.h>
#include <string.h>

#include "support/process.h"

enum { MAX_UNACKNOWLEDGED = 200 };

struct replay {
    struct mosquitto *client;
    unsigned sent, acknowledged;
    bool connected, failed;
};

static void on_connect(struct mosquitto *m, void *arg, int rc)
{
    struct replay *r = arg;
    (void)m;
    r->connected = rc == 0;
    r->failed = rc != 0;
}

static void on_disconnect(struct mosquitto *m, void *arg, int rc)
{
    struct replay *r = arg;
    (void)m;
    r->failed = r->failed || rc != 0;
}

static void on_publish(struct mosquitto *m, void *arg, int mid)
{
    struct replay *r = arg;
    (void)m;
    (void)mid;
    r->acknowledged++;
}

static bool turn(struct replay *r)
{
    return !r->failed && mosquitto_loop(r->client, 20, 1) == MOSQ_ERR_SUCCESS;
}

static bool connect_to(struct replay *r, int port)
{
    mosquitto_lib_init();
    r->client = mosquitto_new("mqtt_replay", true, r);
    if (!r->client)
        return false;
    mosquitto_connect_callback_set(r->client, on_connect);
    mosquitto_disconnect_callback_set(r->client, on_disconnect);
    mosquitto_publish_callback_set(r->client, on_publish);
    mosquitto_max_inflight_messages_set(r->client, MAX_UNACKNOWLEDGED);
    if (mosquitto_connect(r->client, "127.0.0.1", port, 60) != MOSQ_ERR_SUCCESS)
        return false;
    while (!r->connected)
        if (!turn(r))
            return false;
    return true;
}

static bool send_all(struct replay *r, FILE *file, bool paced)
{
    static struct mi_recorded p;
    unsigned line = 0;
    uint64_t start = mi_monotonic_ms();
    int found;
    while ((found = mi_recording_next(file, &p, &line)) == 1) {
        while ((paced && mi_monotonic_ms() - start < p.at_ms) ||
               r->sent - r->acknowledged >= MAX_UNACKNOWLEDGED)
            if (!turn(r))
                return false;
        if (mosquitto_publish(r->client, NULL, p.topic, p.payload_len, p.payload, p.qos, p.retain) !=
            MOSQ_ERR_SUCCESS)
            return false;
        r->sent++;
    }
    if (found < 0)
        fprintf(stderr, "mqtt_replay: line %u cannot be read\n", line);
    while (r->acknowledged < r->sent)
        if (!turn(r))
            return false;
    return found == 0;
}

static int count(FILE *file)
{
    static struct mi_recorded p;
    unsigned line = 0, n = 0;
    while (mi_recording_next(file, &p, &line) == 1)
        n++;
    printf("%u\n", n);
    return 0;
}

static int replay(FILE *file, int port, bool paced)
{
    struct replay r = {0};
    bool ok = connect_to(&r, port) && send_all(&r, file, paced);
    if (r.client) {
        mosquitto_disconnect(r.client);
        mosquitto_destroy(r.client);
    }
    mosquitto_lib_cleanup();
    printf("%u PUBLISHes sent, %u acknowledged\n", r.sent, r.acknowledged);
    return ok ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *path = NULL;
    int port = 1883;
    bool paced = false, counting = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--free-port") == 0)
            return printf("%u\n", mi_free_port()) < 0;
        else if (strcmp(argv[i], "--paced") == 0)
            paced = true;
        else if (strcmp(argv[i], "--count") == 0)
            counting = true;
        else if (strcmp(argv[i], "--file") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--port") == 0 && i + 1 < argc)
            port = (int)strtol(argv[++i], NULL, 10);
    }
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (!file) {
        fprintf(stderr,
                "usage: mqtt_replay --port N --file FILE [--paced] | --count --file FILE | --free-port\n");
        return 2;
    }
    int status = counting ? count(file) : replay(file, port, paced);
    fclose(file);
    return status;
}

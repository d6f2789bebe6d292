/* message_bench: nanoseconds per envelope, there and back. Prints; judges nothing. */
#include <stdio.h>
#include <time.h>

#include "message/envelope.h"

enum { ROUNDS = 2000000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(const char *what, const struct mi_message *m)
{
    struct mi_envelope e;
    struct mi_buf scratch;
    struct mi_message back;
    const char *why;
    size_t bytes = 0;
    mi_envelope_init(&e);
    mi_buf_init(&scratch, 1 << 20);
    double start = now_ns();
    for (int i = 0; i < ROUNDS; i++) {
        mi_envelope_encode(&e, m);
        bytes += e.headers.len;
    }
    double encoded = now_ns();
    unsigned good = 0;
    for (int i = 0; i < ROUNDS; i++)
        good +=
            mi_envelope_decode(mi_buf_span(&e.headers), m->payload, &back, &scratch, &why) == MI_DECODED_MQTT;
    double decoded = now_ns();
    printf("%-45s %4zu bytes of headers: encode %5.1f ns, decode %5.1f ns (%u of %d whole)\n", what,
           bytes / ROUNDS, (encoded - start) / ROUNDS, (decoded - encoded) / ROUNDS, good, ROUNDS);
    mi_buf_fini(&scratch);
    mi_envelope_fini(&e);
}

int main(void)
{
    struct mi_message m = {.topic = mi_span_of("building/7/room/12/temperature"),
                           .payload = mi_span_of("21.5"),
                           .qos = 1,
                           .client_id = mi_span_of("sensor-12"),
                           .origin = mi_span_of("0123456789abcdef0123456789abcdef"),
                           .time_us = 1795000000123456};
    measure("short topic, client id", &m);
    m.username = mi_span_of("sensors");
    struct mi_buf properties;
    mi_buf_init(&properties, 1000);
    mi_properties_add_bytes(&properties, MI_PROP_CONTENT_TYPE, mi_span_of("application/json"));
    mi_properties_add_pair(&properties, mi_span_of("unit"), mi_span_of("celsius"));
    m.properties = mi_buf_span(&properties);
    measure("the same, user name and two properties", &m);
    mi_buf_fini(&properties);
    return 0;
}

#include "random_message.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t random_next(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}

uint64_t random_seed(const char *what)
{
    const char *given = getenv("MI_SEED");
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seed =
        given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_sec * 1000000007ull + (uint64_t)now.tv_nsec;
    printf("(%s: MI_SEED=%llu) ", what, (unsigned long long)seed);
    return seed ? seed : 1;
}

static size_t pick_size(uint64_t *state, size_t max)
{
    static const size_t edges[] = {0, 1, 2, 253, 254, 255, 256, 257, 509, 510, 511, 512, 65534, 65535};
    uint64_t dice = random_next(state) % 100;
    size_t size;
    if (dice < 70)
        size = random_next(state) % 40;
    else if (dice < 85)
        size = edges[random_next(state) % (sizeof edges / sizeof *edges)];
    else if (dice < 97)
        size = random_next(state) % 2000;
    else
        size = random_next(state) % 65536;
    return size < max ? size : max;
}

static void add_bytes(struct mi_buf *b, uint64_t *state, size_t size)
{
    for (size_t i = 0; i < size; i++)
        mi_buf_add_byte(b, (uint8_t)random_next(state));
}

/* One character of a topic, any plane, no NUL, no wildcard, at most room bytes. */
static size_t put_character(struct mi_buf *b, uint64_t *state, size_t room)
{
    uint32_t dice = (uint32_t)(random_next(state) % 10), bits = (uint32_t)random_next(state);
    uint8_t c[4];
    size_t n;
    if (dice < 6 || room < 4) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789/_-. $";
        c[0] = (uint8_t)plain[bits % (sizeof plain - 1)];
        n = 1;
    } else if (dice < 8) {
        uint32_t point = 0x80 + bits % (0x800 - 0x80);
        c[0] = (uint8_t)(0xc0 | point >> 6), c[1] = (uint8_t)(0x80 | (point & 0x3f));
        n = 2;
    } else if (dice < 9) {
        uint32_t point = 0x800 + bits % (0xd800 - 0x800);
        c[0] = (uint8_t)(0xe0 | point >> 12), c[1] = (uint8_t)(0x80 | (point >> 6 & 0x3f));
        c[2] = (uint8_t)(0x80 | (point & 0x3f));
        n = 3;
    } else {
        uint32_t point = 0x10000 + bits % 0x100000;
        c[0] = (uint8_t)(0xf0 | point >> 18), c[1] = (uint8_t)(0x80 | (point >> 12 & 0x3f));
        c[2] = (uint8_t)(0x80 | (point >> 6 & 0x3f)), c[3] = (uint8_t)(0x80 | (point & 0x3f));
        n = 4;
    }
    mi_buf_add(b, c, n);
    return n;
}

static void add_text(struct mi_buf *b, uint64_t *state, size_t size)
{
    for (size_t done = 0; done < size;)
        done += put_character(b, state, size - done);
}

static void add_string_property(struct random_message *r, uint64_t *state, uint8_t id)
{
    struct mi_buf text;
    mi_buf_init(&text, 65535);
    if (id == MI_PROP_CORRELATION_DATA)
        add_bytes(&text, state, pick_size(state, 65535));
    else
        add_text(&text, state, pick_size(state, 65535));
    mi_properties_add_bytes(&r->properties, id, mi_buf_span(&text));
    mi_buf_fini(&text);
}

static void add_user_properties(struct random_message *r, uint64_t *state)
{
    struct mi_buf name, value;
    mi_buf_init(&name, 65535);
    mi_buf_init(&value, 65535);
    for (uint64_t left = random_next(state) % 5; left > 0; left--) {
        /* A third of them repeat the name before; empty names and values come with size 0. */
        if (random_next(state) % 3) {
            mi_buf_reset(&name);
            add_text(&name, state, pick_size(state, 65535));
        }
        mi_buf_reset(&value);
        add_text(&value, state, pick_size(state, 65535));
        mi_properties_add_pair(&r->properties, mi_buf_span(&name), mi_buf_span(&value));
    }
    mi_buf_fini(&name);
    mi_buf_fini(&value);
}

static void make_properties(struct random_message *r, uint64_t *state)
{
    uint64_t which = random_next(state);
    if (which & 1)
        return;
    if (which & 2)
        mi_properties_add_byte(&r->properties, MI_PROP_PAYLOAD_FORMAT, (uint8_t)(which >> 8 & 1));
    if (which & 4)
        add_string_property(r, state, MI_PROP_CONTENT_TYPE);
    if (which & 8)
        add_string_property(r, state, MI_PROP_RESPONSE_TOPIC);
    if (which & 16)
        add_string_property(r, state, MI_PROP_CORRELATION_DATA);
    if (which & 32)
        add_user_properties(r, state);
}

void random_message_init(struct random_message *r)
{
    mi_buf_init(&r->topic, 65535);
    mi_buf_init(&r->payload, 1 << 20);
    mi_buf_init(&r->client_id, 65535);
    mi_buf_init(&r->username, 65535);
    mi_buf_init(&r->properties, 8 << 20);
}

void random_message_fini(struct random_message *r)
{
    mi_buf_fini(&r->topic);
    mi_buf_fini(&r->payload);
    mi_buf_fini(&r->client_id);
    mi_buf_fini(&r->username);
    mi_buf_fini(&r->properties);
}

void random_message_make(struct random_message *r, uint64_t *state)
{
    struct mi_buf *all[] = {&r->topic, &r->payload, &r->client_id, &r->username, &r->properties};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mi_buf_reset(all[i]);
    add_text(&r->topic, state, 1 + pick_size(state, 65534));
    add_bytes(&r->payload, state, pick_size(state, 65535));
    add_text(&r->client_id, state, pick_size(state, 65535));
    add_text(&r->username, state, pick_size(state, 65535));
    make_properties(r, state);
    uint64_t bits = random_next(state);
    r->message = (struct mi_message){.topic = mi_buf_span(&r->topic),
                                     .payload = mi_buf_span(&r->payload),
                                     .qos = (uint8_t)(bits >> 8 & 0xff) % 3,
                                     .retain = bits & 1,
                                     .will = bits & 2,
                                     .maybe_dup = bits & 4,
                                     .client_id = mi_buf_span(&r->client_id),
                                     .username = mi_buf_span(&r->username),
                                     .origin = mi_span_of("b9d6b0d0c6f94d0f8a2f5f3f6a1c0e77"),
                                     .time_us = random_next(state),
                                     .properties = mi_buf_span(&r->properties)};
}

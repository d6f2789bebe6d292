#include "wire.h"

#include <stdio.h>
#include <string.h>

static uint64_t moment;

void wire_moment(void)
{
    moment++;
}

uint32_t wire_draw(uint32_t place, uint32_t below)
{
    uint64_t x = moment * 0x9e3779b97f4a7c15ull + ((uint64_t)place << 32);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 33) % below;
}

void wire_wander(double *value, double low, double high, double step)
{
    *value += ((double)wire_draw((uint32_t)low, 2001) / 1000.0 - 1.0) * step;
    if (*value < low)
        *value = low;
    if (*value > high)
        *value = high;
}

static void print_base64(struct mi_span s)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.len; i += 3) {
        size_t n = s.len - i < 3 ? s.len - i : 3;
        uint32_t v = (uint32_t)s.data[i] << 16 | (n > 1 ? (uint32_t)s.data[i + 1] << 8 : 0) |
                     (n > 2 ? s.data[i + 2] : 0);
        putchar(alphabet[v >> 18]);
        putchar(alphabet[v >> 12 & 63]);
        putchar(n > 1 ? alphabet[v >> 6 & 63] : '=');
        putchar(n > 2 ? alphabet[v & 63] : '=');
    }
}

void wire_publish(uint32_t at_ms, int qos, bool retain, const char *topic, struct mi_span payload)
{
    printf("%u\t%d\t%d\t%s\t", at_ms, qos, retain, topic);
    print_base64(payload);
    putchar('\n');
}

void wire_publish_text(uint32_t at_ms, int qos, bool retain, const char *topic, const char *payload)
{
    wire_publish(at_ms, qos, retain, topic, mi_span_of(payload));
}

static void put_varint(struct mi_buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        mi_buf_add_byte(out, (uint8_t)(v | 0x80));
    mi_buf_add_byte(out, (uint8_t)v);
}

void wire_varint(struct mi_buf *out, unsigned field, uint64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

void wire_double(struct mi_buf *out, unsigned field, double value)
{
    uint64_t bits;
    uint8_t le[8];
    memcpy(&bits, &value, sizeof bits);
    mi_put_u64le(le, bits);
    put_varint(out, (uint64_t)field << 3 | 1);
    mi_buf_add(out, le, sizeof le);
}

void wire_bytes(struct mi_buf *out, unsigned field, struct mi_span bytes)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, bytes.len);
    mi_buf_add_span(out, bytes);
}

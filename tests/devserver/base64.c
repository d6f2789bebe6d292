/*
 * base64: four characters a step through a table of 256 values; encoding two characters a look-up.
 */
#include "base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static uint8_t values[256]; /* 0-63, or 255 for what is no base64 */
static char pairs[4096][2];

static void make_tables(void);
static bool decode_rest(const uint8_t *in, size_t len, uint8_t *out, size_t *written);

size_t dev_base64_decoded_max(size_t len)
{
    return len / 4 * 3 + 3;
}

bool dev_base64_decode(const char *text, size_t len, bool lax, uint8_t *out, size_t *written)
{
    make_tables();
    const uint8_t *in = (const uint8_t *)text;
    if (!lax && len % 4 != 0)
        return false;
    for (int padding = 0; padding < 2 && len > 0 && in[len - 1] == '=' && (len % 4 == 0 || padding);
         padding++)
        len--;
    uint8_t *o = out;
    for (; len >= 4; len -= 4, in += 4, o += 3) {
        uint8_t a = values[in[0]], b = values[in[1]], c = values[in[2]], d = values[in[3]];
        if ((a | b | c | d) & 0x80)
            return false;
        uint32_t v = (uint32_t)a << 18 | (uint32_t)b << 12 | (uint32_t)c << 6 | d;
        o[0] = (uint8_t)(v >> 16);
        o[1] = (uint8_t)(v >> 8);
        o[2] = (uint8_t)v;
    }
    size_t rest = 0;
    if (!decode_rest(in, len, o, &rest))
        return false;
    *written = (size_t)(o - out) + rest;
    return true;
}

static bool decode_rest(const uint8_t *in, size_t len, uint8_t *out, size_t *written)
{
    if (len == 0)
        return true;
    if (len == 1)
        return false;
    uint8_t a = values[in[0]], b = values[in[1]], c = len == 3 ? values[in[2]] : 0;
    if ((a | b | c) & 0x80)
        return false;
    if ((len == 2 && (b & 0x0f)) || (len == 3 && (c & 0x03)))
        return false;
    out[0] = (uint8_t)(a << 2 | b >> 4);
    if (len == 3)
        out[1] = (uint8_t)(b << 4 | c >> 2);
    *written = len - 1;
    return true;
}

bool dev_base64_append(struct mi_buf *out, const uint8_t *data, size_t len)
{
    make_tables();
    size_t need = (len + 2) / 3 * 4;
    char *o = (char *)mi_buf_reserve(out, need);
    if (!o)
        return need == 0;
    for (; len >= 3; len -= 3, data += 3, o += 4) {
        uint32_t v = (uint32_t)data[0] << 16 | (uint32_t)data[1] << 8 | data[2];
        const char *high = pairs[v >> 12], *low = pairs[v & 0xfff];
        o[0] = high[0];
        o[1] = high[1];
        o[2] = low[0];
        o[3] = low[1];
    }
    if (len > 0) {
        uint32_t v = (uint32_t)data[0] << 16 | (len == 2 ? (uint32_t)data[1] << 8 : 0);
        o[0] = alphabet[v >> 18];
        o[1] = alphabet[v >> 12 & 63];
        o[2] = len == 2 ? alphabet[v >> 6 & 63] : '=';
        o[3] = '=';
    }
    out->len += need;
    return true;
}

static void make_tables(void)
{
    if (pairs[0][0])
        return;
    for (int i = 0; i < 256; i++)
        values[i] = 255;
    for (int i = 0; i < 64; i++)
        values[(uint8_t)alphabet[i]] = (uint8_t)i;
    for (int i = 0; i < 4096; i++) {
        pairs[i][0] = alphabet[i >> 6];
        pairs[i][1] = alphabet[i & 63];
    }
}

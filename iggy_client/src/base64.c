#include "base64.h"

#include <string.h>

/* The tables are made by the preprocessor, so that they are constant data and every entry follows from one
 * line. */
#define CHARACTER(v) \
    ((v) < 26 ? 'A' + (v) : (v) < 52 ? 'a' + (v)-26 : (v) < 62 ? '0' + (v)-52 : (v) == 62 ? '+' : '/')
#define VALUE(c)                                 \
    ((c) >= 'A' && (c) <= 'Z'   ? (c) - 'A'      \
     : (c) >= 'a' && (c) <= 'z' ? (c) - 'a' + 26 \
     : (c) >= '0' && (c) <= '9' ? (c) - '0' + 52 \
     : (c) == '+'               ? 62             \
     : (c) == '/'               ? 63             \
                                : -1)

#define FOUR(entry, i) entry(i), entry(i + 1), entry(i + 2), entry(i + 3)
#define SIXTEEN(entry, i) FOUR(entry, i), FOUR(entry, i + 4), FOUR(entry, i + 8), FOUR(entry, i + 12)
#define SIXTY_FOUR(entry, i) \
    SIXTEEN(entry, i), SIXTEEN(entry, i + 16), SIXTEEN(entry, i + 32), SIXTEEN(entry, i + 48)
#define TWO_HUNDRED(entry, i) \
    SIXTY_FOUR(entry, i), SIXTY_FOUR(entry, i + 64), SIXTY_FOUR(entry, i + 128), SIXTY_FOUR(entry, i + 192)
#define THOUSAND(entry, i)                                                           \
    TWO_HUNDRED(entry, i), TWO_HUNDRED(entry, i + 256), TWO_HUNDRED(entry, i + 512), \
        TWO_HUNDRED(entry, i + 768)

/* The two characters of 12 bits. */
#define PAIR(i)                                \
    {                                          \
        CHARACTER((i) >> 6), CHARACTER((i)&63) \
    }
static const char pairs[4096][2] = {THOUSAND(PAIR, 0), THOUSAND(PAIR, 1024), THOUSAND(PAIR, 2048),
                                    THOUSAND(PAIR, 3072)};

/* The bits of a character at each place of its group of four; INVALID for all others. */
#define INVALID 0x01000000u
#define AT(c, shift) (VALUE(c) < 0 ? INVALID : (uint32_t)(VALUE(c) & 63) << (shift))
#define FIRST(c) AT(c, 18)
#define SECOND(c) AT(c, 12)
#define THIRD(c) AT(c, 6)
#define FOURTH(c) AT(c, 0)
static const uint32_t first[256] = {TWO_HUNDRED(FIRST, 0)};
static const uint32_t second[256] = {TWO_HUNDRED(SECOND, 0)};
static const uint32_t third[256] = {TWO_HUNDRED(THIRD, 0)};
static const uint32_t fourth[256] = {TWO_HUNDRED(FOURTH, 0)};

static inline void encode_group(char *to, uint32_t bits)
{
    memcpy(to, pairs[bits >> 12], 2);
    memcpy(to + 2, pairs[bits & 4095], 2);
}

static inline uint32_t group_of(const uint8_t *from)
{
    return (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];
}

/* Whole groups only; returns how many bytes were taken. */
static size_t encode_groups(char *to, const uint8_t *from, size_t len)
{
    size_t i = 0;
    for (; i + 3 <= len; i += 3, to += 4)
        encode_group(to, group_of(from + i));
    return i;
}

static size_t encode_rest(char *to, const uint8_t *from, size_t len)
{
    if (len == 0)
        return 0;
    uint8_t last[3] = {from[0], len > 1 ? from[1] : 0, 0};
    encode_group(to, group_of(last));
    to[3] = '=';
    if (len == 1)
        to[2] = '=';
    return 4;
}

size_t base64_encode(char *to, const uint8_t *from, size_t len)
{
    size_t whole = encode_groups(to, from, len);
    size_t written = whole / 3 * 4;
    return written + encode_rest(to + written, from + whole, len - whole);
}

size_t base64_encode_two(char *to, const uint8_t *a, size_t a_len, const uint8_t *b, size_t b_len)
{
    if (a_len == 0)
        return base64_encode(to, b, b_len);
    size_t whole = encode_groups(to, a, a_len);
    size_t written = whole / 3 * 4;
    /* The group that spans the seam. */
    uint8_t seam[3];
    size_t n = a_len - whole;
    if (n > 0) {
        size_t more = 3 - n < b_len ? 3 - n : b_len;
        memcpy(seam, a + whole, n);
        if (more > 0)
            memcpy(seam + n, b, more);
        written += base64_encode(to + written, seam, n + more);
        if (n + more < 3)
            return written;
        b += more;
        b_len -= more;
    }
    return b_len ? written + base64_encode(to + written, b, b_len) : written;
}

static bool decode_last(uint8_t *to, size_t *to_len, const uint8_t *from)
{
    size_t padding = from[3] != '=' ? 0 : from[2] != '=' ? 1 : 2;
    uint32_t bits = first[from[0]] | second[from[1]] | (padding > 1 ? 0 : third[from[2]]) |
                    (padding > 0 ? 0 : fourth[from[3]]);
    if (bits & INVALID || bits & ((1u << 8 * padding) - 1))
        return false;
    uint8_t bytes[3] = {(uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
    memcpy(to, bytes, 3 - padding);
    *to_len += 3 - padding;
    return true;
}

bool base64_decode(uint8_t *to, size_t *to_len, const uint8_t *from, size_t len)
{
    *to_len = 0;
    if (len == 0)
        return true;
    if (len % 4 != 0)
        return false;
    uint32_t all = 0;
    size_t i = 0;
    for (; i < len - 4; i += 4, to += 3) {
        uint32_t bits = first[from[i]] | second[from[i + 1]] | third[from[i + 2]] | fourth[from[i + 3]];
        all |= bits;
        to[0] = (uint8_t)(bits >> 16);
        to[1] = (uint8_t)(bits >> 8);
        to[2] = (uint8_t)bits;
    }
    *to_len = i / 4 * 3;
    return !(all & INVALID) && decode_last(to, to_len, from + i);
}

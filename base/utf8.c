#include "base/utf8.h"

#include <string.h>

/* Bytes of the valid character beyond ASCII at p, of which left bytes are there; 0 when it is none. */
static size_t character(const uint8_t *p, size_t left);

/* How many bytes at p are ASCII: words first, for speed, then single bytes. */
static size_t plain(const uint8_t *p, size_t left)
{
    const uint64_t high_bits = 0x8080808080808080ull;
    size_t n = 0;
    uint64_t word;
    for (; left - n >= sizeof word; n += sizeof word) {
        memcpy(&word, p + n, sizeof word);
        if (word & high_bits)
            break;
    }
    while (n < left && p[n] < 0x80)
        n++;
    return n;
}

bool mi_utf8_valid(struct mi_span s)
{
    size_t at = 0;
    while (at < s.len) {
        at += plain(s.data + at, s.len - at);
        if (at == s.len)
            break;
        size_t n = character(s.data + at, s.len - at);
        if (n == 0)
            return false;
        at += n;
    }
    return true;
}

size_t mi_utf8_cut(struct mi_span s, size_t max)
{
    if (s.len <= max)
        return s.len;
    size_t keep = max;
    while (keep > 0 && (s.data[keep] & 0xc0) == 0x80)
        keep--;
    return keep;
}

static bool continues(const uint8_t *p, size_t count)
{
    for (size_t i = 1; i <= count; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    return true;
}

static size_t character(const uint8_t *p, size_t left)
{
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return left >= 2 && continues(p, 1) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        if (left < 3 || !continues(p, 2))
            return 0;
        bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
        bool surrogate = p[0] == 0xed && p[1] > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (left < 4 || !continues(p, 3))
            return 0;
        bool overlong = p[0] == 0xf0 && p[1] < 0x90;
        bool too_high = p[0] == 0xf4 && p[1] > 0x8f;
        return overlong || too_high ? 0 : 4;
    }
    return 0;
}

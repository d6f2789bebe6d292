#include "reference_decoder.h"

#include <stdlib.h>
#include <string.h>

static const char *read_half(const unsigned char **at, const unsigned char *end, int *kind,
                             const unsigned char **bytes, unsigned *len)
{
    if (end - *at < 5)
        return "cut short before a length";
    *kind = (*at)[0];
    uint32_t n = 0;
    for (int i = 3; i >= 0; i--)
        n = n * 256 + (*at)[1 + i];
    if (n == 0)
        return "empty key or value";
    if (n > 255)
        return "key or value over 255 bytes";
    if ((size_t)(end - *at - 5) < n)
        return "cut short in a key or value";
    *bytes = *at + 5;
    *len = n;
    *at += 5 + n;
    return NULL;
}

static const char *check_value(int kind, const unsigned char *value, unsigned len)
{
    static const struct {
        int kind;
        unsigned bytes;
    } fixed[] = {{3, 1},  {4, 1},  {5, 2},  {6, 4},   {7, 8},  {8, 16}, {9, 1},
                 {10, 2}, {11, 4}, {12, 8}, {13, 16}, {14, 4}, {15, 8}};
    if (kind < 1 || kind > 15)
        return "unknown kind";
    if (kind == 2 && !reference_utf8(value, len))
        return "string is not UTF-8";
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (fixed[i].kind == kind && fixed[i].bytes != len)
            return "byte count does not fit the kind";
    if (kind == 3 && value[0] > 1)
        return "bool is neither 0 nor 1";
    return NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct reference_header *x = a, *y = b;
    unsigned n = x->key_len < y->key_len ? x->key_len : y->key_len;
    int order = memcmp(x->key, y->key, n);
    return order ? order : (int)x->key_len - (int)y->key_len;
}

static int has_repeated_key(const struct reference_header *headers, int count)
{
    struct reference_header *sorted = malloc((size_t)(count + 1) * sizeof *sorted);
    if (count)
        memcpy(sorted, headers, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_key);
    int repeated = 0;
    for (int i = 1; i < count; i++)
        repeated |= by_key(&sorted[i - 1], &sorted[i]) == 0;
    free(sorted);
    return repeated;
}

int reference_decode(const unsigned char *block, size_t len, size_t limit, struct reference_header *out,
                     int max, const char **fault)
{
    const unsigned char *at = block, *end = block + len;
    int count = 0;
    *fault = len > limit ? "block over its limit" : NULL;
    while (!*fault && at < end) {
        if (count == max) {
            *fault = "more entries than the test expects";
            break;
        }
        struct reference_header *h = &out[count++];
        int key_kind = 0;
        const unsigned char *key = NULL;
        *fault = read_half(&at, end, &key_kind, &key, &h->key_len);
        h->key = (const char *)key;
        if (!*fault && (key_kind != 2 || !reference_utf8(key, h->key_len)))
            *fault = "key is not a string";
        if (!*fault)
            *fault = read_half(&at, end, &h->kind, &h->value, &h->value_len);
        if (!*fault)
            *fault = check_value(h->kind, h->value, h->value_len);
    }
    if (!*fault && has_repeated_key(out, count))
        *fault = "repeated key";
    return *fault ? -1 : count;
}

int reference_utf8(const unsigned char *text, size_t len)
{
    size_t i = 0;
    while (i < len) {
        unsigned char lead = text[i++];
        int more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : -1;
        if (more < 0)
            return 0;
        uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        for (int k = 0; k < more; k++, i++) {
            if (i >= len || text[i] >> 6 != 2)
                return 0;
            point = point << 6 | (text[i] & 0x3f);
        }
        if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
            return 0;
    }
    return 1;
}

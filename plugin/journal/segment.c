#include "journal/segment.h"

#include "journal/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint8_t header_magic[4] = {'M', 'I', 'G', '1'};
static const uint8_t seal_magic[4] = {'M', 'I', 'S', '1'};

enum { CRC_AT = 60 };

void mi_segment_header_encode(const struct mi_segment_header *h, uint8_t *bytes)
{
    memset(bytes, 0, MI_SEGMENT_HEADER);
    memcpy(bytes, header_magic, sizeof header_magic);
    mi_put_u32le(bytes + 4, h->version);
    mi_put_u64le(bytes + 8, h->run);
    mi_put_u64le(bytes + 16, h->number);
    mi_put_u64le(bytes + 24, h->first);
    mi_put_u64le(bytes + 32, h->size);
    mi_put_u64le(bytes + 40, h->previous_end);
    mi_put_u64le(bytes + 48, h->time_us);
    mi_put_u32le(bytes + CRC_AT, mi_crc32c(0, bytes, CRC_AT));
    memcpy(bytes + MI_SEGMENT_HEADER, bytes, MI_SEGMENT_HEADER);
}

static enum mi_segment_kind decode_copy(const uint8_t *p, struct mi_segment_header *out)
{
    if (memcmp(p, header_magic, sizeof header_magic) != 0 ||
        mi_get_u32le(p + CRC_AT) != mi_crc32c(0, p, CRC_AT))
        return MI_SEGMENT_BAD;
    out->version = mi_get_u32le(p + 4);
    if (out->version != MI_SEGMENT_VERSION)
        return MI_SEGMENT_UNKNOWN;
    out->run = mi_get_u64le(p + 8);
    out->number = mi_get_u64le(p + 16);
    out->first = mi_get_u64le(p + 24);
    out->size = mi_get_u64le(p + 32);
    out->previous_end = mi_get_u64le(p + 40);
    out->time_us = mi_get_u64le(p + 48);
    bool sane = out->size > MI_SEGMENT_HEAD && out->size <= UINT32_MAX && out->first > 0;
    return sane ? MI_SEGMENT_GOOD : MI_SEGMENT_BAD;
}

enum mi_segment_kind mi_segment_header_decode(const uint8_t *bytes, size_t len, struct mi_segment_header *out)
{
    static const uint8_t zeros[MI_SEGMENT_HEAD];
    memset(out, 0, sizeof *out);
    if (memcmp(bytes, zeros, len < MI_SEGMENT_HEAD ? len : MI_SEGMENT_HEAD) == 0)
        return MI_SEGMENT_UNUSED;
    if (len < MI_SEGMENT_HEAD)
        return MI_SEGMENT_BAD;
    enum mi_segment_kind kind = decode_copy(bytes, out);
    return kind == MI_SEGMENT_BAD ? decode_copy(bytes + MI_SEGMENT_HEADER, out) : kind;
}

size_t mi_seal_bytes(size_t routes)
{
    return MI_SEAL_TRAILER + MI_SEAL_ROUTE * routes;
}

void mi_seal_encode(const struct mi_seal *s, uint8_t *bytes)
{
    uint8_t *t = bytes + (size_t)MI_SEAL_ROUTE * s->routes;
    memset(t, 0, MI_SEAL_TRAILER);
    memcpy(t, seal_magic, sizeof seal_magic);
    mi_put_u32le(t + 4, s->routes);
    mi_put_u64le(t + 8, s->run);
    mi_put_u64le(t + 16, s->number);
    mi_put_u64le(t + 24, s->next);
    mi_put_u64le(t + 32, s->records);
    mi_put_u32le(t + 40, (uint32_t)s->end);
    mi_put_u32le(t + 44, (uint32_t)s->damage_end);
    mi_put_u64le(t + 48, s->first);
    mi_put_u32le(t + CRC_AT, mi_crc32c(0, bytes, (size_t)MI_SEAL_ROUTE * s->routes + CRC_AT));
}

bool mi_seal_peek(const uint8_t *t, uint64_t number, uint64_t size, struct mi_seal *out)
{
    if (memcmp(t, seal_magic, sizeof seal_magic) != 0)
        return false;
    out->routes = mi_get_u32le(t + 4);
    out->run = mi_get_u64le(t + 8);
    out->number = mi_get_u64le(t + 16);
    out->next = mi_get_u64le(t + 24);
    out->records = mi_get_u64le(t + 32);
    out->end = mi_get_u32le(t + 40);
    out->damage_end = mi_get_u32le(t + 44);
    out->first = mi_get_u64le(t + 48);
    uint64_t totals = (uint64_t)out->routes * MI_SEAL_ROUTE;
    return out->number == number && out->first > 0 && out->next >= out->first &&
           out->end >= MI_SEGMENT_HEAD && out->end <= size && totals + MI_SEAL_TRAILER <= size - out->end;
}

bool mi_seal_check(const uint8_t *bytes, size_t len)
{
    const uint8_t *t = bytes + len - MI_SEAL_TRAILER;
    return mi_get_u32le(t + CRC_AT) == mi_crc32c(0, bytes, len - MI_SEAL_TRAILER + CRC_AT);
}

void mi_segment_name(uint64_t number, char *name)
{
    snprintf(name, MI_SEGMENT_NAME, "%016" PRIu64 ".seg", number);
}

bool mi_segment_number(const char *name, uint64_t *number)
{
    size_t digits = strspn(name, "0123456789");
    if (digits < 16 || digits > 19 || strcmp(name + digits, ".seg") != 0)
        return false;
    *number = 0;
    for (size_t i = 0; i < digits; i++)
        *number = *number * 10 + (uint64_t)(name[i] - '0');
    return true;
}

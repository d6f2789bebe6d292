#include "journal/record.h"

#include <string.h>

enum { CRC_FROM = 12 };

static const uint8_t magic[4] = {'M', 'I', 'R', '1'};

const char *mi_reason_name(enum mi_reason reason)
{
    switch (reason) {
    case MI_REASON_NONE:
        return "none";
    case MI_REASON_STREAM_NAME:
        return "stream_name";
    case MI_REASON_TOPIC_NAME:
        return "topic_name";
    case MI_REASON_TOO_LARGE:
        return "too_large";
    case MI_REASON_REFUSED:
        return "refused";
    }
    return "unknown";
}

static size_t padded(uint64_t len)
{
    return (size_t)((len + MI_RECORD_ALIGN - 1) / MI_RECORD_ALIGN * MI_RECORD_ALIGN);
}

size_t mi_record_bytes(const struct mi_record *r)
{
    if (r->stream.len > UINT16_MAX || r->topic.len > UINT16_MAX || r->headers.len > UINT32_MAX ||
        r->prefix.len > UINT32_MAX || r->payload.len > UINT32_MAX)
        return 0;
    uint64_t len = (uint64_t)MI_RECORD_HEAD + r->stream.len + r->topic.len + r->headers.len + r->prefix.len +
                   r->payload.len;
    return len > UINT32_MAX - MI_RECORD_ALIGN ? 0 : padded(len);
}

static void copy_span(uint8_t *to, struct mi_span s)
{
    if (s.len)
        memcpy(to, s.data, s.len);
}

size_t mi_record_encode_head(const struct mi_record *r, uint8_t *head)
{
    size_t names = r->stream.len + r->topic.len;
    memcpy(head, magic, sizeof magic);
    mi_put_u32le(head + 4, (uint32_t)mi_record_bytes(r));
    head[12] = r->qos;
    head[13] = r->balanced;
    head[14] = r->reason;
    head[15] = 0;
    mi_put_u64le(head + 16, r->sequence);
    mi_put_u64le(head + 24, r->time_us);
    mi_put_u32le(head + 32, r->route);
    mi_put_u32le(head + 36, r->key_hash);
    mi_put_u16le(head + 40, (uint16_t)r->stream.len);
    mi_put_u16le(head + 42, (uint16_t)r->topic.len);
    mi_put_u32le(head + 44, (uint32_t)r->headers.len);
    mi_put_u32le(head + 48, (uint32_t)(r->prefix.len + r->payload.len));
    mi_put_u32le(head + 52, (uint32_t)r->run);
    copy_span(head + MI_RECORD_HEAD, r->stream);
    copy_span(head + MI_RECORD_HEAD + r->stream.len, r->topic);
    uint32_t crc = mi_crc32c(0, head + CRC_FROM, MI_RECORD_HEAD - CRC_FROM + names);
    crc = mi_crc32c(crc, r->headers.data, r->headers.len);
    crc = mi_crc32c(crc, r->prefix.data, r->prefix.len);
    crc = mi_crc32c(crc, r->payload.data, r->payload.len);
    mi_put_u32le(head + 8, crc);
    return MI_RECORD_HEAD + names;
}

static struct mi_span take(const uint8_t **at, size_t len)
{
    struct mi_span s = {*at, len};
    *at += len;
    return s;
}

int64_t mi_record_decode(const uint8_t *data, size_t len, struct mi_record *out)
{
    if (len < MI_RECORD_HEAD)
        return memcmp(data, magic, len < sizeof magic ? len : sizeof magic) == 0 ? 0 : -1;
    if (memcmp(data, magic, sizeof magic) != 0)
        return -1;
    uint32_t bytes = mi_get_u32le(data + 4);
    size_t stream = mi_get_u16le(data + 40), topic = mi_get_u16le(data + 42);
    size_t headers = mi_get_u32le(data + 44), payload = mi_get_u32le(data + 48);
    uint64_t sum = (uint64_t)MI_RECORD_HEAD + stream + topic + headers + payload;
    if (sum > UINT32_MAX - MI_RECORD_ALIGN || padded(sum) != bytes || data[12] > 2 || data[13] > 1)
        return -1;
    if (bytes > len)
        return 0;
    if (mi_crc32c(0, data + CRC_FROM, (size_t)sum - CRC_FROM) != mi_get_u32le(data + 8))
        return -1;
    const uint8_t *at = data + MI_RECORD_HEAD;
    memset(out, 0, sizeof *out);
    out->run = mi_get_u32le(data + 52);
    out->sequence = mi_get_u64le(data + 16);
    out->time_us = mi_get_u64le(data + 24);
    out->route = mi_get_u32le(data + 32);
    out->key_hash = mi_get_u32le(data + 36);
    out->qos = data[12];
    out->balanced = data[13] & 1;
    out->reason = data[14];
    out->stream = take(&at, stream);
    out->topic = take(&at, topic);
    out->headers = take(&at, headers);
    out->payload = take(&at, payload);
    return bytes;
}

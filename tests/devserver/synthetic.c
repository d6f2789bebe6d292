#include "synthetic.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "partition_log.h"

enum { MOST_PAYLOAD = 65536, STRING = 2, UINT8 = 9, UINT64 = 12 };

static void add_header(struct mi_buf *block, const char *name, uint8_t kind, const void *value, uint32_t len)
{
    uint8_t number[4];
    uint32_t name_len = (uint32_t)strlen(name);
    mi_buf_add_byte(block, STRING);
    mi_put_u32le(number, name_len);
    mi_buf_add(block, number, 4);
    mi_buf_add(block, name, name_len);
    mi_buf_add_byte(block, kind);
    mi_put_u32le(number, len);
    mi_buf_add(block, number, 4);
    mi_buf_add(block, value, len);
}

uint32_t dev_synthetic_read(const struct dev_synthetic *s, uint64_t offset, uint32_t count,
                            bool (*each)(void *arg, const struct dev_message *message), void *arg, bool *more)
{
    static uint8_t payload[MOST_PAYLOAD + 1];
    struct mi_buf block;
    uint32_t given = 0;
    mi_buf_init(&block, 1024);
    for (uint64_t i = offset; i < s->count && given < count && *more; i++, given++) {
        char topic[80];
        uint8_t time[8], qos = 1;
        uint64_t stamp = s->first_us + i * s->step_us;
        mi_put_u64le(time, stamp);
        mi_buf_reset(&block);
        int topic_len = snprintf(topic, sizeof topic, "%s/%u", s->prefix, (unsigned)(i % 10));
        add_header(&block, "mqtt.topic", STRING, topic, (uint32_t)topic_len);
        add_header(&block, "mqtt.qos", UINT8, &qos, 1);
        add_header(&block, "mqtt.time", UINT64, time, 8);
        memset(payload, 'x', s->payload);
        snprintf((char *)payload, 24, "%" PRIu64 " ", i);
        payload[strlen((char *)payload)] = 'x';
        struct dev_message m = {.id_lo = i + 1,
                                .offset = i,
                                .timestamp = stamp,
                                .origin_timestamp = stamp,
                                .headers = block.data,
                                .headers_len = (uint32_t)block.len,
                                .payload = payload,
                                .payload_len = s->payload};
        *more = each(arg, &m);
    }
    mi_buf_fini(&block);
    return given;
}

uint64_t dev_synthetic_offset_at(const struct dev_synthetic *s, uint64_t timestamp)
{
    if (timestamp <= s->first_us)
        return 0;
    uint64_t at = s->step_us ? (timestamp - s->first_us + s->step_us - 1) / s->step_us : s->count;
    return at < s->count ? at : s->count;
}

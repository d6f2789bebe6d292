/*
 * packet_fuzz: any bytes from a broker are read packet by packet without fault, within their bounds; what a
 * PUBLISH carries as properties is a block that the envelope can take.
 */
#include <stdlib.h>

#include "message/message.h"
#include "mqtt/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_be_within(struct mi_span part, const uint8_t *data, size_t size)
{
    must(part.len == 0 || (part.data >= data && part.data + part.len <= data + size));
}

static void check_publish(const struct mi_packet *p, const uint8_t *data, size_t size)
{
    struct mi_property property;
    size_t at = 0;
    int more;
    must_be_within(p->topic, data, size);
    must_be_within(p->payload, data, size);
    must(p->topic.len > 0 && p->qos <= 2 && (p->qos > 0) == (p->id > 0));
    while ((more = mi_properties_next(p->properties, &at, &property)) == 1)
        continue;
    must(more == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mi_packet p;
    struct mi_buf scratch;
    mi_buf_init(&scratch, 1 << 20);
    for (size_t done = 0; done < size;) {
        int64_t n = mi_packet_read((struct mi_span){data + done, size - done}, &p, &scratch);
        if (n <= 0)
            break;
        must((size_t)n >= 2 && (size_t)n <= size - done);
        if (p.type == MI_PUBLISH)
            check_publish(&p, data + done, (size_t)n);
        done += (size_t)n;
    }
    mi_buf_fini(&scratch);
    return 0;
}

/* rights: open addressing over (stream, topic), at most half full; all texts in one block. */
#include "auth/rights.h"

#include "base/fnv.h"

#include <stdlib.h>
#include <string.h>

struct place {
    struct mi_span stream, topic;
    uint32_t hash;
    uint32_t rights; /* 0: empty */
};

struct mi_iggy_rights {
    unsigned everywhere;
    uint32_t mask; /* of places */
    uint8_t *text;
    struct place places[];
};

static uint32_t hash_stream(struct mi_span stream)
{
    return mi_fnv32(MI_FNV32, stream);
}

/* No name is empty, so a stream alone never has the hash of a stream with a topic by construction. */
static uint32_t hash_topic(uint32_t stream, struct mi_span topic)
{
    return mi_fnv32(mi_fnv32_byte(stream, 0xff), topic);
}

static const struct place *find(const struct mi_iggy_rights *r, struct mi_span stream, struct mi_span topic,
                                uint32_t hash)
{
    uint32_t at = hash & r->mask;
    const struct place *p = &r->places[at];
    while (p->rights &&
           (p->hash != hash || !mi_span_equal(p->stream, stream) || !mi_span_equal(p->topic, topic))) {
        at = (at + 1) & r->mask;
        p = &r->places[at];
    }
    return p;
}

bool mi_rights_allow(const struct mi_iggy_rights *r, struct mi_span stream, struct mi_span topic,
                     enum mi_right right)
{
    if (!r)
        return false;
    if (r->everywhere & right)
        return true;
    uint32_t hash = hash_stream(stream);
    if (find(r, stream, (struct mi_span){NULL, 0}, hash)->rights & right)
        return true;
    return topic.len > 0 && find(r, stream, topic, hash_topic(hash, topic))->rights & right;
}

bool mi_rights_allow_everywhere(const struct mi_iggy_rights *r, enum mi_right right)
{
    return r && r->everywhere & right;
}

static struct mi_span copy(uint8_t **to, struct mi_span s)
{
    struct mi_span kept = {*to, s.len};
    if (s.len)
        memcpy(*to, s.data, s.len);
    *to += s.len;
    return kept;
}

struct mi_iggy_rights *mi_rights_new(unsigned everywhere, const struct mi_named_grant *grants, size_t count)
{
    uint32_t places = 2;
    size_t bytes = 0;
    while (places < count * 2 + 2)
        places *= 2;
    for (size_t i = 0; i < count; i++)
        bytes += grants[i].stream.len + grants[i].topic.len;
    struct mi_iggy_rights *r = calloc(1, sizeof *r + places * sizeof(struct place));
    uint8_t *text = malloc(bytes + 1);
    if (!r || !text) {
        free(r);
        free(text);
        return NULL;
    }
    r->everywhere = everywhere;
    r->mask = places - 1;
    r->text = text;
    for (size_t i = 0; i < count; i++) {
        if (!grants[i].rights)
            continue;
        uint32_t hash = hash_stream(grants[i].stream);
        if (grants[i].topic.len)
            hash = hash_topic(hash, grants[i].topic);
        struct place *p = (struct place *)find(r, grants[i].stream, grants[i].topic, hash);
        if (!p->rights)
            *p = (struct place){copy(&text, grants[i].stream), copy(&text, grants[i].topic), hash, 0};
        p->rights |= grants[i].rights;
    }
    return r;
}

void mi_rights_free(struct mi_iggy_rights *r)
{
    if (!r)
        return;
    free(r->text);
    free(r);
}

#include "config/broker_db.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER = 15 + 4 + 4, /* magic, an unused sum, version */
    CHUNK_HEADER = 4 + 4,
    SUBSCRIPTION = 5, /* the kind of chunk */
    SUBSCRIPTION_FIXED =
        12, /* identifier, lengths of client id and filter, QoS, options, two bytes for nothing */
    BUFFER = 1 << 18
};

static int read_chunks(FILE *f, uint8_t *body, mi_broker_db_each each, void *context, struct mi_error *err);

int mi_broker_db_subscriptions(const char *path, mi_broker_db_each each, void *context, struct mi_error *err)
{
    static const uint8_t magic[15] = "\0\xb5\0mosquitto db";
    uint8_t header[HEADER];
    uint8_t *body = malloc(BUFFER);
    FILE *f = body ? fopen(path, "rbe") : NULL;
    int result = -1;
    if (!body)
        mi_error_set(err, "memory is out");
    else if (!f)
        mi_error_set(err, "%s: %s", path, strerror(errno));
    else if (fread(header, HEADER, 1, f) != 1 || memcmp(header, magic, sizeof magic) != 0)
        mi_error_set(err, "%s is no database of Mosquitto's", path);
    else if (mi_get_u32be(header + 19) != 5 && mi_get_u32be(header + 19) != 6)
        mi_error_set(err, "%s has the unknown format %u", path, (unsigned)mi_get_u32be(header + 19));
    else
        result = read_chunks(f, body, each, context, err);
    if (f)
        fclose(f);
    free(body);
    return result;
}

static bool skip(FILE *f, uint32_t len, uint8_t *scratch)
{
    if (len > BUFFER)
        return fseeko(f, (off_t)len - 1, SEEK_CUR) == 0 && fgetc(f) != EOF;
    return len == 0 || fread(scratch, len, 1, f) == 1;
}

static bool read_subscription(const uint8_t *body, uint32_t len, mi_broker_db_each each, void *context)
{
    if (len < SUBSCRIPTION_FIXED)
        return false;
    size_t id_len = mi_get_u16be(body + 4), filter_len = mi_get_u16be(body + 6);
    if (len != SUBSCRIPTION_FIXED + id_len + filter_len)
        return false;
    each(context, (struct mi_span){body + SUBSCRIPTION_FIXED, id_len},
         (struct mi_span){body + SUBSCRIPTION_FIXED + id_len, filter_len});
    return true;
}

/* A subscription's chunk is at most 12 + 2 * 65,535 bytes long, which the buffer holds. */
static int read_chunks(FILE *f, uint8_t *body, mi_broker_db_each each, void *context, struct mi_error *err)
{
    uint8_t header[CHUNK_HEADER];
    size_t got;
    while ((got = fread(header, 1, CHUNK_HEADER, f)) == CHUNK_HEADER) {
        uint32_t kind = mi_get_u32be(header), len = mi_get_u32be(header + 4);
        bool wanted = kind == SUBSCRIPTION;
        if ((wanted && len > BUFFER) || !skip(f, len, body))
            return mi_error_set(err, "the broker's database ends within a chunk");
        if (wanted && !read_subscription(body, len, each, context))
            return mi_error_set(err, "the broker's database has a subscription of an unknown form");
    }
    return got == 0 && !ferror(f) ? 0 : mi_error_set(err, "the broker's database ends within a chunk");
}

#include "history/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

enum { VERSION = 1, CHECK = 12, MAX_BYTES = 740 };

static bool pack(const struct mi_cursor *c, struct mi_buf *out);
static bool unpack(struct mi_span bytes, struct mi_cursor *out);
static bool check_value(const uint8_t *key, struct mi_span filter, struct mi_span bytes, uint8_t out[CHECK]);
static bool add_base64url(struct mi_buf *text, struct mi_span bytes);
static bool read_base64url(struct mi_span text, struct mi_buf *bytes);

bool mi_cursor_write(const uint8_t key[MI_CURSOR_KEY], struct mi_span filter, const struct mi_cursor *c,
                     struct mi_buf *text)
{
    struct mi_buf bytes;
    uint8_t check[CHECK];
    mi_buf_init(&bytes, MAX_BYTES);
    bool ok = pack(c, &bytes) && check_value(key, filter, mi_buf_span(&bytes), check) &&
              mi_buf_add(&bytes, check, CHECK) && mi_buf_add_text(text, "c_") &&
              add_base64url(text, mi_buf_span(&bytes));
    mi_buf_fini(&bytes);
    return ok;
}

bool mi_cursor_read(const uint8_t key[MI_CURSOR_KEY], struct mi_span filter, struct mi_span text,
                    struct mi_cursor *out)
{
    if (text.len < 2 || text.len > MI_CURSOR_TEXT || memcmp(text.data, "c_", 2) != 0)
        return false;
    struct mi_buf bytes;
    uint8_t check[CHECK];
    mi_buf_init(&bytes, MI_CURSOR_TEXT);
    bool ok = read_base64url((struct mi_span){text.data + 2, text.len - 2}, &bytes) && bytes.len > CHECK;
    if (ok) {
        struct mi_span content = {bytes.data, bytes.len - CHECK};
        ok = check_value(key, filter, content, check) &&
             CRYPTO_memcmp(check, bytes.data + content.len, CHECK) == 0 && unpack(content, out);
    }
    mi_buf_fini(&bytes);
    return ok;
}

/* ---- fields ---- */

static bool add_number(struct mi_buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        if (!mi_buf_add_byte(out, (uint8_t)(v | 0x80)))
            return false;
    return mi_buf_add_byte(out, (uint8_t)v);
}

static bool read_number(struct mi_span s, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; *at < s.len && shift < 64; shift += 7) {
        uint8_t byte = s.data[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool pack(const struct mi_cursor *c, struct mi_buf *out)
{
    mi_buf_add_byte(out, VERSION);
    mi_buf_add_byte(out, (uint8_t)c->kind);
    if (c->kind == MI_CURSOR_FORWARD) {
        add_number(out, c->since_us);
        add_number(out, c->tag);
        add_number(out, c->created_at);
        add_number(out, c->partition);
        add_number(out, c->end);
        add_number(out, c->next == MI_CURSOR_UNPLACED ? 0 : c->next + 1);
    } else {
        add_number(out, c->remaining);
        add_number(out, c->tag);
        add_number(out, c->legs);
        for (uint32_t i = 0; i < c->legs && i < MI_CURSOR_LEGS; i++)
            add_number(out, c->position[i]);
    }
    return !out->failed;
}

static bool unpack_forward(struct mi_span s, size_t *at, struct mi_cursor *out)
{
    uint64_t partition, next;
    if (!read_number(s, at, &out->since_us) || !read_number(s, at, &out->tag) ||
        !read_number(s, at, &out->created_at) || !read_number(s, at, &partition) || partition > UINT32_MAX ||
        !read_number(s, at, &out->end) || !read_number(s, at, &next))
        return false;
    out->partition = (uint32_t)partition;
    out->next = next ? next - 1 : MI_CURSOR_UNPLACED;
    return true;
}

static bool unpack_backward(struct mi_span s, size_t *at, struct mi_cursor *out)
{
    uint64_t legs;
    if (!read_number(s, at, &out->remaining) || !read_number(s, at, &out->tag) ||
        !read_number(s, at, &legs) || legs > MI_CURSOR_LEGS)
        return false;
    out->legs = (uint32_t)legs;
    for (uint32_t i = 0; i < out->legs; i++)
        if (!read_number(s, at, &out->position[i]))
            return false;
    return true;
}

static bool unpack(struct mi_span s, struct mi_cursor *out)
{
    size_t at = 2;
    memset(out, 0, sizeof *out);
    if (s.len < 2 || s.data[0] != VERSION)
        return false;
    out->kind = (enum mi_cursor_kind)s.data[1];
    bool ok = out->kind == MI_CURSOR_FORWARD    ? unpack_forward(s, &at, out)
              : out->kind == MI_CURSOR_BACKWARD ? unpack_backward(s, &at, out)
                                                : false;
    return ok && at == s.len;
}

static bool check_value(const uint8_t *key, struct mi_span filter, struct mi_span bytes, uint8_t out[CHECK])
{
    struct mi_buf all;
    uint8_t full[EVP_MAX_MD_SIZE];
    unsigned len = sizeof full;
    mi_buf_init(&all, MAX_BYTES + MI_CURSOR_TEXT + MI_MAX_MQTT_STRING);
    bool ok = mi_buf_add_span(&all, bytes) && mi_buf_add_span(&all, filter) &&
              HMAC(EVP_sha256(), key, MI_CURSOR_KEY, all.data, all.len, full, &len);
    mi_buf_fini(&all);
    if (ok)
        memcpy(out, full, CHECK);
    return ok;
}

/* ---- base64url without padding ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool add_base64url(struct mi_buf *text, struct mi_span bytes)
{
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < bytes.len; i++) {
        bits = bits << 8 | bytes.data[i];
        for (held += 8; held >= 6; held -= 6)
            mi_buf_add_byte(text, (uint8_t)digits[bits >> (held - 6) & 63]);
    }
    if (held)
        mi_buf_add_byte(text, (uint8_t)digits[bits << (6 - held) & 63]);
    return !text->failed;
}

static bool read_base64url(struct mi_span text, struct mi_buf *bytes)
{
    uint32_t bits = 0;
    unsigned held = 0;
    for (size_t i = 0; i < text.len; i++) {
        const char *digit = memchr(digits, text.data[i], 64);
        if (!digit)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        held += 6;
        if (held >= 8) {
            held -= 8;
            if (!mi_buf_add_byte(bytes, (uint8_t)(bits >> held)))
                return false;
        }
    }
    /* One text per value: what is left over is zero. */
    return held < 6 && (bits & ((1u << held) - 1)) == 0;
}

/* ---- the key ---- */

static bool read_key(int dir, uint8_t key[MI_CURSOR_KEY])
{
    int fd = openat(dir, "history.key", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    uint8_t bytes[MI_CURSOR_KEY + 1];
    ssize_t n = read(fd, bytes, sizeof bytes);
    close(fd);
    if (n != MI_CURSOR_KEY)
        return false;
    memcpy(key, bytes, MI_CURSOR_KEY);
    return true;
}

static bool write_key(int dir, const uint8_t key[MI_CURSOR_KEY])
{
    int fd = openat(dir, "history.key", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return false;
    bool ok = write(fd, key, MI_CURSOR_KEY) == MI_CURSOR_KEY;
    return close(fd) == 0 && ok;
}

bool mi_cursor_key_load(const char *directory, const struct mi_clock *clock, uint8_t key[MI_CURSOR_KEY])
{
    int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && read_key(dir, key)) {
        close(dir);
        return true;
    }
    for (size_t i = 0; i < MI_CURSOR_KEY; i += 8)
        mi_put_u64le(key + i, mi_random(clock));
    bool ok = dir >= 0 && write_key(dir, key);
    if (dir >= 0)
        close(dir);
    return ok;
}

#include "out/letter_round.h"

#include <string.h>

#include "base/limits.h"

bool mi_order_parse(const char *text, struct mi_order *out)
{
    *out = (struct mi_order){.below = UINT64_MAX};
    if (strncmp(text, "requeue ", 8) == 0)
        out->requeue = true;
    else if (strncmp(text, "drop ", 5) != 0)
        return false;
    text += out->requeue ? 8 : 5;
    if (strcmp(text, "all") == 0) {
        out->all = true;
        return true;
    }
    if (!*text || strlen(text) > 19 || strspn(text, "0123456789") != strlen(text))
        return false;
    for (; *text; text++)
        out->number = out->number * 10 + (uint64_t)(*text - '0');
    return true;
}

bool mi_letter_is_hopeless(const struct mi_record *record)
{
    return record->reason == MI_REASON_STREAM_NAME || record->reason == MI_REASON_TOPIC_NAME;
}

void mi_round_init(struct mi_round *r)
{
    memset(r, 0, sizeof *r);
    mi_buf_init(&r->bytes, (size_t)UINT32_MAX + MI_ROUND_BYTES);
}

void mi_round_fini(struct mi_round *r)
{
    mi_buf_fini(&r->bytes);
}

/* ---- reading ---- */

static bool is_meant(const struct mi_letter *letter, const struct mi_order *order)
{
    if (letter->damaged || letter->taken_out)
        return false;
    return order->all ? letter->sequence < order->below : letter->sequence == order->number;
}

/* Spans are offsets while bytes may still move; point() makes them spans. */
static struct mi_span keep(struct mi_buf *bytes, struct mi_span s)
{
    struct mi_span kept = {(const uint8_t *)(uintptr_t)bytes->len, s.len};
    mi_buf_add_span(bytes, s);
    return kept;
}

static void point(struct mi_buf *bytes, struct mi_span *s)
{
    s->data = bytes->data ? bytes->data + (uintptr_t)s->data : NULL;
}

static bool add(struct mi_round *r, const struct mi_letter *letter)
{
    struct mi_record *to = &r->records[r->count];
    const struct mi_record *from = &letter->record;
    *to = *from;
    to->run = to->sequence = 0;
    to->reason = MI_REASON_NONE;
    to->qos =
        from->qos ? from->qos : 1; /* never only gathered in memory; the header mqtt.qos keeps the real one */
    to->stream = keep(&r->bytes, from->stream);
    to->topic = keep(&r->bytes, from->topic);
    to->headers = keep(&r->bytes, from->headers);
    to->prefix = keep(&r->bytes, from->prefix);
    to->payload = keep(&r->bytes, from->payload);
    if (r->bytes.failed)
        return false;
    r->sequences[r->count++] = letter->sequence;
    return true;
}

static void finish(struct mi_round *r)
{
    for (size_t i = 0; i < r->count; i++) {
        struct mi_record *record = &r->records[i];
        point(&r->bytes, &record->stream);
        point(&r->bytes, &record->topic);
        point(&r->bytes, &record->headers);
        point(&r->bytes, &record->prefix);
        point(&r->bytes, &record->payload);
    }
}

int mi_round_read(struct mi_round *r, struct mi_letter_file *f, const struct mi_order *order,
                  struct mi_error *err)
{
    struct mi_letter letter;
    int rc = 0;
    r->count = r->appended = 0;
    r->from = r->next;
    mi_buf_reset(&r->bytes);
    mi_letter_file_seek(f, r->next);
    while (r->count < MI_ROUND_LETTERS && r->bytes.len < MI_ROUND_BYTES &&
           (rc = mi_letter_file_next(f, true, &letter, err)) == 1) {
        r->damaged += letter.damaged;
        bool meant = is_meant(&letter, order),
             hopeless = meant && order->requeue && mi_letter_is_hopeless(&letter.record);
        r->hopeless += hopeless;
        if (meant && !hopeless && !add(r, &letter))
            return mi_error_set(err, "memory is out while dead letters are read");
        r->next = letter.at + letter.bytes;
        if (meant && !order->all)
            break;
    }
    finish(r);
    return rc < 0 ? -1 : r->count > 0;
}

/* ---- to the journal ---- */

enum mi_append mi_round_append(struct mi_round *r, struct mi_journal *j, size_t most)
{
    size_t end = r->count - r->appended < most ? r->count : r->appended + most;
    while (r->appended < end) {
        size_t n = end - r->appended < MI_MAX_HITS ? end - r->appended : MI_MAX_HITS;
        enum mi_append rc = mi_journal_append(j, r->records + r->appended, n);
        if (rc != MI_APPEND_OK)
            return rc;
        r->appended += n;
    }
    return MI_APPEND_OK;
}

/* ---- out of the file ---- */

int mi_round_take_out(struct mi_round *r, struct mi_letter_file *f, size_t count, bool replaced,
                      struct mi_error *err)
{
    struct mi_letter letter;
    size_t taken = 0;
    int rc = 1;
    mi_letter_file_seek(f, replaced ? 0 : r->from);
    while (taken < count && (rc = mi_letter_file_next(f, false, &letter, err)) == 1) {
        if (letter.damaged || letter.taken_out || letter.sequence != r->sequences[taken])
            continue;
        if (mi_letter_file_take_out(f, &letter, err) != 0)
            return -1;
        taken++;
        if (replaced)
            r->next = letter.at + letter.bytes;
    }
    if (rc < 0 || (taken && mi_letter_file_sync(f, err) != 0))
        return -1;
    return taken == count ? 0 : mi_error_set(err, "%zu letters are not in the file any more", count - taken);
}

/*
 * checkpoint: out's memory in the state file, as bytes. Pure.
 *
 * Magic "MIC" and the version, then items of a tag and its fields, numbers as LEB128, names as length and
 * bytes, up to the item E. An L belongs to the T before it. The state file's own CRC guards the whole.
 *
 *   P  stream, topic, route id, number, start, size and oldest time of a parked file
 *   Q  of that P: distance from the end of the Q before (the first: from its start), length: settled bytes
 *   R  of that P: route id, records and bytes not settled
 *   H  window start, next sequence of the journal's counts
 *   D  distance from the end of the D before (the first: from the window's start), length: a run of settled
 * records C  route id, journaled records, targets made, number of counters, counters T  stream, topic,
 * created_at, partitions, route id L  partition, flags, confirmed offset, id hi, id lo, read from, lost from,
 * lost to, again from
 */
#ifndef MI_CHECKPOINT_H
#define MI_CHECKPOINT_H

#include "base/bytes.h"
#include "metrics/metrics.h"

enum { MI_CHECKPOINT_VERSION = 1 };

struct mi_checkpoint_lane {
    uint32_t partition;
    bool confirmed, read_from_known, lost;
    bool floating; /* confirmed_offset is only a lower bound */
    uint64_t confirmed_offset, id_hi, id_lo;
    uint64_t read_from; /* no message that is not settled in this checkpoint stands below */
    uint64_t lost_next, lost_last, again_from;
};

struct mi_checkpoint_item {
    char tag;
    union {
        struct {
            uint64_t window_start, counts_next;
        } head;
        struct {
            uint64_t first, count;
        } done;
        struct {
            uint32_t id, targets_made;
            uint64_t journaled;
            uint32_t counters; /* how many are valid */
            uint64_t counter[MI_C_ROUTE_COUNTERS];
        } route;
        struct {
            struct mi_span stream, topic;
            uint64_t created_at;
            uint32_t partitions, route;
        } target;
        struct {
            struct mi_span stream, topic;
            uint32_t route, number;
            uint64_t start, size, oldest_us;
        } parked;
        struct {
            uint32_t route;
            uint64_t records, bytes;
        } share;
        struct mi_checkpoint_lane lane;
    };
};

struct mi_checkpoint_writer {
    struct mi_buf *out;
    uint64_t done_end;
};
void mi_checkpoint_begin(struct mi_checkpoint_writer *w, struct mi_buf *out);
/* In the order H, D.., then the others. */
void mi_checkpoint_put(struct mi_checkpoint_writer *w, const struct mi_checkpoint_item *item);
/* false: out is full or memory is out. */
bool mi_checkpoint_end(struct mi_checkpoint_writer *w);

struct mi_checkpoint_reader {
    struct mi_span in;
    size_t at;
    uint64_t done_end;
};
/* false: not a checkpoint, or of another version. */
bool mi_checkpoint_open(struct mi_checkpoint_reader *r, struct mi_span in);
/* 1: an item (spans point into in); 0: the end, properly; -1: cut off or not understood. */
int mi_checkpoint_next(struct mi_checkpoint_reader *r, struct mi_checkpoint_item *item);

/* ---- the runs of settled records, for admission ---- */

struct mi_done_run {
    uint64_t first, count;
};
struct mi_done_runs {
    struct mi_done_run *run;
    uint32_t count, cap, next; /* next: those before it are behind the reader */
};
bool mi_done_runs_add(struct mi_done_runs *d, uint64_t first, uint64_t count);
/* Asked in rising order of sequences. */
bool mi_done_runs_has(struct mi_done_runs *d, uint64_t sequence);
void mi_done_runs_fini(struct mi_done_runs *d);

#endif

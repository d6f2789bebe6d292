/*
 * reader: one partition of one target: what to ask next, what an answer means, what is live and what is
 * backlog. Sends nothing itself. Pure.
 *
 * A reader is placed at an offset and reads on from there. Whenever there is doubt that the log is still the
 * one it was (at the start, after a sign of a restarted server, a tail below what was read) it first asks for
 * the message before its place and compares ids:
 *
 *   the same           nothing happened
 *   another            the server lost a tail and gave its offsets to other messages: everything that was
 *                      appended after the last message that was read is new, so it goes on by time
 *   none, and the log  the server lost a tail: the same, and when nothing newer is there, at the new tail
 *   ends before it
 *   a later one        retention took it: nothing can be compared, and it goes on
 *
 * "By time" relies on the server's clock not going backwards over its restart.
 */
#ifndef MI_READER_H
#define MI_READER_H

#include "in/queue.h"
#include "in/timers.h"
#include "in/track.h"
#include "iggy_client.h"

enum mi_ask {
    MI_ASK_NOTHING,
    MI_ASK_TAIL,  /* without the right to topic details: the last message, to find the place */
    MI_ASK_CHECK, /* the message before the place */
    MI_ASK_SINCE, /* what was appended after the last message that was read */
    MI_ASK_MESSAGES
};

struct mi_reader {
    struct mi_target *target;
    uint32_t partition;
    uint32_t id, former_id; /* in inbound messages; former: of what is still on its way, 0 none */
    struct mi_track track;  /* its place is track.read_next */
    /* what to do */
    bool placed;
    bool check;  /* before reading on */
    bool unseen; /* nothing until details show its topic: it may be another one of that name now */
    bool since;  /* go on by time */
    bool lost; /* the log ends before the place and holds nothing newer: go on at its tail, once that is known
                */
    bool read_any;          /* a gap is then a loss and not where reading began */
    uint64_t skip_until_us; /* by time: messages up to here were read before; 0: none */
    uint64_t hollow_end;    /* nothing came though the log reaches to here; 0: no such riddle */
    /* the log */
    uint64_t end; /* one past the newest offset known */
    bool end_known;
    uint32_t end_round; /* in which round of watching (see mi_reader_saw_end) */
    uint64_t live;      /* of what is not read yet so many came while it was watched: see pace.h */
    /* the question under way */
    bool polling, discard; /* discard: placed elsewhere meanwhile */
    iggy_request request;
    enum mi_ask asked;
    uint32_t asked_count;
    uint64_t asked_end;
    uint64_t tokens; /* borrowed for it */
    bool asked_overlap;
    /* how to ask */
    bool overlap;    /* messages are asked for from the one before the place on: each answer is a check, too.
                        Where    signs cannot be heeded */
    bool no_overlap; /* not for the next one: both together were too large */
    uint32_t message_bytes; /* of an answer, per message so far; 0: not known */
    unsigned failures;      /* in a row */
    unsigned quiet;         /* empty answers in a row */
    bool direct;            /* polled directly: it has traffic */
    struct mi_link ready;   /* in the queue of those that ask next */
    /* what retained values were before its place, see scan.c */
    struct mi_scan *scan; /* NULL: nobody asks */
    bool scan_decided;
    bool rebuild; /* the broker does not have them yet, or not safely */
    /* its position, see keep.c */
    struct mi_link unsaved,
        unmirrored;       /* in the queues of those whose position waits to be kept, and shown */
    uint64_t mirrored_ns; /* when it was shown last */
    struct mi_timer timer;
};

/* Puts it at an offset; before: the message there, if known. True when messages of its life before are still
 * on their way: the caller gives it another id then, and keeps the old one as former_id. */
bool mi_reader_place(struct mi_reader *r, uint64_t at, const struct mi_mark *before);

/* There was no such topic or partition. */
void mi_reader_missing(struct mi_reader *r);
/* The server may be another process than before: what was under way is not used, and the place is checked. */
void mi_reader_doubt(struct mi_reader *r);

/* The log was seen to reach to end (one past the newest offset). round counts the uninterrupted stretches of
 * watching: what came between two of them is backlog. from_start: it did not exist before, so all is live. */
void mi_reader_saw_end(struct mi_reader *r, uint64_t end, uint32_t round, bool from_start);

/* What to ask now. blind: topic details may not be read. idle_too: also when nothing new is known. */
enum mi_ask mi_reader_wants(const struct mi_reader *r, bool blind, bool idle_too);
/* Fills strategy, value and count of the poll, and remembers what was asked. most: no more than so many
 * messages; max_bytes: of an answer. */
void mi_reader_question(struct mi_reader *r, enum mi_ask ask, uint32_t most, size_t max_bytes,
                        struct iggy_poll *poll);

enum mi_finding_in { MI_FOUND_NOTHING, MI_FOUND_TAIL_LOST, MI_FOUND_REUSED, MI_FOUND_EXPIRED };

struct mi_judgement {
    bool unfit;               /* not an answer to what was asked: as one that cannot be read */
    bool take;                /* its messages are to be taken, see mi_reader_fresh */
    bool need_details;        /* topic details tell how it goes on */
    bool new_life;            /* mi_reader_place said true */
    enum mi_finding_in found; /* for log and metrics */
    uint64_t expired;         /* messages */
};
/* What the answer to the question means. */
struct mi_judgement mi_reader_judge(struct mi_reader *r, const struct iggy_polled *answer);
/* Is that message of the answer still to be delivered? */
bool mi_reader_fresh(struct mi_reader *r, const struct iggy_polled_message *m);

/* Topic details show the partition. May place it at the tail (found says so). */
struct mi_judgement mi_reader_details(struct mi_reader *r, const struct iggy_partition *p);

/* After an answer of that many bytes. */
void mi_reader_sized(struct mi_reader *r, size_t answer_bytes, size_t messages);
/* After one that was cut off at max_bytes. False: it was asked for one message, which is to be skipped. */
bool mi_reader_too_large(struct mi_reader *r, size_t max_bytes);

#endif

/*
 * letters: a journal's directory with dead letters in it, made through the product's own functions, and the
 * tool run on it.
 */
#ifndef MI_TEST_LETTERS_H
#define MI_TEST_LETTERS_H

#include "journal/journal.h"

/* A new directory with an empty journal in it (closed), and what it is called. */
bool letters_make(void);
void letters_remove(void);
extern char letters_dir[200];

/* NULL when it cannot be opened; sync at once. */
struct mi_journal *letters_journal(uint64_t max_size);

/* Files a letter: number is its sequence; topic and payload are those of MQTT. */
bool letters_file(uint64_t number, enum mi_reason reason, const char *mqtt_topic, const char *payload);
/* How many lie there, not counting those taken out. */
size_t letters_count(void);
/* The path of the file, or of something else in the directory. */
const char *letters_path(const char *name);

/* Changes one byte of the file. */
bool letters_flip(uint64_t offset);
/* Writes a state file that calls every message below that number settled. */
bool letters_settled_below(uint64_t number);
/* Bytes of the file. */
uint64_t letters_bytes(void);

struct letters_record {
    uint64_t sequence, time_us;
    uint32_t route, key_hash;
    uint8_t qos, reason;
    char stream[64], mqtt_topic[64], payload[64];
};
/* The journal's records, read as by the bridge; how many. The journal must be closed. */
size_t letters_journaled(struct letters_record *out, size_t cap);

/* Runs the tool: its exit code, with what it printed in letters_out and letters_err. */
int letters_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, with a bridge at work meanwhile. */
int letters_run_beside(void (*turn)(void *context), void *context, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
extern char *letters_out, *letters_err;
/* Does the text hold that part? Shows both streams when not. */
bool letters_says(const char *text, const char *part);

#endif

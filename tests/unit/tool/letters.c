#include "letters.h"

#include "journal/slots.h"
#include "loop/state.h"
#include "message/envelope.h"
#include "out/checkpoint.h"
#include "out/dead_letter_file.h"
#include "out/dead_letters.h"
#include "support/process.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUTE = 0x1a2b3c4d, KEY_HASH = 77 };

char letters_dir[200];
char *letters_out, *letters_err;

struct mi_journal *letters_journal(uint64_t max_size)
{
    const struct mi_journal_options options = {
        .directory = letters_dir,
        .max_size = max_size,
        .keep = max_size,
        .segment_size = 64 * 1024,
        .sync = MI_SYNC_ALWAYS,
        .clock = &mi_clock_system,
    };
    struct mi_journal *j = NULL;
    struct mi_error err;
    if (mi_journal_open(&options, &j, NULL, &err) != 0)
        printf("\n  %s\n", err.text);
    return j;
}

bool letters_make(void)
{
    if (!mi_temp_dir(letters_dir, sizeof letters_dir))
        return false;
    struct mi_journal *j = letters_journal(64 << 20);
    mi_journal_close(j);
    return j != NULL;
}

void letters_remove(void)
{
    mi_remove_tree(letters_dir);
    free(letters_out);
    free(letters_err);
    letters_out = letters_err = NULL;
}

const char *letters_path(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", letters_dir, name);
    return path;
}

bool letters_file(uint64_t number, enum mi_reason reason, const char *mqtt_topic, const char *payload)
{
    struct mi_envelope envelope;
    struct mi_error err;
    mi_envelope_init(&envelope);
    const struct mi_message m = {
        .topic = mi_span_of(mqtt_topic),
        .payload = mi_span_of(payload),
        .client_id = mi_span_of("meter-1"),
        .time_us = 1764417600123456,
    };
    bool good = mi_envelope_encode(&envelope, &m);
    const struct mi_record r = {
        .run = 0x1122334455667788,
        .sequence = number,
        .time_us = m.time_us,
        .route = ROUTE,
        .key_hash = KEY_HASH,
        .qos = 0,
        .reason = (uint8_t)reason,
        .stream = mi_span_of("sensors"),
        .topic = mi_span_of("data"),
        .headers = mi_buf_span(&envelope.headers),
        .prefix = mi_buf_span(&envelope.prefix),
        .payload = m.payload,
    };
    struct mi_dead_letters *d = mi_dead_letters_new(letters_dir, 64 << 20, 0);
    good = good && d && mi_dead_letters_add(d, &r, &err) == MI_DEAD_WRITTEN;
    mi_dead_letters_free(d);
    mi_envelope_fini(&envelope);
    return good;
}

size_t letters_count(void)
{
    struct mi_letter_file *f;
    struct mi_letter letter;
    struct mi_error err;
    size_t n = 0;
    if (mi_letter_file_open(letters_dir, false, &f, &err) <= 0)
        return 0;
    while (mi_letter_file_next(f, true, &letter, &err) > 0)
        n += !letter.taken_out && !letter.damaged;
    mi_letter_file_close(f);
    return n;
}

bool letters_flip(uint64_t offset)
{
    uint8_t byte = 0;
    int fd = open(letters_path(MI_DEAD_LETTER_FILE), O_RDWR);
    bool good = fd >= 0 && pread(fd, &byte, 1, (off_t)offset) == 1;
    byte ^= 0x10;
    good = good && pwrite(fd, &byte, 1, (off_t)offset) == 1;
    if (fd >= 0)
        close(fd);
    return good;
}

bool letters_settled_below(uint64_t number)
{
    const struct mi_checkpoint_item head = {.tag = 'H',
                                            .head = {.window_start = number, .counts_next = number}};
    struct mi_checkpoint_writer w;
    struct mi_buf state;
    struct mi_slots *slots = mi_slots_open(letters_dir, "state", NULL);
    mi_buf_init(&state, MI_STATE_MAX_BYTES);
    bool good = mi_state_begin(&state);
    mi_checkpoint_begin(&w, &state);
    mi_checkpoint_put(&w, &head);
    good = good && mi_checkpoint_end(&w) && mi_state_between(&state) && mi_state_end(&state) && slots &&
           mi_slots_write(slots, mi_buf_span(&state), NULL) == 0;
    mi_slots_close(slots);
    mi_buf_fini(&state);
    return good;
}

uint64_t letters_bytes(void)
{
    struct stat st;
    return stat(letters_path(MI_DEAD_LETTER_FILE), &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* ---- the journal ---- */

static void copy(char to[64], struct mi_span from)
{
    size_t n = from.len < 63 ? from.len : 63;
    memcpy(to, from.data, n);
    to[n] = '\0';
}

static void take(struct letters_record *to, const struct mi_record *r)
{
    struct mi_message m = {.topic = mi_span_of("?")};
    struct mi_buf scratch;
    const char *why;
    mi_buf_init(&scratch, 1 << 20);
    mi_envelope_decode(r->headers, r->payload, &m, &scratch, &why);
    *to = (struct letters_record){.sequence = r->sequence,
                                  .time_us = r->time_us,
                                  .route = r->route,
                                  .key_hash = r->key_hash,
                                  .qos = r->qos,
                                  .reason = r->reason};
    copy(to->stream, r->stream);
    copy(to->mqtt_topic, m.topic);
    copy(to->payload, m.payload);
    mi_buf_fini(&scratch);
}

size_t letters_journaled(struct letters_record *out, size_t cap)
{
    struct mi_journal *j = letters_journal(64 << 20);
    struct mi_cursor *c = mi_cursor_new(j, 0);
    struct mi_journal_ref ref;
    struct mi_record record;
    struct mi_error err;
    size_t n = 0;
    while (mi_cursor_next(c, &ref, &record, &err) == 1) {
        if (n < cap)
            take(&out[n], &record);
        n++;
    }
    mi_cursor_free(c);
    mi_journal_close(j);
    return n;
}

/* ---- the tool ---- */

static void nothing(void *context)
{
    (void)context;
    mi_sleep_ms(1);
}

__attribute__((format(printf, 3, 0))) static int run(void (*turn)(void *), void *context, const char *format,
                                                     va_list args)
{
    char arguments[1000], command[2400], out[300], err[300], log[300];
    struct mi_process p = {0};
    int status = -1;
    vsnprintf(arguments, sizeof arguments, format, args);
    snprintf(out, sizeof out, "%s/../letters-%d.out", letters_dir, (int)getpid());
    snprintf(err, sizeof err, "%s/../letters-%d.err", letters_dir, (int)getpid());
    snprintf(log, sizeof log, "%s/../letters-%d.log", letters_dir, (int)getpid());
    snprintf(command, sizeof command, "exec '%s' %s >'%s' 2>'%s'", TOOL, arguments, out, err);
    char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c", command, NULL};
    if (!mi_process_start(&p, log, argv, NULL))
        return -1;
    uint64_t until = mi_monotonic_ms() + 20000;
    while (!mi_process_wait(&p, 0, &status) && mi_monotonic_ms() < until)
        turn(context);
    if (mi_process_alive(&p))
        mi_process_kill(&p);
    free(letters_out);
    free(letters_err);
    letters_out = mi_read_file(out);
    letters_err = mi_read_file(err);
    unlink(out);
    unlink(err);
    unlink(log);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int letters_run(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = run(nothing, NULL, format, args);
    va_end(args);
    return rc;
}

int letters_run_beside(void (*turn)(void *context), void *context, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int rc = run(turn, context, format, args);
    va_end(args);
    return rc;
}

bool letters_says(const char *text, const char *part)
{
    if (text && strstr(text, part))
        return true;
    printf("\n  wanted: %s\n  out: %s\n  err: %s\n", part, letters_out ? letters_out : "",
           letters_err ? letters_err : "");
    return false;
}

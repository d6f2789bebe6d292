#include "tool/directory.h"

#include "journal/slots.h"
#include "out/checkpoint.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_MAGIC = 0x3153494d, STATE_HEAD = 12 }; /* loop/state.h */

struct mi_inspect *mi_directory_inspect(const char *directory, struct mi_error *err)
{
    struct stat st;
    int rc = stat(directory, &st);
    if (rc == 0 && S_ISDIR(st.st_mode))
        return mi_inspect_open(directory, err);
    mi_error_set(err, "%s: %s", directory, rc ? strerror(errno) : "is no directory");
    return NULL;
}

static bool exists(const char *directory, int slot)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/state.%d", directory, slot);
    return n > 0 && (size_t)n < sizeof path && access(path, R_OK | W_OK) == 0;
}

static void take_checkpoint(struct mi_span checkpoint, struct mi_state_summary *out)
{
    struct mi_checkpoint_reader reader;
    struct mi_checkpoint_item item;
    if (!mi_checkpoint_open(&reader, checkpoint))
        return;
    while (mi_checkpoint_next(&reader, &item) == 1) {
        if (item.tag == 'H') {
            out->found = true;
            out->settled_below = item.head.window_start;
            out->next = item.head.counts_next > item.head.window_start ? item.head.counts_next
                                                                       : item.head.window_start;
        } else if (item.tag == 'D')
            out->settled_above += item.done.count;
    }
}

void mi_state_summary_read(const char *directory, struct mi_state_summary *out)
{
    struct mi_buf state;
    memset(out, 0, sizeof *out);
    if (!exists(directory, 0) || !exists(directory, 1)) /* opening the slots would make them */
        return;
    struct mi_slots *slots = mi_slots_open(directory, "state", NULL);
    mi_buf_init(&state, 1u << 30);
    if (slots && mi_slots_read(slots, &state, NULL) == 1 && state.len >= STATE_HEAD &&
        mi_get_u32le(state.data) == STATE_MAGIC && mi_get_u32le(state.data + 4) <= state.len - STATE_HEAD)
        take_checkpoint((struct mi_span){state.data + STATE_HEAD, mi_get_u32le(state.data + 4)}, out);
    mi_slots_close(slots);
    mi_buf_fini(&state);
}

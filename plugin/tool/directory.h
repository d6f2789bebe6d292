/*
 * directory: a journal's directory as the tool meets it: is there one, and how far has shipping come.
 */
#ifndef MI_DIRECTORY_H
#define MI_DIRECTORY_H

#include "base/bytes.h"
#include "journal/inspect.h"

/* As mi_inspect_open, with plain words for what is no directory. */
struct mi_inspect *mi_directory_inspect(const char *directory, struct mi_error *err);

struct mi_state_summary {
    bool found;
    uint64_t settled_below; /* every message with a lower number is settled */
    uint64_t settled_above; /* so many of the others are settled too */
    uint64_t next;          /* the journal's next number when it was written, at least */
};

/* Reads DIR/state; found is false when there is none or it cannot be read. Writes nothing. */
void mi_state_summary_read(const char *directory, struct mi_state_summary *out);

#endif

/*
 * answers: what stands at each path; private to this folder. Pure: no HTTP library.
 */
#ifndef MI_STATUS_ANSWERS_H
#define MI_STATUS_ANSWERS_H

#include "status/listener.h"

/* Bytes of one answer at most: 2 * MI_MAX_ROUTES routes with the longest names need less. */
#define MI_MAX_ANSWER_BYTES (128u << 20)

struct mi_answer {
    unsigned status;  /* HTTP */
    const char *type; /* Content-Type */
    struct mi_buf body;
};

/* Fills in the answer for a path; the caller frees the body. Always gives one, if only 404 or 500. Never
 * cached. */
void mi_answer_make(const struct mi_listener_options *options, const char *path, struct mi_answer *answer);

/* What somebody gets for a probe's path who may not see the pages: status and one word. */
bool mi_answer_is_probe(const char *path);
void mi_answer_make_bare(const struct mi_listener_options *options, const char *path,
                         struct mi_answer *answer);

#endif

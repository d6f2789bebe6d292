/*
 * picture: what an interest picture is made of: texts of filters that the table and its pictures share.
 * Private to interest.
 */
#ifndef MI_PICTURE_H
#define MI_PICTURE_H

#include "in/interest.h"

/* A filter's text, counted; any thread. */
struct mi_filter_text;
struct mi_filter_text *mi_filter_text_new(struct mi_span filter); /* NULL when memory is out */
void mi_filter_text_release(struct mi_filter_text *text);         /* NULL is allowed */
struct mi_span mi_filter_text_span(const struct mi_filter_text *text);

/* Holds the texts; the list is copied. everything: all is wanted, and the texts do not matter. NULL when
 * memory is out. */
struct mi_interest_picture *mi_picture_new(bool everything, struct mi_filter_text *const *texts,
                                           size_t count);

#endif

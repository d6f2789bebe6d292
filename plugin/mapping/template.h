/*
 * template: a text with substitutions, "building_{building}", read once and filled in per message.
 *
 * Out (stream, topic, partition key of a PUBLISH): captured names, {1}.., {topic}, {client_id}, {username},
 * {property:NAME}. Native (the MQTT topic of a message that Iggy's own producers wrote): names that the
 * route's stream or topic template shows, {header:NAME}, {partition}, {stream}, {topic} (Iggy's). A brace
 * that is meant is doubled.
 */
#ifndef MI_TEMPLATE_H
#define MI_TEMPLATE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

enum { MI_MAX_PIECES = 64 }; /* literals and substitutions of one template */

enum mi_piece_kind {
    MI_PIECE_TEXT,
    MI_PIECE_CAPTURE,
    MI_PIECE_TOPIC,
    MI_PIECE_CLIENT_ID,
    MI_PIECE_USERNAME,
    MI_PIECE_PROPERTY,
    MI_PIECE_HEADER,
    MI_PIECE_PARTITION,
    MI_PIECE_STREAM
};

struct mi_piece {
    enum mi_piece_kind kind;
    uint32_t capture;    /* MI_PIECE_CAPTURE: index from 0 */
    bool one_level;      /* MI_PIECE_CAPTURE: never holds a '/' */
    struct mi_span text; /* the literal, or NAME of a property or header */
};

struct mi_template {
    struct mi_piece *pieces;
    uint32_t count;  /* 0: not given */
    bool topic_only; /* the same topic always gives the same text */
    char *storage;
};

/* The names that a rule captures, index by index. */
struct mi_names {
    struct mi_span name[MI_MAX_CAPTURES]; /* empty: only its number */
    bool one_level[MI_MAX_CAPTURES];
    bool shown[MI_MAX_CAPTURES]; /* stands in the rule's stream or topic template; set by the out templates */
    uint32_t count;
    bool open; /* no filter and no regex: names are made by using them */
};

enum mi_template_use { MI_USE_TARGET, MI_USE_KEY, MI_USE_NATIVE };

/* Fills t; -1 with a sentence in err. Marks the names that a target shows;
 * names that it makes (open) are views of text. */
int mi_template_parse(struct mi_template *t, const char *text, enum mi_template_use use,
                      struct mi_names *names, struct mi_error *err);
void mi_template_fini(struct mi_template *t);

/* Without substitution; text is then the whole. */
bool mi_template_constant(const struct mi_template *t, struct mi_span *text);

typedef bool (*mi_lookup)(void *context, struct mi_span name, struct mi_span *value);

struct mi_values {
    const struct mi_span *captures;
    struct mi_span topic, client_id, username, stream, partition;
    mi_lookup named; /* a property (out) or a header (native); NULL: there are none */
    void *named_context;
};

/* What a piece stands for; false when it is a property or header that the message does not have. */
bool mi_piece_value(const struct mi_piece *piece, const struct mi_values *values, struct mi_span *value);

/* Appends the text to out, cut at max bytes; what a message does not have is empty. False when out has no
 * room. */
bool mi_template_expand(const struct mi_template *t, const struct mi_values *values, size_t max,
                        struct mi_buf *out);

#endif

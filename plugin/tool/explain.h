/*
 * explain: what the plugin would do with one PUBLISH, gathered (explain.c) and then printed
 * (explain_print.c).
 */
#ifndef MI_EXPLAIN_H
#define MI_EXPLAIN_H

#include "config/config.h"
#include "message/envelope.h"
#include "message/headers.h"

struct mi_explain_args {
    const char *file, *topic;
    struct mi_span client_id, username, payload;
    struct mi_buf properties; /* of --property */
    uint8_t qos;
    bool retain, json;
    uint32_t partitions; /* 0: what the route says */
};

/* What one rule said. Texts are owned. */
struct mi_explain_rule {
    size_t rule;
    enum mi_verdict verdict;
    char *why;
    size_t capture_count;
    char *capture_name[MI_MAX_CAPTURES], *capture_value[MI_MAX_CAPTURES];
    /* taken only */
    bool taken;
    enum mi_hit_status status;
    char *stream, *topic, *key;
    bool balanced;
    uint32_t key_hash, partitions, partition;
    struct mi_envelope envelope;
    size_t request_bytes; /* in a produce request */
};

struct mi_explanation {
    struct mi_explain_rule *rules;
    size_t count, cap;
    bool failed; /* memory is out */
};

void mi_explain_print_text(const struct mi_explain_args *args, const struct mi_config *config,
                           const struct mi_explanation *found);
void mi_explain_print_json(const struct mi_explain_args *args, const struct mi_config *config,
                           const struct mi_explanation *found);

/* A header's value for people and its kind; raw bytes as hex. text is owned by the caller, NULL: memory is
 * out. */
char *mi_explain_header_text(const struct mi_header *header, const char **kind);

#endif

/*
 * wire: writing recordings: one PUBLISH as a line, random numbers that are the same everywhere, and enough of
 * protobuf's encoding for Sparkplug B.
 */
#ifndef MI_WIRE_H
#define MI_WIRE_H

#include "base/bytes.h"

/* Numbers that are the same on every machine and with every compiler, whatever order arguments are evaluated
 * in: each place in the code draws its own from the moment that wire_moment began. */
void wire_moment(void);
#define wire_random(below) wire_draw(__COUNTER__, below)
uint32_t wire_draw(uint32_t place, uint32_t below);
/* A value that wanders between low and high; moved by this, then read where it is needed. */
void wire_wander(double *value, double low, double high, double step);

/* Prints one PUBLISH to stdout. */
void wire_publish(uint32_t at_ms, int qos, bool retain, const char *topic, struct mi_span payload);
void wire_publish_text(uint32_t at_ms, int qos, bool retain, const char *topic, const char *payload);

/* protobuf: field with a varint, a double (fixed64), bytes. */
void wire_varint(struct mi_buf *out, unsigned field, uint64_t value);
void wire_double(struct mi_buf *out, unsigned field, double value);
void wire_bytes(struct mi_buf *out, unsigned field, struct mi_span bytes);

#endif

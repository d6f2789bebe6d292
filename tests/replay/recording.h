/*
 * recording: reads the recordings in tests/data, one PUBLISH per line:
 *
 *   milliseconds since the start <TAB> QoS <TAB> retain (0, 1) <TAB> topic <TAB> payload in base64 (may be
 * empty)
 *
 * Lines that begin with # are comments.
 */
#ifndef MI_RECORDING_H
#define MI_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mi_recorded {
    uint32_t at_ms;
    int qos;
    bool retain;
    char topic[1024];
    uint8_t payload[65536];
    int payload_len;
};

/* 1: read; 0: end; -1: line that cannot be read (its number in *line). */
int mi_recording_next(FILE *file, struct mi_recorded *out, unsigned *line);

#endif

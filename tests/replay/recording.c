#include "recording.h"

#include <stdlib.h>
#include <string.h>

static int value_of(char c)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(alphabet, c) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

static int decode(const char *text, uint8_t *out, size_t cap)
{
    uint32_t bits = 0;
    int have = 0;
    size_t len = 0;
    for (; *text && *text != '='; text++) {
        int v = value_of(*text);
        if (v < 0)
            return -1;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (len == cap)
                return -1;
            out[len++] = (uint8_t)(bits >> have);
        }
    }
    return (int)len;
}

static bool parse(char *text, struct mi_recorded *out)
{
    char *field[5], *rest = text;
    for (int i = 0; i < 5; i++) {
        field[i] = rest;
        rest = strchr(rest, i < 4 ? '\t' : '\n');
        if (!rest)
            return false;
        *rest++ = '\0';
    }
    out->at_ms = (uint32_t)strtoul(field[0], NULL, 10);
    out->qos = (int)strtol(field[1], NULL, 10);
    out->retain = field[2][0] == '1';
    if (strlen(field[3]) >= sizeof out->topic)
        return false;
    memcpy(out->topic, field[3], strlen(field[3]) + 1);
    out->payload_len = decode(field[4], out->payload, sizeof out->payload);
    return out->payload_len >= 0 && out->topic[0];
}

int mi_recording_next(FILE *file, struct mi_recorded *out, unsigned *line)
{
    static char text[128 * 1024];
    while (fgets(text, sizeof text, file)) {
        (*line)++;
        if (text[0] == '#')
            continue;
        return parse(text, out) ? 1 : -1;
    }
    return 0;
}

/* letter_print: one dead letter, as a line, as JSON, whole. */
#include "message/envelope.h"
#include "message/headers.h"
#include "tool/explain.h"
#include "tool/letters.h"
#include "tool/text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The MQTT message in a letter; a letter that holds none shows its bytes as the payload. */
static void decode(const struct mi_record *r, struct mi_buf *scratch, struct mi_message *out)
{
    const char *why;
    enum mi_decoded kind = mi_envelope_decode(r->headers, r->payload, out, scratch, &why);
    if (kind != MI_DECODED_MQTT)
        *out = (struct mi_message){.payload = r->payload};
}

void mi_letter_print_head(void)
{
    printf("%8s  %-27s  %-11s  %-14s  %9s  %s\n", "NUMBER", "RECEIVED", "REASON", "ROUTE", "BYTES",
           "MQTT TOPIC -> STREAM/TOPIC");
}

void mi_letter_print_line(const struct mi_record *r, struct mi_buf *scratch)
{
    struct mi_message m;
    char time[MI_TIME_TEXT];
    decode(r, scratch, &m);
    printf("%8" PRIu64 "  %-27s  %-11s  route-%08x  %9zu  ", r->sequence, mi_text_time(r->time_us, time),
           mi_reason_name(r->reason), r->route, m.payload.len);
    mi_text_print(stdout, m.topic);
    fputs(" -> ", stdout);
    mi_text_print(stdout, r->stream);
    putchar('/');
    mi_text_print(stdout, r->topic);
    putchar('\n');
}

static void add_text(cJSON *to, const char *key, struct mi_span bytes)
{
    char *text = mi_text_of(bytes);
    cJSON_AddStringToObject(to, key, text ? text : "");
    free(text);
}

static void add_number(cJSON *to, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    cJSON_AddRawToObject(to, key, text);
}

void mi_letter_print_json(const struct mi_record *r, struct mi_buf *scratch)
{
    struct mi_message m;
    char text[MI_TIME_TEXT];
    cJSON *item = cJSON_CreateObject();
    decode(r, scratch, &m);
    add_number(item, "number", r->sequence);
    add_number(item, "time_us", r->time_us);
    cJSON_AddStringToObject(item, "time", mi_text_time(r->time_us, text));
    cJSON_AddStringToObject(item, "reason", mi_reason_name(r->reason));
    snprintf(text, sizeof text, "route-%08x", r->route);
    cJSON_AddStringToObject(item, "route", text);
    add_text(item, "stream", r->stream);
    add_text(item, "topic", r->topic);
    add_text(item, "mqtt_topic", m.topic);
    cJSON_AddNumberToObject(item, "qos", m.qos);
    add_number(item, "payload_bytes", m.payload.len);
    char *json = cJSON_PrintUnformatted(item);
    fputs(json ? json : "{}", stdout);
    cJSON_free(json);
    cJSON_Delete(item);
}

static void print_headers(struct mi_span block)
{
    struct mi_header header;
    size_t at = 0;
    while (mi_headers_next(block, &at, &header) == 1) {
        const char *kind;
        char *text = mi_explain_header_text(&header, &kind);
        fputs("header      ", stdout);
        mi_text_print(stdout, header.key);
        fputs(" = ", stdout);
        mi_text_print(stdout, mi_span_of(text));
        printf(" (%s)\n", kind);
        free(text);
    }
}

void mi_letter_print_whole(const struct mi_record *r, struct mi_buf *scratch)
{
    struct mi_message m;
    char time[MI_TIME_TEXT];
    decode(r, scratch, &m);
    printf("number      %" PRIu64 "\nreason      %s\nreceived    %s\nroute       route-%08x\nstream      ",
           r->sequence, mi_reason_name(r->reason), mi_text_time(r->time_us, time), r->route);
    mi_text_print(stdout, r->stream);
    fputs("\ntopic       ", stdout);
    mi_text_print(stdout, r->topic);
    printf("\nmessage id  %016" PRIx64 "%016" PRIx64 "\n", r->run, r->sequence);
    print_headers(r->headers);
    printf("payload     %zu bytes\n", m.payload.len);
    mi_text_print(stdout, m.payload);
    putchar('\n');
}

bool mi_letter_print_payload(const struct mi_record *r, struct mi_buf *scratch)
{
    struct mi_message m;
    decode(r, scratch, &m);
    return fwrite(m.payload.data ? m.payload.data : (const uint8_t *)"", 1, m.payload.len, stdout) ==
               m.payload.len &&
           fflush(stdout) == 0;
}

/*
 * letters: the verbs of `mosquitto_iggy dead-letters`.
 */
#ifndef MI_LETTERS_H
#define MI_LETTERS_H

#include "out/dead_letter_file.h"

/* letter_print.c. scratch: for decoding. */
void mi_letter_print_head(void);
void mi_letter_print_line(const struct mi_record *record, struct mi_buf *scratch);
void mi_letter_print_json(const struct mi_record *record, struct mi_buf *scratch);
void mi_letter_print_whole(const struct mi_record *record, struct mi_buf *scratch);
/* The MQTT payload, and nothing else. False: it cannot be written. */
bool mi_letter_print_payload(const struct mi_record *record, struct mi_buf *scratch);

/* requeue.c: carries out "requeue|drop NUMBER|all": through the control socket of the broker that holds the
 * directory, else by itself. Says what came of it; an exit code. */
int mi_letters_order(const char *directory, const char *order);

/* control_client.c: sends the order to the broker's control socket and waits for the answer. -1 with err. */
enum { MI_ANSWER = 1024 };
int mi_control_ask(const char *directory, const char *order, char answer[MI_ANSWER], struct mi_error *err);

#endif

/*
 * result: from an answer to the struct iggy_result that the caller sees: classification, Iggy's number, the
 * sentence.
 */
#ifndef IGGY_RESULT_H
#define IGGY_RESULT_H

#include "iggy_client.h"
#include "transport.h"

/* Fills all of result but logged_in_again, and sets the answer's code from its body. label names the request
 * for people: method and path. */
void result_of_answer(struct iggy_result *result, struct answer *answer, const char *label, const char *url,
                      bool quiet);

/* A failure of our own making: no effect. */
void result_set(struct iggy_result *result, enum iggy_kind kind, enum iggy_retry retry, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* Turns a 2xx result into "this answer cannot be read". */
void result_garbled(struct iggy_result *result, bool write);

#endif

/*
 * accounts: users and personal access tokens of an Iggy server, made by its root. Synchronous, for tests.
 */
#ifndef MI_TEST_ACCOUNTS_H
#define MI_TEST_ACCOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* permissions: JSON with ' for ", or NULL for none. Waits for a server that is still starting. */
bool mi_account_create(uint16_t port, const char *username, const char *password, const char *permissions);
bool mi_account_delete(uint16_t port, const char *username);
/* A token of that user's. */
bool mi_account_token(uint16_t port, const char *username, const char *password, char *token, size_t size);

#endif

/*
 * acl_file: Mosquitto's acl_file, read and evaluated with the broker's own rules, for the two places where a
 * plugin must know a verdict that it cannot ask for: history (delivery to one client skips the broker's
 * check) and the rights of whoever Iggy's permissions do not know.
 *
 * Sources: mosquitto/src/security_default.c (aclfile__parse, mosquitto_acl_check_default) of 2.0 and
 * src/acl_file.c, plugins/acl-file/acl_check.c of 2.1; where the two differ the reader takes the version it
 * is told. A differential test runs both through thousands of random files. Main thread.
 */
#ifndef MI_ACL_FILE_H
#define MI_ACL_FILE_H

#include "base/bytes.h"
#include "base/error.h"

struct mi_acl_file;

/* Reads the file. NULL with err: unreadable or refused as the broker refuses it (line and reason). */
struct mi_acl_file *mi_acl_file_read(const char *path, bool v2_1, struct mi_error *err);
void mi_acl_file_free(struct mi_acl_file *f);

enum mi_acl_access { MI_ACL_READ = 1, MI_ACL_WRITE = 2 };
/* May that client do it on topic? username empty: anonymous. Like the broker: denials first, then the user's
 * lines, then patterns with %c and %u. */
bool mi_acl_file_allows(const struct mi_acl_file *f, struct mi_span username, struct mi_span client_id,
                        struct mi_span topic, enum mi_acl_access access);

#endif

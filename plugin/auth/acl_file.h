/*
 * acl_file: Mosquitto's acl_file, read and evaluated with the broker's own rules, for the places where a
 * plugin must know a verdict that it cannot ask for: history (delivery to one client skips the broker's
 * check).
 *
 * Sources: mosquitto/src/security_default.c (aclfile__parse, mosquitto_acl_check_default) and security.c of
 * 2.0.11 to 2.0.22; plugins/acl-file/, libcommon/topic_common.c and src/plugin_acl_check.c of 2.1.0 to 2.1.2.
 * A differential test (tests/integration/acl_file_test.c) runs random files through both.
 *
 * The rules, where a reader might expect others:
 *   - a topic with a space in it needs an access word before it: "topic read a b"; "topic a b" is refused;
 *   - "topic" lines before the first "user" line are for clients without a user name, and for them only;
 *   - a client's own lines come first: its denials, then what allows; then the patterns, denials first. So a
 *     pattern's denial takes away nothing that the user's own line allows;
 *   - once there is a pattern, a client whose name or id holds + or # has only its own lines;
 *   - a pattern with %u anywhere is not for clients without a user name.
 * What 2.1 does otherwise than 2.0:
 *   - %c and %u stand for a whole level only; "a%c" is the text "a%c" (2.0 replaces them anywhere);
 *   - a name or id with "/" in it therefore matches no %u or %c (2.0: it is as if it stood there);
 *   - "%u/x" never matches a topic that begins with $, though the name begins with $ (2.0: it does);
 *   - a file that is a symbolic link is refused unless MOSQUITTO_UNSAFE_ALLOW_SYMLINKS is set.
 * What is refused here and not by the broker: a file with a NUL byte (each version reads on differently
 * behind it) and one of more than 16 MB.
 *
 * One file for the whole broker: where per_listener_settings is true each listener may have a file of its
 * own, and a plugin cannot know which one counts for a client. Callers must treat that as a provider that
 * they cannot read.
 */
#ifndef MI_ACL_FILE_H
#define MI_ACL_FILE_H

#include "base/bytes.h"
#include "base/error.h"

struct mi_acl_file;

enum mi_acl_rules { MI_ACL_RULES_2_0, MI_ACL_RULES_2_1 };

/* Reads the file. NULL with err: unreadable, or refused as the broker refuses it (line and reason). A broker
 * does not start with such a file; one that meets it at a reload is left without its rules (2.0) or ends
 * (2.1), so the caller then allows nothing. Immutable once read; any thread. */
struct mi_acl_file *mi_acl_file_read(const char *path, enum mi_acl_rules rules, struct mi_error *err);
/* The same from memory; text is not needed afterwards. */
struct mi_acl_file *mi_acl_file_parse(struct mi_span text, enum mi_acl_rules rules, struct mi_error *err);
void mi_acl_file_free(struct mi_acl_file *f);

struct mi_acl_client {
    struct mi_span username; /* empty: none; the broker takes an empty user name for none, too */
    struct mi_span client_id;
};
enum mi_acl_access { MI_ACL_READ = 1, MI_ACL_WRITE = 2 };

/* Would the broker let that client read or write the topic? With the checks for $SYS and $share that it makes
 * before it asks the file. Work: the file's lines for that user and its patterns, each once over the topic.
 */
bool mi_acl_file_allows(const struct mi_acl_file *f, const struct mi_acl_client *client, struct mi_span topic,
                        enum mi_acl_access access);

#endif

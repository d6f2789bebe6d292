/*
 * broker_file: what the broker's own mosquitto.conf says, read as Mosquitto reads it (conf.c of 2.0.11 and
 * 2.1.2).
 *
 * A line that begins with # or is empty counts for nothing. Words are parted by spaces, never by tabs; a text
 * is the rest of the line without white space at both ends, and a # within it is no comment. A plugin_opt_
 * line belongs to the last plugin above it in the same file: KEY ends at the first space, the value is the
 * rest as it is. include_dir counts in the main file only and reads the folder's *.conf sorted without regard
 * to case, then by it; a file that is included begins without a listener and without a plugin.
 *
 * With per_listener_settings true a plugin and an acl_file belong to the listener above them. Whether such a
 * file is one that the broker takes is for the broker to say: what is unknown here is passed over.
 */
#ifndef MI_BROKER_FILE_H
#define MI_BROKER_FILE_H

#include "base/error.h"
#include "config/config.h"

enum { MI_MAX_LISTENERS = 64, MI_MAX_BROKER_FILES = 256 };

/* A listener, or what stands above the first (number 0; without per_listener_settings plugins and acl_file
 * are all there). */
struct mi_broker_section {
    uint16_t port;                    /* 0: a unix socket, or number 0 without a port line */
    const char *address;              /* of the listener, or the socket's path; NULL: all */
    const char *mount_point;          /* NULL: none */
    const char *acl_file, *acl_where; /* path, and FILE:LINE of its line; NULL: none */
    const char *plugin,
        *plugin_where;  /* another plugin that may decide rights (its path); NULL: none known */
    bool other_plugins; /* there are plugins beside ours */
    bool ours;          /* this plugin is loaded here */
};

struct mi_broker_file {
    const char *path;
    /* our plugin's lines */
    bool ours;        /* it is loaded */
    bool global;      /* by global_plugin */
    const char *name; /* by plugin_load under this name; NULL: not */
    size_t uses;      /* listeners that name it in plugin_use */
    struct mi_plugin_opt *opts;
    const char **files; /* beside opts: the file and line */
    unsigned *lines;
    size_t count;
    /* the whole broker */
    bool persistence, autosave_on_changes, per_listener, bridges;
    bool persist_plugin; /* a plugin that keeps the store is loaded (2.1: mosquitto_persist_sqlite) */
    const char *persistence_location, *persistence_file; /* NULL: as the broker chooses */
    uint64_t autosave_interval_s, max_queued_messages, max_queued_bytes;
    struct mi_broker_section sections[MI_MAX_LISTENERS];
    size_t section_count; /* the first MI_MAX_LISTENERS; at least 1 */
    void *memory;         /* of the texts */
};

/* -1 with err: a file of it cannot be read, is too large, or memory is out. Call mi_broker_file_free in any
 * case. */
int mi_broker_file_read(struct mi_broker_file *file, const char *path, struct mi_error *err);
/* That of the process that this runs in, as its -c argument names it; -1 also when there is none. */
int mi_broker_file_read_own(struct mi_broker_file *file, struct mi_error *err);
void mi_broker_file_free(struct mi_broker_file *file);

/* The section that our plugin is in: whose ACL it takes part in. */
const struct mi_broker_section *mi_broker_file_section(const struct mi_broker_file *file);

/* Do the events of all listeners reach our plugin? Else only those of its own. */
bool mi_broker_file_hears_all(const struct mi_broker_file *file);

/* The file of the -c argument of a command line as /proc/PID/cmdline holds it (NUL-separated); NULL: there is
 * none. */
const char *mi_broker_file_of_arguments(const char *arguments, size_t len);

#endif

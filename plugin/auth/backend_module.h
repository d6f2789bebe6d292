/*
 * backend_module: a back end in a shared library of its own, so that the plugin itself needs nothing that
 * only that back end needs. It lies beside the plugin and is loaded when the configuration asks for it.
 */
#ifndef MI_BACKEND_MODULE_H
#define MI_BACKEND_MODULE_H

#include "auth/backend.h"
#include "base/log.h"

/* Both sides are built together; another number is refused. */
enum { MI_BACKEND_MODULE_VERSION = 2 };

struct mi_backend_module_options {
    const char *connection;   /* how to reach it, a secret; copied, wiped in the end */
    uint64_t timeout_ns;      /* of a connection, of a query, of waiting for the turn */
    const struct mi_log *log; /* thread-safe */
    struct mi_backend_sink sink;
    /* NULL: nobody wants to know rights. Told before the answer to a login, and when asked for: text is lines
     * of an acl_file (acl_file.h), NULL when there is no such user, or one who may not log in. Any thread. */
    void (*rights)(void *context, struct mi_span username, const char *text);
    void *rights_context;
};

/* What the library exports under MI_BACKEND_MODULE_SYMBOL. */
struct mi_backend_module {
    unsigned version;
    const struct mi_backend_functions *functions;
    /* Starts its thread, with all signals blocked, and connects to nothing yet. NULL with err. */
    void *(*open)(const struct mi_backend_module_options *options, struct mi_error *err);
    /* A reload: used for the next connection, which is made at once. Main thread. */
    void (*set_connection)(void *self, const char *connection);
    /* Ends within a moment, whatever the other side does. Unanswered checks stay so. */
    void (*close)(void *self);
};
#define MI_BACKEND_MODULE_SYMBOL "mi_backend_module"

struct mi_loaded_module;
/* Loads the file of that name from the folder that holds the code of this function. NULL with err: it is not
 * there, it cannot be loaded, or it is not of this build. */
struct mi_loaded_module *mi_loaded_module_open(const char *file, struct mi_error *err);
const struct mi_backend_module *mi_loaded_module_of(const struct mi_loaded_module *m);
void mi_loaded_module_close(struct mi_loaded_module *m);

#endif

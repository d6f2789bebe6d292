/* module: what mosquitto_iggy_postgresql.so exports. */
#include "postgresql/worker.h"

extern const struct mi_backend_module mi_backend_module;

__attribute__((visibility("default"))) const struct mi_backend_module mi_backend_module = {
    .version = MI_BACKEND_MODULE_VERSION,
    .functions = &mi_pg_worker_functions,
    .open = mi_pg_worker_open,
    .set_connection = mi_pg_worker_set_connection,
    .close = mi_pg_worker_close,
};

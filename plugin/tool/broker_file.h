/*
 * broker_file: the plugin_opt_ lines of a mosquitto.conf, read as Mosquitto reads them (conf.c): KEY ends at
 * the first space, the value is the rest of the line as it is, a # within it is no comment, lines belong to
 * the last plugin above.
 */
#ifndef MI_BROKER_FILE_H
#define MI_BROKER_FILE_H

#include "base/error.h"
#include "config/config.h"

struct mi_broker_file {
    char *text; /* holds keys and values */
    struct mi_plugin_opt *opts;
    unsigned *lines; /* beside opts */
    size_t count;
};

/* -1 with err: unreadable, or no plugin line that loads mosquitto_iggy. */
int mi_broker_file_read(struct mi_broker_file *file, const char *path, struct mi_error *err);
void mi_broker_file_free(struct mi_broker_file *file);

#endif

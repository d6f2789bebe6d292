/*
 * load: a configuration for the tool, from the JSON file or from the broker's own file (a name that ends with
 * .conf), whose plugin_opt_ lines behind the plugin are taken as the broker would.
 */
#ifndef MI_LOAD_H
#define MI_LOAD_H

#include "config/config.h"

struct mi_load_counts {
    unsigned refused, warned;
};

/* Every finding is printed on stderr as FILE:LINE: error|warning: KEY: SENTENCE. NULL when refused. */
struct mi_config *mi_load(const char *path, struct mi_load_counts *counts);

#endif

/*
 * config_box: what stands around a configuration: its holders and the memory of its texts. Private to this
 * folder.
 */
#ifndef MI_CONFIG_BOX_H
#define MI_CONFIG_BOX_H

#include "config/config.h"

/* All zero, with one holder; NULL when memory is out. */
struct mi_config *mi_config_box_new(void);
/* Zeroed memory that is freed with the configuration; NULL when memory is out. */
void *mi_config_box_take(struct mi_config *c, size_t bytes);

#endif

/*
 * reload: SIGHUP. Parse, validate, then swap; a configuration that cannot be used changes nothing.
 */
#ifndef MI_RELOAD_H
#define MI_RELOAD_H

#include "broker/plugin.h"

/* MOSQ_EVT_RELOAD: what the callback returns. The two series want opposite codes, whatever came of it: 2.0
 * ends the chain on SUCCESS and loses its acl_file on an error; 2.1 ends the broker on anything but SUCCESS.
 */
int mi_reload(struct mi_plugin *p);

#endif

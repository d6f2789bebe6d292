/*
 * tick: what happens at each turn of the broker's loop. On Mosquitto 2.0 that is once per packet, so a turn
 * without work costs a few atomic loads.
 */
#ifndef MI_TICK_H
#define MI_TICK_H

#include "broker/plugin.h"

/* MOSQ_EVT_TICK. The first one moves MESSAGE behind the other plugins and starts the bridge threads. */
void mi_tick(struct mi_plugin *p);

#endif

/*
 * families: what devices of one kind send at one moment of the recording, from the payload shapes that their
 * makers document. Each call prints some PUBLISHes; round counts up from 0, at_ms is the time of the round's
 * start.
 */
#ifndef MI_FAMILIES_H
#define MI_FAMILIES_H

#include <stdint.h>

void family_zigbee2mqtt(unsigned round, uint32_t at_ms);
void family_tasmota(unsigned round, uint32_t at_ms);
void family_shelly(unsigned round, uint32_t at_ms);
void family_home_assistant(unsigned round, uint32_t at_ms);
void family_sparkplug(unsigned round, uint32_t at_ms);
void family_esphome(unsigned round, uint32_t at_ms);
void family_chirpstack(unsigned round, uint32_t at_ms);
void family_owntracks(unsigned round, uint32_t at_ms);

#endif

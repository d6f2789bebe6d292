/*
 * device_traffic: makes tests/data/devices.tsv: eight kinds of devices over ten minutes, from the payload
 * shapes that their makers document (Zigbee2MQTT, Tasmota, Shelly, Home Assistant discovery, Sparkplug B,
 * ESPHome, ChirpStack, OwnTracks).
 *
 *   device_traffic > tests/data/devices.tsv
 */
#include "families.h"

#include <stdio.h>

enum { ROUNDS = 400, ROUND_MS = 1500 };

int main(void)
{
    printf("# made by device_traffic; format: tests/replay/recording.h\n");
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t at_ms = round * ROUND_MS;
        family_zigbee2mqtt(round, at_ms);
        family_tasmota(round, at_ms);
        family_shelly(round, at_ms);
        family_home_assistant(round, at_ms);
        family_sparkplug(round, at_ms);
        family_esphome(round, at_ms);
        family_chirpstack(round, at_ms);
        family_owntracks(round, at_ms);
    }
    return ferror(stdout) ? 1 : 0;
}

#include "families.h"

#include <stdio.h>

#include "wire.h"

/* The recording begins at this moment: 2026-03-01 06:00:00 UTC. */
#define START_S 1772344800ull

static char text[4096], topic[256];

static uint32_t jitter(uint32_t at_ms)
{
    return at_ms + wire_random(900);
}

static void publish(uint32_t at_ms, int qos, bool retain)
{
    wire_publish_text(jitter(at_ms), qos, retain, topic, text);
}

static const char *iso_time(uint32_t at_ms)
{
    static char when[48];
    unsigned s = (unsigned)(at_ms / 1000);
    snprintf(when, sizeof when, "2026-03-01T%02u:%02u:%02u", 6 + s / 3600, s / 60 % 60, s % 60);
    return when;
}

void family_zigbee2mqtt(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static const char *const names[] = {"living room/climate", "kitchen window", "Büro/Schreibtischlampe",
                                        "0x00158d0001a2b3c4",  "garage door",    "hallway motion"};
    static double temperature[6] = {21, 19, 20, 18, 12, 20};
    unsigned n = round % 6;
    wire_wander(&temperature[n], 10, 30, 0.3);
    if (round == 0)
        wire_publish_text(at_ms, 0, true, "zigbee2mqtt/bridge/state", "{\"state\":\"online\"}");
    snprintf(topic, sizeof topic, "zigbee2mqtt/%s", names[n]);
    if (n == 1 || n == 4)
        snprintf(text, sizeof text,
                 "{\"battery\":%u,\"contact\":%s,\"linkquality\":%u,\"tamper\":false,\"voltage\":%u}",
                 80 + wire_random(20), wire_random(4) ? "true" : "false", wire_random(255),
                 2900 + wire_random(200));
    else if (n == 2)
        snprintf(
            text, sizeof text,
            "{\"brightness\":%u,\"color_mode\":\"color_temp\",\"color_temp\":%u,\"linkquality\":%u,\"state\":"
            "\"ON\","
            "\"update\":{\"installed_version\":587765297,\"latest_version\":587765297,\"state\":\"idle\"}}",
            wire_random(254), 250 + wire_random(200), wire_random(255));
    else
        snprintf(text, sizeof text,
                 "{\"battery\":%u,\"humidity\":%.2f,\"linkquality\":%u,\"pressure\":%.1f,\"temperature\":%."
                 "2f,\"voltage\":%u}",
                 70 + wire_random(30), 40 + wire_random(3000) / 100.0, wire_random(255),
                 990 + wire_random(300) / 10.0, temperature[n], 2900 + wire_random(200));
    publish(at_ms, 0, n == 2);
    if (round % 40 == 7) {
        snprintf(topic, sizeof topic, "zigbee2mqtt/%s/availability", names[n]);
        wire_publish_text(jitter(at_ms), 1, true, topic,
                          wire_random(5) ? "{\"state\":\"online\"}" : "{\"state\":\"offline\"}");
    }
}

void family_tasmota(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static double power[3] = {60, 1200, 5}, energy[3] = {12, 340, 1};
    static const char *const names[] = {"tasmota_4F2A1C", "boiler", "office-plug"};
    unsigned n = round % 3;
    const char *when = iso_time(at_ms);
    wire_wander(&energy[n], 0, 9999, 0.01);
    wire_wander(&power[n], 0, 2300, 40);
    snprintf(topic, sizeof topic, "tele/%s/SENSOR", names[n]);
    snprintf(text, sizeof text,
             "{\"Time\":\"%s\",\"ENERGY\":{\"TotalStartTime\":\"2025-11-02T10:21:33\",\"Total\":%.3f,"
             "\"Yesterday\":%.3f,"
             "\"Today\":%.3f,\"Period\":%u,\"Power\":%.0f,\"ApparentPower\":%.0f,\"ReactivePower\":%u,"
             "\"Factor\":0.9%u,"
             "\"Voltage\":%u,\"Current\":%.3f}}",
             when, energy[n], energy[n] / 30, energy[n] / 90, wire_random(20), power[n], power[n] * 1.05,
             wire_random(40), wire_random(10), 225 + wire_random(10), power[n] / 230);
    publish(at_ms, 0, false);
    if (round % 5 == 0) {
        snprintf(topic, sizeof topic, "tele/%s/STATE", names[n]);
        snprintf(
            text, sizeof text,
            "{\"Time\":\"%s\",\"Uptime\":\"%uT0%u:11:42\",\"UptimeSec\":%u,\"Heap\":%u,\"SleepMode\":"
            "\"Dynamic\",\"Sleep\":50,"
            "\"LoadAvg\":19,\"MqttCount\":1,\"POWER\":\"%s\",\"Wifi\":{\"AP\":1,\"SSId\":\"iot\",\"BSSId\":"
            "\"DC:A6:32:01:02:03\",\"Channel\":6,\"Mode\":\"11n\",\"RSSI\":%u,\"Signal\":-%u,\"LinkCount\":1,"
            "\"Downtime\":\"0T00:00:04\"}}",
            when, round / 200, round % 9, round * 300, 24 + wire_random(4), power[n] > 10 ? "ON" : "OFF",
            60 + wire_random(40), 40 + wire_random(30));
        publish(at_ms, 0, false);
    }
    if (round % 60 == 3) {
        snprintf(topic, sizeof topic, "tele/%s/LWT", names[n]);
        wire_publish_text(jitter(at_ms), 1, true, topic, "Online");
    }
}

void family_shelly(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static double watts = 120;
    wire_wander(&watts, 0, 3500, 90);
    if (round % 2 == 0) { /* second generation: JSON-RPC notifications */
        snprintf(topic, sizeof topic, "shellyplus1pm-a8032ab12fd0/events/rpc");
        snprintf(text, sizeof text,
                 "{\"src\":\"shellyplus1pm-a8032ab12fd0\",\"dst\":\"shellyplus1pm-a8032ab12fd0/"
                 "events\",\"method\":"
                 "\"NotifyStatus\",\"params\":{\"ts\":%llu.%02u,\"switch:0\":{\"id\":0,\"aenergy\":{\"by_"
                 "minute\":[%u.%03u,"
                 "%u.000,0.000],\"minute_ts\":%llu,\"total\":%u.%03u},\"apower\":%.1f,\"current\":%.3f,"
                 "\"voltage\":%u.%u}}}",
                 START_S + at_ms / 1000, wire_random(100), wire_random(2000), wire_random(1000),
                 wire_random(2000), START_S + at_ms / 1000 / 60 * 60, 5000 + round, wire_random(1000), watts,
                 watts / 231, 228 + wire_random(6), wire_random(10));
        publish(at_ms, 1, false);
        return;
    }
    /* first generation: one plain value per topic */
    snprintf(topic, sizeof topic, "shellies/shelly1pm-98F4AB/relay/0/power");
    snprintf(text, sizeof text, "%.2f", watts);
    publish(at_ms, 0, false);
    snprintf(topic, sizeof topic, "shellies/shelly1pm-98F4AB/relay/0/energy");
    snprintf(text, sizeof text, "%u", 182000 + round * 7);
    publish(at_ms, 0, false);
    if (round % 30 == 1)
        wire_publish_text(jitter(at_ms), 0, true, "shellies/shelly1pm-98F4AB/online", "true");
}

void family_home_assistant(unsigned round, uint32_t at_ms)
{
    wire_moment();
    if (round % 20 != 0)
        return;
    unsigned n = round / 20;
    snprintf(topic, sizeof topic, "homeassistant/sensor/0x00158d0001a2b3%02x/temperature/config", n);
    snprintf(
        text, sizeof text,
        "{\"availability\":[{\"topic\":\"zigbee2mqtt/bridge/state\",\"value_template\":\"{{ value_json.state "
        "}}\"}],"
        "\"device\":{\"identifiers\":[\"zigbee2mqtt_0x00158d0001a2b3%02x\"],\"manufacturer\":\"Aqara\","
        "\"model\":"
        "\"Temperature and humidity sensor (WSDCGQ11LM)\",\"name\":\"sensor "
        "%u\"},\"device_class\":\"temperature\","
        "\"enabled_by_default\":true,\"object_id\":\"sensor_%u_temperature\",\"state_class\":\"measurement\","
        "\"state_topic\":\"zigbee2mqtt/sensor "
        "%u\",\"unique_id\":\"0x00158d0001a2b3%02x_temperature_zigbee2mqtt\","
        "\"unit_of_measurement\":\"°C\",\"value_template\":\"{{ value_json.temperature }}\"}",
        n, n, n, n, n);
    publish(at_ms, 1, true);
    /* A device that was removed: its discovery message is deleted with an empty retained one. */
    if (n % 4 == 3)
        wire_publish_text(jitter(at_ms), 1, true, topic, "");
}

static void metric(struct mi_buf *payload, const char *name, uint64_t alias, uint64_t at_ms, unsigned type,
                   double value)
{
    struct mi_buf m;
    mi_buf_init(&m, 1024);
    if (name)
        wire_bytes(&m, 1, mi_span_of(name));
    wire_varint(&m, 2, alias);
    wire_varint(&m, 3, at_ms);
    wire_varint(&m, 4, type);
    if (type == 10) /* Double */
        wire_double(&m, 13, value);
    else if (type == 11) /* Boolean */
        wire_varint(&m, 14, value != 0);
    else /* Int32, UInt64 ... */
        wire_varint(&m, type == 8 ? 11 : 10, (uint64_t)value);
    wire_bytes(payload, 2, mi_buf_span(&m));
    mi_buf_fini(&m);
}

/* Sparkplug B (Eclipse Sparkplug 3.0): payloads are protobuf. */
void family_sparkplug(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static double speed[2] = {1450, 900}, bearing[2] = {55, 48};
    static uint64_t seq;
    unsigned line = round % 2;
    uint64_t now = START_S * 1000 + at_ms;
    bool birth = round < 2;
    wire_wander(&speed[line], 0, 1500, 20);
    wire_wander(&bearing[line], 20, 90, 0.5);
    struct mi_buf payload;
    mi_buf_init(&payload, 8192);
    wire_varint(&payload, 1, now);
    metric(&payload, birth ? "Motor/Speed" : NULL, 1, now, 10, speed[line]);
    metric(&payload, birth ? "Motor/Bearing Temperature" : NULL, 2, now, 10, bearing[line]);
    metric(&payload, birth ? "Motor/Running" : NULL, 3, now, 11, speed[line] > 100);
    if (birth) {
        metric(&payload, "bdSeq", 0, now, 8, 0);
        metric(&payload, "Node Control/Rebirth", 4, now, 11, 0);
    }
    wire_varint(&payload, 3, seq++ & 0xff);
    snprintf(topic, sizeof topic, "spBv1.0/Bottling/%s/Line %u", birth ? "NBIRTH" : "NDATA", line + 1);
    wire_publish(jitter(at_ms), birth ? 1 : 0, false, topic, mi_buf_span(&payload));
    if (round % 3 == 0) {
        snprintf(topic, sizeof topic, "spBv1.0/Bottling/%s/Line %u/Filler", birth ? "DBIRTH" : "DDATA",
                 line + 1);
        wire_publish(jitter(at_ms), 0, false, topic, mi_buf_span(&payload));
    }
    mi_buf_fini(&payload);
}

void family_esphome(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static double celsius = 21, co2 = 600;
    static const char *const sensors[] = {"bme280_temperature", "co2", "wifi_signal", "uptime"};
    unsigned n = round % 4;
    wire_wander(&celsius, 16, 26, 0.2);
    wire_wander(&co2, 400, 2400, 60);
    snprintf(topic, sizeof topic, "air-monitor-bedroom/sensor/%s/state", sensors[n]);
    if (n == 0)
        snprintf(text, sizeof text, "%.1f", celsius);
    else if (n == 1)
        snprintf(text, sizeof text, "%.0f", co2);
    else
        snprintf(text, sizeof text, n == 2 ? "-%u" : "%u", n == 2 ? 40 + wire_random(40) : at_ms / 1000);
    publish(at_ms, 0, true);
    if (round % 10 == 4) {
        snprintf(text, sizeof text,
                 "[0;36m[D][sensor:094]: 'CO2': Sending state %.5f ppm with 0 decimals of accuracy[0m", co2);
        wire_publish_text(jitter(at_ms), 0, false, "air-monitor-bedroom/debug", text);
    }
}

void family_chirpstack(unsigned round, uint32_t at_ms)
{
    wire_moment();
    unsigned n = round % 5;
    const char *when = iso_time(at_ms);
    snprintf(topic, sizeof topic,
             "application/7d4e1c5a-2b1f-4c58-9a51-1c0d5c3f2a10/device/70b3d5499b2a0%03x/event/%s", 16 + n,
             round % 25 == 0 ? "join" : "up");
    if (round % 25 == 0)
        snprintf(text, sizeof text,
                 "{\"deduplicationId\":\"%08x-2c5b-4a0f-8c41-2f1e0d9b7a66\",\"time\":\"%s.042+00:00\","
                 "\"deviceInfo\":{\"tenantName\":"
                 "\"ChirpStack\",\"applicationName\":\"soil\",\"deviceName\":\"probe-%u\",\"devEui\":"
                 "\"70b3d5499b2a0%03x\"},"
                 "\"devAddr\":\"01b0c%03x\"}",
                 wire_random(1u << 30), when, n, 16 + n, n);
    else
        snprintf(text, sizeof text,
                 "{\"deduplicationId\":\"%08x-2c5b-4a0f-8c41-2f1e0d9b7a66\",\"time\":\"%s.042+00:00\","
                 "\"deviceInfo\":{\"tenantId\":"
                 "\"52f14cd4-c6f1-4fbd-8f87-4025e1d49242\",\"tenantName\":\"ChirpStack\",\"applicationName\":"
                 "\"soil\","
                 "\"deviceProfileName\":\"soil-eu868\",\"deviceName\":\"probe-%u\",\"devEui\":"
                 "\"70b3d5499b2a0%03x\",\"tags\":{}},"
                 "\"devAddr\":\"01b0c%03x\",\"adr\":true,\"dr\":5,\"fCnt\":%u,\"fPort\":2,\"confirmed\":"
                 "false,\"data\":\"AQ%02uBZw==\","
                 "\"object\":{\"moisture\":%u.%u,\"temperature\":%u.%u},\"rxInfo\":[{\"gatewayId\":"
                 "\"a84041ffff1f8020\",\"uplinkId\":%u,"
                 "\"rssi\":-%u,\"snr\":%u.2,\"channel\":%u,\"location\":{},\"context\":\"EFwXdA==\","
                 "\"crcStatus\":\"CRC_OK\"}],"
                 "\"txInfo\":{\"frequency\":868%u00000,\"modulation\":{\"lora\":{\"bandwidth\":125000,"
                 "\"spreadingFactor\":7,"
                 "\"codeRate\":\"CR_4_5\"}}}}",
                 wire_random(1u << 30), when, n, 16 + n, n, round, wire_random(90) + 10, 20 + wire_random(30),
                 wire_random(10), 8 + wire_random(9), wire_random(10), wire_random(65535),
                 60 + wire_random(60), wire_random(12), wire_random(8), 1 + 2 * wire_random(3));
    publish(at_ms, 0, false);
}

void family_owntracks(unsigned round, uint32_t at_ms)
{
    wire_moment();
    static double lat = 52.3731, lon = 4.8922;
    if (round % 3 != 0)
        return;
    wire_wander(&lat, 52.2, 52.5, 0.002);
    wire_wander(&lon, 4.7, 5.1, 0.002);
    snprintf(topic, sizeof topic, "owntracks/anna/pixel-8");
    snprintf(text, sizeof text,
             "{\"_type\":\"location\",\"BSSID\":\"70:4f:57:aa:01:02\",\"acc\":%u,\"alt\":%u,\"batt\":%u,"
             "\"bs\":1,\"cog\":%u,\"conn\":\"m\","
             "\"created_at\":%llu,\"lat\":%.6f,\"lon\":%.6f,\"m\":1,\"t\":\"u\",\"tid\":\"p8\",\"tst\":%llu,"
             "\"vac\":2,\"vel\":%u}",
             4 + wire_random(20), wire_random(20), 20 + wire_random(80), wire_random(360),
             START_S + at_ms / 1000, lat, lon, START_S + at_ms / 1000, wire_random(90));
    publish(at_ms, 1, true);
}

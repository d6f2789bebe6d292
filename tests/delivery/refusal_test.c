/*
 * refusal: what a client sees, who else sees the message, and what is counted, when a PUBLISH cannot be kept
 * or can never reach Iggy: for MQTT 5 and 3.1.1, at QoS 0, 1 and 2. The table that is printed is that of
 * docs/delivery.md.
 */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_300                                                                                          \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ROUTE(name, more) \
    "{'name':'" name "','filter':'" name "/#','direction':'out','stream':'" name "','topic':'t'" more "}"
#define HEAD(journal)                                                               \
    "{'iggy':{'url':'IGGY','username':'iggy','password_file':'DIR/iggy.password'}," \
    "'journal':{'directory':'DIR/journal'" journal "},'status':{'listen':'STATUS'},"

static const char small_config[] =
    HEAD(",'max_size':'1MB','keep':'0B'") "'routes':[" ROUTE("full", "") "," ROUTE(
        "cut", ",'refuse':'disconnect'") "," ROUTE("lax", ",'when_journal_full':'deliver_without_copy'") "]}";
static const char roomy_config[] =
    HEAD(",'max_size':'200MB','keep':'10MB'") "'routes':[" ROUTE("good", "") "," ROUTE(
        "hold",
        ",'create':false") "," ROUTE("missing",
                                     ",'create':false,'on_missing':'refuse'") "," ROUTE("gone",
                                                                                        ",'create':false,'on_"
                                                                                        "missing':'refuse','"
                                                                                        "refuse':'"
                                                                                        "disconnect'") ","
                                                                                                       "{'"
                                                                                                       "name'"
                                                                                                       ":'"
                                                                                                       "names"
                                                                                                       "','"
                                                                                                       "filte"
                                                                                                       "r':'"
                                                                                                       "names"
                                                                                                       "/"
                                                                                                       "{devi"
                                                                                                       "ce}',"
                                                                                                       "'dire"
                                                                                                       "ction"
                                                                                                       "':'"
                                                                                                       "out',"
                                                                                                       "'"
                                                                                                       "strea"
                                                                                                       "m':'"
                                                                                                       "s_{"
                                                                                                       "devic"
                                                                                                       "e}','"
                                                                                                       "topic"
                                                                                                       "':'t'"
                                                                                                       ","
                                                                                                       "'crea"
                                                                                                       "te':"
                                                                                                       "true}"
                                                                                                       "]}";

static struct rig *full, *roomy, *broken; /* a full journal; everything well; a failed disk */

enum sees { ACK, REASON, CUT };
struct outcome {
    enum sees sees;
    bool delivered;      /* to subscribers */
    const char *counted; /* metric without its prefix; LABELS between route and reason */
    const char *reason;
};

#define KEPT                       \
    {                              \
        ACK, true, "pending", NULL \
    }
#define LETTER                                 \
    {                                          \
        ACK, true, "dead_lettered_total", NULL \
    }
#define DROPPED(reason)                    \
    {                                      \
        ACK, true, "dropped_total", reason \
    }
#define SAID(reason)                            \
    {                                           \
        REASON, false, "rejected_total", reason \
    }
#define THROWN(reason)                       \
    {                                        \
        CUT, false, "rejected_total", reason \
    }

static const struct row {
    const char *name;
    struct rig **rig;
    const char *route, *topic;
    size_t payload; /* bytes; 0: few */
    struct outcome qos0, v5, v3;
} rows[] = {
    {"journal full, the default", &full, "full", "full/x", 0, DROPPED("qos0"), SAID("journal_full"),
     THROWN("journal_full")},
    {"journal full, refuse: disconnect", &full, "cut", "cut/x", 0, DROPPED("qos0"), THROWN("journal_full"),
     THROWN("journal_full")},
    {"journal full, deliver_without_copy", &full, "lax", "lax/x", 0, DROPPED("qos0"), DROPPED("without_copy"),
     DROPPED("without_copy")},
    {"disk failed, the default", &broken, "full", "full/x", 0, DROPPED("qos0"), SAID("journal_failed"),
     THROWN("journal_failed")},
    {"disk failed, refuse: disconnect", &broken, "cut", "cut/x", 0, DROPPED("qos0"), THROWN("journal_failed"),
     THROWN("journal_failed")},
    {"disk failed, deliver_without_copy", &broken, "lax", "lax/x", 0, DROPPED("qos0"),
     DROPPED("without_copy"), DROPPED("without_copy")},
    {"target missing, on_missing: hold", &roomy, "hold", "hold/x", 0, KEPT, KEPT, KEPT},
    {"target missing, on_missing: refuse", &roomy, "missing", "missing/x", 0, KEPT, SAID("target_missing"),
     THROWN("target_missing")},
    {"the same with refuse: disconnect", &roomy, "gone", "gone/x", 0, KEPT, THROWN("target_missing"),
     THROWN("target_missing")},
    {"too large for Iggy (1.6 MB)", &roomy, "good", "good/large", 1600000, LETTER, LETTER, LETTER},
    {"stream name too long", &roomy, "names", "names/" LEVEL_300, 0, LETTER, LETTER, LETTER},
    {"larger than the whole journal", &full, "full", "full/huge", 1200000, DROPPED("qos0"),
     SAID("journal_full"), DROPPED("without_copy")},
    {"the same with refuse: disconnect", &full, "cut", "cut/huge", 1200000, DROPPED("qos0"),
     SAID("journal_full"), DROPPED("without_copy")},
};

/* ---- three brokers, each in its own trouble ---- */

static void fill_journal(struct rig *r)
{
    static char payload[20000];
    struct mi_mqtt *c = rig_client(r, "filler", MQTT_PROTOCOL_V5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    int kept = 0;
    for (size_t len = sizeof payload; len > 0; len /= 8)
        while (kept < 1000 && mi_mqtt_publish(c, "full/fill", payload, len, 1, false, NULL) < 0x80)
            kept++;
    CU_ASSERT_TRUE(kept > 10 && kept < 1000);
    mi_mqtt_close(c);
}

static void learn_missing(struct rig *r, const char *topic)
{
    int answer = 0;
    for (int i = 0; i < 100 && answer >= 0 && answer < 0x80; i++, mi_sleep_ms(50)) {
        struct mi_mqtt *c = rig_client(r, "learner", MQTT_PROTOCOL_V5);
        answer = mi_mqtt_say(c, topic, "is it there?", 1);
        mi_mqtt_close(c);
    }
    CU_ASSERT_TRUE(answer < 0 || answer >= 0x80);
}

static void break_for_good(struct rig *r)
{
    break_disk(r, "write EIO\nsync EIO\ncreate EIO\nspace EIO\n");
    struct mi_mqtt *c = rig_client(r, "first", MQTT_PROTOCOL_V5);
    CU_ASSERT_TRUE(mi_mqtt_say(c, "full/x", "the first to be refused", 1) >= 0x80);
    mi_mqtt_close(c);
}

static void start(void)
{
    if (full)
        return;
    full = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&full->broker, small_config, full->iggy.port) &&
                         mi_broker_start(&full->broker));
    fill_journal(full);
    broken = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(mi_broker_config(&broken->broker, small_config, broken->iggy.port) &&
                         start_on_faulty_disk(broken));
    break_for_good(broken);
    roomy = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(rig_start(roomy, roomy_config));
    learn_missing(roomy, "missing/x");
    learn_missing(roomy, "gone/x");
}

/* ---- one cell of the table ---- */

static double counted(struct rig *r, const struct row *row, const struct outcome *o, double at_least)
{
    char name[200];
    if (o->reason)
        snprintf(name, sizeof name, "mosquitto_iggy_%s{route=\"%s\",reason=\"%s\"}", o->counted, row->route,
                 o->reason);
    else
        snprintf(name, sizeof name, "mosquitto_iggy_%s{route=\"%s\"}", o->counted, row->route);
    double found = rig_metric(r, name, at_least, 5000);
    return found < 0 ? 0 : found;
}

static void send_one(struct rig *r, const struct row *row, int protocol, int qos, int *answer,
                     bool *connected)
{
    size_t len = row->payload ? row->payload : 80;
    char *payload = calloc(1, len + 1);
    struct mi_mqtt *c = rig_client(r, "client", protocol);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    memset(payload, 'x', len);
    *answer = mi_mqtt_publish(c, row->topic, payload, len, qos, false, NULL);
    mi_mqtt_run(c, row->payload ? 300 : 30);
    *connected = mi_mqtt_connected(c);
    mi_mqtt_close(c);
    free(payload);
}

static enum sees what_it_saw(struct rig *r, int answer, bool connected)
{
    if (answer == MI_MQTT_LOST || !connected)
        return CUT;
    CU_ASSERT_TRUE(answer < 0x80 || answer == (mi_broker_is_2_1(&r->broker) ? 0x97 : 0x87));
    return answer < 0x80 ? ACK : REASON;
}

static void check(const struct row *row, int protocol, int qos, const struct outcome *expected)
{
    static const char *const words[] = {"acknowledged", "reason code", "disconnected"};
    struct rig *r = *row->rig;
    struct mi_mqtt *subscriber = rig_client(r, "subscriber", MQTT_PROTOCOL_V311);
    int answer;
    bool connected;
    CU_ASSERT_TRUE_FATAL(subscriber && mi_mqtt_subscribe(subscriber, row->topic, 0));
    double before = counted(r, row, expected, 0);
    send_one(r, row, protocol, qos, &answer, &connected);
    enum sees saw = what_it_saw(r, answer, connected);
    bool delivered = mi_mqtt_wait(subscriber, 1, expected->delivered ? 5000 : 50);
    double after = counted(r, row, expected, before + 1);
    printf("    | %-36s | %-5s | %d | %-12s | %-3s | %s%s%s +%g |\n", row->name,
           protocol == MQTT_PROTOCOL_V5 ? "5" : "3.1.1", qos, qos == 0 && saw == ACK ? "nothing" : words[saw],
           delivered ? "yes" : "no", expected->counted, expected->reason ? " " : "",
           expected->reason ? expected->reason : "", after - before);
    CU_ASSERT_EQUAL(saw, expected->sees);
    CU_ASSERT_EQUAL(delivered, expected->delivered);
    CU_ASSERT_EQUAL(after, before + 1);
    mi_mqtt_close(subscriber);
}

static void field_10_every_cell_of_the_table(void)
{
    static const int protocols[] = {MQTT_PROTOCOL_V5, MQTT_PROTOCOL_V311};
    start();
    printf("\n    mosquitto %s\n", mi_broker_version(&full->broker));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (size_t p = 0; p < 2; p++)
            for (int qos = 0; qos < 3; qos++)
                check(&rows[i], protocols[p], qos,
                      qos == 0 ? &rows[i].qos0
                      : p == 0 ? &rows[i].v5
                               : &rows[i].v3);
}

static void field_26_every_trouble_has_its_line(void)
{
    start();
    CU_ASSERT_TRUE(mi_broker_says(&full->broker, "route full", 1000));
    CU_ASSERT_TRUE(mi_broker_says(&full->broker, "the journal is full (journal.max_size)", 1000));
    CU_ASSERT_TRUE(mi_broker_says(&full->broker, "larger than the whole journal", 1000));
    CU_ASSERT_TRUE(mi_broker_says(&broken->broker, "Input/output error", 1000));
    CU_ASSERT_TRUE(mi_broker_says(&roomy->broker, "on_missing: refuse", 1000));
}

static void the_account_adds_up_and_nobody_crashed(void)
{
    static const char *const routes[] = {"full", "cut", "lax", "good", "hold", "missing", "gone", "names"};
    start();
    for (size_t i = 0; i < 3; i++) {
        account_of(full, routes[i]);
        account_of(broken, routes[i]);
    }
    for (size_t i = 3; i < sizeof routes / sizeof *routes; i++)
        account_of(roomy, routes[i]);
    CU_ASSERT_TRUE(mi_broker_stop(&full->broker, 15000));
    CU_ASSERT_TRUE(mi_broker_stop(&roomy->broker, 15000));
    CU_ASSERT_TRUE(mi_broker_stop(&broken->broker, 15000));
}

static CU_TestInfo tests[] = {
    {"field 10: every cell of the table", field_10_every_cell_of_the_table},
    {"field 26: every trouble has its line in the log", field_26_every_trouble_has_its_line},
    {"the account adds up, and nobody crashed", the_account_adds_up_and_nobody_crashed},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("refusal", tests)

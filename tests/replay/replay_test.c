/*
 * replay_test: the recording of real devices' traffic goes through a broker with the plugin as fast as the
 * broker takes it, and Iggy holds each PUBLISH once, whole, and in the order of its topic.
 */
#include "integration/rig.h"
#include "recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char config[] =
    RIG_CONFIG "'routes':[{'name':'all','filter':'#','direction':'out','stream':'all','topic':'messages',"
               "'create':{'partitions':4}}]}";

static unsigned recorded_count(void)
{
    static struct mi_recorded p;
    unsigned line = 0, n = 0;
    FILE *f = fopen(MI_RECORDING_FILE, "rb");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (mi_recording_next(f, &p, &line) == 1)
        n++;
    fclose(f);
    return n;
}

static void send_recording(const struct rig *r)
{
    char port[16], output[300];
    struct mi_process replay;
    int status = 0;
    snprintf(port, sizeof port, "%u", r->broker.port);
    snprintf(output, sizeof output, "%s/replay.log", r->broker.dir);
    char *argv[] = {(char *)MI_REPLAY_FILE, (char *)"--port",          port,
                    (char *)"--file",       (char *)MI_RECORDING_FILE, NULL};
    CU_ASSERT_TRUE_FATAL(mi_process_start(&replay, output, argv, NULL));
    CU_ASSERT_TRUE(mi_process_wait(&replay, 60000, &status));
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static bool is(const struct mi_stored *s, const struct mi_recorded *p)
{
    const struct mi_message *m = &s->message;
    return s->kind == MI_DECODED_MQTT && m->qos == p->qos && m->retain == p->retain &&
           mi_span_equal(m->payload, (struct mi_span){p->payload, (size_t)p->payload_len});
}

/* The order of a topic is that of its partition, and a partition is read in its order. */
static void each_recorded_publish_is_in_iggy_once_and_in_order(void)
{
    static struct mi_recorded p;
    unsigned line = 0, wrong = 0, expected = recorded_count();
    struct rig *r = rig_new(NULL, NULL);
    CU_ASSERT_TRUE_FATAL(expected > 1000);
    CU_ASSERT_TRUE_FATAL(rig_start(r, config));
    send_recording(r);
    CU_ASSERT_TRUE_FATAL(mi_readback_wait(r->readback, "all", "messages", expected, 30000));
    bool *taken = calloc(expected, sizeof *taken);
    FILE *f = fopen(MI_RECORDING_FILE, "rb");
    CU_ASSERT_TRUE_FATAL(taken && f);
    while (mi_recording_next(f, &p, &line) == 1) {
        size_t at = 0;
        while (at < expected && (taken[at] || !mi_span_equal(mi_readback_at(r->readback, at)->message.topic,
                                                             mi_span_of(p.topic))))
            at++;
        if (at < expected && is(mi_readback_at(r->readback, at), &p))
            taken[at] = true;
        else if (wrong++ == 0)
            printf("\nline %u of the recording, topic %s: not what Iggy holds\n", line, p.topic);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    fclose(f);
    free(taken);
    CU_ASSERT_TRUE(mi_broker_stop(&r->broker, 15000));
    rig_free(r);
}

static CU_TestInfo tests[] = {
    {"each recorded PUBLISH is in Iggy once and in order",
     each_recorded_publish_is_in_iggy_once_and_in_order},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("replay", tests)

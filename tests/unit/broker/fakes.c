#include "fakes.h"

#include "support/suite.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fakes fakes;

void fakes_reset(void)
{
    mi_interest_picture_release(fakes.picture);
    mi_buf_fini(&fakes.outstanding);
    memset(&fakes, 0, sizeof fakes);
    mi_buf_init(&fakes.outstanding, 1 << 20);
    for (size_t i = 0; i < 2; i++)
        fakes.routes[i] = (struct mi_route){.name = i ? "second" : "first",
                                            .id = 100 + (uint32_t)i,
                                            .send_client_id = true,
                                            .send_username = true};
    fakes.config = (struct mi_config){.name = "test",
                                      .journal_directory = "/journal",
                                      .inject_per_tick = 100,
                                      .wake_signal = SIGRTMIN + 5,
                                      .routes = fakes.routes,
                                      .route_count = 2};
    fakes.hit_count = 1;
}

const struct mi_message *fakes_decoded(int record)
{
    static struct mi_message m;
    static struct mi_buf scratch;
    const char *why;
    if (!scratch.max)
        mi_buf_init(&scratch, 1 << 20);
    struct mi_span headers = {fakes.bytes[record], fakes.header_len[record]};
    CU_ASSERT_EQUAL(mi_envelope_decode(headers, mi_span_of(fakes.payload), &m, &scratch, &why),
                    MI_DECODED_MQTT);
    return &m;
}

/* ---- configuration ---- */

struct mi_config *mi_config_from_broker(const struct mi_plugin_opt *opts, size_t count,
                                        const struct mi_broker_view *view, mi_find find, void *context)
{
    CU_ASSERT_TRUE(view->series == MI_SERIES_2_0 && !view->file && view->why);
    CU_ASSERT_TRUE(count == 0 || strcmp(opts[0].key, "config_file") == 0);
    if (fakes.config_refused) {
        find(context, &(struct mi_finding){true, "/etc/iggy.json", 12, "routes[0].filter", "it is broken"});
        return NULL;
    }
    fakes.configs_made++;
    fakes.holders++;
    return &fakes.config;
}

struct mi_config *mi_config_hold(struct mi_config *c)
{
    fakes.holders++;
    return c;
}

void mi_config_release(struct mi_config *c)
{
    if (c)
        fakes.holders--;
}

void mi_config_report_fixed(const struct mi_config *running, const struct mi_config *wanted, mi_find find,
                            void *context)
{
    CU_ASSERT_TRUE(running == wanted);
    find(context, &(struct mi_finding){false, "/etc/iggy.json", 3, "journal.directory", "needs a restart"});
}

/* ---- map ---- */

size_t mi_map_match(struct mi_map *map, const struct mi_map_input *input, struct mi_hit hits[MI_MAX_HITS])
{
    (void)map;
    struct mi_span value;
    fakes.map_counts.too_many += fakes.each_match.too_many;
    fakes.map_counts.regex_limits += fakes.each_match.regex_limits;
    if (fakes.ask_property && input->property(input->property_context, mi_span_of("site"), &value))
        snprintf(fakes.site, sizeof fakes.site, "%.*s", (int)value.len, (const char *)value.data);
    for (size_t i = 0; i < fakes.hit_count; i++)
        hits[i] = (struct mi_hit){.rule = i,
                                  .status = fakes.hit_status,
                                  .stream = mi_span_of("stream"),
                                  .topic = mi_span_of("topic"),
                                  .key = input->topic,
                                  .key_hash = 0x1234};
    return fakes.hit_count;
}

void mi_map_get_counts(const struct mi_map *map, struct mi_map_counts *counts)
{
    (void)map;
    *counts = fakes.map_counts;
}

bool mi_map_maps_back(const struct mi_map *map, size_t rule, struct mi_span mqtt_topic, struct mi_span stream,
                      struct mi_span topic)
{
    (void)mqtt_topic;
    return mi_map_stream_fits(map, rule, stream) && mi_map_topic_fits(map, rule, stream, topic);
}

bool mi_map_stream_fits(const struct mi_map *map, size_t rule, struct mi_span stream)
{
    (void)map;
    return fakes.read_back && rule == 1 && mi_span_equal(stream, mi_span_of("stream"));
}

bool mi_map_topic_fits(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic)
{
    return mi_map_stream_fits(map, rule, stream) && mi_span_equal(topic, mi_span_of("topic"));
}

/* ---- journal ---- */

const char *mi_journal_identity(const struct mi_journal *j)
{
    (void)j;
    return "0123456789abcdef0123456789abcdef";
}

bool mi_journal_has_room(struct mi_journal *j, uint64_t bytes)
{
    (void)j;
    return fakes.no_room_for == 0 || bytes < fakes.no_room_for;
}

enum mi_append mi_journal_append(struct mi_journal *j, struct mi_record *records, size_t count)
{
    (void)j;
    if (fakes.append != MI_APPEND_OK)
        return fakes.append;
    fakes.appends++;
    fakes.records += (int)count;
    for (size_t i = 0; i < count && i < 4; i++) {
        fakes.header_len[i] = records[i].headers.len;
        CU_ASSERT_FATAL(records[i].headers.len <= sizeof fakes.bytes[i]);
        memcpy(fakes.bytes[i], records[i].headers.data, records[i].headers.len);
    }
    fakes.last = records[count - 1];
    snprintf(fakes.payload, sizeof fakes.payload, "%.*s%.*s", (int)fakes.last.prefix.len,
             fakes.last.prefix.len ? (const char *)fakes.last.prefix.data : "", (int)fakes.last.payload.len,
             fakes.last.payload.len ? (const char *)fakes.last.payload.data : "");
    return MI_APPEND_OK;
}

/* ---- bridge ---- */

static int a_bridge;

struct mi_bridge *mi_bridge_new(const struct mi_bridge_options *options, struct mi_error *err)
{
    if (fakes.bridge_refused) {
        mi_error_set(err, "/journal: Permission denied");
        return NULL;
    }
    fakes.wake_main = options->wake_main;
    fakes.wake_context = options->context;
    return (struct mi_bridge *)&a_bridge;
}

int mi_bridge_start(struct mi_bridge *b, struct mi_error *err)
{
    (void)b;
    fakes.starts++;
    return fakes.start_fails ? mi_error_set(err, "no thread") : 0;
}

void mi_bridge_free(struct mi_bridge *b)
{
    if (b)
        fakes.frees++;
}

struct mi_journal *mi_bridge_journal(struct mi_bridge *b)
{
    return (struct mi_journal *)b;
}

bool mi_bridge_store_behind(const struct mi_bridge *b)
{
    (void)b;
    return false;
}

struct mi_span mi_bridge_outstanding(const struct mi_bridge *b)
{
    (void)b;
    return mi_buf_span(&fakes.outstanding);
}

void mi_bridge_keep_outstanding(struct mi_bridge *b, struct mi_span outstanding)
{
    (void)b;
    mi_buf_reset(&fakes.outstanding);
    CU_ASSERT_TRUE(mi_buf_add_span(&fakes.outstanding, outstanding));
}

void mi_journal_stats(struct mi_journal *j, struct mi_journal_stats *out)
{
    (void)j;
    memset(out, 0, sizeof *out);
    out->next_sequence = 100;
}

struct mi_iggy_backend *mi_bridge_logins(struct mi_bridge *b)
{
    (void)b;
    return fakes.logins;
}

struct mi_inbox *mi_bridge_inbox(struct mi_bridge *b)
{
    return (struct mi_inbox *)b;
}

struct mi_history *mi_bridge_history(struct mi_bridge *b)
{
    return (struct mi_history *)b;
}

void mi_bridge_note_subscription(struct mi_bridge *b, const char *error)
{
    (void)b;
    (void)error;
}

void mi_bridge_watch(struct mi_bridge *b, int epoll)
{
    (void)b;
    CU_ASSERT_TRUE(epoll >= 0);
}

struct mi_rights_news *mi_bridge_rights(struct mi_bridge *b)
{
    (void)b;
    return NULL;
}

void mi_bridge_wake(struct mi_bridge *b)
{
    (void)b;
}

void mi_bridge_set_config(struct mi_bridge *b, struct mi_config *config)
{
    (void)b;
    (void)config;
    fakes.configs_set++;
}

bool mi_bridge_route_full(struct mi_bridge *b, uint32_t route)
{
    (void)b, (void)route;
    return false;
}

bool mi_bridge_target_missing(struct mi_bridge *b, struct mi_span stream, struct mi_span topic)
{
    (void)b;
    (void)stream;
    (void)topic;
    return fakes.missing;
}

bool mi_bridge_wait_settled(struct mi_bridge *b, uint64_t first, uint64_t last, uint64_t timeout_ns)
{
    (void)b;
    fakes.waited_for = last - first + 1;
    fakes.waited_ns = timeout_ns;
    return fakes.settled;
}

void mi_bridge_set_interest(struct mi_bridge *b, struct mi_interest_picture *picture)
{
    (void)b;
    fakes.pictures_set++;
    mi_interest_picture_release(fakes.picture);
    fakes.picture = mi_interest_picture_hold(picture);
}

void mi_bridge_note_reload(struct mi_bridge *b, const char *error)
{
    (void)b;
    snprintf(fakes.reload_note, sizeof fakes.reload_note, "%s", error ? error : "ok");
}

void mi_bridge_tick(struct mi_bridge *b)
{
    (void)b;
    fakes.ticks++;
}

/* ---- inbox ---- */

bool mi_inbox_empty(struct mi_inbox *inbox)
{
    (void)inbox;
    return !fakes.inbox;
}

struct mi_inbound *mi_inbox_take(struct mi_inbox *inbox, size_t max)
{
    (void)inbox;
    (void)max;
    struct mi_inbound *all = fakes.inbox;
    fakes.inbox = NULL;
    return all;
}

void mi_inbox_delivered(struct mi_inbox *inbox, uint32_t reader, const struct mi_mark *mark)
{
    (void)inbox;
    (void)reader;
    (void)mark;
}

void mi_inbound_free(struct mi_inbound *m)
{
    free(m->topic);
    free(m);
}

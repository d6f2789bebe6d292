#include "metrics/table.h"

#include <string.h>

const struct mi_metric_row mi_route_rows[] = {
    {MI_V_RECEIVED, "received", NULL, MI_COUNTER,
     "Messages that a route took from PUBLISHes: committed + dead_lettered + dropped + pending."},
    {MI_C_COMMITTED, "committed", NULL, MI_COUNTER, "Messages acknowledged by Iggy."},
    {MI_C_DEAD_LETTERED, "dead_lettered", NULL, MI_COUNTER, "Messages that went to the dead letters."},
    {MI_C_DROPPED_QOS0, "dropped", "qos0", MI_COUNTER,
     "Messages that will not reach Iggy: qos0 and without_copy were delivered to subscribers without a copy "
     "because "
     "the journal was full or had failed, damaged were lost by the journal's disk."},
    {MI_C_DROPPED_WITHOUT_COPY, "dropped", "without_copy", MI_COUNTER, NULL},
    {MI_C_DROPPED_DAMAGED, "dropped", "damaged", MI_COUNTER, NULL},
    {MI_V_PENDING, "pending", NULL, MI_GAUGE,
     "Messages in the journal that are neither committed nor dead letters yet."},
    {MI_C_REJECTED_FULL, "rejected", "journal_full", MI_COUNTER,
     "PUBLISHes refused towards the client; not part of received."},
    {MI_C_REJECTED_FAILED, "rejected", "journal_failed", MI_COUNTER, NULL},
    {MI_C_REJECTED_MISSING, "rejected", "target_missing", MI_COUNTER, NULL},
    {MI_C_JOURNALED, "journaled", NULL, MI_COUNTER, "Messages written to the journal."},
    {MI_C_RESENT, "resent", NULL, MI_COUNTER,
     "Messages sent again because an earlier attempt was not stored."},
    {MI_C_FOUND, "found", NULL, MI_COUNTER,
     "Messages of an unknown outcome that were found in Iggy by reading back, and so were not sent again."},
    {MI_C_LOST_RESENT, "lost_resent", NULL, MI_COUNTER,
     "Confirmed messages that Iggy lost in a restart and that were sent again."},
    {MI_C_LATE, "late", NULL, MI_COUNTER,
     "PUBLISHes acknowledged from the journal because Iggy took longer than wait_for_iggy."},
    {MI_C_STAMPED, "not_copied", "stamped", MI_COUNTER,
     "PUBLISHes that were not copied: stamped are those that a bridge of the same log had published (see the "
     "route's stamp)."},
    {MI_C_INJECTED, "injected", NULL, MI_COUNTER, "Messages from Iggy that were published into the broker."},
    {MI_C_IN_OWN, "in_skipped", "own_origin", MI_COUNTER,
     "Messages from Iggy that are not for the broker: its own ones, older than max_age, larger than "
     "max_poll_bytes."},
    {MI_C_IN_AGE, "in_skipped", "max_age", MI_COUNTER, NULL},
    {MI_C_IN_TOO_LARGE, "in_skipped", "too_large", MI_COUNTER, NULL},
    {MI_C_IN_TOPIC, "in_rejected", "topic", MI_COUNTER,
     "Messages from Iggy that may not be injected: a topic that this route would not send there, or "
     "unreadable headers."},
    {MI_C_IN_BROKEN, "in_rejected", "headers", MI_COUNTER, NULL},
    {MI_C_IN_EXPIRED, "in_expired", NULL, MI_COUNTER,
     "Messages that Iggy's retention removed before they were read."},
    {MI_C_IN_MADE_AGAIN, "in_made_again", NULL, MI_COUNTER,
     "Topics that were deleted and made again while they were read; they are read from their beginning."},
    {MI_C_IN_TAIL_LOST, "in_tail_lost", NULL, MI_COUNTER,
     "Times that a partition ended before what was already read, because Iggy lost messages in a restart."},
    {MI_C_IN_REUSED, "in_offsets_reused", NULL, MI_COUNTER,
     "Times that another message stood where one was read, because Iggy lost messages and gave their offsets "
     "out again."},
};
const size_t mi_route_row_count = sizeof mi_route_rows / sizeof *mi_route_rows;

const struct mi_metric_row mi_global_rows[] = {
    {MI_G_PUBLISH_SEEN, "publishes", NULL, MI_COUNTER, "PUBLISHes that the broker showed to the plugin."},
    {MI_G_UNMATCHED, "unmatched", NULL, MI_COUNTER, "PUBLISHes that no route matched."},
    {MI_G_TOO_MANY_ROUTES, "publishes_with_too_many_routes", NULL, MI_COUNTER,
     "PUBLISHes that more than 16 routes would have taken (`continue`): the later routes got nothing."},
    {MI_G_REGEX_LIMITS, "publishes_at_regex_limits", NULL, MI_COUNTER,
     "PUBLISHes for which the `regex` of a route was given up at its limits, as if it did not match."},
    {MI_G_PROPERTIES_LOST, "properties_lost", NULL, MI_COUNTER,
     "Messages whose MQTT 5 properties this broker does not let a plugin read."},
    {MI_G_REQUESTS, "requests", NULL, MI_COUNTER, "Requests to Iggy that carried messages."},
    {MI_G_REQUESTS_FAILED, "requests_failed", NULL, MI_COUNTER,
     "Those of them that did not end with the messages stored."},
    {MI_G_LOGIN_FAILED, "logins_failed", NULL, MI_COUNTER,
     "Logins that Iggy refused or that did not reach it."},
    {MI_G_SERVER_RESTARTS, "server_restarts", NULL, MI_COUNTER, "Signs of a restarted Iggy."},
    {MI_G_LANES, "lanes", NULL, MI_GAUGE, "Partitions of Iggy with waiting messages."},
    {MI_G_LANES_HELD, "lanes_held", NULL, MI_GAUGE, "Those of them that cannot move for their own reasons."},
    {MI_G_IN_FLIGHT, "in_flight", NULL, MI_GAUGE, "Requests with messages under way to Iggy."},
    {MI_G_OLDEST_PENDING_MS, "oldest_pending", NULL, MI_GAUGE_MS,
     "Age of the oldest message not settled yet."},
    {MI_G_READERS, "readers", NULL, MI_GAUGE, "Partitions of Iggy that are being read."},
    {MI_G_INBOX, "inbox", NULL, MI_GAUGE, "Messages from Iggy that wait to be injected."},
    {MI_G_PARKED, "parked", NULL, MI_GAUGE,
     "Messages parked beside the journal because their own target does not take them; part of pending."},
    {MI_G_PARKED_BYTES, "parked_bytes", NULL, MI_GAUGE, "Bytes of the parked messages."},
    {MI_G_LOGINS_ALLOWED, "client_logins", "allowed", MI_COUNTER,
     "MQTT clients' logins, by what the plugin answered; next: left to the broker's other plugins and its "
     "password_file."},
    {MI_G_LOGINS_REFUSED, "client_logins", "refused", MI_COUNTER, NULL},
    {MI_G_LOGINS_UNAVAILABLE, "client_logins", "unavailable", MI_COUNTER, NULL},
    {MI_G_LOGINS_LIMITED, "client_logins", "limited", MI_COUNTER, NULL},
    {MI_G_LOGINS_NEXT, "client_logins", "next", MI_COUNTER, NULL},
    {MI_G_LOGINS_CACHED, "client_logins_cached", NULL, MI_COUNTER,
     "MQTT clients' logins that were answered from memory."},
    {MI_G_LOGINS_ASKED, "client_logins_asked", NULL, MI_COUNTER,
     "Checks of MQTT clients' logins that the back end was asked for."},
    {MI_G_SCANS, "rebuilding", NULL, MI_GAUGE,
     "Partitions of Iggy that are being searched for the last retained values, for a store that began "
     "empty."},
    {MI_G_REBUILT_LEFT_OUT, "rebuild_left_out", NULL, MI_COUNTER,
     "Retained values that were not restored because limits.rebuild_size had no room for them."},
    {MI_G_LOG_LOST, "log_lines_lost", NULL, MI_COUNTER, "Log lines that did not fit their queue."},
    {MI_G_HISTORY_REQUESTS, "history_requests", NULL, MI_COUNTER, "Requests for history that were begun."},
    {MI_G_HISTORY_REFUSED, "history_refused", NULL, MI_COUNTER,
     "Requests for history that were refused: malformed, no route, no right, too many at a time."},
    {MI_G_HISTORY_MESSAGES, "history_messages", NULL, MI_COUNTER,
     "Messages of the past that were given to the clients that asked."},
    {MI_G_HISTORY_DENIED, "history_denied", NULL, MI_COUNTER,
     "Messages of the past that were held back because the client may not read their topic."},
    {MI_G_HISTORY_BYTES, "history_scanned_bytes", NULL, MI_COUNTER,
     "Bytes of messages read from Iggy to answer requests for history."},
    {MI_G_HISTORY_CANCELLED, "history_cancelled", NULL, MI_COUNTER,
     "Requests for history that ended because their client went, was taken over or unsubscribed."},
    {MI_G_HISTORY_CUT, "history_cut", NULL, MI_COUNTER,
     "Requests for history that ended early by max_scan, max_time or an error."},
    {MI_G_SUBSCRIBED, "subscribed", NULL, MI_GAUGE,
     "1 while the subscription stands that feeds routes with \"via\": \"subscription\"; 0 also without such "
     "routes."},
    {MI_G_RIGHTS_PUBLISH_DENIED, "rights_denied", "publish", MI_COUNTER,
     "What Iggy's rights on topics refused (`auth.authorize`), by what was to be done."},
    {MI_G_RIGHTS_READ_DENIED, "rights_denied", "read", MI_COUNTER, NULL},
    {MI_G_RIGHTS_SUBSCRIBE_DENIED, "rights_denied", "subscribe", MI_COUNTER, NULL},
};
const size_t mi_global_row_count = sizeof mi_global_rows / sizeof *mi_global_rows;

bool mi_metric_continues(const struct mi_metric_row *rows, size_t i)
{
    return i > 0 && strcmp(rows[i].key, rows[i - 1].key) == 0;
}

bool mi_metric_name(const struct mi_metric_row *row, struct mi_buf *out)
{
    static const char *const suffix[] = {
        [MI_COUNTER] = "_total", [MI_GAUGE] = "", [MI_GAUGE_MS] = "_seconds"};
    return mi_buf_addf(out, "mosquitto_iggy_%s%s", row->key, suffix[row->type]);
}

/* What is counted last is read first, so that a message on its way shows as pending rather than not at all.
 */
void mi_route_snapshot(struct mi_route_metrics *r, uint64_t values[MI_V_VALUES])
{
    for (unsigned i = MI_C_ROUTE_COUNTERS; i-- > 0;)
        values[i] = mi_counted(r, i);
    uint64_t settled = values[MI_C_COMMITTED] + values[MI_C_DEAD_LETTERED] + values[MI_C_DROPPED_DAMAGED];
    uint64_t taken = values[MI_C_JOURNALED] > settled ? values[MI_C_JOURNALED] : settled;
    values[MI_V_PENDING] = taken - settled;
    values[MI_V_RECEIVED] = taken + values[MI_C_DROPPED_QOS0] + values[MI_C_DROPPED_WITHOUT_COPY];
}

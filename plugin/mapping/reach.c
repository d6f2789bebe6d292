/* reach: may a message of a rule have a topic that a filter matches? Two filters, level by level. */
#include "mapping/topic_map.h"

#include "mapping/filter.h"

static struct mi_span any(struct mi_span name);
static bool overlaps(struct mi_span plain, const struct mi_filter *f);

bool mi_map_reaches(const struct mi_map *map, size_t rule, struct mi_span stream, struct mi_span topic,
                    const struct mi_filter *filter)
{
    if (topic.len ? !mi_map_topic_fits(map, rule, stream, topic)
                  : stream.len && !mi_map_stream_fits(map, rule, stream))
        return false;
    struct mi_buf own;
    bool reached = false;
    mi_buf_init(&own, MI_MAX_MQTT_STRING + 1);
    for (unsigned which = 0; which < 2 && !reached; which++) {
        if (mi_map_target_filter(map, rule, any(stream), any(topic), which, &own))
            reached = overlaps((struct mi_span){own.data, own.len - 1}, filter);
        else
            reached = own.failed; /* it cannot be said for certain */
    }
    mi_buf_fini(&own);
    return reached;
}

/* For a name that is not known: one of which no part can stand in a level, so that all that would come from
 * it is a wildcard. */
static struct mi_span any(struct mi_span name)
{
    static const char slashes[] = "////////////////////////////////////////////////////////////////"
                                  "////////////////////////////////////////////////////////////////"
                                  "////////////////////////////////////////////////////////////////"
                                  "////////////////////////////////////////////////////////////////";
    return name.len ? name : mi_span_of(slashes);
}

static bool is(struct mi_span level, char wildcard)
{
    return level.len == 1 && level.data[0] == (uint8_t)wildcard;
}

/* A rule's topics never begin with $, so a wildcard may stand for any first level. */
static bool overlaps(struct mi_span plain, const struct mi_filter *f)
{
    size_t at = 0; /* plain.len + 1: behind the last level */
    for (uint32_t i = 0;; i++) {
        bool over = at > plain.len;
        struct mi_span level = over ? (struct mi_span){NULL, 0} : mi_level_at(plain, at);
        if (is(level, '#') || (i < f->count && f->levels[i].kind == MI_LEVEL_REST))
            return true;
        if (over || i == f->count)
            return over && i == f->count;
        if (!is(level, '+') && f->levels[i].kind == MI_LEVEL_TEXT && !mi_span_equal(level, f->levels[i].text))
            return false;
        at += level.len + 1;
    }
}

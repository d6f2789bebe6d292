/* acl_match: one walk over filter and topic together, level by level; names are read where they stand. */
#include "auth/acl_match.h"

#include "base/limits.h"

enum { MAX_LEVELS = 200 }; /* TOPIC_HIERARCHY_LIMIT of the broker */

/* A filter as the bytes it stands for. */
struct reader {
    struct mi_span filter;
    size_t at;
    struct mi_span name; /* what is being put in for %c or %u */
    size_t name_at;
    enum mi_acl_names names;
    const struct mi_acl_client *client;
    bool hopeless; /* a name that matches no level */
};
enum { END = -1 };

static int peek(struct reader *r);
static void next(struct reader *r);
static bool same_level(struct reader *r, struct mi_span topic, size_t *at);
static bool enter_name(struct reader *r);

bool mi_acl_matches(struct mi_span filter, enum mi_acl_names names, const struct mi_acl_client *client,
                    struct mi_span topic)
{
    struct reader r = {.filter = filter, .names = names, .client = client};
    if (filter.len == 0 || topic.len == 0)
        return false;
    /* 2.1 looks at the pattern's own first byte, 2.0 at what has become of it. */
    int first = names == MI_ACL_NAMES_LEVELS ? filter.data[0] : peek(&r);
    if ((first == '$') != (topic.data[0] == '$'))
        return false;
    for (size_t at = 0;; at++) { /* topic.len + 1: behind the last level */
        int c = peek(&r);
        if (c == '#')
            return true;
        if (at > topic.len)
            return false;
        if (c == '+') {
            next(&r);
            while (at < topic.len && topic.data[at] != '/')
                at++;
        } else if (!same_level(&r, topic, &at)) {
            return false;
        }
        if (peek(&r) == END)
            return at == topic.len && !r.hopeless;
        next(&r); /* the '/' */
    }
}

/* Walks both to the end of the level. */
static bool same_level(struct reader *r, struct mi_span topic, size_t *at)
{
    for (;;) {
        int c = peek(r);
        bool topic_ends = *at == topic.len || topic.data[*at] == '/';
        if (c == END || c == '/')
            return topic_ends && !r->hopeless;
        if (topic_ends || c != topic.data[*at])
            return false;
        next(r);
        (*at)++;
    }
}

static int peek(struct reader *r)
{
    for (;;) {
        if (r->name_at < r->name.len)
            return r->name.data[r->name_at];
        if (r->at >= r->filter.len || r->hopeless)
            return END;
        if (!enter_name(r))
            return r->filter.data[r->at];
    }
}

static void next(struct reader *r)
{
    if (r->name_at < r->name.len)
        r->name_at++;
    else if (r->at < r->filter.len)
        r->at++;
}

/* Is there a %c or %u here that is to be replaced? Then its name is what comes next, and it is behind us. */
static bool enter_name(struct reader *r)
{
    const uint8_t *p = r->filter.data + r->at;
    size_t left = r->filter.len - r->at;
    if (r->names == MI_ACL_NAMES_NONE || left < 2 || p[0] != '%' || (p[1] != 'c' && p[1] != 'u'))
        return false;
    struct mi_span name = p[1] == 'c' ? r->client->client_id : r->client->username;
    if (r->names == MI_ACL_NAMES_LEVELS) {
        if ((r->at > 0 && p[-1] != '/') || (left > 2 && p[2] != '/'))
            return false;
        r->hopeless = name.len == 0;
        for (size_t i = 0; i < name.len; i++)
            r->hopeless |= name.data[i] == '/';
    }
    r->name = name;
    r->name_at = 0;
    r->at += 2;
    return true;
}

const char *mi_acl_filter_check(struct mi_span filter)
{
    size_t levels = 0;
    if (filter.len == 0 || filter.len > MI_MAX_MQTT_STRING)
        return "it is empty or longer than 65535 bytes";
    for (size_t i = 0; i < filter.len; i++) {
        uint8_t c = filter.data[i];
        bool begins = i == 0 || filter.data[i - 1] == '/', ends = i + 1 == filter.len;
        if (c == '+' && (!begins || (!ends && filter.data[i + 1] != '/')))
            return "\"+\" must be a level of its own";
        if (c == '#' && (!begins || !ends))
            return "\"#\" must be the last level";
        levels += c == '/';
    }
    return levels > MAX_LEVELS ? "it has more than 200 levels" : NULL;
}

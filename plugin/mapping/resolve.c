/* resolve: from a rule and what a PUBLISH brings to stream, topic and key. */
#include "mapping/rule.h"

#include "mapping/names.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool place(const struct mi_template *t, const struct mi_values *values, size_t max,
                  struct mi_buf *text, struct mi_span *span, size_t *at);

enum mi_regex_result mi_rule_match(const struct mi_rule *rule, struct mi_regex_scratch *scratch,
                                   struct mi_span topic, struct mi_span *captures)
{
    if (rule->regex)
        return mi_regex_match(rule->regex, scratch, topic, captures);
    return mi_filter_match(&rule->filter, topic, captures) ? MI_REGEX_YES : MI_REGEX_NO;
}

void mi_rule_draft(const struct mi_rule *rule, const struct mi_map_input *input,
                   const struct mi_span *captures, struct mi_buf *text, struct mi_hit *hit,
                   struct mi_draft *draft)
{
    const struct mi_values values = {.captures = captures,
                                     .topic = input->topic,
                                     .client_id = input->client_id,
                                     .username = input->username,
                                     .named = input->property,
                                     .named_context = input->property_context};
    hit->status = MI_HIT_OK;
    hit->balanced = rule->balanced;
    bool all = place(&rule->stream, &values, MI_NAME_KEPT, text, &hit->stream, &draft->stream) &&
               place(&rule->topic, &values, MI_NAME_KEPT, text, &hit->topic, &draft->topic) &&
               place(&rule->key, &values, SIZE_MAX, text, &hit->key, &draft->key);
    if (all)
        return;
    hit->status = MI_HIT_NO_MEMORY;
    hit->stream = hit->topic = hit->key = (struct mi_span){NULL, 0};
    *draft = (struct mi_draft){SIZE_MAX, SIZE_MAX, SIZE_MAX};
}

static bool place(const struct mi_template *t, const struct mi_values *values, size_t max,
                  struct mi_buf *text, struct mi_span *span, size_t *at)
{
    *at = SIZE_MAX;
    *span = (struct mi_span){NULL, 0};
    if (t->count == 0 || mi_template_constant(t, span))
        return true;
    *at = text->len;
    if (!mi_template_expand(t, values, max, text))
        return false;
    span->len = text->len - *at;
    return true;
}

void mi_rule_settle(const struct mi_buf *text, const struct mi_draft *draft, struct mi_hit *hit)
{
    /* Nothing but empty texts leaves text without memory. */
    if (text->data && draft->stream != SIZE_MAX)
        hit->stream.data = text->data + draft->stream;
    if (text->data && draft->topic != SIZE_MAX)
        hit->topic.data = text->data + draft->topic;
    if (text->data && draft->key != SIZE_MAX)
        hit->key.data = text->data + draft->key;
    hit->key_hash = hit->balanced ? 0 : XXH32(hit->key.data, hit->key.len, 0);
    if (hit->status != MI_HIT_OK)
        return;
    if (mi_name_check(hit->stream) != MI_NAME_GOOD)
        hit->status = MI_HIT_STREAM_UNUSABLE;
    else if (mi_name_check(hit->topic) != MI_NAME_GOOD)
        hit->status = MI_HIT_TOPIC_UNUSABLE;
}

/* acl_match against libmosquitto's own mosquitto_topic_matches_sub, over random filters and topics. */
#include "auth/acl_match.h"
#include "support/suite.h"

#include <mosquitto.h>
#include <stdio.h>
#include <string.h>

static uint64_t state = 0x9E3779B97F4A7C15ull;

static unsigned roll(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static void make(char *to, size_t size, const char *const *words, unsigned count)
{
    to[0] = '\0';
    for (unsigned n = 1 + roll(7); n > 0; n--)
        strncat(to, words[roll(count)], size - strlen(to) - 1);
}

/* The text with the names in it, as the broker of 2.0 builds it. */
static void put_in(const char *filter, const char *user, const char *id, char *to, size_t size)
{
    size_t n = 0;
    for (; *filter && n + 20 < size; filter++) {
        const char *name = filter[0] == '%' && filter[1] == 'c'   ? id
                           : filter[0] == '%' && filter[1] == 'u' ? user
                                                                  : NULL;
        if (name) {
            n += (size_t)snprintf(to + n, size - n, "%s", name);
            filter++;
        } else {
            to[n++] = *filter;
        }
    }
    to[n] = '\0';
}

static void the_same_as_libmosquitto(void)
{
    static const char *const in_filter[] = {"a", "b", "/", "/", "+", "#", "$", "%c", "%u", "/+/", "/#", "%"};
    static const char *const in_topic[] = {"a", "b", "/", "/", "$", "%c", "%u", "c", "%"};
    static const char *const in_name[] = {"a", "b", "/", "$", "c", "%", "%u"};
    size_t valid = 0, matching = 0;
    for (int i = 0; i < 400000; i++) {
        char filter[64], topic[64], user[32], id[32], text[400];
        make(filter, sizeof filter, in_filter, 12);
        make(topic, sizeof topic, in_topic, 9);
        make(id, sizeof id, in_name, 7);
        make(user, sizeof user, in_name, 7);
        if (roll(8) == 0)
            user[0] = '\0';
        bool ok = mosquitto_sub_topic_check(filter) == MOSQ_ERR_SUCCESS;
        CU_ASSERT_EQUAL_FATAL(mi_acl_filter_check(mi_span_of(filter)) == NULL, ok);
        if (!ok)
            continue;
        valid++;
        const struct mi_acl_client client = {mi_span_of(user), mi_span_of(id)};
        bool plain = false, pattern = false;
        mosquitto_topic_matches_sub(filter, topic, &plain);
        put_in(filter, user, id, text, sizeof text);
        mosquitto_topic_matches_sub(text, topic, &pattern);
        matching += plain + pattern;
        if (mi_acl_matches(mi_span_of(filter), MI_ACL_NAMES_NONE, &client, mi_span_of(topic)) != plain ||
            mi_acl_matches(mi_span_of(filter), MI_ACL_NAMES_ANYWHERE, &client, mi_span_of(topic)) !=
                pattern) {
            printf("filter %s topic %s user %s id %s: %d %d\n", filter, topic, user, id, plain, pattern);
            CU_FAIL_FATAL("another verdict than libmosquitto's");
        }
    }
    CU_ASSERT_TRUE(valid > 40000);
    CU_ASSERT_TRUE(matching > 4000);
}

static CU_TestInfo tests[] = {
    {"the_same_as_libmosquitto", the_same_as_libmosquitto},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("acl_match", tests)

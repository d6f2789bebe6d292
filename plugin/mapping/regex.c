#include "mapping/regex.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* PCRE2 counts backtracking only, and what lies between two counts may run over the whole topic; so the limit
 * follows from the topic's length, and patterns with parts that never backtrack are counted item by item
 * through callouts. Measured with patterns made for it: under 100 ms at worst on 65,535 bytes, where a plain
 * limit of 10,000 allowed 7 s. Up to 1,600 bytes a pattern has all 10,000 steps. */
enum {
    MATCH_LIMIT = 10000,
    BYTE_STEPS = 16 << 20,
    DEPTH_LIMIT = 1000,
    HEAP_LIMIT_KIB = 1024,
    MAX_PATTERN = 1024
};

struct mi_regex {
    pcre2_code *code;
    uint32_t captures;
    bool dollar;  /* begins with "\$" */
    char *prefix; /* what every match begins with, as far as the text shows it at a glance */
    size_t prefix_len;
    struct mi_span names[MI_MAX_CAPTURES + 1];
};

struct mi_regex_scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
    size_t left; /* items that the match may still try */
};

static pcre2_code *compile(const char *pattern, struct mi_error *err);
static bool has_uncounted(const char *pattern);
static int count_item(pcre2_callout_block *block, void *left);
static int read_groups(struct mi_regex *r, struct mi_error *err);
static size_t literal_prefix(const char *pattern);
static bool begins_with_dollar(const char *pattern);

struct mi_regex *mi_regex_new(const char *pattern, struct mi_error *err)
{
    struct mi_regex *r = calloc(1, sizeof *r);
    if (!r) {
        mi_error_set(err, "memory is out");
        return NULL;
    }
    r->dollar = begins_with_dollar(pattern);
    r->prefix_len = literal_prefix(pattern);
    r->prefix = strndup(pattern, r->prefix_len);
    r->code = compile(pattern, err);
    if (!r->prefix || !r->code || read_groups(r, err) != 0) {
        mi_regex_free(r);
        return NULL;
    }
    return r;
}

static pcre2_code *compile(const char *pattern, struct mi_error *err)
{
    int code;
    size_t offset;
    size_t len = strlen(pattern);
    if (len == 0 || len > MAX_PATTERN) {
        mi_error_set(err,
                     "the pattern has %zu bytes; write 1 to %d (\".*\" for every topic), or use \"filter\"",
                     len, MAX_PATTERN);
        return NULL;
    }
    uint32_t options =
        PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
    if (has_uncounted(pattern))
        options |= PCRE2_AUTO_CALLOUT;
    pcre2_code *c = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &code, &offset, NULL);
    if (!c) {
        char text[256];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof text);
        mi_error_set(err, "the pattern is no valid regex: %s, at byte %zu (before \"%.20s\")", text, offset,
                     pattern + (offset < len ? offset : len));
        return NULL;
    }
    /* Without JIT (a hardened kernel, an unknown processor) the interpreter matches, under the same limits.
     */
    pcre2_jit_compile(c, PCRE2_JIT_COMPLETE);
    return c;
}

/* Looks around, possessive and counted repeats, atomic groups, recursion, verbs, back references, grapheme
 * clusters. */
static bool has_uncounted(const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        const char *group = p[0] == '(' && p[1] == '?' ? p + 2 : NULL;
        bool plain_group = group && (*group == ':' || strncmp(group, "P<", 2) == 0 ||
                                     (*group == '<' && group[1] != '=' && group[1] != '!'));
        if ((group && !plain_group) || strncmp(p, "(*", 2) == 0 || *p == '{' ||
            (*p == '+' && p > pattern && strchr("*+?", p[-1])))
            return true;
        if (*p != '\\' || p[1] == '\0')
            continue;
        p++;
        if (strchr("123456789gkX", *p))
            return true;
    }
    return false;
}

static int read_groups(struct mi_regex *r, struct mi_error *err)
{
    uint32_t names = 0, size = 0;
    const uint8_t *table = NULL;
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &r->captures);
    if (r->captures > MI_MAX_CAPTURES)
        return mi_error_set(
            err, "the pattern has %u groups; %d are kept: write (?:...) for groups that no template needs",
            r->captures, MI_MAX_CAPTURES);
    pcre2_pattern_info(r->code, PCRE2_INFO_NAMECOUNT, &names);
    pcre2_pattern_info(r->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(r->code, PCRE2_INFO_NAMETABLE, &table);
    for (uint32_t i = 0; i < names; i++, table += size)
        r->names[mi_get_u16be(table)] = mi_span_of((const char *)table + 2);
    return 0;
}

/* Bytes at the start that stand for themselves. None when there are alternatives, whose order we do not read.
 */
static size_t literal_prefix(const char *pattern)
{
    size_t n = strcspn(pattern, "\\^$.[|()?*+{");
    if (strchr(pattern, '|') || n == 0)
        return 0;
    if (pattern[n] == '\0' || !strchr("?*+{", pattern[n]))
        return n;
    /* The last character is repeated, perhaps zero times. */
    do
        n--;
    while (n > 0 && ((uint8_t)pattern[n] & 0xc0) == 0x80);
    return n;
}

static bool begins_with_dollar(const char *pattern)
{
    pattern += strspn(pattern, "^(");
    return strncmp(pattern, "\\$", 2) == 0 || strncmp(pattern, "[$]", 3) == 0;
}

void mi_regex_free(struct mi_regex *r)
{
    if (!r)
        return;
    pcre2_code_free(r->code);
    free(r->prefix);
    free(r);
}

uint32_t mi_regex_captures(const struct mi_regex *r)
{
    return r->captures;
}

struct mi_span mi_regex_group_name(const struct mi_regex *r, uint32_t index)
{
    return r->names[index];
}

struct mi_regex_scratch *mi_regex_scratch_new(void)
{
    struct mi_regex_scratch *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->data = pcre2_match_data_create(MI_MAX_CAPTURES + 1, NULL);
    s->context = pcre2_match_context_create(NULL);
    if (!s->data || !s->context) {
        mi_regex_scratch_free(s);
        return NULL;
    }
    pcre2_set_callout(s->context, count_item, &s->left);
    pcre2_set_depth_limit(s->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(s->context, HEAP_LIMIT_KIB);
    return s;
}

void mi_regex_scratch_free(struct mi_regex_scratch *s)
{
    if (!s)
        return;
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    free(s);
}

enum mi_regex_result mi_regex_match(const struct mi_regex *r, struct mi_regex_scratch *s,
                                    struct mi_span topic, struct mi_span *captures)
{
    if (topic.len < r->prefix_len || topic.len == 0 || (topic.data[0] == '$' && !r->dollar) ||
        memcmp(topic.data, r->prefix, r->prefix_len) != 0)
        return MI_REGEX_NO;
    s->left = BYTE_STEPS / topic.len;
    pcre2_set_match_limit(s->context, s->left < MATCH_LIMIT ? (uint32_t)s->left : MATCH_LIMIT);
    int rc = pcre2_match(r->code, topic.data, topic.len, 0, 0, s->data, s->context);
    /* JIT code has 32 KB of stack; the interpreter takes its room from the heap, under the limits above. */
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = pcre2_match(r->code, topic.data, topic.len, 0, PCRE2_NO_JIT, s->data, s->context);
    if (rc == PCRE2_ERROR_NOMATCH || (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21))
        return MI_REGEX_NO;
    if (rc < 0)
        return MI_REGEX_GAVE_UP;
    const PCRE2_SIZE *pair = pcre2_get_ovector_pointer(s->data) + 2;
    for (uint32_t i = 0; captures && i < r->captures; i++, pair += 2) {
        /* Groups behind the last that took part are not counted in rc, but PCRE2 leaves them unset. */
        bool set = pair[0] != PCRE2_UNSET && pair[1] >= pair[0];
        captures[i] =
            set ? (struct mi_span){topic.data + pair[0], pair[1] - pair[0]} : (struct mi_span){topic.data, 0};
    }
    return MI_REGEX_YES;
}

static int count_item(pcre2_callout_block *block, void *left)
{
    size_t *n = left;
    (void)block;
    if (*n == 0)
        return PCRE2_ERROR_CALLOUT;
    --*n;
    return 0;
}

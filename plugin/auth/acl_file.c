/* acl_file: the file's lines as lists per user, found through a hash of the names; see acl_file.h. */
#include "auth/acl_file.h"

#include "auth/acl_match.h"
#include "base/fnv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FILE = 16 << 20, ACCESS_DENY = 0, ACCESS_BOTH = MI_ACL_READ | MI_ACL_WRITE };

struct line {
    struct mi_span filter;
    uint8_t access;
    bool names_user; /* %u stands in it */
    struct line *next;
};

/* Lines that are tried together: denials first, and among each kind the order makes no difference. */
struct lines {
    struct line *denials, *others;
};

struct user {
    struct mi_span name;
    struct lines lines;
    struct user *next; /* in its bucket */
};

struct mi_acl_file {
    enum mi_acl_rules rules;
    uint8_t *text; /* what the spans point into */
    struct lines anonymous, patterns;
    struct user **buckets;
    size_t bucket_count; /* a power of two */
    struct line *line_store;
    struct user *user_store;
    size_t line_count, user_count;
};

#define TEXT(s) (int)((s).len < 200 ? (s).len : 200), (const char *)(s).data

static uint8_t *read_whole(const char *path, enum mi_acl_rules rules, size_t *len, struct mi_error *err);
static bool make_room(struct mi_acl_file *f, size_t len);
static int parse_lines(struct mi_acl_file *f, struct mi_span text, struct mi_error *err);
static int parse_line(struct mi_acl_file *f, struct mi_span line, struct lines **current,
                      struct mi_error *err);
static int parse_rule(struct mi_acl_file *f, bool pattern, struct mi_span rest, struct lines *current,
                      struct mi_error *err);
static int access_of(struct mi_span word);
static struct user *find_user(const struct mi_acl_file *f, struct mi_span name, struct user ***place);
static int verdict(const struct mi_acl_file *f, const struct lines *lines, bool patterns,
                   const struct mi_acl_client *client, struct mi_span topic, enum mi_acl_access access);

struct mi_acl_file *mi_acl_file_read(const char *path, enum mi_acl_rules rules, struct mi_error *err)
{
    size_t len;
    uint8_t *text = read_whole(path, rules, &len, err);
    if (!text)
        return NULL;
    struct mi_acl_file *f = mi_acl_file_parse((struct mi_span){text, len}, rules, err);
    free(text);
    return f;
}

static uint8_t *read_whole(const char *path, enum mi_acl_rules rules, size_t *len, struct mi_error *err)
{
    bool follow = rules == MI_ACL_RULES_2_0 || getenv("MOSQUITTO_UNSAFE_ALLOW_SYMLINKS");
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    struct stat st;
    uint8_t *text = NULL;
    if (fd < 0) {
        mi_error_set(err, "%s: %s", path,
                     errno == ELOOP ? "Mosquitto 2.1 reads no acl_file through a symbolic link"
                                    : strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        mi_error_set(err, "%s: not a file", path);
    } else if (st.st_size > MAX_FILE) {
        mi_error_set(err, "%s: more than %d bytes", path, MAX_FILE);
    } else if (!(text = malloc((size_t)st.st_size + 1))) {
        mi_error_set(err, "%s: memory is out", path);
    } else {
        ssize_t got = 1;
        for (*len = 0; *len < (size_t)st.st_size && got > 0; *len += got > 0 ? (size_t)got : 0)
            got = read(fd, text + *len, (size_t)st.st_size - *len);
        if (got < 0) {
            mi_error_set(err, "%s: %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
    }
    close(fd);
    return text;
}

struct mi_acl_file *mi_acl_file_parse(struct mi_span text, enum mi_acl_rules rules, struct mi_error *err)
{
    struct mi_acl_file *f = calloc(1, sizeof *f);
    if (text.len > MAX_FILE) {
        mi_error_set(err, "the acl_file has more than %d bytes", MAX_FILE);
    } else if (!f || !(f->text = malloc(text.len + 1))) {
        mi_error_set(err, "memory is out");
    } else {
        if (text.len)
            memcpy(f->text, text.data, text.len);
        f->rules = rules;
        text.data = f->text;
        if (parse_lines(f, text, err) == 0)
            return f;
    }
    mi_acl_file_free(f);
    return NULL;
}

void mi_acl_file_free(struct mi_acl_file *f)
{
    if (!f)
        return;
    free(f->buckets);
    free(f->line_store);
    free(f->user_store);
    free(f->text);
    free(f);
}

static struct mi_span cut_line(struct mi_span *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->len);
    struct mi_span line = {text->data, end ? (size_t)(end - text->data) : text->len};
    size_t taken = line.len + (end ? 1 : 0);
    *text = (struct mi_span){text->data + taken, text->len - taken};
    return line;
}

static int parse_lines(struct mi_acl_file *f, struct mi_span text, struct mi_error *err)
{
    size_t count = 1;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n';
    if (!make_room(f, count))
        return mi_error_set(err, "memory is out");
    struct lines *current = &f->anonymous;
    for (size_t number = 1; text.len > 0; number++) {
        struct mi_span line = cut_line(&text);
        struct mi_error why;
        if (parse_line(f, line, &current, &why) != 0)
            return mi_error_set(err, "line %zu: %s", number, why.text);
    }
    return 0;
}

/* Each line is at most one rule or one user, so nothing grows later and no pointer moves. */
static bool make_room(struct mi_acl_file *f, size_t lines)
{
    for (f->bucket_count = 16; f->bucket_count < lines; f->bucket_count *= 2)
        ;
    f->buckets = calloc(f->bucket_count, sizeof(struct user *));
    f->line_store = calloc(lines, sizeof *f->line_store);
    f->user_store = calloc(lines, sizeof *f->user_store);
    return f->buckets && f->line_store && f->user_store;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static struct mi_span trim(struct mi_span s)
{
    while (s.len && is_space(s.data[s.len - 1]))
        s.len--;
    while (s.len && is_space(s.data[0])) {
        s.data++;
        s.len--;
    }
    return s;
}

/* The next word, as strtok with " " has it: only spaces part words. rest begins behind the one space that
 * ended it. */
static struct mi_span cut_word(struct mi_span *rest)
{
    while (rest->len && rest->data[0] == ' ') {
        rest->data++;
        rest->len--;
    }
    const uint8_t *end = rest->len ? memchr(rest->data, ' ', rest->len) : NULL;
    struct mi_span word = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    size_t taken = word.len + (end ? 1 : 0);
    *rest = (struct mi_span){rest->data + taken, rest->len - taken};
    return word;
}

static bool is(struct mi_span word, const char *text)
{
    return mi_span_equal(word, mi_span_of(text));
}

static int parse_line(struct mi_acl_file *f, struct mi_span line, struct lines **current,
                      struct mi_error *err)
{
    if (line.len && memchr(line.data, '\0', line.len))
        return mi_error_set(err, "a NUL byte; take it out");
    while (line.len && is_space(line.data[line.len - 1]))
        line.len--;
    if (line.len == 0 || line.data[0] == '#')
        return 0;
    struct mi_span rest = line, word = cut_word(&rest);
    if (is(word, "topic") || is(word, "pattern"))
        return parse_rule(f, is(word, "pattern"), rest, *current, err);
    if (!is(word, "user"))
        return mi_error_set(err, "\"%.*s\" is neither user nor topic nor pattern", TEXT(word));
    struct mi_span name = trim(rest);
    if (name.len == 0)
        return mi_error_set(err, "a user without a name");
    struct user **place, *user = find_user(f, name, &place);
    if (!user) {
        user = &f->user_store[f->user_count++];
        *user = (struct user){.name = name, .next = *place};
        *place = user;
    }
    *current = &user->lines;
    return 0;
}

static int parse_rule(struct mi_acl_file *f, bool pattern, struct mi_span rest, struct lines *current,
                      struct mi_error *err)
{
    struct mi_span word = cut_word(&rest), filter = word;
    int access = ACCESS_BOTH;
    if (word.len == 0)
        return mi_error_set(err, "no topic");
    if (rest.len > 0) {
        filter = trim(rest);
        access = access_of(word);
        if (access < 0)
            return mi_error_set(err, "\"%.*s\" is none of read, write, readwrite and deny", TEXT(word));
    }
    const char *wrong = mi_acl_filter_check(filter);
    if (wrong)
        return mi_error_set(err, "\"%.*s\" is no topic filter: %s", TEXT(filter), wrong);
    struct lines *list = pattern ? &f->patterns : current;
    struct line **head = access == ACCESS_DENY ? &list->denials : &list->others;
    struct line *line = &f->line_store[f->line_count++];
    *line = (struct line){.filter = filter,
                          .access = (uint8_t)access,
                          .names_user = memmem(filter.data, filter.len, "%u", 2) != NULL,
                          .next = *head};
    *head = line;
    return 0;
}

static int access_of(struct mi_span word)
{
    if (is(word, "read"))
        return MI_ACL_READ;
    if (is(word, "write"))
        return MI_ACL_WRITE;
    if (is(word, "readwrite"))
        return ACCESS_BOTH;
    return is(word, "deny") ? ACCESS_DENY : -1;
}

static struct user *find_user(const struct mi_acl_file *f, struct mi_span name, struct user ***place)
{
    uint64_t hash = mi_fnv64(MI_FNV64, name);
    struct user **bucket = &f->buckets[(hash ^ hash >> 32) & (f->bucket_count - 1)], *user = *bucket;
    if (place)
        *place = bucket;
    while (user && !mi_span_equal(user->name, name))
        user = user->next;
    return user;
}

static bool starts_with(struct mi_span topic, const char *text)
{
    size_t len = strlen(text);
    return topic.len >= len && memcmp(topic.data, text, len) == 0;
}

/* acl__check_dollar of the broker, for READ and WRITE. */
static bool denied_before(struct mi_span topic, enum mi_acl_access access)
{
    if (starts_with(topic, "$SYS") && access == MI_ACL_WRITE)
        return !mi_acl_matches(mi_span_of("$SYS/broker/connection/+/state"), MI_ACL_NAMES_NONE, NULL, topic);
    return starts_with(topic, "$share");
}

static bool dangerous(struct mi_span name)
{
    return name.len && (memchr(name.data, '+', name.len) || memchr(name.data, '#', name.len));
}

bool mi_acl_file_allows(const struct mi_acl_file *f, const struct mi_acl_client *client, struct mi_span topic,
                        enum mi_acl_access access)
{
    if (denied_before(topic, access))
        return false;
    const struct user *user = client->username.len ? find_user(f, client->username, NULL) : NULL;
    const struct lines *own = client->username.len ? user ? &user->lines : NULL : &f->anonymous;
    int own_verdict = own ? verdict(f, own, false, client, topic, access) : -1;
    if (own_verdict >= 0)
        return own_verdict > 0;
    if ((!f->patterns.denials && !f->patterns.others) || dangerous(client->username) ||
        dangerous(client->client_id))
        return false;
    return verdict(f, &f->patterns, true, client, topic, access) > 0;
}

/* 1 allowed, 0 denied, -1 no line says anything. */
static int verdict(const struct mi_acl_file *f, const struct lines *lines, bool patterns,
                   const struct mi_acl_client *client, struct mi_span topic, enum mi_acl_access access)
{
    enum mi_acl_names names = !patterns                      ? MI_ACL_NAMES_NONE
                              : f->rules == MI_ACL_RULES_2_1 ? MI_ACL_NAMES_LEVELS
                                                             : MI_ACL_NAMES_ANYWHERE;
    const struct line *const lists[] = {lines->denials, lines->others};
    for (int i = 0; i < 2; i++) {
        for (const struct line *line = lists[i]; line; line = line->next) {
            if (i == 1 && !(line->access & access))
                continue;
            if (patterns && line->names_user && client->username.len == 0)
                continue;
            if (mi_acl_matches(line->filter, names, client, topic))
                return i;
        }
    }
    return -1;
}

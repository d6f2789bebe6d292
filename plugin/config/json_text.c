#include "config/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int clean(char *text, size_t len, const char **at, struct mi_error *err);
static void syntax_error(const char *text, const char *at, struct mi_error *err);
static unsigned line_of(const char *text, const char *at);

cJSON *mi_json_parse(char *text, size_t len, unsigned *line, struct mi_error *err)
{
    const char *at = text;
    cJSON *tree = NULL;
    if (clean(text, len, &at, err) == 0) {
        tree = cJSON_ParseWithLengthOpts(text, len + 1, &at, 1);
        if (!tree)
            syntax_error(text, at, err);
    }
    *line = line_of(text, at);
    return tree;
}

static unsigned line_of(const char *text, const char *at)
{
    unsigned line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* Length of the UTF-8 character at p, 0 when it is none (RFC 3629: no surrogates, no overlong forms). */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (p[0] > 0xf4 || (p[0] >= 0x80 && p[0] < 0xc2) || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static int check_bytes(const char *text, size_t len, const char **at, struct mi_error *err)
{
    for (size_t i = 0; i < len;) {
        size_t n = utf8_length((const uint8_t *)text + i, len - i);
        *at = text + i;
        if (n == 0)
            return mi_error_set(err, "the file is not UTF-8 text here: save it as UTF-8");
        if (text[i] == 0)
            return mi_error_set(err, "a NUL byte: the file is not plain text");
        i += n;
    }
    return 0;
}

/* Writes spaces over from..to, but keeps line ends. */
static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\n' && *from != '\r')
            *from = ' ';
}

/* Moves p, which is at a quote, behind the string. cJSON would cut a text at an escaped NUL, and takes line
 * ends. */
static int pass_string(char **p, struct mi_error *err)
{
    char *q = *p + 1;
    for (; *q && *q != '"' && *q != '\n'; q++) {
        if (*q != '\\' || !q[1])
            continue;
        if (strncmp(q + 1, "u0000", 5) == 0)
            return mi_error_set(err, "a text holds \\u0000: NUL cannot be part of a name");
        q++;
    }
    if (*q != '"')
        return mi_error_set(err, "a text is not closed on its line: a quote is missing");
    *p = q + 1;
    return 0;
}

static int clean(char *text, size_t len, const char **at, struct mi_error *err)
{
    if (check_bytes(text, len, at, err) < 0)
        return -1;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        blank(text, text + 3);
    for (char *p = text; *p;) {
        *at = p;
        if (*p == '"') {
            if (pass_string(&p, err) < 0)
                return -1;
        } else if (p[0] == '/' && p[1] == '/') {
            char *end = p + strcspn(p, "\n");
            blank(p, end);
            p = end;
        } else if (p[0] == '/' && p[1] == '*') {
            char *end = strstr(p + 2, "*/");
            if (!end)
                return mi_error_set(err, "the comment that begins with /* here never ends: close it with */");
            blank(p, end + 2);
            p = end + 2;
        } else {
            p++;
        }
    }
    return 0;
}

static char last_before(const char *text, const char *at)
{
    while (at > text && strchr(" \t\r\n", at[-1]))
        at--;
    return at > text ? at[-1] : 0;
}

/* at is where cJSON stopped: one behind a bracket that it took for a key. */
static void syntax_error(const char *text, const char *at, struct mi_error *err)
{
    if (at > text && strchr("}]", at[-1]) && last_before(text, at - 1) == ',')
        at--;
    at += strspn(at, " \t\r\n");
    char before = last_before(text, at);
    int shown = (int)strcspn(at, "\r\n");
    if (shown > 30)
        shown = 30;
    if (!before && !*at)
        mi_error_set(err, "the file is empty: it must hold one JSON object");
    else if (!*at)
        mi_error_set(err, "the JSON ends too early: a closing }, ] or quote is missing");
    else if (before == ',' && (*at == '}' || *at == ']'))
        mi_error_set(err, "JSON syntax error: a comma too many before %c", *at);
    else if (*at == '"' && before && strchr("\"}]el0123456789", before))
        mi_error_set(err, "JSON syntax error: a comma is missing before %.*s", shown, at);
    else
        mi_error_set(err, "JSON syntax error at: %.*s", shown, at);
}

/* ---- lines ---- */

static const char *space(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

static const char *skip_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1])
            p++;
    return *p ? p + 1 : p;
}

static const char *skip_value(const char *p)
{
    size_t depth = 0;
    do {
        if (*p == '"') {
            p = skip_string(p);
            continue;
        }
        depth += *p == '{' || *p == '[';
        depth -= (*p == '}' || *p == ']') && depth > 0;
        p++;
    } while (*p && (depth > 0 || !strchr(",]}", *p)));
    return p;
}

/* The value of a member of the object at p; *where is moved to its key. NULL (and *where untouched): no such
 * member. */
static const char *find_member(const char *p, const char *key, size_t key_len, unsigned occurrence,
                               const char **where)
{
    if (*p != '{')
        return NULL;
    for (p = space(p + 1); *p == '"'; p = space(p)) {
        const char *name = p;
        p = skip_string(p);
        bool same = (size_t)(p - name) == key_len + 2 && memcmp(name + 1, key, key_len) == 0;
        p = space(p);
        if (*p != ':')
            return NULL;
        p = space(p + 1);
        if (same && occurrence-- == 0) {
            *where = name;
            return p;
        }
        p = space(skip_value(p));
        if (*p == ',')
            p++;
    }
    return NULL;
}

static const char *find_element(const char *p, size_t index, const char **where)
{
    if (*p != '[')
        return NULL;
    for (p = space(p + 1); *p && *p != ']'; p = space(p)) {
        if (index-- == 0) {
            *where = p;
            return p;
        }
        p = space(skip_value(p));
        if (*p == ',')
            p++;
    }
    return NULL;
}

unsigned mi_json_line(const char *text, const char *path, const char *key, unsigned occurrence)
{
    const char *p = space(text), *where = p;
    while (p && *path) {
        size_t n = strcspn(path, ".[");
        if (*path == '[') {
            char *end;
            p = find_element(p, strtoul(path + 1, &end, 10), &where);
            path = *end ? end + 1 : end;
        } else {
            p = find_member(p, path, n, 0, &where);
            path += n;
        }
        if (*path == '.')
            path++;
    }
    if (p && key)
        find_member(p, key, strlen(key), occurrence, &where);
    return line_of(text, where);
}

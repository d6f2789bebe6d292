#include "mqtt/filters.h"

#include <stdlib.h>
#include <string.h>

static size_t level_len(const char *level)
{
    return strcspn(level, "/");
}

static bool is_level(const char *level, char wildcard)
{
    return level_len(level) == 1 && *level == wildcard;
}

static const char *next_level(const char *level)
{
    const char *slash = strchr(level, '/');
    return slash ? slash + 1 : NULL;
}

static bool equal_levels(const char *a, const char *b)
{
    return level_len(a) == level_len(b) && memcmp(a, b, level_len(a)) == 0;
}

/* The smallest filter that covers both, if a topic can match both; NULL: none can. out has room for either.
 */
static bool cover(const char *a, const char *b, char *out)
{
    char *to = out;
    for (bool first = true;; first = false) {
        /* "a/#" matches "a" too, so it goes on with nothing. */
        if ((!a && !b) || (a && is_level(a, '#')) || (b && is_level(b, '#'))) {
            if (a || b) {
                if (!first)
                    *to++ = '/';
                *to++ = '#';
            }
            *to = '\0';
            return (!a && !b) || !((a && first && *a == '#' && b && *b == '$') ||
                                   (b && first && *b == '#' && a && *a == '$'));
        }
        if (!a || !b)
            return false;
        bool any = is_level(a, '+') || is_level(b, '+');
        if (!any && !equal_levels(a, b))
            return false;
        if (first && any && (*a == '$' || *b == '$'))
            return false;
        if (!first)
            *to++ = '/';
        size_t len = any ? 1 : level_len(a);
        memcpy(to, any ? "+" : a, len);
        to += len;
        a = next_level(a);
        b = next_level(b);
    }
}

/* A cover may overlap with others that stood apart, so it is added anew. */
bool mi_filters_add(struct mi_filters *f, const char *filter)
{
    char *mine = strdup(filter);
    char **text = realloc(f->text, (f->count + 1) * sizeof *text);
    f->text = text ? text : f->text;
    char *both = malloc(2 * 65536 + 16);
    bool ok = mine && text && both;
    for (size_t i = 0; ok && i < f->count;) {
        if (!cover(mine, f->text[i], both)) {
            i++;
            continue;
        }
        char *wider = strdup(both);
        if (!wider) {
            ok = false;
            break;
        }
        free(mine);
        free(f->text[i]);
        mine = wider;
        f->text[i] = f->text[--f->count];
        i = 0;
    }
    free(both);
    if (!text)
        free(mine);
    else if (mine)
        f->text[f->count++] = mine;
    return ok;
}

bool mi_filters_has(const struct mi_filters *f, const char *filter)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->text[i], filter) == 0)
            return true;
    return false;
}

void mi_filters_clear(struct mi_filters *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->text[i]);
    free(f->text);
    *f = (struct mi_filters){0};
}

char *mi_filter_without_names(const char *filter)
{
    char *plain = malloc(strlen(filter) + 1), *to = plain;
    for (const char *level = filter; plain && level;) {
        size_t len = level_len(level);
        if (len >= 2 && level[0] == '{' && level[len - 1] == '}') {
            bool rest = len >= 5 && memcmp(level + len - 4, "...", 3) == 0;
            *to++ = rest ? '#' : '+';
        } else {
            memcpy(to, level, len);
            to += len;
        }
        level = next_level(level);
        *to++ = level ? '/' : '\0';
    }
    return plain;
}

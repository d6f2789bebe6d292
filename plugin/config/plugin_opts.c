/* plugin_opts: the few plugin_opt_ lines that the simple case needs, and the name of the file for the others.
 */
#include "config/build.h"

#include <stdio.h>
#include <string.h>

static void read_lines(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count);
static void read_line(struct mi_build *b, const char *key, const char *value);
static void read_topic(struct mi_build *b, char *line);
static void read_file_beside(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count);

void mi_read_plugin_opts(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(opts[i].key, "config_file") == 0) {
            read_file_beside(b, opts, count);
            return;
        }
    read_lines(b, opts, count);
}

/* A copy without white space at both ends: Mosquitto hands the rest of the line over as it is. NULL: memory
 * is out. */
static char *trimmed(struct mi_build *b, const char *value)
{
    static const char white[] = " \t\r\n";
    value += strspn(value, white);
    size_t len = strlen(value);
    while (len > 0 && strchr(white, value[len - 1]))
        len--;
    return mi_build_text(b, value, len);
}

static void opt_finding(struct mi_build *b, const char *key, const char *sentence)
{
    char name[200];
    snprintf(name, sizeof name, "plugin_opt_%s", key);
    mi_finding_at(b, true, name, 0, sentence);
}

static void read_lines(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *value = trimmed(b, opts[i].value);
        if (!value)
            return;
        if (strcmp(opts[i].key, "topic") == 0)
            read_topic(b, value);
        else
            read_line(b, opts[i].key, value);
    }
}

static void unknown(struct mi_build *b, const char *key)
{
    char sentence[400], secret[80];
    snprintf(secret, sizeof secret, "%s_file", key);
    if (mi_option_of_plugin_opt(secret))
        snprintf(sentence, sizeof sentence,
                 "is unknown: a secret does not stand in the broker's file; put it into a file of its own "
                 "and name that in "
                 "plugin_opt_%s",
                 secret);
    else
        snprintf(
            sentence, sizeof sentence,
            "is unknown: there are url, username, password_file, token_file, topic, journal and config_file; "
            "everything else is said in the file that plugin_opt_config_file names");
    opt_finding(b, key, sentence);
}

static void read_line(struct mi_build *b, const char *key, const char *value)
{
    const struct mi_option *o = mi_option_of_plugin_opt(key);
    if (!o) {
        unknown(b, key);
        return;
    }
    bool *given = &b->given[mi_option_index(o)];
    if (*given && o->kind != MI_URLS) {
        opt_finding(b, key, "stands there a second time: keep one of the two");
        return;
    }
    *given = true;
    mi_build_set(b, o, b->config, mi_place_path(o->place), value);
}

/* Cuts the last word off line and returns it; NULL when there is only one. */
static char *last_word(char *line)
{
    size_t len = strlen(line);
    while (len > 0 && line[len - 1] != ' ' && line[len - 1] != '\t')
        len--;
    if (len == 0)
        return NULL;
    char *word = line + len;
    while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    line[len] = 0;
    return len > 0 ? word : NULL;
}

/* The name of a route that was given none: its filter, or the whole line when another direction has that
 * already. */
static const char *route_name(struct mi_build *b, const char *filter, const char *line)
{
    for (size_t i = 0; i < b->draft_count; i++)
        if (b->drafts[i].rule.name && strcmp(b->drafts[i].rule.name, filter) == 0)
            return line;
    return filter;
}

/* FILTER DIRECTION STREAM/TOPIC, read from its end: a filter may hold spaces. */
static void read_topic(struct mi_build *b, char *line)
{
    static const char mend[] =
        "must be FILTER out|in|both STREAM/TOPIC, such as: sensors/# out sensors/messages";
    char sentence[700];
    char *filter = mi_build_text(b, line, strlen(line));
    char *target = filter ? last_word(filter) : NULL;
    char *direction = target ? last_word(filter) : NULL;
    char *slash = target ? strchr(target, '/') : NULL;
    if (!direction || !slash || slash == target || !slash[1]) {
        snprintf(sentence, sizeof sentence, "\"%.300s\" %s", line, mend);
        opt_finding(b, "topic", sentence);
        return;
    }
    struct mi_route_draft *draft = mi_build_draft(b, "plugin_opt_topic");
    if (!draft)
        return;
    *slash = 0;
    draft->line = line;
    const struct {
        const char *key, *value;
    } parts[] = {{"filter", filter},
                 {"direction", direction},
                 {"stream", target},
                 {"topic", slash + 1},
                 {"name", route_name(b, filter, line)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct mi_option *o = mi_option_find(MI_AT_ROUTE, parts[i].key);
        struct mi_error err;
        draft->given[mi_option_index(o)] = true;
        if (mi_option_set(o, draft, parts[i].value, &err) < 0)
            mi_route_finding(b, draft, true, parts[i].key, err.text);
    }
}

/* With a file only plugin_opt_journal may stand beside it: packagers set that one. */
static void read_file_beside(struct mi_build *b, const struct mi_plugin_opt *opts, size_t count)
{
    const char *path = NULL, *journal = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *key = opts[i].key;
        const char **slot = strcmp(key, "config_file") == 0 ? &path
                            : strcmp(key, "journal") == 0   ? &journal
                                                            : NULL;
        if (!slot && (strcmp(key, "topic") == 0 || mi_option_of_plugin_opt(key)))
            opt_finding(b, key, "contradicts plugin_opt_config_file: say it in that file instead");
        else if (!slot)
            unknown(b, key);
        else if (*slot)
            opt_finding(b, key, "stands there a second time: keep one of the two");
        else if (!(*slot = trimmed(b, opts[i].value)))
            return;
    }
    if (!path || !*path) {
        opt_finding(b, "config_file", "is empty: name the file");
        return;
    }
    mi_read_config_file(b, path);
    if (!journal)
        return;
    if (mi_is_given(b->given, MI_AT_JOURNAL, "directory") &&
        strcmp(journal, b->config->journal_directory) != 0)
        mi_refuse(b, "journal", "directory", "contradicts plugin_opt_journal (%s): keep one of the two",
                  journal);
    b->config->journal_directory = journal;
}

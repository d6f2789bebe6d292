#include "tool/load.h"

#include "config/broker_file.h"

#include <stdio.h>
#include <string.h>

struct loading {
    const char *path;
    const struct mi_broker_file *broker; /* NULL: a JSON file */
    struct mi_load_counts *counts;
};

static void print_finding(void *context, const struct mi_finding *finding);
static struct mi_config *load_broker_file(struct loading *loading);
static bool ends_with(const char *text, const char *end);

struct mi_config *mi_load(const char *path, struct mi_load_counts *counts)
{
    struct loading loading = {path, NULL, counts};
    memset(counts, 0, sizeof *counts);
    if (ends_with(path, ".conf"))
        return load_broker_file(&loading);
    return mi_config_from_file(path, print_finding, &loading);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static struct mi_config *load_broker_file(struct loading *loading)
{
    struct mi_broker_file file;
    struct mi_error err;
    struct mi_config *config = NULL;
    bool read = mi_broker_file_read(&file, loading->path, &err) == 0;
    if (read && file.ours) {
        struct mi_broker_view view = {.series = MI_SERIES_NOT_KNOWN, .file = &file};
        loading->broker = &file;
        config = mi_config_from_broker(file.opts, file.count, &view, print_finding, loading);
    } else {
        struct mi_finding finding = {true, loading->path, 0, "",
                                     read ? "no line \"plugin .../mosquitto_iggy.so\" is in it" : err.text};
        print_finding(loading, &finding);
    }
    mi_broker_file_free(&file);
    return config;
}

/* Where a plugin_opt_ key stands, when there is only one of that name; else 0. */
static unsigned line_of_opt(const struct mi_broker_file *file, const char *key, const char **path)
{
    size_t found = 0;
    if (strncmp(key, "plugin_opt_", 11) != 0)
        return 0;
    size_t at = 0;
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->opts[i].key, key + 11) == 0) {
            at = i;
            found++;
        }
    if (found != 1)
        return 0;
    *path = file->files[at];
    return file->lines[at];
}

static void print_finding(void *context, const struct mi_finding *f)
{
    struct loading *loading = context;
    unsigned line = f->line;
    const char *path = f->file ? f->file : loading->path;
    if (f->refused)
        loading->counts->refused++;
    else
        loading->counts->warned++;
    if (!f->file && loading->broker)
        line = line_of_opt(loading->broker, f->key, &path);
    fprintf(stderr, "%s", path);
    if (line)
        fprintf(stderr, ":%u", line);
    fprintf(stderr, ": %s: %s%s%s\n", f->refused ? "error" : "warning", f->key, *f->key ? ": " : "",
            f->sentence);
}

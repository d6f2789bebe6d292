#include "config/broker_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/files.h"

enum { MAX_ARGUMENTS = 1 << 20 };

struct chunk {
    struct chunk *next;
    max_align_t bytes[];
};

/* One file while it is read. What a line means depends on what stands above it in the same file. */
struct reading {
    struct mi_broker_file *file;
    struct mi_error *err;
    const char *path;
    unsigned line;
    unsigned depth;
    unsigned *files;                   /* read so far, in all */
    struct mi_broker_section *section; /* the listener above */
    bool ours;                         /* the plugin above is ours */
    bool failed;
};

static const char *keep(struct reading *r, const char *text);
static bool read_one(struct reading *r);
static void read_line(struct reading *r, char *line);
static void include(struct reading *r, const char *folder);

int mi_broker_file_read(struct mi_broker_file *file, const char *path, struct mi_error *err)
{
    memset(file, 0, sizeof *file);
    file->section_count = 1;
    file->autosave_interval_s = 1800;
    file->max_queued_messages = 1000;
    unsigned files = 0;
    struct reading r = {.file = file, .err = err, .files = &files};
    r.path = file->path = keep(&r, path);
    return r.path && read_one(&r) ? 0 : -1;
}

int mi_broker_file_read_own(struct mi_broker_file *file, struct mi_error *err)
{
    struct mi_buf arguments;
    int result = -1;
    memset(file, 0, sizeof *file);
    mi_buf_init(&arguments, MAX_ARGUMENTS + 8192);
    if (mi_file_read("/proc/self/cmdline", MAX_ARGUMENTS, &arguments, err) == 0) {
        const char *path = mi_broker_file_of_arguments((const char *)arguments.data, arguments.len);
        result = path ? mi_broker_file_read(file, path, err)
                      : mi_error_set(err, "the broker was started without -c");
    }
    mi_buf_fini(&arguments);
    return result;
}

void mi_broker_file_free(struct mi_broker_file *file)
{
    for (struct chunk *c = file->memory, *next; c; c = next) {
        next = c->next;
        free(c);
    }
    free(file->opts);
    free(file->files);
    free(file->lines);
    memset(file, 0, sizeof *file);
}

const struct mi_broker_section *mi_broker_file_section(const struct mi_broker_file *file)
{
    for (size_t i = 0; i < file->section_count; i++)
        if (file->sections[i].ours)
            return &file->sections[i];
    return &file->sections[0];
}

bool mi_broker_file_hears_all(const struct mi_broker_file *file)
{
    size_t listeners = file->section_count - 1 + (file->sections[0].port != 0);
    if (listeners <= 1 || file->global)
        return true;
    return file->name ? file->uses >= listeners : !file->per_listener;
}

const char *mi_broker_file_of_arguments(const char *arguments, size_t len)
{
    const char *found = NULL, *end = arguments + len;
    for (const char *a = arguments; a < end;) {
        size_t n = strnlen(a, (size_t)(end - a));
        const char *next = a + n + 1;
        if (next < end && (strcmp(a, "-c") == 0 || strcmp(a, "--config-file") == 0)) {
            if (!memchr(next, 0, (size_t)(end - next)))
                return found;
            found = next;
            next += strlen(next) + 1;
        }
        a = next;
    }
    return found;
}

/* ---- memory ---- */

static bool fail(struct reading *r, const char *what)
{
    r->failed = true;
    return mi_error_set(r->err, "%s", what) == 0;
}

/* Lives as long as the broker file; NULL, and failed, when memory is out. */
static char *take(struct reading *r, size_t size)
{
    struct chunk *c = calloc(1, sizeof *c + size);
    if (!c) {
        fail(r, "memory is out");
        return NULL;
    }
    c->next = r->file->memory;
    r->file->memory = c;
    return (char *)c->bytes;
}

static const char *keep(struct reading *r, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = take(r, size);
    return copy ? memcpy(copy, text, size) : NULL;
}

static const char *where(struct reading *r)
{
    size_t size = strlen(r->path) + 16;
    char *text = take(r, size);
    if (text)
        snprintf(text, size, "%s:%u", r->path, r->line);
    return text;
}

/* ---- files ---- */

static bool read_one(struct reading *r)
{
    struct mi_buf text;
    if (++*r->files > MI_MAX_BROKER_FILES)
        return fail(r, "include_dir names too many files");
    r->section = &r->file->sections[0];
    mi_buf_init(&text, MI_MAX_CONFIG_BYTES + 8192);
    struct mi_error why;
    if (mi_file_read(r->path, MI_MAX_CONFIG_BYTES, &text, &why) < 0 || !mi_buf_add_byte(&text, 0)) {
        fail(r, text.failed ? "memory is out" : why.text);
        mi_buf_fini(&text);
        return false;
    }
    for (char *line = (char *)text.data, *next; line && !r->failed; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        r->line++;
        if (*line != '#')
            read_line(r, line);
    }
    mi_buf_fini(&text);
    return !r->failed;
}

static int compare_names(const void *a, const void *b)
{
    const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;
    for (; *x && *y; x++, y++) {
        if (toupper(*x) != toupper(*y))
            return toupper(*x) - toupper(*y);
        if (*x != *y)
            return *x - *y;
    }
    return *x - *y;
}

static bool is_conf(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && strcmp(name + len - 5, ".conf") == 0;
}

/* The paths of the folder's files; NULL, and failed, when it cannot be read. */
static const char **list(struct reading *r, const char *folder, size_t *count)
{
    DIR *dir = opendir(folder);
    const char **paths = (const char **)take(r, (MI_MAX_BROKER_FILES + 1) * sizeof *paths);
    *count = 0;
    if (!dir) {
        r->failed = true;
        mi_error_set(r->err, "include_dir %s: %s", folder, strerror(errno));
        return NULL;
    }
    for (struct dirent *d; paths && !r->failed && (d = readdir(dir));) {
        size_t size = strlen(folder) + strlen(d->d_name) + 2;
        if (!is_conf(d->d_name))
            continue;
        char *path = *count < MI_MAX_BROKER_FILES ? take(r, size) : NULL;
        if (!path) {
            fail(r, "include_dir names too many files, or memory is out");
            break;
        }
        snprintf(path, size, "%s/%s", folder, d->d_name);
        paths[(*count)++] = path;
    }
    closedir(dir);
    return r->failed ? NULL : paths;
}

static void include(struct reading *r, const char *folder)
{
    size_t count;
    const char **paths = list(r, folder, &count);
    if (!paths)
        return;
    qsort(paths, count, sizeof *paths, compare_names);
    for (size_t i = 0; i < count && !r->failed; i++) {
        struct reading one = {
            .file = r->file, .err = r->err, .path = paths[i], .depth = r->depth + 1, .files = r->files};
        r->failed = !read_one(&one);
    }
}

/* ---- lines ---- */

static bool truth(const char *word)
{
    return strcmp(word, "true") == 0 || strcmp(word, "1") == 0;
}

/* The broker takes negative numbers as none. */
static uint64_t number(const char *word)
{
    long n = strtol(word, NULL, 10);
    return n > 0 ? (uint64_t)n : 0;
}

static struct mi_broker_section *where_rights_belong(struct reading *r)
{
    return r->file->per_listener ? r->section : &r->file->sections[0];
}

static void read_listener(struct reading *r, char *value)
{
    char *rest = NULL;
    const char *port = strtok_r(value, " ", &rest), *address = strtok_r(NULL, " ", &rest);
    if (!port || r->file->section_count == MI_MAX_LISTENERS)
        return;
    r->section = &r->file->sections[r->file->section_count++];
    r->section->port = (uint16_t)number(port);
    r->section->address = address && *address != '#' ? keep(r, address) : NULL;
}

/* Names of plugins that decide rights; others may or may not. */
static bool decides(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strstr(name, "dynamic_security") || strstr(name, "dynsec") || strstr(name, "auth") ||
           strstr(name, "acl");
}

static bool keeps_store(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash + 1 : path, "persist") != NULL;
}

static void read_plugin(struct reading *r, const char *path, bool global)
{
    struct mi_broker_section *s = global ? &r->file->sections[0] : where_rights_belong(r);
    r->ours = strstr(path, "mosquitto_iggy") != NULL;
    if (r->ours) {
        s->ours = r->file->ours = true;
        return;
    }
    s->other_plugins = true;
    r->file->persist_plugin = r->file->persist_plugin || keeps_store(path);
    if (decides(path)) {
        s->plugin = keep(r, path);
        s->plugin_where = where(r);
    }
}

/* plugin_load NAME PATH: where others are used is not looked at, they count for all. */
static void read_plugin_load(struct reading *r, char *value)
{
    char *rest = NULL;
    const char *name = strtok_r(value, " ", &rest);
    if (!name || !rest || !*rest)
        return;
    read_plugin(r, rest, true);
    if (r->ours)
        r->file->name = keep(r, name);
}

static void read_plugin_use(struct reading *r, const char *name)
{
    r->ours = r->file->name && strcmp(r->file->name, name) == 0;
    r->file->uses += r->ours;
}

static void add_opt(struct reading *r, const char *key, const char *value)
{
    struct mi_broker_file *f = r->file;
    struct mi_plugin_opt *opts = realloc(f->opts, (f->count + 1) * sizeof *opts);
    f->opts = opts ? opts : f->opts;
    unsigned *lines = realloc(f->lines, (f->count + 1) * sizeof *lines);
    f->lines = lines ? lines : f->lines;
    const char **files = realloc(f->files, (f->count + 1) * sizeof *files);
    f->files = files ? files : f->files;
    if (!opts || !lines || !files) {
        fail(r, "memory is out");
        return;
    }
    opts[f->count] = (struct mi_plugin_opt){keep(r, key), keep(r, value)};
    files[f->count] = r->path;
    lines[f->count++] = r->line;
}

static const char *opt_key(const char *word)
{
    return strncmp(word, "plugin_opt_", 11) == 0 ? word + 11
           : strncmp(word, "auth_opt_", 9) == 0  ? word + 9
                                                 : NULL;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    for (size_t len = strlen(text); len > 1 && isspace((unsigned char)text[len - 1]); len--)
        text[len - 1] = 0;
    return text;
}

static void read_rights(struct reading *r, const char *key, char *text)
{
    struct mi_broker_section *s = where_rights_belong(r);
    if (strcmp(key, "acl_file") == 0) {
        s->acl_file = keep(r, text);
        s->acl_where = where(r);
    } else if (strcmp(key, "plugin") == 0 || strcmp(key, "auth_plugin") == 0) {
        read_plugin(r, text, false);
    } else if (strcmp(key, "global_plugin") == 0) {
        read_plugin(r, text, true);
        r->file->global = r->file->global || r->ours;
    } else if (strcmp(key, "plugin_load") == 0) {
        read_plugin_load(r, text);
    } else if (strcmp(key, "plugin_use") == 0) {
        read_plugin_use(r, text);
    }
}

static void read_text(struct reading *r, const char *key, char *text)
{
    struct mi_broker_file *f = r->file;
    if (strcmp(key, "persistence_location") == 0)
        f->persistence_location = keep(r, text);
    else if (strcmp(key, "persistence_file") == 0)
        f->persistence_file = keep(r, text);
    else if (strcmp(key, "mount_point") == 0)
        r->section->mount_point = keep(r, text);
    else if (strcmp(key, "bind_address") == 0)
        f->sections[0].address = keep(r, text);
    else if (strcmp(key, "listener") == 0)
        read_listener(r, text);
    else if (strcmp(key, "connection") == 0)
        f->bridges = true;
    else if (strcmp(key, "include_dir") == 0 && r->depth == 0)
        include(r, text);
    else
        read_rights(r, key, text);
}

/* True when key takes a word. */
static bool read_word(struct reading *r, const char *key, const char *word)
{
    struct mi_broker_file *f = r->file;
    if (strcmp(key, "persistence") == 0 || strcmp(key, "retained_persistence") == 0)
        f->persistence = truth(word);
    else if (strcmp(key, "autosave_interval") == 0)
        f->autosave_interval_s = number(word);
    else if (strcmp(key, "autosave_on_changes") == 0)
        f->autosave_on_changes = truth(word);
    else if (strcmp(key, "max_queued_messages") == 0)
        f->max_queued_messages = number(word);
    else if (strcmp(key, "max_queued_bytes") == 0)
        f->max_queued_bytes = number(word);
    else if (strcmp(key, "per_listener_settings") == 0)
        f->per_listener = truth(word);
    else if (strcmp(key, "port") == 0)
        f->sections[0].port = (uint16_t)number(word);
    else
        return false;
    return true;
}

static void read_line(struct reading *r, char *line)
{
    line[strcspn(line, "\r")] = 0;
    line += strspn(line, " ");
    size_t len = strcspn(line, " ");
    char *rest = line[len] ? line + len + 1 : line + len;
    line[len] = 0;
    const char *opt = opt_key(line);
    if (opt) {
        rest += strspn(rest, " ");
        if (r->ours && *rest)
            add_opt(r, opt, rest);
        return;
    }
    rest = trimmed(rest);
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(rest, " "), rest);
    if (*rest && !read_word(r, line, word))
        read_text(r, line, rest);
}

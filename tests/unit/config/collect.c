#include "collect.h"
#include "support/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[200];

const char *path_of(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    return path;
}

const char *folder(void)
{
    if (!*dir && mi_temp_dir(dir, sizeof dir)) {
        atexit(remove_folder);
        mi_write_file(path_of("password"), "secret\n");
        chmod(path_of("password"), 0600);
    }
    return dir;
}

void remove_folder(void)
{
    mi_remove_tree(dir);
}

void collect(void *context, const struct mi_finding *f)
{
    struct collected *c = context;
    if (c->count == 64)
        return;
    snprintf(c->key[c->count], sizeof c->key[0], "%s", f->key);
    snprintf(c->sentence[c->count], sizeof c->sentence[0], "%s", f->sentence);
    snprintf(c->file, sizeof c->file, "%s", f->file ? f->file : "");
    c->line[c->count] = f->line;
    c->refused[c->count++] = f->refused;
}

struct mi_config *load(const char *text, struct collected *found)
{
    memset(found, 0, sizeof *found);
    mi_write_file(path_of("iggy.json"), text);
    return mi_config_from_file(path_of("iggy.json"), collect, found);
}

struct mi_config *load_routes(const char *routes, struct collected *found)
{
    size_t size = strlen(routes) + 300;
    char *text = malloc(size);
    snprintf(text, size,
             "{ \"iggy\": { \"username\": \"u\", \"password_file\": \"password\" },\n  \"routes\": %s }",
             routes);
    struct mi_config *c = load(text, found);
    free(text);
    return c;
}

struct mi_config *load_with(const char *extra, struct collected *found)
{
    char text[4000];
    snprintf(text, sizeof text,
             "[ { \"name\": \"r\", \"filter\": \"a/#\", \"direction\": \"both\", \"stream\": \"s\",\n"
             "  \"topic\": \"t\" } ],\n %s",
             extra);
    return load_routes(text, found);
}

bool has(const struct collected *c, bool refused, const char *key, const char *part)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->refused[i] == refused && strcmp(c->key[i], key) == 0 && strstr(c->sentence[i], part))
            return true;
    printf("\n  wanted %s %s: ...%s...\n", refused ? "refused" : "warned", key, part);
    for (size_t i = 0; i < c->count; i++)
        printf("  found  %s %s (line %u): %s\n", c->refused[i] ? "refused" : "warned", c->key[i], c->line[i],
               c->sentence[i]);
    return false;
}

unsigned line_of_key(const struct collected *c, const char *key)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->key[i], key) == 0)
            return c->line[i];
    return 99999;
}

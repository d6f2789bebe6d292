#include "tool/broker_file.h"

#include "config/files.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_our_plugin(const char *line);
static bool add_opt(struct mi_broker_file *file, char *line, unsigned number);

int mi_broker_file_read(struct mi_broker_file *file, const char *path, struct mi_error *err)
{
    struct mi_buf text;
    bool ours = false, seen = false;
    unsigned number = 0;
    memset(file, 0, sizeof *file);
    mi_buf_init(&text, MI_MAX_CONFIG_BYTES + 8192);
    if (mi_file_read(path, MI_MAX_CONFIG_BYTES, &text, err) < 0 || !mi_buf_add_byte(&text, 0)) {
        mi_buf_fini(&text);
        return -1;
    }
    file->text = (char *)text.data;
    for (char *line = file->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        number++;
        line[strcspn(line, "\r")] = 0;
        if (strncmp(line, "plugin ", 7) == 0 || strncmp(line, "global_plugin ", 14) == 0 ||
            strncmp(line, "auth_plugin ", 12) == 0) {
            ours = is_our_plugin(line);
            seen = seen || ours;
        } else if (ours && !add_opt(file, line, number)) {
            return mi_error_set(err, "memory is out");
        }
    }
    return seen ? 0 : mi_error_set(err, "no line \"plugin .../mosquitto_iggy.so\" is in it");
}

void mi_broker_file_free(struct mi_broker_file *file)
{
    free(file->text);
    free(file->opts);
    free(file->lines);
}

static bool is_our_plugin(const char *line)
{
    return strstr(line, "mosquitto_iggy") != NULL;
}

/* True also for a line that is something else. */
static bool add_opt(struct mi_broker_file *file, char *line, unsigned number)
{
    char *key = strncmp(line, "plugin_opt_", 11) == 0 ? line + 11
                : strncmp(line, "auth_opt_", 9) == 0  ? line + 9
                                                      : NULL;
    char *space = key ? strchr(key, ' ') : NULL;
    if (!space)
        return true;
    struct mi_plugin_opt *opts = realloc(file->opts, (file->count + 1) * sizeof *opts);
    file->opts = opts ? opts : file->opts;
    unsigned *lines = realloc(file->lines, (file->count + 1) * sizeof *lines);
    file->lines = lines ? lines : file->lines;
    if (!opts || !lines)
        return false;
    *space = 0;
    opts[file->count] = (struct mi_plugin_opt){key, space + 1 + strspn(space + 1, " ")};
    lines[file->count++] = number;
    return true;
}

#include "auth/backend_module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mi_loaded_module {
    void *library;
    const struct mi_backend_module *module;
};

static bool path_beside_us(const char *file, char *path, size_t size)
{
    Dl_info here;
    if (!dladdr((void *)(uintptr_t)mi_loaded_module_open, &here) || !here.dli_fname)
        return false;
    const char *slash = strrchr(here.dli_fname, '/');
    int folder = slash ? (int)(slash - here.dli_fname) : 1;
    int n = snprintf(path, size, "%.*s/%s", folder, slash ? here.dli_fname : ".", file);
    return n > 0 && (size_t)n < size;
}

struct mi_loaded_module *mi_loaded_module_open(const char *file, struct mi_error *err)
{
    char path[PATH_MAX];
    struct mi_loaded_module *m = calloc(1, sizeof *m);
    if (!m || !path_beside_us(file, path, sizeof path)) {
        mi_error_set(err, "%s cannot be found beside the plugin", file);
        free(m);
        return NULL;
    }
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!m->library) {
        mi_error_set(err, "%s", dlerror());
        mi_loaded_module_close(m);
        return NULL;
    }
    m->module = dlsym(m->library, MI_BACKEND_MODULE_SYMBOL);
    if (!m->module || m->module->version != MI_BACKEND_MODULE_VERSION) {
        mi_error_set(err, "%s is of another version than the plugin: install both from one build", path);
        mi_loaded_module_close(m);
        return NULL;
    }
    return m;
}

const struct mi_backend_module *mi_loaded_module_of(const struct mi_loaded_module *m)
{
    return m->module;
}

void mi_loaded_module_close(struct mi_loaded_module *m)
{
    if (m && m->library)
        dlclose(m->library);
    free(m);
}

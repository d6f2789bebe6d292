#include "broker/compat.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static bool find_readers(struct mi_property_readers *r, const struct mi_symbols *s, void *library);
static void open_library(struct mi_compat *c);

void mi_compat_init(struct mi_compat *c, const struct mi_symbols *symbols)
{
    memset(c, 0, sizeof *c);
    c->symbols = symbols;
    *(void **)&c->set_info = symbols->find(NULL, "mosquitto_plugin_set_info");
    *(void **)&c->complete_basic_auth = symbols->find(NULL, "mosquitto_complete_basic_auth");
    *(void **)&c->client_of_id = symbols->find(NULL, "mosquitto_client");
    *(void **)&c->for_all_clients = symbols->find(NULL, "mosquitto_apply_on_all_clients");
    c->v2_1 = c->set_info != NULL;
    c->has_readers = find_readers(&c->readers, symbols, NULL);
    /* 2.0 brokers allocate what they read with plain calloc, 2.1 counts it. */
    c->readers.text_free = c->v2_1 ? mosquitto_free : free;
    if (!c->has_readers)
        open_library(c);
}

void mi_compat_fini(struct mi_compat *c)
{
    if (c->library)
        c->symbols->close(c->library);
    memset(c, 0, sizeof *c);
}

static bool find_readers(struct mi_property_readers *r, const struct mi_symbols *s, void *library)
{
    *(void **)&r->next = s->find(library, "mosquitto_property_next");
    *(void **)&r->identifier = s->find(library, "mosquitto_property_identifier");
    *(void **)&r->read_byte = s->find(library, "mosquitto_property_read_byte");
    *(void **)&r->read_binary = s->find(library, "mosquitto_property_read_binary");
    *(void **)&r->read_string = s->find(library, "mosquitto_property_read_string");
    *(void **)&r->read_string_pair = s->find(library, "mosquitto_property_read_string_pair");
    return r->next && r->identifier && r->read_byte && r->read_binary && r->read_string &&
           r->read_string_pair;
}

/* Only a library of the broker's own series reads its lists as the broker wrote them. */
static bool same_series(const struct mi_compat *c, void *library)
{
    int (*version)(int *major, int *minor, int *revision);
    *(void **)&version = c->symbols->find(library, "mosquitto_lib_version");
    int major = 0, minor = 0, revision = 0;
    if (version)
        version(&major, &minor, &revision);
    return major == 2 && (minor >= 1) == c->v2_1;
}

static void open_library(struct mi_compat *c)
{
    void *library = c->symbols->open("libmosquitto.so.1");
    if (!library)
        return;
    if (same_series(c, library) && find_readers(&c->readers, c->symbols, library)) {
        c->library = library;
        c->has_readers = true;
        c->readers.text_free = free;
    } else {
        c->symbols->close(library);
    }
}

static void *system_open(const char *library)
{
    return dlopen(library, RTLD_NOW | RTLD_LOCAL);
}

static void *system_find(void *library, const char *name)
{
    return dlsym(library ? library : RTLD_DEFAULT, name);
}

static void system_close(void *library)
{
    dlclose(library);
}

const struct mi_symbols mi_symbols_system = {system_open, system_find, system_close};

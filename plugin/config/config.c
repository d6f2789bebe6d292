#include "config/config.h"

#include "config/build.h"
#include "config/config_box.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct chunk {
    struct chunk *next;
    max_align_t memory[];
};

struct box {
    struct mi_config config; /* first: the caller's pointer */
    atomic_uint holders;
    struct chunk *chunks;
};

struct mi_config *mi_config_from_options(const struct mi_plugin_opt *opts, size_t count, mi_find find,
                                         void *context)
{
    return mi_config_from_broker(opts, count, NULL, find, context);
}

struct mi_config *mi_config_from_broker(const struct mi_plugin_opt *opts, size_t count,
                                        const struct mi_broker_view *view, mi_find find, void *context)
{
    struct mi_build b;
    if (mi_build_start(&b, find, context) == 0) {
        b.broker = view;
        mi_read_plugin_opts(&b, opts, count);
        mi_check(&b);
    }
    free((void *)b.text);
    b.text = NULL;
    return mi_build_finish(&b);
}

struct mi_config *mi_config_from_file(const char *path, mi_find find, void *context)
{
    struct mi_build b;
    if (mi_build_start(&b, find, context) == 0) {
        mi_read_config_file(&b, path);
        mi_check(&b);
    }
    free((void *)b.text);
    b.text = NULL;
    return mi_build_finish(&b);
}

struct mi_config *mi_config_hold(struct mi_config *c)
{
    atomic_fetch_add_explicit(&((struct box *)c)->holders, 1, memory_order_relaxed);
    return c;
}

static void wipe(const char *secret)
{
    if (secret)
        explicit_bzero((char *)secret, strlen(secret));
}

void mi_config_release(struct mi_config *c)
{
    struct box *box = (struct box *)c;
    if (!c || atomic_fetch_sub_explicit(&box->holders, 1, memory_order_acq_rel) != 1)
        return;
    mi_map_free(c->map);
    wipe(c->password);
    wipe(c->token);
    wipe(c->status_token);
    wipe(c->status_key);
    wipe(c->self_password);
    wipe(c->auth.connection);
    for (struct chunk *chunk = box->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(box);
}

struct mi_config *mi_config_box_new(void)
{
    struct box *box = calloc(1, sizeof *box);
    if (!box)
        return NULL;
    atomic_init(&box->holders, 1);
    return &box->config;
}

void *mi_config_box_take(struct mi_config *c, size_t bytes)
{
    struct box *box = (struct box *)c;
    struct chunk *chunk = calloc(1, sizeof *chunk + bytes);
    if (!chunk)
        return NULL;
    chunk->next = box->chunks;
    box->chunks = chunk;
    return chunk->memory;
}

/* The value of a top-level or nested key as text, for comparing. */
static bool value_of(const struct mi_config *c, const struct mi_option *o, struct mi_buf *out)
{
    mi_buf_reset(out);
    if (o->kind == MI_URLS) {
        for (size_t i = 0; i < c->url_count; i++)
            mi_json_quote(out, c->urls[i]);
    } else if (o->kind == MI_ADDRESS) {
        mi_buf_addf(out, "%s:%u", c->status_address ? c->status_address : "", c->status_port);
    } else {
        mi_option_value(o, c, out);
    }
    return !out->failed;
}

void mi_config_report_fixed(const struct mi_config *running, const struct mi_config *wanted, mi_find find,
                            void *context)
{
    struct mi_buf old, new;
    mi_buf_init(&old, 1u << 20);
    mi_buf_init(&new, 1u << 20);
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        char key[128];
        if (!o->fixed || !value_of(running, o, &old) || !value_of(wanted, o, &new) ||
            mi_span_equal(mi_buf_span(&old), mi_buf_span(&new)))
            continue;
        snprintf(key, sizeof key, "%s.%s", mi_place_path(o->place), o->key);
        struct mi_finding finding = {
            false, wanted->file, 0, key,
            "a reload cannot change this: the old value stays in force until the broker is "
            "started again"};
        find(context, &finding);
    }
    mi_buf_fini(&old);
    mi_buf_fini(&new);
}

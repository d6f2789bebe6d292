/* print: the effective configuration as a file that could be loaded again. Secrets are named, never shown. */
#include "config/build.h"

#include <string.h>

struct printer {
    struct mi_buf *out;
    const struct mi_config *config;
    unsigned depth;
    bool first;
};

static void print_place(struct printer *p, enum mi_place place, const void *base, bool for_route);
static bool print_value(struct printer *p, const struct mi_option *o, const void *base);

bool mi_config_print(const struct mi_config *c, struct mi_buf *out)
{
    struct printer p = {out, c, 0, true};
    print_place(&p, MI_AT_ROOT, c, false);
    mi_buf_add_byte(out, '\n');
    return !out->failed;
}

static void new_line(struct printer *p)
{
    mi_buf_add_byte(p->out, '\n');
    for (unsigned i = 0; i < p->depth; i++)
        mi_buf_add_text(p->out, "  ");
}

static void open_with(struct printer *p, char bracket)
{
    mi_buf_add_byte(p->out, (uint8_t)bracket);
    p->depth++;
    p->first = true;
}

static void close_with(struct printer *p, char bracket)
{
    bool empty = p->first;
    p->depth--;
    if (!empty)
        new_line(p);
    mi_buf_add_byte(p->out, (uint8_t)bracket);
    p->first = false;
}

static void next(struct printer *p)
{
    if (!p->first)
        mi_buf_add_byte(p->out, ',');
    p->first = false;
    new_line(p);
}

static bool in_use(const struct mi_option *o, const void *base, bool for_route)
{
    const struct mi_route_draft *draft = base;
    return !for_route || !o->only || (o->only & draft->route.direction);
}

static void print_place(struct printer *p, enum mi_place place, const void *base, bool for_route)
{
    open_with(p, '{');
    for (size_t i = 0; i < mi_option_count; i++) {
        const struct mi_option *o = &mi_options[i];
        if (!mi_option_at(o, place) || !in_use(o, base, for_route))
            continue;
        /* What turns out to have no value is taken back, comma and key included. */
        size_t before = p->out->len;
        bool first = p->first;
        next(p);
        mi_json_quote(p->out, o->key);
        mi_buf_add_text(p->out, ": ");
        if (!print_value(p, o, base)) {
            p->out->len = before;
            p->first = first;
        }
    }
    close_with(p, '}');
}

static void print_urls(struct printer *p)
{
    const struct mi_config *c = p->config;
    if (c->url_count == 1) {
        mi_json_quote(p->out, c->urls[0]);
        return;
    }
    open_with(p, '[');
    for (size_t i = 0; i < c->url_count; i++) {
        next(p);
        mi_json_quote(p->out, c->urls[i]);
    }
    close_with(p, ']');
}

static bool is_unmatched(const struct mi_config *c, size_t route)
{
    return strcmp(c->routes[route].name, "unmatched") == 0;
}

static void print_route(struct printer *p, size_t i, enum mi_place place)
{
    struct mi_route_draft draft = {.route = p->config->routes[i], .rule = p->config->rules[i]};
    print_place(p, place, &draft, true);
}

static void print_routes(struct printer *p)
{
    open_with(p, '[');
    for (size_t i = 0; i < p->config->route_count; i++)
        if (!is_unmatched(p->config, i) && !p->config->rules[i].aside) {
            next(p);
            print_route(p, i, MI_AT_ROUTE);
        }
    close_with(p, ']');
}

static bool print_unmatched(struct printer *p)
{
    size_t last = p->config->route_count - 1;
    if (p->config->route_count == 0 || !is_unmatched(p->config, last))
        return false;
    print_route(p, last, MI_AT_UNMATCHED);
    return true;
}

static bool print_object(struct printer *p, const struct mi_option *o, const void *base)
{
    if (o->opens == MI_AT_UNMATCHED)
        return print_unmatched(p);
    /* Their defaults, written down, would turn them on. */
    if ((o->opens == MI_AT_CLIENT_EVENTS && !p->config->events) ||
        (o->opens == MI_AT_HISTORY && !p->config->history))
        return false;
    bool first = p->first;
    print_place(p, o->opens, base, false);
    /* An object without any value, such as a status that is off. */
    if (p->out->len >= 2 && memcmp(p->out->data + p->out->len - 2, "{}", 2) != 0)
        return true;
    p->first = first;
    return false;
}

static bool print_create(struct printer *p, const struct mi_route_draft *draft)
{
    if (draft->route.create)
        print_place(p, MI_AT_CREATE, draft, false);
    else
        mi_buf_add_text(p->out, "false");
    return true;
}

static bool print_value(struct printer *p, const struct mi_option *o, const void *base)
{
    switch (o->kind) {
    case MI_OBJECT:
        return print_object(p, o, base);
    case MI_ROUTES:
        print_routes(p);
        return true;
    case MI_CREATE:
        return print_create(p, base);
    case MI_URLS:
        print_urls(p);
        return true;
    case MI_ADDRESS:
        if (!p->config->status_address)
            return false;
        mi_buf_addf(p->out, strchr(p->config->status_address, ':') ? "\"[%s]:%u\"" : "\"%s:%u\"",
                    p->config->status_address, p->config->status_port);
        return true;
    default:
        return mi_option_value(o, base, p->out);
    }
}

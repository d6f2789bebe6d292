#include "status/answers.h"

#include <string.h>

static void refresh(const struct mi_listener_options *options)
{
    if (options->refresh)
        options->refresh(options->context);
}

static unsigned metrics(const struct mi_listener_options *options, struct mi_buf *body);
static unsigned health(const struct mi_listener_options *options, struct mi_buf *body);
static unsigned ready(const struct mi_listener_options *options, struct mi_buf *body);
static unsigned status(const struct mi_listener_options *options, struct mi_buf *body);

static const char plain[] = "text/plain; charset=utf-8";

static const struct {
    const char *path, *type;
    unsigned (*make)(const struct mi_listener_options *options, struct mi_buf *body);
} paths[] = {
    {"/metrics", "text/plain; version=0.0.4; charset=utf-8", metrics},
    {"/health", plain, health},
    {"/ready", plain, ready},
    {"/status.json", "application/json", status},
};

static void replace(struct mi_answer *answer, unsigned code, const char *text)
{
    mi_buf_reset(&answer->body);
    mi_buf_add_text(&answer->body, text);
    answer->status = code;
    answer->type = plain;
}

void mi_answer_make(const struct mi_listener_options *options, const char *path, struct mi_answer *answer)
{
    mi_buf_init(&answer->body, MI_MAX_ANSWER_BYTES);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strcmp(path, paths[i].path) != 0)
            continue;
        answer->type = paths[i].type;
        answer->status = paths[i].make(options, &answer->body);
        if (answer->body.failed)
            replace(answer, 500, "no memory for this answer\n");
        return;
    }
    replace(answer, 404, "not found; there are /metrics, /health, /ready and /status.json\n");
}

bool mi_answer_is_probe(const char *path)
{
    return strcmp(path, "/health") == 0 || strcmp(path, "/ready") == 0;
}

void mi_answer_make_bare(const struct mi_listener_options *options, const char *path,
                         struct mi_answer *answer)
{
    mi_answer_make(options, path, answer);
    if (answer->status == 503)
        replace(answer, 503, "not ready\n");
}

static unsigned metrics(const struct mi_listener_options *options, struct mi_buf *body)
{
    refresh(options);
    mi_metrics_prometheus(options->metrics, body);
    return 200;
}

/* That this is answered at all says that the bridge thread runs. */
static unsigned health(const struct mi_listener_options *options, struct mi_buf *body)
{
    (void)options;
    mi_buf_add_text(body, "ok\n");
    return 200;
}

static unsigned ready(const struct mi_listener_options *options, struct mi_buf *body)
{
    const char *why = NULL;
    if (options->ready(options->context, &why)) {
        mi_buf_add_text(body, "ready\n");
        return 200;
    }
    mi_buf_addf(body, "not ready: %s\n", why ? why : "no reason given");
    return 503;
}

static unsigned status(const struct mi_listener_options *options, struct mi_buf *body)
{
    const char *why = NULL;
    mi_buf_addf(body, "{\"ready\":%s,\"status\":", options->ready(options->context, &why) ? "true" : "false");
    if (!options->status(options->context, body))
        body->failed = true;
    mi_buf_add_text(body, ",\"metrics\":");
    refresh(options);
    mi_metrics_json(options->metrics, body);
    mi_buf_add_text(body, "}\n");
    return 200;
}

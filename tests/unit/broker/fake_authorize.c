/* Iggy's rights as the tests of the events need them: everything below "allowed". */
#include "broker/authorize.h"

#include <string.h>

static bool allowed(struct mi_span topic)
{
    return topic.len >= 7 && memcmp(topic.data, "allowed", 7) == 0;
}

struct mi_authorize *mi_authorize_new(const struct mi_authorize_options *options, struct mi_error *err)
{
    (void)options;
    mi_error_set(err, "a fake");
    return NULL;
}

void mi_authorize_free(struct mi_authorize *a)
{
    (void)a;
}

int mi_authorize_set_config(struct mi_authorize *a, struct mi_config *config, struct mi_error *err)
{
    (void)a, (void)config, (void)err;
    return 0;
}

bool mi_authorize_publish(struct mi_authorize *a, const struct mi_authorize_client *client,
                          struct mi_span topic)
{
    (void)a, (void)client;
    return allowed(topic);
}

bool mi_authorize_read(struct mi_authorize *a, const struct mi_authorize_client *client, struct mi_span topic)
{
    (void)a, (void)client;
    return allowed(topic);
}

bool mi_authorize_subscribe(struct mi_authorize *a, const struct mi_authorize_client *client,
                            struct mi_span filter)
{
    (void)a, (void)client;
    return allowed(filter);
}

void mi_authorize_tick(struct mi_authorize *a, void (*kick)(void *context, const char *username),
                       void *context)
{
    (void)a, (void)kick, (void)context;
}

#include "broker/shared_log.h"

bool mi_shared_log_follows(const struct mi_config *config, const struct mi_hit *hit, struct mi_span topic)
{
    const struct mi_route *own = &config->routes[hit->rule];
    if (own->direction & MI_IN)
        return own->retain != MI_RETAIN_NEVER;
    for (size_t i = 0; i < config->route_count; i++)
        if ((config->routes[i].direction & MI_IN) && config->routes[i].retain != MI_RETAIN_NEVER &&
            mi_map_maps_back(config->map, i, topic, hit->stream, hit->topic))
            return true;
    return false;
}

bool mi_shared_log_stamps(const struct mi_config *config, const struct mi_hit *hit)
{
    for (size_t i = 0; i < config->route_count; i++)
        if (config->routes[i].stamp && (config->routes[i].direction & MI_IN) &&
            mi_map_stream_fits(config->map, i, hit->stream) &&
            mi_map_topic_fits(config->map, i, hit->stream, hit->topic))
            return true;
    return false;
}

bool mi_shared_log_has_stamp(const struct mi_config *config)
{
    for (size_t i = 0; i < config->route_count; i++)
        if (config->routes[i].stamp)
            return true;
    return false;
}

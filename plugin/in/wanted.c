#include "in/wanted.h"

bool mi_wanted(const struct mi_interest_picture *picture, const struct mi_config *config, size_t route,
               struct mi_span stream, struct mi_span topic, struct mi_buf *scratch)
{
    if (!picture || config->routes[route].feed == MI_FEED_ALWAYS)
        return true;
    for (unsigned which = 0; which < 2; which++) {
        if (mi_map_target_filter(config->map, route, stream, topic, which, scratch)) {
            if (mi_interest_wants(picture, (const char *)scratch->data))
                return true;
        } else if (scratch->failed) {
            return true;
        }
    }
    return false;
}

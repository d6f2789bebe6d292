/*
 * found: ids that a read-back saw in Iggy before their record came into the window. A set with a bound; what
 * does not fit is sent again.
 */
#ifndef MI_FOUND_H
#define MI_FOUND_H

#include "iggy_client.h"

enum { MI_MAX_FOUND = 1 << 20 };

struct mi_found;
struct mi_found *mi_found_new(void);
void mi_found_free(struct mi_found *f);
/* false: the bound is reached or memory is out. Adding twice is one. */
bool mi_found_add(struct mi_found *f, struct iggy_id id);
/* Was it there? It is not any more. */
bool mi_found_take(struct mi_found *f, struct iggy_id id);

#endif

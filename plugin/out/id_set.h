/*
 * id_set: ids that a read-back saw in Iggy before their record came into the window. A set with a bound; what
 * does not fit is sent again.
 */
#ifndef MI_ID_SET_H
#define MI_ID_SET_H

#include "iggy_client.h"

enum { MI_MAX_ID_SET = 1 << 20 };

struct mi_id_set;
struct mi_id_set *mi_id_set_new(void);
void mi_id_set_free(struct mi_id_set *f);
/* false: the bound is reached or memory is out. Adding twice is one. */
bool mi_id_set_add(struct mi_id_set *f, struct iggy_id id);
/* Was it there? It is not any more. */
bool mi_id_set_take(struct mi_id_set *f, struct iggy_id id);

#endif

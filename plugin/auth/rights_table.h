/*
 * rights_table: the rights of each user by name, as the main thread asks for them. One thread.
 */
#ifndef MI_RIGHTS_TABLE_H
#define MI_RIGHTS_TABLE_H

#include "auth/rights.h"

struct mi_rights_table;
struct mi_rights_table *mi_rights_table_new(void); /* NULL when memory is out */
void mi_rights_table_free(struct mi_rights_table *t);

/* Takes rights over; NULL: the user is not known any more. When memory is out the user is not known. */
void mi_rights_table_set(struct mi_rights_table *t, struct mi_span name, struct mi_iggy_rights *rights);
/* NULL: not known. Valid until the next mi_rights_table_set. */
const struct mi_iggy_rights *mi_rights_table_find(const struct mi_rights_table *t, struct mi_span name);
size_t mi_rights_table_count(const struct mi_rights_table *t);

#endif

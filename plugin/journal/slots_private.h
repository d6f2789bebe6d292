/* slots_private: slots over file operations of the caller's, for tests. */
#ifndef MI_SLOTS_PRIVATE_H
#define MI_SLOTS_PRIVATE_H

#include "journal/file_ops.h"
#include "journal/slots.h"

struct mi_slots *mi_slots_open_with(const char *directory, const char *name, const struct mi_file_ops *ops,
                                    struct mi_error *err);

#endif

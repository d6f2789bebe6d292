/* The partition that Iggy's SDKs choose for a key. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "iggy_client.h"

uint32_t iggy_partition_of_key(struct iggy_span key, uint32_t partitions)
{
    return XXH32(key.data, key.len, 0) % partitions;
}

/*
 * fnv: FNV-1a, for hash tables and tags whose keys nobody chooses so that they meet (names of streams, topics
 * and accounts). Where strangers choose the keys a seeded hash is needed instead. Pure; any thread.
 */
#ifndef MI_FNV_H
#define MI_FNV_H

#include "base/bytes.h"

/* Where a hash begins. */
#define MI_FNV32 2166136261u
#define MI_FNV64 14695981039346656037ull

/* A hash that goes on with one more byte, or with all of a span. */
static inline uint32_t mi_fnv32_byte(uint32_t hash, uint8_t byte)
{
    return (hash ^ byte) * 16777619u;
}
static inline uint64_t mi_fnv64_byte(uint64_t hash, uint8_t byte)
{
    return (hash ^ byte) * 1099511628211ull;
}
static inline uint32_t mi_fnv32(uint32_t hash, struct mi_span s)
{
    for (size_t i = 0; i < s.len; i++)
        hash = mi_fnv32_byte(hash, s.data[i]);
    return hash;
}
static inline uint64_t mi_fnv64(uint64_t hash, struct mi_span s)
{
    for (size_t i = 0; i < s.len; i++)
        hash = mi_fnv64_byte(hash, s.data[i]);
    return hash;
}

#endif

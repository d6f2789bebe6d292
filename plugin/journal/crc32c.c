/* crc32c: CRC-32C by the CPU's own instruction where there is one, else by a table of 8 x 256 entries. */
#include "journal/record.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>

static bool has_hardware(void)
{
    return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t hardware(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t c = crc, word;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        c = _mm_crc32_u64(c, word);
    }
    uint32_t rest = (uint32_t)c;
    for (; len; len--)
        rest = _mm_crc32_u8(rest, *p++);
    return rest;
}
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>

static bool has_hardware(void)
{
    return (getauxval(AT_HWCAP) & (1ul << 7)) != 0; /* HWCAP_CRC32 */
}

/* By name, since arm_acle.h offers its functions only to files compiled for crc as a whole. */
static uint32_t hardware(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t word;
    for (; len >= 8; p += 8, len -= 8) {
        memcpy(&word, p, 8);
        __asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
    }
    for (; len; len--, p++)
        __asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"((uint32_t)*p));
    return crc;
}
#else
static bool has_hardware(void)
{
    return false;
}

static uint32_t hardware(uint32_t crc, const uint8_t *p, size_t len)
{
    (void)p;
    (void)len;
    return crc;
}
#endif

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
        table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++)
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

static uint32_t software(uint32_t crc, const uint8_t *p, size_t len)
{
    pthread_once(&table_once, make_table);
    for (; len >= 8; p += 8, len -= 8) {
        uint32_t low = crc ^ mi_get_u32le(p), high = mi_get_u32le(p + 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; len; len--)
        crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
    return crc;
}

uint32_t mi_crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    return ~software(~crc, data, len);
}

uint32_t mi_crc32c(uint32_t crc, const void *data, size_t len)
{
    return has_hardware() ? ~hardware(~crc, data, len) : ~software(~crc, data, len);
}

#include "postgresql/bcrypt.h"

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

enum { HASH_LENGTH = 60, HEAD_LENGTH = 7 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool mi_bcrypt_usable(const char *hash)
{
    static const char alphabet[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    if (strlen(hash) != HASH_LENGTH || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) ||
        hash[3] != '$' || !is_digit(hash[4]) || !is_digit(hash[5]) || hash[6] != '$')
        return false;
    int cost = (hash[4] - '0') * 10 + hash[5] - '0';
    return cost >= 4 && cost <= MI_BCRYPT_MAX_COST &&
           strspn(hash + HEAD_LENGTH, alphabet) == HASH_LENGTH - HEAD_LENGTH;
}

static bool equal(const char *a, const char *b)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < HASH_LENGTH; i++)
        differs |= (unsigned char)(a[i] ^ b[i]);
    return differs == 0;
}

bool mi_bcrypt_verify(const char *password, const char *hash)
{
    if (!mi_bcrypt_usable(hash) || strlen(password) > MI_BCRYPT_MAX_PASSWORD)
        return false;
    struct crypt_data *data = calloc(1, sizeof *data);
    const char *made = data ? crypt_r(password, hash, data) : NULL;
    bool right = made && strlen(made) == HASH_LENGTH && equal(made, hash);
    if (data)
        explicit_bzero(data, sizeof *data);
    free(data);
    return right;
}

void mi_bcrypt_pretend(const char *password)
{
    static const char nobodys[] = "$2b$10$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    (void)mi_bcrypt_verify(password, nobodys);
}

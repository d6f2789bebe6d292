/* bcrypt: hashes that other programs made, and texts that are none. */
#include "postgresql/bcrypt.h"
#include "support/suite.h"

#include <string.h>

#define REST "abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6e"

static void all_three_names_of_it(void)
{
    static const char *const hashes[] = {"$2a$04$" REST, "$2b$04$" REST, "$2y$04$" REST};
    for (size_t i = 0; i < 3; i++) {
        CU_ASSERT_TRUE(mi_bcrypt_usable(hashes[i]));
        CU_ASSERT_TRUE(mi_bcrypt_verify("correct horse", hashes[i]));
        CU_ASSERT_FALSE(mi_bcrypt_verify("correct hors", hashes[i]));
        CU_ASSERT_FALSE(mi_bcrypt_verify("correct horse ", hashes[i]));
        CU_ASSERT_FALSE(mi_bcrypt_verify("", hashes[i]));
    }
}

static void what_is_no_such_hash_fits_nothing(void)
{
    static const char *const hashes[] = {"",
                                         "correct horse",
                                         "$2b$04$",
                                         "$2x$04$" REST,
                                         "$2$04$" REST,
                                         "$1$04$" REST,
                                         "$2b$03$" REST,
                                         "$2b$16$" REST,
                                         "$2b$99$" REST,
                                         "$2b$4$a" REST,
                                         "$2b$04$" REST "x",
                                         "$2b$04$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJLQc6:",
                                         "$6$saltsalt$abcdefghijklmnopqrstuujydOTSfIH/d5oUHpsygqV5X9xJ"};
    for (size_t i = 0; i < sizeof hashes / sizeof hashes[0]; i++) {
        CU_ASSERT_FALSE(mi_bcrypt_usable(hashes[i]));
        CU_ASSERT_FALSE(mi_bcrypt_verify("correct horse", hashes[i]));
        CU_ASSERT_FALSE(mi_bcrypt_verify(hashes[i], hashes[i]));
    }
}

/* bcrypt looks at 72 bytes: whoever gives more must not be let in for the first of them. */
static void a_password_longer_than_bcrypt_looks_at(void)
{
    static const char hash[] = "$2b$04$abcdefghijklmnopqrstuubzadhGtS2zEF.gu0yd0opP6cVzb.e0i";
    char password[100];
    memset(password, 'x', sizeof password);
    password[72] = 0;
    CU_ASSERT_TRUE(mi_bcrypt_verify(password, hash));
    password[72] = 'x';
    password[73] = 0;
    CU_ASSERT_FALSE(mi_bcrypt_verify(password, hash));
}

static CU_TestInfo tests[] = {
    {"all three names of it", all_three_names_of_it},
    {"what is no such hash fits nothing", what_is_no_such_hash_fits_nothing},
    {"a password longer than bcrypt looks at", a_password_longer_than_bcrypt_looks_at},
    CU_TEST_INFO_NULL};

MI_SUITE_MAIN("bcrypt", tests)

/* base64: known texts, every length, every seam, and everything that is no base64. */
#include "base64.h"

#include "support/suite.h"

#include <stdlib.h>
#include <string.h>

static void known_texts(void)
{
    static const char *const plain[] = {"", "f", "fo", "foo", "foob", "fooba", "foobar", "\xfb\xef\xff"};
    static const char *const encoded[] = {"",         "Zg==",     "Zm8=",     "Zm9v",
                                          "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy", "++//"};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        char text[16] = "";
        uint8_t back[16];
        size_t len = 0;
        CU_ASSERT_EQUAL(base64_encode(text, (const uint8_t *)plain[i], strlen(plain[i])), strlen(encoded[i]));
        CU_ASSERT_STRING_EQUAL(text, encoded[i]);
        CU_ASSERT_TRUE(base64_decode(back, &len, (const uint8_t *)encoded[i], strlen(encoded[i])));
        CU_ASSERT_EQUAL(len, strlen(plain[i]));
        CU_ASSERT_EQUAL(memcmp(back, plain[i], len), 0);
    }
}

/* Written from the RFC, bit by bit. */
static void encode_slowly(char *to, const uint8_t *from, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t out = 0;
    for (size_t bit = 0; bit < len * 8; bit += 6) {
        unsigned v = 0;
        for (size_t k = bit; k < bit + 6; k++)
            v = v << 1 | (k < len * 8 ? from[k / 8] >> (7 - k % 8) & 1u : 0);
        to[out++] = alphabet[v];
    }
    while (out % 4)
        to[out++] = '=';
    to[out] = '\0';
}

static void every_length_and_seam(void)
{
    uint8_t raw[120];
    srand(1);
    for (size_t len = 0; len <= sizeof raw; len++) {
        char slow[200], fast[200] = "", two[200];
        for (size_t i = 0; i < len; i++)
            raw[i] = (uint8_t)(rand() >> 7);
        encode_slowly(slow, raw, len);
        size_t n = base64_encode(fast, raw, len);
        CU_ASSERT_EQUAL(n, base64_encoded_size(len));
        CU_ASSERT_STRING_EQUAL(fast, slow);
        for (size_t cut = 0; cut <= len; cut++) {
            memset(two, 0, sizeof two);
            CU_ASSERT_EQUAL(base64_encode_two(two, raw, cut, raw + cut, len - cut), n);
            CU_ASSERT_STRING_EQUAL(two, slow);
        }
        size_t back = 0;
        CU_ASSERT_TRUE(base64_decode((uint8_t *)fast, &back, (const uint8_t *)fast, n)); /* in place */
        CU_ASSERT_EQUAL(back, len);
        CU_ASSERT_EQUAL(memcmp(fast, raw, len), 0);
    }
}

static bool decodes(const char *text, size_t len)
{
    uint8_t back[64];
    size_t n;
    return base64_decode(back, &n, (const uint8_t *)text, len);
}

static void what_is_no_base64(void)
{
    static const char *const bad[] = {
        "Z",    "Zg",   "Zg=",   "Zg===",    "=Zg=", "Z===",     "====",    "Zm=v",
        "Zh==", "Zm9=", "Zm9\n", "Zg==Zg==", "Zm-_", "Zm9v Zm9", "Zm9vZg=v"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_FALSE(decodes(bad[i], strlen(bad[i])));
    /* Every byte that is not of the alphabet, at every place. */
    for (int c = 0; c < 256; c++) {
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '+' || c == '/';
        for (size_t at = 0; at < 8; at++) {
            char text[] = "QUJDQUJD";
            text[at] = (char)c;
            if (c != '=' || at < 7)
                CU_ASSERT_EQUAL(decodes(text, 8), letter);
        }
    }
}

static CU_TestInfo tests[] = {{"known_texts", known_texts},
                              {"every_length_and_seam", every_length_and_seam},
                              {"what_is_no_base64", what_is_no_base64},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("base64", tests)

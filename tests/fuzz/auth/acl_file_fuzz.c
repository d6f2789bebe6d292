/*
 * acl_file_fuzz: any bytes as an acl_file, any names and topics.
 *
 * The input is cut at newlines: user name, client id, topic, then the file. What must hold: no crash; a
 * refusal has a sentence; both versions refuse the same; without a % in the file they agree in every verdict.
 */
#include "auth/acl_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mi_span cut(struct mi_span *rest)
{
    const uint8_t *end = memchr(rest->data, '\n', rest->len);
    struct mi_span line = {rest->data, end ? (size_t)(end - rest->data) : rest->len};
    size_t taken = line.len + (end ? 1 : 0);
    *rest = (struct mi_span){rest->data + taken, rest->len - taken};
    return line;
}

static void check(const struct mi_acl_file *f[2], const struct mi_acl_client *client, struct mi_span topic,
                  bool agree)
{
    for (int access = MI_ACL_READ; access <= MI_ACL_WRITE; access++) {
        bool a = mi_acl_file_allows(f[0], client, topic, (enum mi_acl_access)access);
        bool b = mi_acl_file_allows(f[1], client, topic, (enum mi_acl_access)access);
        if (agree && a != b)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct mi_span rest = {data, size};
    struct mi_acl_client client;
    client.username = cut(&rest);
    client.client_id = cut(&rest);
    struct mi_span topic = cut(&rest);
    struct mi_acl_file *f[2];
    for (int i = 0; i < 2; i++) {
        struct mi_error err = {""};
        f[i] = mi_acl_file_parse(rest, (enum mi_acl_rules)i, &err);
        if (!f[i] && err.text[0] == '\0')
            abort();
    }
    if (!f[0] != !f[1])
        abort();
    if (f[0]) {
        const struct mi_acl_file *both[2] = {f[0], f[1]};
        bool agree = !memchr(rest.data, '%', rest.len);
        check(both, &client, topic, agree);
        client.username.len = 0;
        check(both, &client, topic, agree);
    }
    mi_acl_file_free(f[0]);
    mi_acl_file_free(f[1]);
    return 0;
}

/* acl_file: what each line means, what is refused, where 2.0 and 2.1 part. */
#include "auth/acl_file.h"
#include "support/process.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mi_acl_file *parse(const char *text, enum mi_acl_rules rules)
{
    struct mi_error err = {""};
    struct mi_acl_file *f = mi_acl_file_parse(mi_span_of(text), rules, &err);
    if (!f)
        printf("%s: %s\n", text, err.text);
    return f;
}

/* user NULL: none. rights: "r", "w", "rw" or "". */
static void check_as(enum mi_acl_rules rules, const char *text, const char *user, const char *id,
                     const char *topic, const char *rights)
{
    struct mi_acl_file *f = parse(text, rules);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    struct mi_acl_client client = {.client_id = mi_span_of(id)};
    if (user)
        client.username = (struct mi_span){(const uint8_t *)user, strlen(user)};
    bool r = mi_acl_file_allows(f, &client, mi_span_of(topic), MI_ACL_READ);
    bool w = mi_acl_file_allows(f, &client, mi_span_of(topic), MI_ACL_WRITE);
    bool right = r == (strchr(rights, 'r') != NULL) && w == (strchr(rights, 'w') != NULL);
    if (!right)
        printf("%s\n%s/%s %s: read %d write %d, not \"%s\"\n", text, user ? user : "-", id, topic, r, w,
               rights);
    CU_ASSERT_TRUE(right);
    mi_acl_file_free(f);
}

static void check(const char *text, const char *user, const char *id, const char *topic, const char *rights)
{
    check_as(MI_ACL_RULES_2_0, text, user, id, topic, rights);
    check_as(MI_ACL_RULES_2_1, text, user, id, topic, rights);
}

static void lines_give_rights_to_whom_they_name(void)
{
    const char *text = "topic read pub/#\n"
                       "user ann\ntopic a/+\ntopic write w\ntopic readwrite rw\n"
                       "user b b\ntopic read x y/#\n"
                       "user ann\ntopic read later\n";
    check(text, NULL, "c", "pub/x", "r");
    check(text, "ann", "c", "pub/x", "");
    check(text, "", "c", "pub/x", "r");
    check(text, "ann", "c", "a/b", "rw");
    check(text, "ann", "c", "a/b/c", "");
    check(text, "ann", "c", "w", "w");
    check(text, "ann", "c", "rw", "rw");
    check(text, "ann", "c", "later", "r");
    check(text, "b b", "c", "x y", "r");
    check(text, "b", "c", "x y", "");
    check(text, NULL, "c", "a/b", "");
}

static void nothing_said_means_no(void)
{
    check("", NULL, "c", "a", "");
    check("# only words\n\n", "u", "c", "a", "");
    check("user u\n", "u", "c", "a", "");
}

static void denials_come_first_wherever_they_stand(void)
{
    check("user u\ntopic #\ntopic deny secret/#\n", "u", "c", "secret/x", "");
    check("user u\ntopic #\ntopic deny secret/#\n", "u", "c", "public", "rw");
    check("pattern #\npattern deny %c/#\n", "u", "c", "c/x", "");
    check("pattern #\npattern deny %c/#\n", "u", "c", "d/x", "rw");
}

static void ones_own_lines_come_before_patterns(void)
{
    check("pattern deny #\nuser u\ntopic a\n", "u", "c", "a", "rw");
    check("pattern #\nuser u\ntopic deny a\n", "u", "c", "a", "");
    check("pattern write a\nuser u\ntopic read a\n", "u", "c", "a", "rw");
    check("user u\npattern read a\n", "v", "c", "a",
          "r"); /* a pattern is for everybody, wherever it stands */
}

static void patterns_put_names_in(void)
{
    const char *text = "pattern readwrite %u/in/%c/#\npattern read id/%c\n";
    check(text, "ann", "dev1", "ann/in/dev1", "rw");
    check(text, "ann", "dev1", "ann/in/dev1/x/y", "rw");
    check(text, "ann", "dev1", "ann/in/dev2", "");
    check(text, "ann", "dev1", "ann/in/dev", "");
    check(text, "ann", "dev1", "id/dev1", "r");
    check(text, NULL, "dev1", "id/dev1", "r");
    check(text, NULL, "dev1", "ann/in/dev1", "");
    check("topic %c\nuser ann\ntopic %u\n", "ann", "c", "%u", "rw"); /* no pattern: text */
    check("topic %c\nuser ann\ntopic %u\n", "ann", "c", "ann", "");
}

static void wildcards_in_names_open_nothing(void)
{
    const char *text = "pattern read %u/%c/x\nuser a+b\ntopic read mine\nuser #\ntopic write other\n";
    check(text, "+", "c", "ann/c/x", "");
    check(text, "ann", "#", "ann/c/x", "");
    check(text, "a+b", "c", "mine", "r");
    check(text, "#", "#", "other", "w");
    check("user a+b\ntopic mine\npattern read all\n", "a+b", "c", "all", "");
}

static void dollar_topics(void)
{
    check("topic #\n", NULL, "c", "$a/b", "");
    check("topic +/b\n", NULL, "c", "$a/b", "");
    check("topic $a/#\n", NULL, "c", "$a/b", "rw");
    check("topic $SYS/#\n", NULL, "c", "$SYS/broker/uptime", "r");
    check("topic $SYS/#\n", NULL, "c", "$SYS/broker/connection/b/state", "rw");
    check("topic $share/#\n", NULL, "c", "$share/g/a", "");
}

static void versions_part_at_patterns(void)
{
    struct {
        const char *text, *user, *id, *topic, *rights_2_0, *rights_2_1;
    } rows[] = {
        {"pattern a%c/x\n", "u", "c", "ac/x", "rw", ""}, {"pattern a%c/x\n", "u", "c", "a%c/x", "", "rw"},
        {"pattern %c%u\n", "u", "c", "cu", "rw", ""},    {"pattern %c/x\n", "u", "a/b", "a/b/x", "rw", ""},
        {"pattern %u/x\n", "", "c", "/x", "", ""},       {"pattern %u/x\n", "$u", "c", "$u/x", "rw", ""},
        {"pattern a%u\n", NULL, "c", "a%u", "", ""},     {"pattern %c/+/#\n", "u", "c", "c/", "rw", "rw"},
        {"pattern +/%c\n", "u", "c", "x/c", "rw", "rw"}, {"pattern %%c\n", "u", "c", "%c", "rw", ""},
        {"pattern %%c\n", "u", "c", "%%c", "", "rw"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        check_as(MI_ACL_RULES_2_0, rows[i].text, rows[i].user, rows[i].id, rows[i].topic, rows[i].rights_2_0);
        check_as(MI_ACL_RULES_2_1, rows[i].text, rows[i].user, rows[i].id, rows[i].topic, rows[i].rights_2_1);
    }
}

static void blanks_and_line_ends(void)
{
    check("  user   ann  \r\n   topic   read   a b \t\r\n", "ann", "c", "a b", "r");
    check("user ann\ntopic read\n", "ann", "c", "read", "rw"); /* one word is the topic */
    check("user ann\ntopic read\ta\n", "ann", "c", "read\ta", "rw");
    check("user ann\ntopic read \t a", "ann", "c", "a", "r"); /* no newline at the end */
    check("\n\r\n   \n\t\n#user\nuser ann\ntopic a\n", "ann", "c", "a", "rw");
}

static void bad_lines_are_refused_with_their_number(void)
{
    const char *bad[] = {
        "topic",       "topic  ",        "topic a b",       "topic READ a", "pattern",
        "user",        "user   ",        "users ann",       "\ttopic a",    " # not a comment",
        "topic a/#/b", "topic a#",       "topic read a+/b", "pattern %u#",  "\xEF\xBB\xBFuser ann",
        "topic\ta",    "topic denied a", "include x",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[100];
        struct mi_error err = {""};
        snprintf(text, sizeof text, "user u\n\n%s\n", bad[i]);
        CU_ASSERT_PTR_NULL(mi_acl_file_parse(mi_span_of(text), MI_ACL_RULES_2_0, &err));
        if (strncmp(err.text, "line 3: ", 8) != 0)
            printf("%s -> %s\n", bad[i], err.text);
        CU_ASSERT_NSTRING_EQUAL(err.text, "line 3: ", 8);
    }
    struct mi_error err = {""};
    const struct mi_span nul = {(const uint8_t *)"user a\0b\n", 9};
    CU_ASSERT_PTR_NULL(mi_acl_file_parse(nul, MI_ACL_RULES_2_0, &err));
}

static void long_lines_and_many_levels(void)
{
    size_t len = 65535;
    char *text = malloc(len + 100);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    int head = sprintf(text, "topic ");
    memset(text + head, 'x', len);
    text[(size_t)head + len] = '\0';
    check(text, NULL, "c", text + head, "rw");
    text[(size_t)head + len] = 'x';
    text[(size_t)head + len + 1] = '\0';
    CU_ASSERT_PTR_NULL(mi_acl_file_parse(mi_span_of(text), MI_ACL_RULES_2_0, NULL));
    memset(text + head, '/', 201);
    text[head + 200] = '\0';
    check(text, NULL, "c", text + head, "rw");
    text[head + 200] = '/';
    text[head + 201] = '\0';
    CU_ASSERT_PTR_NULL(mi_acl_file_parse(mi_span_of(text), MI_ACL_RULES_2_0, NULL));
    free(text);
}

static void files_are_read_whole_or_refused(void)
{
    char dir[200], path[300], link[300];
    CU_ASSERT_TRUE_FATAL(mi_temp_dir(dir, sizeof dir));
    snprintf(path, sizeof path, "%s/acl", dir);
    snprintf(link, sizeof link, "%s/link", dir);
    CU_ASSERT_TRUE(mi_write_file(path, "topic a\n"));
    CU_ASSERT_EQUAL(symlink(path, link), 0);
    struct mi_error err = {""};
    struct mi_acl_file *f = mi_acl_file_read(path, MI_ACL_RULES_2_1, &err);
    CU_ASSERT_PTR_NOT_NULL(f);
    mi_acl_file_free(f);
    f = mi_acl_file_read(link, MI_ACL_RULES_2_0, &err);
    CU_ASSERT_PTR_NOT_NULL(f);
    mi_acl_file_free(f);
    CU_ASSERT_PTR_NULL(mi_acl_file_read(link, MI_ACL_RULES_2_1, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "symbolic link"));
    CU_ASSERT_PTR_NULL(mi_acl_file_read(dir, MI_ACL_RULES_2_0, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a file"));
    CU_ASSERT_EQUAL(truncate(path, (16 << 20) + 1), 0);
    CU_ASSERT_PTR_NULL(mi_acl_file_read(path, MI_ACL_RULES_2_0, &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "more than"));
    unlink(path);
    CU_ASSERT_PTR_NULL(mi_acl_file_read(path, MI_ACL_RULES_2_0, &err));
    mi_remove_tree(dir);
}

static void many_users_are_found(void)
{
    enum { USERS = 20000 };
    char *text = malloc(USERS * 32), *at = text;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int i = 0; i < USERS; i++)
        at += sprintf(at, "user u%d\ntopic t%d\n", i, i);
    struct mi_acl_file *f = parse(text, MI_ACL_RULES_2_0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    for (int i = 0; i < USERS; i += 7) {
        char user[16], topic[16];
        struct mi_acl_client client = {.client_id = mi_span_of("c")};
        snprintf(user, sizeof user, "u%d", i);
        snprintf(topic, sizeof topic, "t%d", i);
        client.username = mi_span_of(user);
        CU_ASSERT_TRUE(mi_acl_file_allows(f, &client, mi_span_of(topic), MI_ACL_READ));
        CU_ASSERT_FALSE(mi_acl_file_allows(f, &client, mi_span_of("t1"), MI_ACL_READ) && i != 1);
    }
    mi_acl_file_free(f);
    free(text);
}

static CU_TestInfo tests[] = {
    {"lines_give_rights_to_whom_they_name", lines_give_rights_to_whom_they_name},
    {"nothing_said_means_no", nothing_said_means_no},
    {"denials_come_first_wherever_they_stand", denials_come_first_wherever_they_stand},
    {"ones_own_lines_come_before_patterns", ones_own_lines_come_before_patterns},
    {"patterns_put_names_in", patterns_put_names_in},
    {"wildcards_in_names_open_nothing", wildcards_in_names_open_nothing},
    {"dollar_topics", dollar_topics},
    {"versions_part_at_patterns", versions_part_at_patterns},
    {"blanks_and_line_ends", blanks_and_line_ends},
    {"bad_lines_are_refused_with_their_number", bad_lines_are_refused_with_their_number},
    {"long_lines_and_many_levels", long_lines_and_many_levels},
    {"files_are_read_whole_or_refused", files_are_read_whole_or_refused},
    {"many_users_are_found", many_users_are_found},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("acl_file", tests)

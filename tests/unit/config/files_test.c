/* files: whole small files and secrets; who may read them. */
#include "config/files.h"
#include "support/process.h"
#include "support/suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[200];

static const char *file(const char *name, const char *text, mode_t mode)
{
    static char path[300];
    if (!*dir)
        mi_temp_dir(dir, sizeof dir);
    snprintf(path, sizeof path, "%s/%s", dir, name);
    if (text) {
        mi_write_file(path, text);
        chmod(path, mode);
    }
    return path;
}

static bool secret_is(const char *path, const char *wanted, struct mi_error *err)
{
    struct mi_buf out;
    mi_buf_init(&out, MI_MAX_SECRET_BYTES + 8192);
    bool ok = mi_file_read_secret(path, &out, err) == 0 && out.len == strlen(wanted) &&
              strcmp((const char *)out.data, wanted) == 0;
    mi_buf_fini(&out);
    return ok;
}

static void line_ends_of_secrets_are_cut_off_and_nothing_else(void)
{
    struct mi_error err;
    CU_ASSERT_TRUE(secret_is(file("a", "secret\n", 0600), "secret", &err));
    CU_ASSERT_TRUE(secret_is(file("b", " se cret \r\n", 0640), " se cret ", &err));
    CU_ASSERT_TRUE(secret_is(file("c", "x", 0400), "x", &err));
    CU_ASSERT_FALSE(secret_is(file("d", "\n", 0600), "", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "empty"));
}

static void a_secret_that_everybody_can_read_or_change_is_refused(void)
{
    struct mi_error err;
    CU_ASSERT_FALSE(secret_is(file("e", "s", 0644), "s", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "can read"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "mode 0644"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "owner "));
    CU_ASSERT_FALSE(secret_is(file("f", "s", 0602), "s", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "can change"));
    CU_ASSERT_TRUE(secret_is(file("g", "s", 0660), "s", &err));
}

static void nul_bytes_and_long_secrets_are_refused(void)
{
    struct mi_error err;
    const char *path = file("h", "s", 0600);
    int fd = open(path, O_WRONLY);
    CU_ASSERT_EQUAL(write(fd, "a\0b", 3), 3);
    CU_ASSERT_FALSE(secret_is(path, "a", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "NUL"));
    CU_ASSERT_EQUAL(ftruncate(fd, MI_MAX_SECRET_BYTES + 1), 0);
    close(fd);
    CU_ASSERT_FALSE(secret_is(path, "a", &err));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "larger than"));
}

static void missing_files_folders_and_pipes_are_refused_at_once(void)
{
    struct mi_error err;
    struct mi_buf out;
    mi_buf_init(&out, 100000);
    CU_ASSERT_EQUAL(mi_file_read(file("missing", NULL, 0), 100, &out, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No such file"));
    CU_ASSERT_EQUAL(mi_file_read(dir, 100, &out, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a regular file"));
    CU_ASSERT_EQUAL(mkfifo(file("pipe", NULL, 0), 0600), 0);
    CU_ASSERT_EQUAL(mi_file_read(file("pipe", NULL, 0), 100, &out, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a regular file"));
    mi_buf_fini(&out);
}

/* As a user who may not read it: root reads everything, so a child gives root up first. */
static int read_as_nobody(const char *path)
{
    struct mi_error err;
    struct mi_buf out;
    mi_buf_init(&out, 100000);
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 2;
    if (mi_file_read(path, 100, &out, &err) == 0)
        return 3;
    return strstr(err.text, "may not read") && strstr(err.text, "mode 0000") && strstr(err.text, "owner ")
               ? 0
               : 4;
}

static void an_unreadable_file_names_user_owner_and_mode(void)
{
    const char *path = file("locked", "s", 0000);
    int status = -1;
    chmod(dir, 0755);
    pid_t child = fork();
    if (child == 0)
        _exit(read_as_nobody(path));
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_private_key_is_checked_like_a_secret(void)
{
    struct mi_error err;
    CU_ASSERT_EQUAL(mi_file_check(file("pem", "x", 0644), false, &err), 0);
    CU_ASSERT_EQUAL(mi_file_check(file("pem", "x", 0644), true, &err), -1);
    CU_ASSERT_EQUAL(mi_file_check(file("pem", "x", 0640), true, &err), 0);
    CU_ASSERT_EQUAL(mi_file_check(file("gone", NULL, 0), false, &err), -1);
    mi_remove_tree(dir);
}

static CU_TestInfo tests[] = {
    {"line ends of secrets are cut off", line_ends_of_secrets_are_cut_off_and_nothing_else},
    {"a secret open to everybody is refused", a_secret_that_everybody_can_read_or_change_is_refused},
    {"NUL bytes and long secrets are refused", nul_bytes_and_long_secrets_are_refused},
    {"missing files, folders, pipes are refused at once",
     missing_files_folders_and_pipes_are_refused_at_once},
    {"an unreadable file names user, owner, mode", an_unreadable_file_names_user_owner_and_mode},
    {"a private key is checked like a secret", a_private_key_is_checked_like_a_secret},
    CU_TEST_INFO_NULL,
};
MI_SUITE_MAIN("files", tests)

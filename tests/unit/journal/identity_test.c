/* Whose directory it is: locks, copies, foreign versions, directories that cannot be used. */
#include "fixture.h"
#include "journal/identity.h"
#include "journal/journal_private.h"
#include "support/process.h"
#include "support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_parent_missing(void)
{
    struct fixture f;
    char dir[400];
    fixture_begin(&f);
    snprintf(dir, sizeof dir, "%s/no/such/journal", f.base);
    f.options.directory = dir;
    CU_ASSERT_FALSE(fixture_open(&f));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, dir));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "parent directory does not exist"));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "plugin_opt_journal"));
    fixture_end(&f);
}

static void test_path_is_a_file(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE(mi_write_file(f.dir, "x"));
    CU_ASSERT_FALSE(fixture_open(&f));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, strerror(ENOTDIR)));
    fixture_end(&f);
}

static void test_not_writable(void)
{
    const int reasons[] = {EACCES, EROFS};
    for (int i = 0; i < 2; i++) {
        struct fixture f;
        fixture_begin(&f);
        f.files.error[FAULTY_OPEN] = reasons[i];
        CU_ASSERT_FALSE(fixture_open(&f));
        CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, f.dir));
        CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, strerror(reasons[i])));
        CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "writable for the user that runs mosquitto"));
        fixture_end(&f);
    }
}

/* As a user without rights, for real. */
static void test_no_rights(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_EQUAL(chmod(f.base, 0755), 0);
    CU_ASSERT_EQUAL(mkdir(f.dir, 0700), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            _exit(3);
        if (geteuid() != 65534)
            chmod(f.dir, 0500);
        bool refused = !fixture_open(&f) && strstr(f.err.text, strerror(EACCES)) != NULL;
        _exit(refused ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    chmod(f.dir, 0700);
    fixture_end(&f);
}

static void test_two_openers(void)
{
    struct fixture f, g;
    char pid[32];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    fixture_begin(&g);
    g.options.directory = f.dir;
    CU_ASSERT_FALSE(fixture_open(&g));
    snprintf(pid, sizeof pid, "process %ld;", (long)getpid());
    CU_ASSERT_PTR_NOT_NULL(strstr(g.err.text, pid));
    CU_ASSERT_PTR_NOT_NULL(strstr(g.err.text, f.dir));
    CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
    fixture_close(&f);
    CU_ASSERT_TRUE(fixture_open(&g)); /* the lock goes with its holder */
    fixture_end(&g);
    fixture_end(&f);
}

static void test_identity_stays(void)
{
    struct fixture f;
    char id[33];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    strcpy(id, mi_journal_identity(f.j));
    CU_ASSERT_TRUE(mi_journal_is_own(f.j, mi_span_of(id)));
    CU_ASSERT_FALSE(mi_journal_is_own(f.j, mi_span_of("00000000000000000000000000000000")));
    CU_ASSERT_FALSE(mi_journal_is_own(f.j, mi_span_of("")));
    fixture_close(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_STRING_EQUAL(mi_journal_identity(f.j), id);
    CU_ASSERT_FALSE(f.report.identity_changed || f.report.created);
    fixture_end(&f);
}

static void copy_tree(const char *from, const char *to)
{
    char command[3000];
    snprintf(command, sizeof command, "cp -r '%s' '%s'", from, to);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void test_copied_directory(void)
{
    struct fixture f;
    char id[33], first[33], copies[3][400];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
    strcpy(first, mi_journal_identity(f.j));
    fixture_close(&f);
    strcpy(id, first);
    for (int i = 0; i < 3; i++) {
        snprintf(copies[i], sizeof copies[i], "%s/copy%d", f.base, i);
        copy_tree(f.options.directory, copies[i]);
        f.options.directory = copies[i];
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_TRUE(f.report.identity_changed && !f.report.created && f.report.records == 1);
        CU_ASSERT_STRING_NOT_EQUAL(mi_journal_identity(f.j), id);
        CU_ASSERT_TRUE(mi_journal_is_own(f.j, mi_span_of(id)) && mi_journal_is_own(f.j, mi_span_of(first)));
        CU_ASSERT_EQUAL(fixture_walk(&f, 0, NULL, 0), 1);
        strcpy(id, mi_journal_identity(f.j));
        fixture_close(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_FALSE(f.report.identity_changed);
        CU_ASSERT_TRUE(mi_journal_is_own(f.j, mi_span_of(first)));
        fixture_close(&f);
    }
    fixture_end(&f);
}

static void test_other_machine(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    fixture_close(&f);
    char *text = mi_read_file(fixture_path(&f, "identity"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    char *machine = strstr(text, "\nmachine ");
    if (!machine || access("/etc/machine-id", R_OK) != 0) {
        mi_skip("this machine has no machine id");
    } else {
        machine[9] = machine[9] == '0' ? '1' : '0';
        CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "identity"), text));
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_TRUE(f.report.identity_changed);
    }
    free(text);
    fixture_end(&f);
}

/* Former identities beyond the maximum: the oldest are forgotten, the file stays readable. */
static void test_many_former_identities(void)
{
    struct fixture f;
    char newest[33];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    for (int i = 0; i < 140; i++) {
        strcpy(newest, mi_journal_identity(f.j));
        fixture_close(&f);
        char *text = mi_read_file(fixture_path(&f, "identity")), *inode = strstr(text, "\ninode ");
        CU_ASSERT_PTR_NOT_NULL_FATAL(inode);
        inode[7] = inode[7] == '1' ? '2' : '1';
        CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "identity"), text));
        free(text);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_TRUE(f.report.identity_changed && mi_journal_is_own(f.j, mi_span_of(newest)));
    }
    CU_ASSERT_EQUAL(f.j->identity.former_count, MI_MAX_FORMER);
    fixture_end(&f);
}

static void test_identity_lost_or_damaged(void)
{
    const char *contents[] = {NULL, "", "garbage", "mosquitto-iggy journal 1\nidentity xyz\n",
                              "mosquitto-iggy journal 1"};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        struct fixture f;
        fixture_begin(&f);
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
        fixture_close(&f);
        unlink(fixture_path(&f, "identity"));
        CU_ASSERT_TRUE(!contents[i] || mi_write_file(fixture_path(&f, "identity"), contents[i]));
        CU_ASSERT_TRUE_FATAL(fixture_open(&f));
        CU_ASSERT_TRUE(f.report.identity_changed && f.report.records == 1);
        CU_ASSERT_EQUAL(strlen(mi_journal_identity(f.j)), 32);
        fixture_end(&f);
    }
}

static void test_field_5_newer_format_is_refused(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
    fixture_close(&f);
    CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "identity"), "mosquitto-iggy journal 7\nidentity 0\n"));
    CU_ASSERT_FALSE(fixture_open(&f));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "format 7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "only format 1"));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, f.dir));
    fixture_end(&f);
}

static void test_newer_segment_is_refused(void)
{
    struct fixture f;
    struct mi_segment_header h = {.version = 3, .run = 1, .number = 9, .first = 1, .size = 16384};
    uint8_t bytes[MI_SEGMENT_HEAD];
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    fixture_close(&f);
    mi_segment_header_encode(&h, bytes);
    int fd = open(fixture_path(&f, "0000000000000009.seg"), O_WRONLY | O_CREAT, 0600);
    CU_ASSERT_EQUAL(write(fd, bytes, sizeof bytes), (ssize_t)sizeof bytes);
    close(fd);
    CU_ASSERT_FALSE(fixture_open(&f));
    CU_ASSERT_PTR_NOT_NULL(strstr(f.err.text, "format version 3"));
    struct stat st;
    CU_ASSERT_TRUE(stat(fixture_path(&f, "0000000000000009.seg"), &st) == 0 && st.st_size == MI_SEGMENT_HEAD);
    fixture_end(&f);
}

static void test_strange_files_are_left_alone(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_EQUAL(mkdir(f.dir, 0700), 0);
    CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "notes.txt"), "mine"));
    CU_ASSERT_TRUE(mi_write_file(fixture_path(&f, "12.seg"), "mine"));
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    fixture_close(&f);
    char *a = mi_read_file(fixture_path(&f, "notes.txt")), *b = mi_read_file(fixture_path(&f, "12.seg"));
    CU_ASSERT_TRUE(a && b && strcmp(a, "mine") == 0 && strcmp(b, "mine") == 0);
    free(a);
    free(b);
    fixture_end(&f);
}

static void test_no_descriptor_goes_to_a_child(void)
{
    struct fixture f;
    fixture_begin(&f);
    CU_ASSERT_TRUE_FATAL(fixture_open(&f));
    CU_ASSERT_EQUAL(fixture_append(&f, 1, 1), MI_APPEND_OK);
    fixture_walk(&f, 0, NULL, 0);
    for (int fd = 3; fd < 100; fd++) {
        int flags = fcntl(fd, F_GETFD);
        char link[64], target[400] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof target - 1);
        if (flags >= 0 && n > 0 && strncmp(target, f.base, strlen(f.base)) == 0)
            CU_ASSERT_TRUE(flags & FD_CLOEXEC);
    }
    fixture_end(&f);
}

static CU_TestInfo tests[] = {{"parent missing", test_parent_missing},
                              {"the path is a file", test_path_is_a_file},
                              {"not writable", test_not_writable},
                              {"no rights", test_no_rights},
                              {"two openers", test_two_openers},
                              {"identity stays", test_identity_stays},
                              {"copied directory", test_copied_directory},
                              {"other machine", test_other_machine},
                              {"many former identities", test_many_former_identities},
                              {"identity lost or damaged", test_identity_lost_or_damaged},
                              {"field 5: newer format is refused", test_field_5_newer_format_is_refused},
                              {"newer segment is refused", test_newer_segment_is_refused},
                              {"strange files are left alone", test_strange_files_are_left_alone},
                              {"no descriptor goes to a child", test_no_descriptor_goes_to_a_child},
                              CU_TEST_INFO_NULL};
MI_SUITE_MAIN("journal identity", tests)

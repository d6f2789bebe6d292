#include "support/postgres.h"

#include <glob.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READY_MS = 60000, MAX_ARGS = 24 };

/* The newest one that is there. */
static bool find_programs(struct mi_postgres *p)
{
    glob_t found;
    bool ok = glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (ok)
        snprintf(p->bin, sizeof p->bin, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return ok;
}

static bool start(struct mi_postgres *p, struct mi_process *process, const char *log, char *const args[])
{
    /* The last one: becoming another user has made the kernel forget that it dies with its parent. */
    static char *const as_nobody[] = {(char *)"setpriv", (char *)"--reuid=nobody", (char *)"--regid=nogroup",
                                      (char *)"--clear-groups", (char *)"--pdeathsig=QUIT"};
    enum { WORDS = sizeof as_nobody / sizeof as_nobody[0] };
    char *argv[MAX_ARGS] = {NULL}, program[400], output[400];
    size_t n = 0;
    if (geteuid() == 0)
        for (; n < WORDS; n++)
            argv[n] = as_nobody[n];
    snprintf(program, sizeof program, "%s/%s", p->bin, args[0]);
    snprintf(output, sizeof output, "%s/%s", p->dir, log);
    argv[n++] = program;
    for (size_t i = 1; args[i] && n < MAX_ARGS - 1; i++)
        argv[n++] = args[i];
    return mi_process_start(process, output, argv, NULL);
}

static bool run(struct mi_postgres *p, const char *log, char *const args[])
{
    struct mi_process process;
    int status = -1;
    bool ok = start(p, &process, log, args) && mi_process_wait(&process, READY_MS, &status) && status == 0;
    if (!ok) {
        char *said = mi_read_file(process.output);
        fprintf(stderr, "%s: %s\n", args[0], said ? said : "nothing said");
        free(said);
    }
    return ok;
}

bool mi_postgres_prepare(struct mi_postgres *p)
{
    char data[300];
    memset(p, 0, sizeof *p);
    if (!find_programs(p) || !mi_temp_dir(p->dir, sizeof p->dir) || chmod(p->dir, 0755) != 0)
        return false;
    snprintf(data, sizeof data, "%s/data", p->dir);
    const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
    if (nobody && chown(p->dir, nobody->pw_uid, nobody->pw_gid) != 0)
        return false;
    char *args[] = {(char *)"initdb", (char *)"-D",    data,         (char *)"-U",   (char *)"mqtt",
                    (char *)"-A",     (char *)"trust", (char *)"-E", (char *)"UTF8", (char *)"--locale=C",
                    (char *)"-N",     (char *)NULL};
    return run(p, "initdb.log", args);
}

bool mi_postgres_run(struct mi_postgres *p, const char *sql)
{
    char *args[] = {(char *)"psql",
                    (char *)"-X",
                    (char *)"-q",
                    (char *)"-h",
                    p->dir,
                    (char *)"-U",
                    (char *)"mqtt",
                    (char *)"-d",
                    (char *)"postgres",
                    (char *)"-v",
                    (char *)"ON_ERROR_STOP=1",
                    (char *)"-c",
                    (char *)sql,
                    NULL};
    return run(p, "psql.log", args);
}

bool mi_postgres_start(struct mi_postgres *p)
{
    char data[300];
    snprintf(data, sizeof data, "%s/data", p->dir);
    char *args[] = {(char *)"postgres", (char *)"-D", data,         (char *)"-k", p->dir,
                    (char *)"-h",       (char *)"",   (char *)"-F", (char *)NULL};
    if (!start(p, &p->process, "postgres.log", args))
        return false;
    char *ask[] = {(char *)"pg_isready", (char *)"-q", (char *)"-h", p->dir, (char *)NULL};
    for (uint64_t end = mi_monotonic_ms() + READY_MS; mi_monotonic_ms() < end; mi_sleep_ms(50)) {
        struct mi_process asked;
        int status = -1;
        if (start(p, &asked, "ready.log", ask) && mi_process_wait(&asked, READY_MS, &status) && status == 0)
            return true;
    }
    return false;
}

void mi_postgres_stop(struct mi_postgres *p)
{
    int status;
    mi_process_signal(&p->process, SIGQUIT);
    if (!mi_process_wait(&p->process, 20000, &status))
        mi_process_kill(&p->process);
}

void mi_postgres_remove(struct mi_postgres *p)
{
    if (mi_process_alive(&p->process))
        mi_postgres_stop(p);
    if (*p->dir)
        mi_remove_tree(p->dir);
    *p->dir = 0;
}

const char *mi_postgres_connection(const struct mi_postgres *p)
{
    static char text[400];
    snprintf(text, sizeof text, "host=%s user=mqtt dbname=postgres", p->dir);
    return text;
}

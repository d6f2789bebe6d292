/*
 * process: programs under test, started on loopback with files of their own, and ended by pid.
 */
#ifndef MI_PROCESS_H
#define MI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mi_process {
    pid_t pid;        /* 0: not running */
    char output[512]; /* file that holds its stdout and stderr; appended to over restarts */
};

/* Starts argv[0] (looked up in PATH) with env ("K=V", NULL-terminated, added to ours; may be NULL) and its
 * output in the file output. The child dies with its parent. False with a line on stderr when it cannot be
 * started. */
bool mi_process_start(struct mi_process *p, const char *output, char *const argv[], char *const env[]);
/* Sends a signal; false when it is not running. */
bool mi_process_signal(struct mi_process *p, int signal);
/* Waits up to timeout_ms for the end; true when it ended, with its wait status. */
bool mi_process_wait(struct mi_process *p, unsigned timeout_ms, int *status);
/* SIGTERM, up to timeout_ms, then SIGKILL. Returns the wait status. */
int mi_process_stop(struct mi_process *p, unsigned timeout_ms);
/* SIGKILL at once. */
void mi_process_kill(struct mi_process *p);
bool mi_process_alive(struct mi_process *p);

/* Does the output hold that text? With timeout_ms: waits for it. */
bool mi_process_says(const struct mi_process *p, const char *text, unsigned timeout_ms);

/* A TCP port that is free on 127.0.0.1 now, outside the range of outgoing connections. 0: none. */
uint16_t mi_free_port(void);
/* Waits until something accepts connections on 127.0.0.1:port. */
bool mi_wait_port(uint16_t port, unsigned timeout_ms);

/* A new empty directory below $TMPDIR or /tmp; the path is written to dir. Removed with mi_remove_tree. */
bool mi_temp_dir(char *dir, size_t size);
void mi_remove_tree(const char *dir);

/* Whole file as NUL-terminated text, malloc'd; NULL when it cannot be read. */
char *mi_read_file(const char *path);
bool mi_write_file(const char *path, const char *text);

void mi_sleep_ms(unsigned ms);
uint64_t mi_monotonic_ms(void);

#endif

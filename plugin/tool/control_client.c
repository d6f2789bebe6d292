/* control_client: one question to the control socket of a running broker (loop/control.h), one answer. */
#include "tool/letters.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_WAIT_MS = 120000 };

/* Through /proc, because a socket's address has room for 107 bytes only. */
static int dial(const char *directory, struct mi_error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", dir);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int why = errno;
        close(fd);
        fd = -1;
        errno = why;
    }
    if (fd < 0)
        mi_error_set(err, "%s/control: %s", directory, strerror(errno));
    if (dir >= 0)
        close(dir);
    return fd;
}

static int receive(int fd, char answer[MI_ANSWER], struct mi_error *err)
{
    for (size_t len = 0; len < MI_ANSWER - 1;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, ANSWER_WAIT_MS);
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready == 0)
            return mi_error_set(err, "the broker does not answer; the order may still be carried out");
        ssize_t n = ready < 0 ? -1 : recv(fd, answer + len, MI_ANSWER - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        answer[len] = '\0';
        char *end = strchr(answer, '\n');
        if (end) {
            *end = '\0';
            return 0;
        }
    }
    return mi_error_set(err, "the broker hung up without an answer; look at the list before you try again");
}

int mi_control_ask(const char *directory, const char *order, char answer[MI_ANSWER], struct mi_error *err)
{
    char line[80];
    int n = snprintf(line, sizeof line, "%s\n", order), rc = -1;
    int fd = dial(directory, err);
    if (fd < 0)
        return -1;
    if (send(fd, line, (size_t)n, MSG_NOSIGNAL) == n)
        rc = receive(fd, answer, err);
    else
        mi_error_set(err, "%s/control: %s", directory, strerror(errno));
    close(fd);
    return rc;
}

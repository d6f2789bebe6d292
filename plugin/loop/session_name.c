#include "loop/session_name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static bool read_name(const char *path, char name[MI_SESSION_NAME_HEX + 1])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = fd >= 0 ? read(fd, name, MI_SESSION_NAME_HEX) : -1;
    if (fd >= 0)
        close(fd);
    name[MI_SESSION_NAME_HEX] = '\0';
    return n == MI_SESSION_NAME_HEX && strspn(name, "0123456789abcdef") == MI_SESSION_NAME_HEX;
}

static int draw(char name[MI_SESSION_NAME_HEX + 1], struct mi_error *err)
{
    uint8_t bytes[MI_SESSION_NAME_HEX / 2];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return mi_error_set(err, "no random bytes: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(name + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int mi_session_name(const char *directory, char name[MI_SESSION_NAME_HEX + 1], struct mi_error *err)
{
    char path[4200];
    if (snprintf(path, sizeof path, "%s/session", directory) >= (int)sizeof path)
        return mi_error_set(err, "%s is too long", directory);
    if (read_name(path, name))
        return 0;
    if (draw(name, err) != 0)
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written = fd >= 0 && write(fd, name, MI_SESSION_NAME_HEX) == MI_SESSION_NAME_HEX;
    int why = errno;
    if (fd >= 0)
        close(fd);
    return written ? 0 : mi_error_set(err, "%s cannot be written: %s", path, strerror(why));
}

#include "base/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The first descriptor of the protocol. */
#define FIRST_FD 3

static struct sockaddr_un news;
static socklen_t news_len;

/* A whole number of a variable, or -1. */
static long read_number(const char *name)
{
    const char *text = getenv(name);
    char *end;
    long value;

    if (!text || *text < '0' || *text > '9')
        return -1;
    errno = 0;
    value = strtol(text, &end, 10);
    return *end || errno ? -1 : value;
}

static int check_socket(int fd, struct error *err)
{
    int is_listening = 0, type = 0, family = 0;
    socklen_t len = sizeof(int);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) < 0)
        return error_errno(err, "descriptor %d, passed as a socket", fd);
    if (is_listening && type == SOCK_STREAM &&
        (family == AF_UNIX || family == AF_INET || family == AF_INET6))
        return 0;
    error_set(err, E_INVALID, "descriptor %d is not a listening stream socket", fd);
    return error_hint(err, "use `ListenStream=` and `Accept=no` in the socket unit");
}

static int take_socket(int fd, struct error *err)
{
    int flags;

    if (check_socket(fd, err) < 0)
        return -1;
    flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return error_errno(err, "descriptor %d, passed as a socket", fd);
    return 0;
}

int service_sockets(int fds[SERVICE_SOCKETS_MAX], struct error *err)
{
    long pid = read_number("LISTEN_PID"), count = read_number("LISTEN_FDS");

    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (pid != getpid() || count <= 0) /* none, or meant for another process */
        return 0;
    if (count > SERVICE_SOCKETS_MAX)
        return error_set(err, E_TOO_LARGE, "at most %d sockets can be passed", SERVICE_SOCKETS_MAX);
    for (int i = 0; i < count; i++) {
        if (take_socket(FIRST_FD + i, err) < 0)
            return -1;
        fds[i] = FIRST_FD + i;
    }
    return (int)count;
}

void service_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t len = path ? strlen(path) : 0;

    news_len = 0;
    if (len > 1 && len < sizeof(news.sun_path) && (*path == '/' || *path == '@')) {
        news = (struct sockaddr_un){.sun_family = AF_UNIX};
        memcpy(news.sun_path, path, len);
        if (*path == '@') /* a name that is in no directory */
            news.sun_path[0] = '\0';
        news_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    }
    (void)unsetenv("NOTIFY_SOCKET");
}

void service_notify(const char *state)
{
    cleanup_close int fd = -1;

    if (!news_len)
        return;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&news,
                     news_len);
}

#include "http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/janitor.h"

#define BACKLOG 512

static int bad_address(const char *address, struct error *err)
{
    error_set(err, E_INVALID, "`listen`: read `%s`, expected an address and a port", address);
    return error_hint(err, "for example 127.0.0.1:8222 or [::1]:8222");
}

/* ADDRESS:PORT, of which port 0 means any. Names are not looked up. */
static int read_address(const char *text, struct sockaddr_storage *ret_to, unsigned *ret_len,
                        struct error *err)
{
    struct host host;
    uint16_t port = 0;
    size_t len = strlen(text);
    bool is_any = len > 2 && strcmp(text + len - 2, ":0") == 0;
    const char *why = host_parse_port(text, is_any ? len - 2 : len, &host, &port);

    if (!why && !host.is_address && host_is_loopback(&host)) {
        host.is_address = true;
        host.address = address_localhost[0];
    }
    if (why || !host.is_address || (!port && !is_any))
        return bad_address(text, err);
    *ret_len = address_to_socket(&host.address, port, ret_to);
    return 0;
}

int listen_tcp(const char *address, struct error *err)
{
    struct sockaddr_storage to;
    unsigned len = 0;
    cleanup_close int fd = -1;
    int on = 1, r = 0;

    if (read_address(address, &to, &len, err) < 0)
        return -1;
    fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&to, len) < 0 || listen(fd, BACKLOG) < 0) {
        r = error_errno(err, "listen on %s", address);
        if (errno == EADDRINUSE)
            error_hint(err, "another server has it; choose one with --listen");
    }
    return r < 0 ? r : take_fd(fd);
}

int listen_look(int fd, struct listen_address *ret_address, struct error *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_storage room;
    } address = {0};
    socklen_t len = sizeof(address);
    struct address at;

    if (getsockname(fd, &address.any, &len) < 0)
        return error_errno(err, "look at a listening socket");
    *ret_address = (struct listen_address){
        .is_unix = address.any.sa_family == AF_UNIX,
        .is_loopback = address_of_socket(&address.any, &at) && address_is_loopback(&at),
        .port =
            ntohs(address.any.sa_family == AF_INET6 ? address.in6.sin6_port : address.in.sin_port),
    };
    return 0;
}

static int take_lock(struct listen_unix *where, struct error *err)
{
    struct stat ours, there;

    where->lock =
        open(where->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    if (where->lock < 0 && errno == ENOENT) {
        error_set(err, E_NOT_FOUND, "there is no directory for the socket `%s`", where->path);
        return error_hint(err, "create it, or name another path with --socket");
    }
    if (where->lock < 0)
        return error_errno(err, "open `%s`", where->lock_path);
    /* One that was removed meanwhile, by a server that ended, locks nobody out. */
    if (flock(where->lock, LOCK_EX | LOCK_NB) == 0 && fstat(where->lock, &ours) == 0 &&
        stat(where->lock_path, &there) == 0 && ours.st_ino == there.st_ino)
        return 0;
    error_set(err, E_BUSY, "another server listens on `%s`", where->path);
    return error_hint(err, "stop it, or name another socket with --socket (`none`: no socket)");
}

/* The holder of the lock may remove what a dead server left, but nothing else. */
static int clear_place(const char *path, struct error *err)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : error_errno(err, "look at `%s`", path);
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
        error_set(err, E_INVALID, "`%s` exists and is not a socket of Belljar", path);
        return error_hint(err, "remove it, or name another one with --socket");
    }
    return unlink(path) < 0 ? error_errno(err, "remove `%s`", path) : 0;
}

static int bind_unix(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    mode_t mask;
    int r;

    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, E_INVALID, "the socket's path `%s` is too long", path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    mask = umask(0177); /* nobody else, from its first moment on */
    r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
    (void)umask(mask);
    if (r < 0 || listen(fd, BACKLOG) < 0)
        return error_errno(err, "listen on `%s`", path);
    return take_fd(fd);
}

/* In the janitor. Whoever has taken our place meanwhile has the lock. */
static void remove_left(void *arg)
{
    struct listen_unix *where = arg;

    where->janitor = 0;
    if (take_lock(where, NULL) < 0)
        close_fd(&where->lock);
    listen_unix_done(where);
}

int listen_unix_open(struct listen_unix *where, const char *path, struct error *err)
{
    *where = (struct listen_unix){.lock = -1, .path = strdup(path)};
    if (!where->path || asprintf(&where->lock_path, "%s.lock", path) < 0) {
        where->lock_path = NULL;
        listen_unix_done(where);
        return error_memory(err);
    }
    if (take_lock(where, err) == 0) {
        int fd = clear_place(path, err) == 0 ? bind_unix(path, err) : -1;

        where->janitor = fd >= 0 ? janitor_start(NULL, remove_left, where, err) : 0;
        if (fd >= 0 && where->janitor > 0)
            return fd;
        close_fd(&fd);
    }
    close_fd(&where->lock); /* not ours to remove */
    listen_unix_done(where);
    return -1;
}

void listen_unix_done(struct listen_unix *where)
{
    janitor_stop(where->janitor);
    if (where->lock >= 0 && where->path && where->lock_path) {
        (void)unlink(where->path);
        (void)unlink(where->lock_path);
    }
    close_fd(&where->lock);
    free(where->path);
    free(where->lock_path);
    *where = (struct listen_unix){.lock = -1};
}

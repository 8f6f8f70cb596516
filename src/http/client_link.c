#include "http/client_link.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/cleanup.h"
#include "base/resolve.h"
#include "base/tls_client.h"
#include "http/client.h"

struct client_link {
    int fd;
    SSL *tls; /* NULL: plain */
};

static int no_server(struct error *err)
{
    error_set(err, E_NOT_FOUND, "no server is running");
    err->errnum = ECONNREFUSED; /* client_is_unreachable() */
    return error_hint(err, "start one with `belljar serve`");
}

bool client_is_unreachable(const struct error *err)
{
    return err->errnum != 0;
}

/* `cause`: errno of the last address that was tried. */
static int not_reached(const struct client *client, int cause, struct error *err)
{
    char host[HOST_TEXT];

    host_text(&client->host, host);
    errno = cause;
    error_errno(err, "cannot connect to the server at %s:%u", host, client->port);
    err->code = E_NOT_FOUND;
    if (host_is_loopback(&client->host))
        return error_hint(err,
                          "start one there with `belljar serve --listen %s:%u`, or check the "
                          "address",
                          host, client->port);
    return error_hint(err, "check the address, and that the server listens there");
}

static int connect_unix(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, "socket");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, E_INVALID, "the path of the socket is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? no_server(err)
                                                        : error_errno(err, "connect to %s", path);
    return take_fd(fd);
}

static int connect_tcp(const struct client *client, struct error *err)
{
    struct address addresses[RESOLVE_MAX];
    size_t count = 0;
    int fd = -1, cause = EHOSTUNREACH;

    if (resolve_wait("", &client->host, addresses, &count, err) < 0)
        return -1;
    for (size_t i = 0; i < count && fd < 0; i++) {
        struct sockaddr_storage to;
        unsigned len = address_to_socket(&addresses[i], client->port, &to);

        fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || connect(fd, (const struct sockaddr *)&to, len) < 0) {
            cause = errno;
            close_fd(&fd);
        }
    }
    return fd < 0 ? not_reached(client, cause, err) : fd;
}

/* --- TLS --- */

static int tls_failed(const struct client_link *link, struct error *err)
{
    if (tls_client_explain(link->tls, ERR_peek_last_error(), err))
        return -1;
    return error_set(err, E_PROTOCOL, "the server closed the TLS connection");
}

static int start_tls(struct client_link *link, const struct host *host, struct error *err)
{
    link->tls = tls_client_new(host);
    if (!link->tls || SSL_set_fd(link->tls, link->fd) != 1)
        return error_set(err, E_SYSTEM, "TLS cannot be prepared");
    return SSL_connect(link->tls) == 1 ? 0 : tls_failed(link, err);
}

/* --- interface --- */

int client_link_open(const struct client *client, struct client_link **ret_link, struct error *err)
{
    struct client_link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_memory(err);
    link->fd = client->socket ? connect_unix(client->socket, err) : connect_tcp(client, err);
    if (link->fd < 0 || (client->is_tls && start_tls(link, &client->host, err) < 0)) {
        client_link_close(link);
        return -1;
    }
    *ret_link = link;
    return 0;
}

void client_link_close(struct client_link *link)
{
    if (!link)
        return;
    SSL_free(link->tls);
    close_fd(&link->fd);
    free(link);
}

int client_link_send(struct client_link *link, const void *data, size_t len, struct error *err)
{
    const char *at = data;

    while (len) {
        ssize_t n = link->tls ? SSL_write(link->tls, at, len < 16384 ? (int)len : 16384)
                              : send(link->fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        /* A refused body is not read to its end; the answer gives the reason. */
        if (n < 0 && !link->tls && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        if (n <= 0)
            return link->tls ? tls_failed(link, err) : error_errno(err, "send to the server");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int client_link_wait(struct client_link *link, int other, const sigset_t *mask, struct error *err)
{
    struct pollfd p[] = {{.fd = link->fd, .events = POLLIN}, {.fd = other, .events = POLLIN}};

    if (link->tls && SSL_pending(link->tls) > 0)
        return 1;
    if (ppoll(p, ARRAY_SIZE(p), NULL, mask) >= 0)
        return p[0].revents ? 1 : 2;
    return errno == EINTR ? 0 : error_errno(err, "poll");
}

ssize_t client_link_receive(struct client_link *link, void *data, size_t size, struct error *err)
{
    ssize_t n;

    do {
        errno = 0;
        n = link->tls ? SSL_read(link->tls, data, size < 16384 ? (int)size : 16384)
                      : recv(link->fd, data, size, 0);
    } while (n < 0 && errno == EINTR);
    if (n > 0 || (n == 0 && !link->tls))
        return n;
    /* Only a close_notify is an end: anybody can cut a connection. */
    if (link->tls && SSL_get_error(link->tls, (int)n) == SSL_ERROR_ZERO_RETURN)
        return 0;
    return link->tls ? tls_failed(link, err) : error_errno(err, "receive from the server");
}

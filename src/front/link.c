#include "front/link.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/cleanup.h"
#include "front/client.h"

struct link {
    int fd;
    SSL_CTX *context; /* NULL: plain */
    SSL *tls;
};

static int no_server(struct error *err)
{
    error_set(err, E_NOT_FOUND, "no server is running");
    return error_hint(err, "start one with `belljar serve`");
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
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;

    if (getaddrinfo(client->host, client->port, &wanted, &found) != 0) {
        error_set(err, E_NOT_FOUND, "there is no host `%s`", client->host);
        return error_hint(err, "look at the address for a slip, or at this machine's network");
    }
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
            close_fd(&fd);
    }
    freeaddrinfo(found);
    return fd < 0 ? no_server(err) : fd;
}

/* --- TLS --- */

static int tls_failed(const struct link *link, const char *what, struct error *err)
{
    long verdict = link->tls ? SSL_get_verify_result(link->tls) : X509_V_OK;
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    if (verdict != X509_V_OK) {
        error_set(err, E_DENIED, "the server's certificate: %s",
                  X509_verify_cert_error_string(verdict));
        return error_hint(err, "SSL_CERT_FILE names further certificates to trust");
    }
    return error_set(err, E_PROTOCOL, "TLS: %s: %s", what, reason ? reason : "the server hung up");
}

/* The certificate has to be for the host that was asked for, name or address. */
static int set_peer(const struct link *link, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(link->tls);

    if (X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1)
        return 0;
    ERR_clear_error();
    return SSL_set1_host(link->tls, host) == 1 && SSL_set_tlsext_host_name(link->tls, host) == 1
               ? 0
               : -1;
}

static int start_tls(struct link *link, const char *host, struct error *err)
{
    link->context = SSL_CTX_new(TLS_client_method());
    if (!link->context || SSL_CTX_set_min_proto_version(link->context, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(link->context) != 1)
        return tls_failed(link, "prepare", err);
    SSL_CTX_set_verify(link->context, SSL_VERIFY_PEER, NULL);
    link->tls = SSL_new(link->context);
    if (!link->tls || set_peer(link, host) < 0 || SSL_set_fd(link->tls, link->fd) != 1)
        return tls_failed(link, "prepare", err);
    return SSL_connect(link->tls) == 1 ? 0 : tls_failed(link, "connect", err);
}

/* --- interface --- */

int link_open(const struct client *client, struct link **ret_link, struct error *err)
{
    struct link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_memory(err);
    link->fd = client->socket ? connect_unix(client->socket, err) : connect_tcp(client, err);
    if (link->fd < 0 || (client->is_tls && start_tls(link, client->host, err) < 0)) {
        link_close(link);
        return -1;
    }
    *ret_link = link;
    return 0;
}

void link_close(struct link *link)
{
    if (!link)
        return;
    SSL_free(link->tls);
    SSL_CTX_free(link->context);
    close_fd(&link->fd);
    free(link);
}

int link_send(struct link *link, const void *data, size_t len, struct error *err)
{
    const char *at = data;

    while (len) {
        ssize_t n = link->tls ? SSL_write(link->tls, at, len < 16384 ? (int)len : 16384)
                              : send(link->fd, at, len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        /* What is refused is not read to its end; the answer says why. */
        if (n < 0 && !link->tls && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        if (n <= 0)
            return link->tls ? tls_failed(link, "send", err)
                             : error_errno(err, "send to the server");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

int link_wait(struct link *link, const sigset_t *mask, struct error *err)
{
    struct pollfd p = {.fd = link->fd, .events = POLLIN};

    if (link->tls && SSL_pending(link->tls) > 0)
        return 1;
    if (ppoll(&p, 1, NULL, mask) >= 0)
        return 1;
    return errno == EINTR ? 0 : error_errno(err, "poll");
}

ssize_t link_receive(struct link *link, void *data, size_t size, struct error *err)
{
    ssize_t n;

    do {
        n = link->tls ? SSL_read(link->tls, data, size < 16384 ? (int)size : 16384)
                      : recv(link->fd, data, size, 0);
    } while (n < 0 && errno == EINTR);
    if (n >= 0 || (link->tls && SSL_get_error(link->tls, (int)n) == SSL_ERROR_ZERO_RETURN))
        return n < 0 ? 0 : n;
    return link->tls ? tls_failed(link, "receive", err)
                     : error_errno(err, "receive from the server");
}

#include "cli/serve_sockets.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/paths.h"

struct opening {
    struct serve_sockets *sockets;
    const struct config *config;
    struct http_server *http;
    bool is_tls, has_token;
};

/* Beyond this machine tokens must not travel in clear, and somebody has to have one. */
static int note_beyond(const struct opening *opening, bool is_beyond, struct error *err)
{
    if (is_beyond && !(opening->is_tls && opening->has_token)) {
        error_set(err, E_DENIED, "listening beyond this machine needs TLS and a token");
        return error_hint(err, "give --tls-cert and --tls-key, or listen on 127.0.0.1");
    }
    opening->sockets->is_beyond |= is_beyond;
    return 0;
}

static int open_tcp(const struct opening *opening, struct error *err)
{
    const char *listen = opening->config->listen;
    struct serve_sockets *sockets = opening->sockets;
    struct listen_address address;
    cleanup_close int fd = listen_tcp(listen, err);

    if (fd < 0 || listen_look(fd, &address, err) < 0 ||
        note_beyond(opening, !address.is_loopback, err) < 0)
        return -1;
    (void)snprintf(sockets->origin, sizeof(sockets->origin), "%s://%.*s:%d",
                   opening->is_tls ? "https" : "http", (int)(strrchr(listen, ':') - listen), listen,
                   address.port);
    return http_listen(opening->http, take_fd(fd), opening->is_tls ? HTTP_TLS : HTTP_PLAIN, err);
}

static int open_unix(const struct opening *opening, struct error *err)
{
    const char *path = opening->config->socket;
    cleanup_free char *usual = NULL;
    int fd;

    if (strcmp(path, "none") == 0)
        return 0;
    if (!*path) {
        usual = paths_runtime("http.sock", err);
        if (!usual)
            return -1;
        path = usual;
    }
    fd = listen_unix_open(&opening->sockets->own_unix, path, err);
    return fd < 0 ? -1 : http_listen(opening->http, fd, HTTP_UNIX, err);
}

/* Clients of the whole cluster come by it. */
static int open_cluster(const struct opening *opening, struct error *err)
{
    const char *path = opening->config->cluster_socket;
    int fd;

    if (!*path)
        return 0;
    if (!opening->has_token) {
        error_set(err, E_DENIED, "`cluster_socket` needs tokens");
        return error_hint(err, "serve without --no-auth, or without the socket");
    }
    fd = listen_unix_open(&opening->sockets->cluster, path, err);
    return fd < 0 ? -1 : http_listen(opening->http, fd, HTTP_CLUSTER, err);
}

/* TLS is for those of the network. */
static int open_passed(const struct opening *opening, int *fd, struct error *err)
{
    struct listen_address address;

    if (listen_look(*fd, &address, err) < 0 ||
        note_beyond(opening, !address.is_unix && !address.is_loopback, err) < 0)
        return -1;
    return http_listen(opening->http, take_fd(*fd),
                       address.is_unix   ? HTTP_UNIX
                       : opening->is_tls ? HTTP_TLS
                                         : HTTP_PLAIN,
                       err);
}

int serve_sockets_take(struct serve_sockets *sockets, struct error *err)
{
    sockets->n_passed = service_sockets(sockets->passed, err);
    return sockets->n_passed < 0 ? -1 : 0;
}

/* If a service manager has opened sockets, the server uses only those. */
int serve_sockets_open(struct serve_sockets *sockets, const struct config *config,
                       struct http_server *http, bool is_tls, bool has_token, struct error *err)
{
    const struct opening opening = {sockets, config, http, is_tls, has_token};

    for (int i = 0; i < sockets->n_passed; i++)
        if (open_passed(&opening, &sockets->passed[i], err) < 0)
            return -1;
    if (open_cluster(&opening, err) < 0)
        return -1;
    if (sockets->n_passed)
        return 0;
    return open_tcp(&opening, err) < 0 ? -1 : open_unix(&opening, err);
}

void serve_sockets_done(struct serve_sockets *sockets)
{
    listen_unix_done(&sockets->own_unix);
    listen_unix_done(&sockets->cluster);
}

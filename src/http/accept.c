/* Connections come in: each gets a peer, a slot and a share, and goes to the listener's process. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "http/internal.h"

/* A listener that is being started again gets no connections. */
void http_rest_or_listen(struct http_server *server)
{
    bool is_full = server->count >= server->options.max_connections;

    if (server->is_stopping)
        return;
    server->is_full = is_full;
    for (size_t i = 0; i < server->n_listeners; i++)
        (void)(is_full || !http_link_is_up(*server->listeners[i].link)
                   ? evconnlistener_disable(server->listeners[i].socket)
                   : evconnlistener_enable(server->listeners[i].socket));
}

/* Nothing has been asked that deserves an answer, or the answer is out. */
static bool is_dispensable(const struct http_connection *c)
{
    return c->state == HTTP_IDLE || c->state == HTTP_LINGERING;
}

/* Of those that are dispensable, from that place or, with NULL, from any, the one that is so for
 * longest. */
static struct http_connection *find_dispensable(struct http_server *server,
                                                const struct http_peer *peer)
{
    struct http_connection *oldest = NULL;

    for (struct http_connection *c = TAILQ_FIRST(&server->connections); c;
         c = TAILQ_NEXT(c, of_server))
        if (is_dispensable(c) && (!peer || c->peer == peer) &&
            (!oldest || c->since_ns < oldest->since_ns))
            oldest = c;
    return oldest;
}

static void make_room(struct http_server *server)
{
    struct http_connection *oldest =
        server->count + 1 < server->options.max_connections ? NULL : find_dispensable(server, NULL);

    if (oldest)
        http_cut(oldest);
}

/* A peer with too many connections loses an idle one, before `c` is in the list. If none is idle,
 * the new one is refused at its first request and is idle until then: the next one takes its
 * place. */
static void keep_to_share(struct http_server *server, struct http_connection *c)
{
    struct http_connection *oldest;

    if (c->is_cluster || c->peer->count <= server->options.max_per_peer)
        return;
    oldest = find_dispensable(server, c->peer);
    if (oldest)
        http_cut(oldest);
    else
        c->is_surplus = true;
}

static void look_at_peer(struct http_connection *c, int fd, const struct sockaddr *address)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)); /* answers are whole */
    c->is_unix = address->sa_family == AF_UNIX && !c->is_cluster;
    c->peer_uid = (uid_t)-1;
    if (address->sa_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        c->peer_uid = peer.uid;
}

/* Returns 1 when the listener has no room for it now. */
static int pass(struct http_connection *c)
{
    struct listener_connection connection = {.connection = c->id, .is_tls = c->is_tls};
    int r;

    memcpy(connection.peer, c->peer->key, sizeof(connection.peer));
    r = http_link_pass(c->link, &connection, c->fd);
    if (r == 0)
        close_fd(&c->fd);
    return r;
}

static void on_room(void *user, struct http_link *link)
{
    struct http_server *server = user;

    for (struct http_connection *c = TAILQ_FIRST(&server->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, of_server);
        if (c->link == link && c->fd >= 0) {
            int r = pass(c);

            if (r < 0)
                http_cut(c);
            else if (r > 0)
                return;
        }
    }
}

static void on_up(void *user, struct http_link *link)
{
    struct http_server *server = user;

    if (server->is_stopping)
        http_link_say(link, LISTENER_STOP, 0, NULL, 0);
    on_room(server, link);
    http_rest_or_listen(server);
}

static void on_down(void *user, struct http_link *link)
{
    struct http_server *server = user;

    for (struct http_connection *c = TAILQ_FIRST(&server->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, of_server);
        if (c->link == link && c->fd < 0) /* others wait for the next one */
            http_cut(c);
    }
    http_rest_or_listen(server);
}

static struct http_connection *new_connection(const struct http_listener *listener, int fd)
{
    struct http_server *server = listener->server;
    struct http_connection *c = calloc(1, sizeof(*c));

    if (c) {
        c->server = server;
        c->link = *listener->link;
        c->is_tls = listener->is_tls;
        c->is_cluster = listener->is_cluster;
        c->service = listener->service;
        c->account = &server->nobody;
        c->fd = fd;
        c->out = evbuffer_new();
    }
    if (!c || !c->out || http_take_slot(server, c) < 0) {
        if (c)
            http_free_connection(c);
        else
            (void)close(fd);
        return NULL;
    }
    return c;
}

static void on_accept(struct evconnlistener *socket, evutil_socket_t fd, struct sockaddr *address,
                      int address_len, void *arg)
{
    const struct http_listener *listener = arg;
    struct http_server *server = listener->server;
    uint8_t key[HTTP_PEER_KEY];
    struct http_connection *c;

    (void)socket;
    (void)address_len;
    loop_mark(server->loop);
    make_room(server);
    c = new_connection(listener, fd);
    if (!c)
        return;
    look_at_peer(c, fd, address);
    http_peer_key(address, c->peer_uid, key);
    c->peer = http_peer_join(&server->peers, key);
    if (!c->peer) {
        http_give_slot_back(server, c);
        http_free_connection(c);
        return;
    }
    keep_to_share(server, c);
    TAILQ_INSERT_TAIL(&server->connections, c, of_server);
    server->count++;
    http_enter(c, HTTP_IDLE);
    if (pass(c) < 0)
        http_cut(c);
    if (server->count >= server->options.max_connections)
        http_rest_or_listen(server);
}

/* Out of descriptors, most likely: the listeners rest until the next tick. */
static void on_accept_error(struct evconnlistener *socket, void *arg)
{
    struct http_server *server = ((const struct http_listener *)arg)->server;

    (void)socket;
    for (size_t i = 0; i < server->n_listeners; i++)
        (void)evconnlistener_disable(server->listeners[i].socket);
    server->is_full = true;
}

static const struct http_link_events link_events = {http_on_frame, on_up, on_down, on_room};

/* The process is started with the first socket of its kind. */
static int open_link(struct http_server *server, int kind, struct error *err)
{
    const struct listener_setup setup = {
        .idle_ms = server->options.idle_ms,
        .connections = server->options.max_connections,
        .cert = kind == HTTP_NETWORK ? server->options.cert : (struct span){"", 0},
        .key = kind == HTTP_NETWORK ? server->options.key : (struct span){"", 0},
    };

    if (server->links[kind])
        return 0;
    return http_link_open(server->loop, &setup, &link_events, server, server->options.disk,
                          &server->links[kind], err);
}

int http_listen(struct http_server *server, int fd, enum http_socket kind, struct error *err)
{
    struct http_listener *listener = &server->listeners[server->n_listeners];
    int link = kind == HTTP_UNIX || kind == HTTP_CLUSTER ? HTTP_LOCAL : HTTP_NETWORK;

    if (server->n_listeners == HTTP_LISTENERS_MAX) {
        (void)close(fd);
        return error_set(err, E_TOO_LARGE, "at most %d listening sockets", HTTP_LISTENERS_MAX);
    }
    if (open_link(server, link, err) < 0) {
        (void)close(fd);
        return -1;
    }
    *listener = (struct http_listener){.server = server,
                                       .link = &server->links[link],
                                       .is_tls = kind == HTTP_TLS,
                                       .is_cluster = kind == HTTP_CLUSTER};
    listener->socket = evconnlistener_new(loop_base(server->loop), on_accept, listener,
                                          LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (!listener->socket) {
        (void)close(fd);
        return error_memory(err);
    }
    evconnlistener_set_error_cb(listener->socket, on_accept_error);
    server->n_listeners++;
    return 0;
}

int http_listen_for(struct http_server *server, int fd, uint16_t service, struct error *err)
{
    if (http_listen(server, fd, HTTP_PLAIN, err) < 0)
        return -1;
    server->listeners[server->n_listeners - 1].service = service;
    return 0;
}

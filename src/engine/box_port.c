/* Connections to servers that run inside: pid 1 makes the socket, on the sandbox's own loopback,
 * and hands it over. Nothing inside learns of a way out: the socket leads in, and only we hold it.
 *
 * Pid 1 is ours, but what it sends is checked as a stranger's: that it is a TCP socket, and whom it
 * is connected to. The first bytes wait until it is. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"

#define CONNECTS_MAX 64

/* A server whose queue is full has so long to take one. */
#define PATIENCE_MS 10000

struct box_port {
    struct box_port *next;
    struct box *box;
    uint16_t port;
    int fd; /* -1: pid 1 has not answered */
    struct loop_watch *writable, *patience;
    box_connected_fn fn; /* NULL: nobody waits any more */
    void *user;
};

static void unlink_port(const struct box_port *p)
{
    for (struct box_port **at = &p->box->ports; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            return;
        }
}

static void free_port(struct box_port *p)
{
    unlink_port(p);
    loop_watch_free(p->writable);
    loop_watch_free(p->patience);
    close_fd(&p->fd);
    free(p);
}

/* Tells who waits, and takes nothing of the error. */
static void finish(struct box_port *p, int fd, const struct error *err)
{
    box_connected_fn fn = p->fn;
    void *user = p->user;

    free_port(p);
    if (fn)
        fn(user, fd, err);
    else if (fd >= 0)
        (void)close(fd);
}

static void fail(struct box_port *p, int why)
{
    struct error err = {0};

    error_set(&err, E_PROTOCOL, "no server of the session answers at port %u: %s", p->port,
              strerror(why));
    error_hint(&err, "start one that listens on 127.0.0.1:%u or 0.0.0.0:%u", p->port, p->port);
    finish(p, -1, &err);
    error_done(&err);
}

static int option(int fd, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, name, &value, &len) == 0 ? value : -1;
}

static bool is_to(int fd, uint16_t port)
{
    struct sockaddr_in address = {0};
    socklen_t len = sizeof(address);

    return getpeername(fd, (struct sockaddr *)&address, &len) == 0 && len == sizeof(address) &&
           address.sin_family == AF_INET && ntohs(address.sin_port) == port &&
           ntohl(address.sin_addr.s_addr) == INADDR_LOOPBACK;
}

static void on_writable(void *arg)
{
    struct box_port *p = arg;
    int why = option(p->fd, SO_ERROR);

    if (why == 0 && !is_to(p->fd, p->port))
        why = EPROTO;
    if (why != 0)
        fail(p, why < 0 ? EPROTO : why);
    else
        finish(p, take_fd(p->fd), NULL);
}

static void on_patience(void *arg)
{
    fail(arg, ETIMEDOUT);
}

/* Closing it must never wait. */
static bool is_usable(int fd)
{
    const struct linger none = {0};

    return option(fd, SO_DOMAIN) == AF_INET && option(fd, SO_TYPE) == SOCK_STREAM &&
           option(fd, SO_PROTOCOL) == IPPROTO_TCP && fcntl(fd, F_SETFL, O_NONBLOCK) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) == 0;
}

bool box_on_connected(struct box *b, struct unpack *u)
{
    struct box_port *p = b->ports;
    uint32_t why = unpack_u32(u);
    int fd = -1;

    while (p && p->fd >= 0)
        p = p->next;
    if (!p || !unpack_ok(u))
        return false;
    b->init.awaited_fds--;
    if (why == 0) {
        fd = frame_take_fd(&b->init.decoder);
        if (fd < 0)
            return false;
        p->fd = fd;
        if (!is_usable(fd))
            return false; /* the box ends, and with it this */
        p->writable = loop_watch_fd(b->loop, fd, LOOP_WRITE, on_writable, p);
        loop_timer_start(p->patience, PATIENCE_MS);
        if (p->writable)
            return true;
        why = ENOMEM;
    }
    fail(p, why < 4096 ? (int)why : EPROTO);
    return true;
}

void box_drop_ports(struct box *b)
{
    while (b->ports)
        fail(b->ports, ECONNRESET);
}

int box_connect(struct box *b, uint16_t port, box_connected_fn fn, void *user,
                struct box_port **ret_waiting, struct error *err)
{
    const uint32_t word = port;
    struct box_port *p, **end = &b->ports;
    size_t count = 0;

    for (; *end; end = &(*end)->next)
        count++;
    if (count >= CONNECTS_MAX || b->state == BOX_ENDING)
        return error_set(err, E_BUSY, "too many connections to the session begin at once");
    p = calloc(1, sizeof(*p));
    if (!p)
        return error_memory(err);
    *p = (struct box_port){.box = b, .port = port, .fd = -1, .fn = fn, .user = user};
    *end = p;
    p->patience = loop_timer(b->loop, on_patience, p);
    if (!p->patience || box_tell_init(b, WIRE_CONNECT, &word, 1, NULL, 0, err) < 0) {
        if (!p->patience)
            error_memory(err);
        free_port(p);
        return -1;
    }
    b->init.awaited_fds++;
    *ret_waiting = p;
    return 0;
}

void box_connect_forget(struct box_port *waiting)
{
    waiting->fn = NULL;
}

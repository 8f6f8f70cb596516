/* One side of a link: passes bytes between a serial port and connections, which are descriptors of
 * stream sockets. The host adds connections; the machine's side asks its owner for a socket when
 * one is opened.
 *
 * For poll(): mux_prepare(), poll(), mux_handle(). Nothing waits, and nothing is larger than its
 * window, whatever the other side sends: per connection LINK_WINDOW bytes that its socket has not
 * taken, and MUX_PORT_MAX bytes that the port has not.
 *
 * A connection that ends on one side ends on the other; what was sent before it arrives. The
 * process ignores SIGPIPE.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "machine/link.h"

#define MUX_CONNECTIONS 256
#define MUX_POLL        (MUX_CONNECTIONS + 1)
#define MUX_PORT_MAX    (384 * 1024)

struct mux;

struct mux_options {
    enum link_side side;
    int port;       /* non-blocking; becomes the mux's */
    uint64_t epoch; /* of the host: larger than any that was used on this port */
    /* Of the machine: a new socket, non-blocking, connected or about to be. -1: there is none, and
     * the connection is closed. */
    int (*on_open)(void *user);
    void *user;
};

/* NULL: out of memory; the port is the caller's then. */
struct mux *mux_new(const struct mux_options *options);

/* Closes everything. Accepts NULL. */
void mux_free(struct mux *mux);

/* The machine has answered: it is there. */
bool mux_is_up(const struct mux *mux);

/* Of the host: mux_add() takes one more. */
bool mux_has_room(const struct mux *mux);

/* Of the host: one more connection, whose socket becomes the mux's and is non-blocking. -1: there
 * is no room, or the machine is not up. */
int mux_add(struct mux *mux, int fd);

/* What to wait for: fills at most MUX_POLL, and returns how many. */
size_t mux_prepare(struct mux *mux, struct pollfd *fds);

enum mux_state {
    MUX_UP,
    MUX_GONE,   /* nobody is at the other end of the port */
    MUX_BROKEN, /* the other side breaks the rules: the host ends such a machine */
};

/* After poll(), with the same array. A machine's side stays up: it waits for the host to come back,
 * and forgets all connections. */
enum mux_state mux_handle(struct mux *mux, const struct pollfd *fds, size_t count);

size_t mux_count(const struct mux *mux);

/* Sockets to listen on: where, and whether that is safe. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* HOST:PORT or [IPv6]:PORT, addresses only; port 0 lets Linux choose. Returns the descriptor.
 */
int listen_tcp(const char *address, struct error *err);

/* The address of a listening socket, whoever has opened it. */
struct listen_address {
    bool is_unix;
    bool is_loopback; /* nobody but this machine reaches it */
    int port;         /* of those that have one */
};

int listen_look(int fd, struct listen_address *ret_address, struct error *err);

/* A socket in the file system that only its user can connect to, and the lock beside it that says
 * that a server lives. A janitor removes both when we are killed. */
struct listen_unix {
    int lock;
    char *path, *lock_path;
    pid_t janitor; /* 0: none */
};

/* A socket that nobody serves is replaced; E_BUSY where somebody does. Returns the descriptor. */
int listen_unix_open(struct listen_unix *where, const char *path, struct error *err);
void listen_unix_done(struct listen_unix *where); /* removes the files */

/* The protocol between a service manager and its daemon, as systemd defines it, without its
 * library: sockets that are open before we start, and notifications of our state.
 *
 * Nothing of it reaches a child: the variables are taken out of the environment when they are read.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define SERVICE_SOCKETS_MAX 8

/* Listening sockets that were passed to us, which are the caller's to close: they do not block and
 * do not outlive an exec. Returns their number, 0 where there are none; E_INVALID where one of them
 * is not what can be listened on. */
int service_sockets(int fds[SERVICE_SOCKETS_MAX], struct error *err);

/* The socket for notifications; without $NOTIFY_SOCKET, service_notify() does nothing. */
void service_open(void);

/* "READY=1", "STOPPING=1", …: one assignment per line. Nobody waits for it and nothing fails. */
void service_notify(const char *state);

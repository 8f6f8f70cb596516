/* TLS for the listener: OpenSSL through libevent's buffered sockets. TLS 1.2 and newer. */
#pragma once

#include "base/error.h"

struct bufferevent;
struct event_base;
struct tls;

/* PEM files: the certificate with its chain, and its key, which nobody else may read. */
int tls_open(const char *cert_path, const char *key_path, struct tls **ret_tls, struct error *err);
void tls_free(struct tls *tls);

/* A connection whose handshake is about to begin; it is over with BEV_EVENT_CONNECTED. The socket
 * is the bufferevent's. NULL: out of memory, and the socket is still the caller's. */
struct bufferevent *tls_accept(struct tls *tls, struct event_base *base, int fd);

/* Says that nothing more follows. */
void tls_close(struct bufferevent *socket);

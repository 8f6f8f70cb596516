/* TLS of the listener: OpenSSL through libevent's buffered sockets. TLS 1.2 and newer. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "wire/pack.h"

/* The most that a certificate with its chain, or a key, may take. */
#define TLS_PEM_BYTES (64 * KIB)

struct bufferevent;
struct event_base;
struct tls;

/* In the engine: reads the operator's PEM files, the certificate with its chain and its key, which
 * nobody else may read, and tries whether they fit. The caller wipes and frees the key. */
int tls_read_files(const char *cert_path, const char *key_path, struct buf *ret_cert,
                   struct buf *ret_key, struct error *err);

/* The text of these files. */
struct tls_pair {
    struct span cert, key;
};

int tls_open(const struct tls_pair *pair, struct tls **ret_tls, struct error *err);

/* One connection, from its first byte to the end of the handshake. */
struct tls_greeting;

/* NULL: out of memory. The socket stays the caller's. */
struct tls_greeting *tls_greet(struct tls *tls, int fd);
void tls_greeting_free(struct tls_greeting *greeting);

enum tls_step { TLS_FAILED, TLS_WAITS_TO_READ, TLS_WAITS_TO_WRITE, TLS_DONE };

/* Does what the bytes that are there allow for. With the client's first words that is a signature:
 * a millisecond, or several with a large key. */
enum tls_step tls_greeting_step(struct tls_greeting *greeting);

/* After TLS_DONE: frees the greeting; the socket is the bufferevent's. NULL: out of memory, and the
 * greeting and the socket are as they were. */
struct bufferevent *tls_greeting_finish(struct tls_greeting *greeting, struct event_base *base,
                                        int fd);

/* Says that nothing more follows. */
void tls_close(struct bufferevent *socket);

/* TLS towards a server: one set of rules for every connection that Belljar opens.
 *
 * TLS 1.2 or newer. The certificate must be valid now, be signed by an authority that this machine
 * trusts (SSL_CERT_FILE and SSL_CERT_DIR add to them) and name the host that was asked for. A
 * wildcard stands for a whole label. No renegotiation, no compression, no keys shorter than 112
 * bits of security.
 */
#pragma once

#include <openssl/types.h>

#include "base/address.h"
#include "base/error.h"

struct bufferevent;
struct loop;

/* A client for that host, not connected. NULL: it could not be prepared. */
SSL *tls_client_new(const struct host *host);

/* Makes a bufferevent without a socket that owns the connection. The server may close the
 * connection without a close_notify, as many do: HTTP itself gives the length of a message. */
struct bufferevent *tls_client_bufferevent(struct loop *loop, const struct host *host);

/* Sets the error when TLS is why a connection failed: E_DENIED for the certificate, E_PROTOCOL for
 * anything else, of which `code` is OpenSSL's number or 0. Returns false when TLS is not the
 * reason. */
bool tls_client_explain(const SSL *ssl, unsigned long code, struct error *err);

/* The reason, for a bufferevent made above. */
bool tls_client_explain_bufferevent(struct bufferevent *bufferevent, struct error *err);

#include "base/tls_client.h"

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/loop.h"

/* 112 bits: RSA of 2048 bits, no SHA-1 in signatures. */
#define SECURITY_LEVEL 2

/* Made when first needed: reading all certificates takes some ten milliseconds. */
static SSL_CTX *context(void)
{
    static SSL_CTX *ours;

    if (ours)
        return ours;
    ours = SSL_CTX_new(TLS_client_method());
    if (!ours)
        return NULL;
    (void)SSL_CTX_set_options(ours, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_security_level(ours, SECURITY_LEVEL);
    SSL_CTX_set_verify(ours, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(ours, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(ours) != 1) {
        SSL_CTX_free(ours);
        ours = NULL;
    }
    return ours;
}

/* The name or address that the certificate must have. */
static bool set_host(SSL *ssl, const struct host *host)
{
    if (host->is_address)
        return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), host->address.bytes,
                                         host->address.is_v6 ? 16 : 4) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host->name) == 1 && SSL_set_tlsext_host_name(ssl, host->name) == 1;
}

SSL *tls_client_new(const struct host *host)
{
    SSL_CTX *ctx = context();
    SSL *ssl = ctx ? SSL_new(ctx) : NULL;

    if (ssl && set_host(ssl, host))
        return ssl;
    SSL_free(ssl);
    return NULL;
}

struct bufferevent *tls_client_bufferevent(struct loop *loop, const struct host *host)
{
    SSL *ssl = tls_client_new(host);
    struct bufferevent *made =
        ssl ? bufferevent_openssl_socket_new(loop_base(loop), -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                             BEV_OPT_CLOSE_ON_FREE)
            : NULL;

    if (made)
        bufferevent_openssl_set_allow_dirty_shutdown(made, 1);
    else
        SSL_free(ssl);
    return made;
}

bool tls_client_explain(const SSL *ssl, unsigned long code, struct error *err)
{
    long verdict = SSL_get_verify_result(ssl);
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    ERR_clear_error();
    if (verdict != X509_V_OK) {
        error_set(err, E_DENIED, "the server's certificate: %s",
                  X509_verify_cert_error_string(verdict));
        error_hint(err, "SSL_CERT_FILE names further certificates to trust");
        return true;
    }
    if (code)
        error_set(err, E_PROTOCOL, "TLS: %s", reason ? reason : "the handshake failed");
    return code;
}

bool tls_client_explain_bufferevent(struct bufferevent *bufferevent, struct error *err)
{
    return tls_client_explain(bufferevent_openssl_get_ssl(bufferevent),
                              bufferevent_get_openssl_error(bufferevent), err);
}

/* TLS from the gate to a host, where a request comes to the gate in plain text and is to leave in
 * safety. The host's certificate is checked against those that this machine trusts. */
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "reach/egress_internal.h"

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
    SSL_CTX_set_verify(ours, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_set_min_proto_version(ours, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(ours) != 1) {
        SSL_CTX_free(ours);
        ours = NULL;
    }
    return ours;
}

static int expect(SSL *ssl, const struct host *host)
{
    if (host->is_address)
        return X509_VERIFY_PARAM_set1_ip(SSL_get0_param(ssl), host->address.bytes,
                                         host->address.is_v6 ? 16 : 4);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, host->name) == 1 && SSL_set_tlsext_host_name(ssl, host->name) == 1;
}

struct bufferevent *egress_tls_new(struct loop *loop, const struct host *host)
{
    SSL *ssl = context() ? SSL_new(context()) : NULL;
    struct bufferevent *outer;

    if (!ssl)
        return NULL;
    outer = expect(ssl, host) == 1
                ? bufferevent_openssl_socket_new(loop_base(loop), -1, ssl,
                                                 BUFFEREVENT_SSL_CONNECTING, BEV_OPT_CLOSE_ON_FREE)
                : NULL;
    if (!outer) {
        SSL_free(ssl);
        return NULL;
    }
    /* Many servers end a connection without saying so; how long an answer is, it says itself. */
    bufferevent_openssl_set_allow_dirty_shutdown(outer, 1);
    return outer;
}

const char *egress_tls_trouble(struct bufferevent *outer)
{
    const SSL *ssl = bufferevent_openssl_get_ssl(outer);
    long verdict = SSL_get_verify_result(ssl);
    unsigned long code = bufferevent_get_openssl_error(outer);

    ERR_clear_error();
    if (verdict != X509_V_OK)
        return X509_verify_cert_error_string(verdict);
    return code ? "the host does not speak TLS as it should" : NULL;
}

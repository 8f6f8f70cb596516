#include "http/tls.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/cleanup.h"

struct tls {
    SSL_CTX *context;
};

static int fail(const char *what, const char *path, struct error *err)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return error_set(err, E_INVALID, "%s `%s`: %s", what, path, reason ? reason : "it is unusable");
}

/* A key that others can read is not a secret. The group may: that is how packages share one. */
static int check_key(const char *path, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        error_errno(err, "`tls_key` `%s`", path);
        err->code = E_INVALID;
        return -1;
    }
    if ((st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) == 0)
        return 0;
    error_set(err, E_DENIED, "`tls_key` `%s` can be read or changed by others", path);
    return error_hint(err, "chmod 600 it");
}

static int load(SSL_CTX *context, const char *cert_path, const char *key_path, struct error *err)
{
    if (!SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION))
        return error_set(err, E_INTERNAL, "OpenSSL has no TLS 1.2");
    if (SSL_CTX_use_certificate_chain_file(context, cert_path) != 1)
        return fail("`tls_cert`", cert_path, err);
    if (check_key(key_path, err) < 0)
        return -1;
    if (SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1)
        return fail("`tls_key`", key_path, err);
    return 0;
}

int tls_open(const char *cert_path, const char *key_path, struct tls **ret_tls, struct error *err)
{
    struct tls *tls = calloc(1, sizeof(*tls));

    if (tls)
        tls->context = SSL_CTX_new(TLS_server_method());
    if (!tls || !tls->context) {
        tls_free(tls);
        return error_memory(err);
    }
    (void)SSL_CTX_set_options(tls->context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    if (load(tls->context, cert_path, key_path, err) < 0) {
        tls_free(tls);
        return -1;
    }
    *ret_tls = tls;
    return 0;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

struct tls_greeting {
    SSL *ssl;
};

struct tls_greeting *tls_greet(struct tls *tls, int fd)
{
    struct tls_greeting *greeting = calloc(1, sizeof(*greeting));

    if (greeting)
        greeting->ssl = SSL_new(tls->context);
    if (!greeting || !greeting->ssl || SSL_set_fd(greeting->ssl, fd) != 1) {
        tls_greeting_free(greeting);
        return NULL;
    }
    SSL_set_accept_state(greeting->ssl);
    return greeting;
}

void tls_greeting_free(struct tls_greeting *greeting)
{
    if (!greeting)
        return;
    SSL_free(greeting->ssl);
    free(greeting);
}

enum tls_step tls_greeting_step(struct tls_greeting *greeting)
{
    int r = SSL_do_handshake(greeting->ssl);
    int why = r == 1 ? SSL_ERROR_NONE : SSL_get_error(greeting->ssl, r);

    ERR_clear_error();
    switch (why) {
    case SSL_ERROR_NONE:
        return TLS_DONE;
    case SSL_ERROR_WANT_READ:
        return TLS_WAITS_TO_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WAITS_TO_WRITE;
    default:
        return TLS_FAILED;
    }
}

struct bufferevent *tls_greeting_finish(struct tls_greeting *greeting, struct event_base *base,
                                        int fd)
{
    struct bufferevent *socket = bufferevent_openssl_socket_new(
        base, fd, greeting->ssl, BUFFEREVENT_SSL_OPEN, BEV_OPT_CLOSE_ON_FREE);

    if (socket)
        free(greeting);
    return socket;
}

void tls_close(struct bufferevent *socket)
{
    (void)SSL_shutdown(bufferevent_openssl_get_ssl(socket)); /* one way; the other comes or not */
    ERR_clear_error();
}

#include "http/tls.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "base/cleanup.h"

struct tls {
    SSL_CTX *context;
};

static int fail(const char *what, struct error *err)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return error_set(err, E_INVALID, "%s: %s", what, reason ? reason : "it is unusable");
}

/* --- the operator's files --- */

/* A key that others can read is not a secret. The group may: that is how packages share one. */
static int check_key(int fd, const char *path, struct error *err)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "`tls_key` `%s`", path);
    if ((st.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) == 0)
        return 0;
    error_set(err, E_DENIED, "`tls_key` `%s` can be read or changed by others", path);
    return error_hint(err, "chmod 600 it");
}

static int read_file(const char *name, const char *path, bool is_key, struct buf *ret_text,
                     struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        error_errno(err, "`%s` `%s`", name, path);
        err->code = E_INVALID;
        return -1;
    }
    if (is_key && check_key(fd, path, err) < 0)
        return -1;
    buf_init(ret_text, TLS_PEM_BYTES);
    return buf_read_fd(ret_text, fd, err) < 0 ? error_wrap(err, "`%s` `%s`", name, path) : 0;
}

/* A key with a pass phrase, for which OpenSSL asks at the terminal, is handed on without one. */
static int open_key(const char *path, struct buf *text, struct error *err)
{
    BIO *in = BIO_new_mem_buf(text->data, (int)text->len), *out = BIO_new(BIO_s_mem());
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, NULL) : NULL;
    char *data = NULL;
    int r = 0;

    if (!key || !out || PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) != 1) {
        (void)fail("`tls_key`", err);
        r = error_wrap(err, "`%s`", path);
    } else {
        long len = BIO_get_mem_data(out, &data);

        explicit_bzero(text->data, text->len);
        buf_clear(text);
        r = buf_add(text, data, (size_t)len, err);
        explicit_bzero(data, (size_t)len);
    }
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(out);
    return r;
}

static void close_tls(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    free(tls);
}

int tls_read_files(const char *cert_path, const char *key_path, struct buf *ret_cert,
                   struct buf *ret_key, struct error *err)
{
    struct tls *tls = NULL;

    if (read_file("tls_cert", cert_path, false, ret_cert, err) < 0 ||
        read_file("tls_key", key_path, true, ret_key, err) < 0 ||
        open_key(key_path, ret_key, err) < 0 ||
        tls_open(&(struct tls_pair){{buf_str(ret_cert), ret_cert->len},
                                    {buf_str(ret_key), ret_key->len}},
                 &tls, err) < 0)
        return -1;
    close_tls(tls);
    return 0;
}

/* --- the certificate and its key --- */

static int add_chain(SSL_CTX *context, BIO *in)
{
    X509 *cert = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL);
    int r = cert ? SSL_CTX_use_certificate(context, cert) : 0;

    X509_free(cert);
    while (r == 1 && (cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
        if (SSL_CTX_add0_chain_cert(context, cert) != 1) {
            X509_free(cert);
            r = 0;
        }
    if (r == 1 && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE)
        ERR_clear_error(); /* the end of the text */
    return r == 1 && ERR_peek_error() == 0;
}

static int add_key(SSL_CTX *context, BIO *in)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL);
    int r =
        key && SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_check_private_key(context) == 1;

    EVP_PKEY_free(key);
    return r;
}

static int load(SSL_CTX *context, struct span text, int (*add)(SSL_CTX *context, BIO *in),
                const char *name, struct error *err)
{
    BIO *in = BIO_new_mem_buf(text.data, (int)text.len);
    int r = in && add(context, in) ? 0 : fail(name, err);

    BIO_free(in);
    return r;
}

int tls_open(const struct tls_pair *pair, struct tls **ret_tls, struct error *err)
{
    struct tls *tls = calloc(1, sizeof(*tls));

    if (tls)
        tls->context = SSL_CTX_new(TLS_server_method());
    if (!tls || !tls->context) {
        close_tls(tls);
        return error_memory(err);
    }
    (void)SSL_CTX_set_options(tls->context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    if (!SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION))
        (void)error_set(err, E_INTERNAL, "OpenSSL has no TLS 1.2");
    else if (load(tls->context, pair->cert, add_chain, "`tls_cert`", err) == 0 &&
             load(tls->context, pair->key, add_key, "`tls_key`", err) == 0) {
        *ret_tls = tls;
        return 0;
    }
    close_tls(tls);
    return -1;
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

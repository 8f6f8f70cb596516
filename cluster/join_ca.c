#include "cluster/join_ca.h"

#include <stdbool.h>
#include <string.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/hex.h"

/* A clock that is a little behind must not find the certificate to be of the future. */
#define BACKDATED_S 3600L

#define SERIAL_BYTES 16

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}

static void free_cert(X509 **cert)
{
    X509_free(*cert);
}

void join_pair_done(struct join_pair *pair)
{
    buf_done(&pair->cert);
    buf_wipe(&pair->key);
    buf_done(&pair->key);
}

static int fail(const char *what, struct error *err)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return error_set(err, E_INVALID, "%s: %s", what, reason ? reason : "OpenSSL cannot do it");
}

/* --- reading and writing --- */

static X509 *read_cert(const struct buf *text)
{
    BIO *in = BIO_new_mem_buf(buf_str(text), (int)text->len);
    X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;

    BIO_free(in);
    return cert;
}

/* A key with a pass phrase counts as unreadable: nobody is there to type it. */
static int no_pass_phrase(char *text, int size, int writes, void *user)
{
    (void)text, (void)size, (void)writes, (void)user;
    return -1;
}

static EVP_PKEY *read_key(const struct buf *text)
{
    BIO *in = BIO_new_mem_buf(buf_str(text), (int)text->len);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_pass_phrase, NULL) : NULL;

    BIO_free(in);
    return key;
}

static int write_pair(X509 *cert, EVP_PKEY *key, struct join_pair *ret_pair, struct error *err)
{
    BIO *cert_out = BIO_new(BIO_s_mem()), *key_out = BIO_new(BIO_s_secmem());
    char *text = NULL;
    long len = 0;
    int r = -1;

    if (cert_out && key_out && PEM_write_bio_X509(cert_out, cert) == 1 &&
        PEM_write_bio_PKCS8PrivateKey(key_out, key, NULL, NULL, 0, NULL, NULL) == 1) {
        len = BIO_get_mem_data(cert_out, &text);
        r = buf_add(&ret_pair->cert, text, (size_t)len, err);
        len = BIO_get_mem_data(key_out, &text);
        if (r == 0)
            r = buf_add(&ret_pair->key, text, (size_t)len, err);
        explicit_bzero(text, (size_t)len);
    } else {
        (void)fail("write a certificate", err);
    }
    BIO_free(cert_out);
    BIO_free(key_out);
    return r;
}

/* --- making --- */

static bool set_serial(X509 *cert)
{
    unsigned char bytes[SERIAL_BYTES];
    BIGNUM *number = NULL;
    bool is_set = false;

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return false;
    bytes[0] &= 0x7f; /* positive */
    number = BN_bin2bn(bytes, sizeof(bytes), NULL);
    is_set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return is_set;
}

static bool set_subject(X509 *cert, const char *name)
{
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)name, -1, -1, 0) == 1;
}

static bool add_extension(X509 *cert, X509 *issuer, int id, const char *value)
{
    X509V3_CTX context;
    X509_EXTENSION *extension = NULL;
    bool is_added = false;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
    is_added = extension && X509_add_ext(cert, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool set_times(X509 *cert, int days)
{
    return X509_gmtime_adj(X509_getm_notBefore(cert), -BACKDATED_S) &&
           X509_gmtime_adj(X509_getm_notAfter(cert), (long)days * 24 * 3600);
}

int join_ca_make(struct join_pair *ret_ca, struct error *err)
{
    cleanup(free_key) EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(free_cert) X509 *cert = X509_new();

    if (!key || !cert || X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
        !set_times(cert, JOIN_CA_DAYS) || !set_subject(cert, "Belljar cluster") ||
        X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1 ||
        X509_set_pubkey(cert, key) != 1 ||
        !add_extension(cert, cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !add_extension(cert, cert, NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !add_extension(cert, cert, NID_subject_key_identifier, "hash") ||
        X509_sign(cert, key, EVP_sha256()) == 0)
        return fail("make a certificate authority", err);
    return write_pair(cert, key, ret_ca, err);
}

int join_ca_check(const struct join_pair *ca, struct error *err)
{
    cleanup(free_cert) X509 *cert = read_cert(&ca->cert);
    cleanup(free_key) EVP_PKEY *key = read_key(&ca->key);

    if (!cert)
        return fail("the certificate of the authority", err);
    if (!key)
        return fail("the key of the authority, which may have no pass phrase", err);
    if (X509_check_private_key(cert, key) != 1) {
        ERR_clear_error();
        return error_set(err, E_INVALID, "the key is not the key of the authority's certificate");
    }
    if (X509_check_ca(cert) != 1)
        return error_set(err, E_INVALID,
                         "the certificate may not sign others (CA:TRUE is missing)");
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0 ||
        X509_cmp_current_time(X509_get0_notAfter(cert)) < 0) {
        error_set(err, E_INVALID, "the certificate of the authority is not valid now");
        return error_hint(err, "check the clock of this machine, or make a new authority");
    }
    return 0;
}

/* As certificates list it: "IP:10.0.0.1" or "DNS:a1.example". */
static int names_of(const char *name, const char *host, struct buf *text, struct error *err)
{
    struct host read;
    const char *wrong = host_parse(host, strlen(host), false, &read);

    if (wrong)
        return error_set(err, E_INVALID, "the address `%s`: %s", host, wrong);
    return buf_printf(text, err, "%s:%s,DNS:%s,DNS:localhost,IP:127.0.0.1,IP:::1",
                      read.is_address ? "IP" : "DNS", read.name, name);
}

int join_ca_sign(const struct join_pair *ca, const char *name, const char *host,
                 struct join_pair *ret_pair, struct error *err)
{
    cleanup(free_cert) X509 *ca_cert = read_cert(&ca->cert);
    cleanup(free_key) EVP_PKEY *ca_key = read_key(&ca->key);
    cleanup(free_key) EVP_PKEY *key = EVP_EC_gen("P-256");
    cleanup(free_cert) X509 *cert = X509_new();
    cleanup(buf_done) struct buf names = BUF_OF(1024);

    if (!ca_cert || !ca_key)
        return fail("the certificate authority", err);
    if (host && names_of(name, host, &names, err) < 0)
        return -1;
    /* A server is a client of the other servers. */
    if (!key || !cert || X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
        !set_times(cert, JOIN_CERT_DAYS) || !set_subject(cert, name) ||
        X509_set_issuer_name(cert, X509_get_subject_name(ca_cert)) != 1 ||
        X509_set_pubkey(cert, key) != 1 ||
        !add_extension(cert, ca_cert, NID_basic_constraints, "critical,CA:FALSE") ||
        !add_extension(cert, ca_cert, NID_key_usage, "critical,digitalSignature") ||
        !add_extension(cert, ca_cert, NID_ext_key_usage,
                       host ? "serverAuth,clientAuth" : "clientAuth") ||
        (host && !add_extension(cert, ca_cert, NID_subject_alt_name, buf_str(&names))) ||
        X509_sign(cert, ca_key, EVP_sha256()) == 0)
        return fail("sign a certificate", err);
    return write_pair(cert, key, ret_pair, err);
}

static int verify(X509 *ca, X509 *cert, struct error *err)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    int r = 0;

    if (!store || !context || X509_STORE_add_cert(store, ca) != 1 ||
        X509_STORE_CTX_init(context, store, cert, NULL) != 1)
        r = error_memory(err);
    else if (X509_verify_cert(context) != 1)
        r = error_set(err, E_INVALID, "%s",
                      X509_verify_cert_error_string(X509_STORE_CTX_get_error(context)));
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    ERR_clear_error();
    return r;
}

int join_ca_verify(const char *ca_cert, const struct join_pair *pair, int *ret_days,
                   struct error *err)
{
    struct buf ca_text = {.data = (char *)ca_cert, .len = strlen(ca_cert)};
    cleanup(free_cert) X509 *ca = read_cert(&ca_text);
    cleanup(free_cert) X509 *cert = read_cert(&pair->cert);
    cleanup(free_key) EVP_PKEY *key = read_key(&pair->key);
    int seconds = 0;

    if (!ca || !cert || !key)
        return fail("read a certificate", err);
    if (X509_check_private_key(cert, key) != 1) {
        ERR_clear_error();
        return error_set(err, E_INVALID, "the key is not the key of the certificate");
    }
    if (verify(ca, cert, err) < 0)
        return -1;
    if (ASN1_TIME_diff(ret_days, &seconds, NULL, X509_get0_notAfter(cert)) != 1)
        return fail("read the end of a certificate", err);
    return 0;
}

/* --- texts --- */

static void free_digest(EVP_MD_CTX **context)
{
    EVP_MD_CTX_free(*context);
}

int join_ca_sign_text(const struct join_pair *pair, const char *text, size_t len,
                      char ret_signature[static JOIN_SIGNATURE_SIZE], struct error *err)
{
    cleanup(free_key) EVP_PKEY *key = read_key(&pair->key);
    cleanup(free_digest) EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char bytes[(JOIN_SIGNATURE_SIZE - 1) / 2];
    size_t size = sizeof(bytes);

    if (!key || !context || EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestSign(context, bytes, &size, (const unsigned char *)text, len) != 1)
        return fail("sign with the operator's key", err);
    hex_write(bytes, size, ret_signature);
    return 0;
}

/* A server's certificate has the name of its machine, which might be any word. */
static bool is_client_named(X509 *cert, const char *name)
{
    const X509_NAME *subject = X509_get_subject_name(cert);
    char found[64];

    return X509_NAME_entry_count(subject) == 1 &&
           X509_NAME_get_text_by_NID(subject, NID_commonName, found, sizeof(found)) ==
               (int)strlen(name) &&
           strcmp(found, name) == 0 && X509_get_extended_key_usage(cert) == XKU_SSL_CLIENT;
}

/* -1: they are no bytes in hexadecimal digits. */
static int read_signature(const char *text, unsigned char bytes[static JOIN_SIGNATURE_SIZE / 2])
{
    size_t len = strlen(text);

    if (len == 0 || len % 2 != 0 || len >= JOIN_SIGNATURE_SIZE)
        return -1;
    for (size_t i = 0; i < len; i += 2) {
        int high = hex_lower_value(text[i]), low = hex_lower_value(text[i + 1]);

        if (high < 0 || low < 0)
            return -1;
        bytes[i / 2] = (unsigned char)(high << 4 | low);
    }
    return (int)len / 2;
}

int join_ca_verify_text(const char *ca_cert, const char *cert_text, const char *name,
                        const char *text, size_t len, const char *signature, struct error *err)
{
    const struct buf ca_buf = {.data = (char *)ca_cert, .len = strlen(ca_cert)};
    const struct buf cert_buf = {.data = (char *)cert_text, .len = strlen(cert_text)};
    cleanup(free_cert) X509 *ca = read_cert(&ca_buf);
    cleanup(free_cert) X509 *cert = read_cert(&cert_buf);
    cleanup(free_digest) EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char bytes[JOIN_SIGNATURE_SIZE / 2];
    int size = read_signature(signature, bytes);
    EVP_PKEY *key = cert ? X509_get0_pubkey(cert) : NULL;

    if (!ca)
        return fail("the certificate of the authority", err);
    if (!key || size < 0 || !context) {
        ERR_clear_error();
        return error_set(err, E_DENIED, "there is no certificate or no signature");
    }
    if (!is_client_named(cert, name))
        return error_set(err, E_DENIED, "the certificate is not that of `%s`", name);
    if (verify(ca, cert, err) < 0)
        return error_wrap(err, "its certificate");
    if (EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
        EVP_DigestVerify(context, bytes, (size_t)size, (const unsigned char *)text, len) != 1) {
        ERR_clear_error();
        return error_set(err, E_DENIED, "the signature is wrong");
    }
    return 0;
}

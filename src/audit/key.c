#include "audit/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"

/* The bytes before such a key in PKCS #8 and in a SubjectPublicKeyInfo (RFC 8410). They are fixed,
 * and OpenSSL's general decoders take a millisecond to find that out. */
static const uint8_t private_prefix[] = {0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
                                         0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
static const uint8_t public_prefix[] = {0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
                                        0x2b, 0x65, 0x70, 0x03, 0x21, 0x00};

#define PEM_MAX KIB

struct key_pair {
    EVP_PKEY *pkey;
    struct key_public public;
    uint8_t mac[SHA256_BYTES];
};

#define MAC_TITLE "belljar trail mac v1\n"

/* --- PEM --- */

static int write_pem(const char *label, const uint8_t *prefix, size_t prefix_len,
                     const uint8_t bytes[KEY_BYTES], struct buf *out, struct error *err)
{
    uint8_t der[64];

    memcpy(der, prefix, prefix_len);
    memcpy(der + prefix_len, bytes, KEY_BYTES);
    if (buf_printf(out, err, "-----BEGIN %s-----\n", label) < 0 ||
        base64_add(out, der, prefix_len + KEY_BYTES, err) < 0)
        return -1;
    explicit_bzero(der, sizeof(der));
    return buf_printf(out, err, "\n-----END %s-----\n", label);
}

static int read_pem(const char *text, const char *label, const uint8_t *prefix, size_t prefix_len,
                    uint8_t bytes[KEY_BYTES], struct error *err)
{
    cleanup(buf_done) struct buf der = BUF_OF(PEM_MAX);
    char first[64];
    const char *at, *end;

    (void)snprintf(first, sizeof(first), "-----BEGIN %s-----\n", label);
    at = strstr(text, first);
    end = at ? strchr(at + strlen(first), '\n') : NULL;
    if (!end)
        return error_set(err, E_INVALID, "there is no `%s` in it", label);
    at += strlen(first);
    if (base64_decode(&der, at, (size_t)(end - at), NULL) < 0 ||
        der.len != prefix_len + KEY_BYTES || memcmp(der.data, prefix, prefix_len) != 0)
        return error_set(err, E_INVALID, "this is not an Ed25519 key");
    memcpy(bytes, der.data + prefix_len, KEY_BYTES);
    explicit_bzero(der.data, der.len);
    return 0;
}

static void name_key(struct key_public *key)
{
    uint8_t digest[SHA256_BYTES];

    sha256(key->bytes, KEY_BYTES, digest);
    sha256_to_hex(digest, key->name);
}

int key_public_pem(const struct key_public *key, struct buf *out, struct error *err)
{
    return write_pem("PUBLIC KEY", public_prefix, sizeof(public_prefix), key->bytes, out, err);
}

int key_public_read(const char *pem, size_t len, struct key_public *ret_key, struct error *err)
{
    char text[PEM_MAX];
    struct key_public key = {0};

    if (len >= sizeof(text))
        return error_set(err, E_INVALID, "it is too long for a key");
    memcpy(text, pem, len);
    text[len] = '\0';
    if (read_pem(text, "PUBLIC KEY", public_prefix, sizeof(public_prefix), key.bytes, err) < 0)
        return -1;
    name_key(&key);
    *ret_key = key;
    return 0;
}

/* --- the pair --- */

static struct key_pair *make_pair(const uint8_t seed[KEY_BYTES])
{
    struct key_pair *key = calloc(1, sizeof(*key));
    uint8_t titled[sizeof(MAC_TITLE) - 1 + KEY_BYTES];
    size_t len = KEY_BYTES;

    if (!key)
        return NULL;
    key->pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, KEY_BYTES);
    if (!key->pkey || EVP_PKEY_get_raw_public_key(key->pkey, key->public.bytes, &len) != 1) {
        key_free(key);
        return NULL;
    }
    name_key(&key->public);
    memcpy(titled, MAC_TITLE, sizeof(MAC_TITLE) - 1);
    memcpy(titled + sizeof(MAC_TITLE) - 1, seed, KEY_BYTES);
    sha256(titled, sizeof(titled), key->mac);
    explicit_bzero(titled, sizeof(titled));
    return key;
}

void key_free(struct key_pair *key)
{
    if (!key)
        return;
    EVP_PKEY_free(key->pkey);
    explicit_bzero(key->mac, sizeof(key->mac));
    free(key);
}

const uint8_t *key_mac(const struct key_pair *key)
{
    return key->mac;
}

const struct key_public *key_public(const struct key_pair *key)
{
    return &key->public;
}

/* Whole or not at all: a key that is half written would be none. */
static int write_new(int dirfd, const char *name, const uint8_t seed[KEY_BYTES], struct error *err)
{
    cleanup(buf_done) struct buf pem = BUF_OF(PEM_MAX);
    cleanup_close int fd = -1;
    char temporary[64];
    int r;

    (void)snprintf(temporary, sizeof(temporary), "%s.%d.tmp", name, (int)getpid());
    if (write_pem("PRIVATE KEY", private_prefix, sizeof(private_prefix), seed, &pem, err) < 0)
        return -1;
    (void)unlinkat(dirfd, temporary, 0);
    fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    r = fd < 0 || file_write_all(fd, pem.data, pem.len) < 0 || fdatasync(fd) < 0 ||
                renameat(dirfd, temporary, dirfd, name) < 0 || fsync(dirfd) < 0
            ? error_errno(err, "write the key of the trail")
            : 0;
    if (r < 0)
        (void)unlinkat(dirfd, temporary, 0);
    explicit_bzero(pem.data, pem.len);
    return r;
}

int key_save(const struct key_pair *key, int dirfd, const char *name, struct error *err)
{
    uint8_t seed[KEY_BYTES];
    size_t len = sizeof(seed);
    int r = EVP_PKEY_get_raw_private_key(key->pkey, seed, &len) == 1
                ? write_new(dirfd, name, seed, err)
                : error_set(err, E_SYSTEM, "OpenSSL cannot export the key of the trail");

    explicit_bzero(seed, sizeof(seed));
    return r;
}

static int make_seed(uint8_t seed[KEY_BYTES], struct error *err)
{
    if (getrandom(seed, KEY_BYTES, 0) != KEY_BYTES)
        return error_errno(err, "random bytes for the key of the trail");
    return 0;
}

static int read_seed(int fd, uint8_t seed[KEY_BYTES], struct error *err)
{
    char text[PEM_MAX];
    struct stat st;
    ssize_t n;
    int r;

    if (fstat(fd, &st) < 0)
        return error_errno(err, "the key of the trail");
    if (st.st_uid != geteuid() || st.st_mode & 077) {
        error_set(err, E_DENIED, "others can read the key of the trail, or it is not yours");
        return error_hint(err, "chmod 600 the file, or delete it to get a new key");
    }
    n = pread(fd, text, sizeof(text) - 1, 0);
    if (n < 0)
        return error_errno(err, "read the key of the trail");
    text[n] = '\0';
    r = read_pem(text, "PRIVATE KEY", private_prefix, sizeof(private_prefix), seed, err);
    explicit_bzero(text, sizeof(text));
    return r < 0 ? error_wrap(err, "the key of the trail") : 0;
}

int key_open(int dirfd, const char *name, struct key_pair **ret_key, bool *ret_is_new,
             struct error *err)
{
    cleanup_close int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_new = fd < 0 && errno == ENOENT;
    uint8_t seed[KEY_BYTES];
    int r;

    if (fd < 0 && !is_new)
        return error_errno(err, "open the key of the trail");
    r = is_new ? make_seed(seed, err) : read_seed(fd, seed, err);
    if (r < 0)
        return -1;
    *ret_key = make_pair(seed);
    explicit_bzero(seed, sizeof(seed));
    if (!*ret_key)
        return error_set(err, E_SYSTEM, "OpenSSL cannot read the key of the trail");
    *ret_is_new = is_new;
    return 0;
}

/* --- signatures --- */

int key_sign(const struct key_pair *key, const char *text, size_t len, char sign[KEY_BASE64_SIZE],
             struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(KEY_BASE64_SIZE);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    uint8_t bytes[KEY_SIGNATURE];
    size_t size = sizeof(bytes);
    bool is_signed = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key->pkey) == 1 &&
                     EVP_DigestSign(context, bytes, &size, (const uint8_t *)text, len) == 1;

    EVP_MD_CTX_free(context);
    if (!is_signed || size != sizeof(bytes))
        return error_set(err, E_SYSTEM, "OpenSSL cannot sign");
    if (base64_add(&out, bytes, sizeof(bytes), err) < 0)
        return -1;
    (void)snprintf(sign, KEY_BASE64_SIZE, "%s", buf_str(&out));
    return 0;
}

static bool is_signature(const struct key_public *key, const char *text, size_t len,
                         const struct buf *sign)
{
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key->bytes, KEY_BYTES);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = pkey && context && EVP_DigestVerifyInit(context, NULL, NULL, NULL, pkey) == 1 &&
                   EVP_DigestVerify(context, (const uint8_t *)sign->data, sign->len,
                                    (const uint8_t *)text, len) == 1;

    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pkey);
    return is_good;
}

int key_check(const struct key_public *key, const char *text, size_t len, const char *sign,
              struct error *err)
{
    cleanup(buf_done) struct buf bytes = BUF_OF(PEM_MAX);

    if (base64_decode(&bytes, sign, strlen(sign), NULL) < 0 || bytes.len != KEY_SIGNATURE ||
        !is_signature(key, text, len, &bytes))
        return error_set(err, E_DENIED, "the signature is not that of the key");
    return 0;
}

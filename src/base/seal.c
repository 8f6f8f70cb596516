#include "base/seal.h"

#include <limits.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/cleanup.h"

#define NONCE 12
#define TAG   16

static void free_context(EVP_CIPHER_CTX **context)
{
    EVP_CIPHER_CTX_free(*context);
}

static int fail(struct error *err)
{
    return error_set(err, E_SYSTEM, "the text cannot be sealed");
}

int seal_close(const unsigned char key[SEAL_KEY], const char *place, struct span text,
               struct buf *out, struct error *err)
{
    cleanup(free_context) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char *to;
    int n = 0, m = 0;

    if (text.len > INT_MAX - SEAL_EXTRA || !c)
        return fail(err);
    if (buf_reserve(out, text.len + SEAL_EXTRA, err) < 0)
        return -1;
    to = (unsigned char *)out->data + out->len;
    if (RAND_bytes(to, NONCE) != 1 ||
        EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, to) != 1 ||
        EVP_EncryptUpdate(c, NULL, &n, (const unsigned char *)place, (int)strlen(place)) != 1 ||
        EVP_EncryptUpdate(c, to + NONCE, &n, (const unsigned char *)text.data, (int)text.len) !=
            1 ||
        EVP_EncryptFinal_ex(c, to + NONCE + n, &m) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, to + NONCE + text.len) != 1)
        return fail(err);
    out->len += text.len + SEAL_EXTRA;
    return 0;
}

int seal_open(const unsigned char key[SEAL_KEY], const char *place, struct span sealed,
              struct buf *out, struct error *err)
{
    cleanup(free_context) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const unsigned char *from = (const unsigned char *)sealed.data;
    unsigned char tag[TAG];
    size_t len = sealed.len - SEAL_EXTRA;
    int n = 0, m = 0;

    if (!c)
        return fail(err);
    if (sealed.len < SEAL_EXTRA || len > INT_MAX)
        return error_set(err, E_DENIED, "it is too short");
    if (buf_reserve(out, len + 1, err) < 0)
        return -1;
    memcpy(tag, from + NONCE + len, TAG);
    if (EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, from) != 1 ||
        EVP_DecryptUpdate(c, NULL, &n, (const unsigned char *)place, (int)strlen(place)) != 1 ||
        EVP_DecryptUpdate(c, (unsigned char *)out->data + out->len, &n, from + NONCE, (int)len) !=
            1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) != 1)
        return fail(err);
    if (EVP_DecryptFinal_ex(c, (unsigned char *)out->data + out->len + n, &m) != 1)
        return error_set(err, E_DENIED, "it was sealed with another key");
    out->len += len;
    return 0;
}

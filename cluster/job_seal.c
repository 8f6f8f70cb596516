#include "cluster/job_seal.h"

#include <limits.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "cluster/token_list.h"

#define NONCE 12
#define TAG   16

static void free_context(EVP_CIPHER_CTX **context)
{
    EVP_CIPHER_CTX_free(*context);
}

int job_seal_load(const char *path, struct job_seal *ret_seal, struct error *err)
{
    cleanup(buf_wipe) struct buf text = BUF_OF(256);
    const char *digits;
    size_t len;

    if (token_list_read_file(path, &text, err) < 0)
        return error_wrap(err, "`jobs_key`");
    digits = buf_str(&text);
    len = strcspn(digits, "\r\n");
    if (len != (size_t)2 * JOB_SEAL_KEY || strspn(digits, "0123456789abcdef") != len) {
        error_set(err, E_INVALID, "`%s`: invalid key for jobs", path);
        return error_hint(err, "it has 64 hexadecimal digits: `openssl rand -hex 32`, the same on "
                               "all machines");
    }
    for (size_t i = 0; i < JOB_SEAL_KEY; i++)
        ret_seal->key[i] =
            (unsigned char)(hex_value(digits[2 * i]) << 4 | hex_value(digits[2 * i + 1]));
    return 0;
}

static int fail(struct error *err)
{
    return error_set(err, E_SYSTEM, "the job cannot be sealed");
}

int job_seal_close(const struct job_seal *seal, const char *place, struct span text,
                   struct buf *out, struct error *err)
{
    cleanup(free_context) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    unsigned char *to;
    int n = 0, m = 0;

    if (text.len > INT_MAX - JOB_SEAL_EXTRA || !c)
        return fail(err);
    if (buf_reserve(out, text.len + JOB_SEAL_EXTRA, err) < 0)
        return -1;
    to = (unsigned char *)out->data + out->len;
    if (RAND_bytes(to, NONCE) != 1 ||
        EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, seal->key, to) != 1 ||
        EVP_EncryptUpdate(c, NULL, &n, (const unsigned char *)place, (int)strlen(place)) != 1 ||
        EVP_EncryptUpdate(c, to + NONCE, &n, (const unsigned char *)text.data, (int)text.len) !=
            1 ||
        EVP_EncryptFinal_ex(c, to + NONCE + n, &m) != 1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, to + NONCE + text.len) != 1)
        return fail(err);
    out->len += text.len + JOB_SEAL_EXTRA;
    return 0;
}

int job_seal_open(const struct job_seal *seal, const char *place, struct span sealed,
                  struct buf *out, struct error *err)
{
    cleanup(free_context) EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    const unsigned char *from = (const unsigned char *)sealed.data;
    unsigned char tag[TAG];
    size_t len = sealed.len - JOB_SEAL_EXTRA;
    int n = 0, m = 0;

    if (!c)
        return fail(err);
    if (sealed.len < JOB_SEAL_EXTRA || len > INT_MAX)
        return error_set(err, E_DENIED, "the copy of the job on the bus is too short");
    if (buf_reserve(out, len + 1, err) < 0)
        return -1;
    memcpy(tag, from + NONCE + len, TAG);
    if (EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, seal->key, from) != 1 ||
        EVP_DecryptUpdate(c, NULL, &n, (const unsigned char *)place, (int)strlen(place)) != 1 ||
        EVP_DecryptUpdate(c, (unsigned char *)out->data + out->len, &n, from + NONCE, (int)len) !=
            1 ||
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) != 1)
        return fail(err);
    if (EVP_DecryptFinal_ex(c, (unsigned char *)out->data + out->len + n, &m) != 1)
        return error_set(err, E_DENIED,
                         "the copy of the job on the bus was sealed with another key");
    out->len += len;
    return 0;
}

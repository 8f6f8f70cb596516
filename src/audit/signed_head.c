#include "audit/signed_head.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/date.h"
#include "base/file.h"
#include "base/json.h"

#define STATEMENT_SIZE 384

/* The signed fields. */
static size_t statement(const char *title, const struct record_mark *mark, const char *key,
                        char text[STATEMENT_SIZE])
{
    char hash[2 * SHA256_BYTES + 1];

    sha256_to_hex(mark->hash, hash);
    return (size_t)snprintf(text, STATEMENT_SIZE, "%s\nseq=%" PRIu64 "\nhash=%s\ntime=%s\nkey=%s\n",
                            title, mark->seq, hash, mark->time, key);
}

int signed_head_make(const struct record_mark *mark, const struct key_pair *key,
                     struct signed_head *ret_head, struct error *err)
{
    struct signed_head head = {.mark = *mark};
    char text[STATEMENT_SIZE];
    size_t len;

    date_millis_now(head.mark.time);
    memcpy(head.key, key_public(key)->name, sizeof(head.key));
    len = statement("belljar trail head v1", &head.mark, head.key, text);
    if (key_sign(key, text, len, head.signature, err) < 0)
        return -1;
    *ret_head = head;
    return 0;
}

void signed_head_text(const struct signed_head *head, char text[SIGNED_HEAD_TEXT_SIZE])
{
    char hash[2 * SHA256_BYTES + 1];

    sha256_to_hex(head->mark.hash, hash);
    (void)snprintf(text, SIGNED_HEAD_TEXT_SIZE,
                   "{\"v\":1,\"seq\":%" PRIu64
                   ",\"hash\":\"%s\",\"time\":\"%s\",\"key\":\"%s\",\"signature\":\"%s\"}\n",
                   head->mark.seq, hash, head->mark.time, head->key, head->signature);
}

static bool copy(char *to, size_t size, const char *from)
{
    return from && (size_t)snprintf(to, size, "%s", from) < size;
}

int signed_head_parse(const char *text, size_t len, struct signed_head *ret_head, struct error *err)
{
    json_t *object = json_text_own(text, len);
    const char *hash, *time, *key, *signature;
    struct signed_head head = {0};
    json_int_t seq;
    int r = -1;

    if (object &&
        json_unpack(object, "{s:I, s:s, s:s, s:s, s:s}", "seq", &seq, "hash", &hash, "time", &time,
                    "key", &key, "signature", &signature) == 0 &&
        seq > 0 && sha256_from_hex(hash, head.mark.hash) == 0 &&
        copy(head.mark.time, sizeof(head.mark.time), time) &&
        copy(head.key, sizeof(head.key), key) &&
        copy(head.signature, sizeof(head.signature), signature)) {
        head.mark.seq = (uint64_t)seq;
        *ret_head = head;
        r = 0;
    }
    json_decref(object);
    return r < 0 ? error_set(err, E_INVALID, "this is not the signed head of a trail") : 0;
}

int signed_head_read(int dirfd, struct signed_head *ret_head, struct error *err)
{
    char text[SIGNED_HEAD_TEXT_SIZE];
    int n = file_read(dirfd, SIGNED_HEAD_NAME, text, sizeof(text));

    if (n == -ENOENT)
        return error_set(err, E_NOT_FOUND, "the trail has no signed head");
    if (n < 0) {
        errno = -n;
        return error_errno(err, "read the signed head of the trail");
    }
    return signed_head_parse(text, (size_t)n, ret_head, err);
}

int signed_head_check(const struct signed_head *head, const struct key_public *key,
                      struct error *err)
{
    char text[STATEMENT_SIZE];
    size_t len = statement("belljar trail head v1", &head->mark, head->key, text);

    return key_check(key, text, len, head->signature, err);
}

int seal_sign(const struct record_mark *mark, const struct key_pair *key,
              char sign[KEY_BASE64_SIZE], struct error *err)
{
    char text[STATEMENT_SIZE];
    size_t len = statement("belljar trail seal v1", mark, key_public(key)->name, text);

    return key_sign(key, text, len, sign, err);
}

int seal_check(const struct record_mark *mark, const struct key_public *key, const char *sign,
               struct error *err)
{
    char text[STATEMENT_SIZE];
    size_t len = statement("belljar trail seal v1", mark, key->name, text);

    return key_check(key, text, len, sign, err);
}

/* belljar audit verify, check-receipt, key, head: whether what is written can be believed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/key.h"
#include "audit/own_key.h"
#include "audit/receipt.h"
#include "audit/signed_head.h"
#include "audit/trail.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/paths.h"
#include "cli/audit/audit.h"

/* More are counted. */
#define FINDINGS_SHOWN 100

/* --- keys --- */

struct keys {
    struct key_pair *pair; /* ours, or NULL */
    struct key_public public;
    bool has_public;
};

static void keys_done(struct keys *keys)
{
    key_free(keys->pair);
}

static int read_file(const char *path, struct buf *out, struct error *err)
{
    cleanup_close int fd =
        strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0 && strcmp(path, "-") != 0) {
        error_errno(err, "`%s`", path);
        err->code = E_NOT_FOUND;
        return error_hint(err, "check the name; - is standard input");
    }
    return buf_read_fd(out, fd < 0 ? STDIN_FILENO : fd, err);
}

static int read_own(const struct audit *audit, struct keys *keys, struct error *err)
{
    if (own_key_open(audit->config->trail_dir, &keys->pair, err) < 0) {
        if (err->code == E_NOT_FOUND)
            error_hint(err, "pass the public key with --key; `belljar audit key` prints "
                            "it on the host of the trail");
        return -1;
    }
    keys->public = *key_public(keys->pair);
    keys->has_public = true;
    return 0;
}

/* The one that was given, or our own. */
static int read_keys(const struct audit *audit, struct keys *keys, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

    if (!audit->key_path)
        return read_own(audit, keys, err);
    if (read_file(audit->key_path, &text, err) < 0)
        return -1;
    if (key_public_read(buf_str(&text), text.len, &keys->public, err) < 0)
        return error_wrap(err, "`%s`", audit->key_path);
    keys->has_public = true;
    return 0;
}

/* --- verify --- */

struct findings {
    const struct audit *audit;
    size_t count;
};

static void on_finding(void *user, bool is_problem, const char *text)
{
    struct findings *findings = user;

    if (findings->count++ < FINDINGS_SHOWN)
        (void)printf("%s: %s\n", is_problem ? "PROBLEM" : "note", text);
}

/* A receipt, a result with one, or a head. */
static int read_against(const char *path, const struct key_public *key,
                        struct record_mark *ret_mark, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX);
    cleanup_error struct error ignored = {0};
    struct receipt receipt;
    struct signed_head head;

    if (read_file(path, &text, err) < 0)
        return -1;
    if (signed_head_parse(buf_str(&text), text.len, &head, &ignored) == 0) {
        *ret_mark = head.mark;
        return signed_head_check(&head, key, err) < 0 ? error_wrap(err, "`%s`", path) : 0;
    }
    if (receipt_parse(buf_str(&text), text.len, &receipt, err) < 0 ||
        receipt_check(&receipt, key, err) < 0)
        return error_wrap(err, "`%s`", path);
    return receipt_mark(&receipt, ret_mark, err);
}

static void conclude(const struct findings *findings, const struct verify_result *result)
{
    if (findings->count > FINDINGS_SHOWN)
        (void)printf("… and %zu more\n", findings->count - FINDINGS_SHOWN);
    if (result->problems)
        (void)printf("NOT VALID: %" PRIu64 " problem%s in %" PRIu64 " records, %zu file%s\n",
                     result->problems, result->problems == 1 ? "" : "s", result->records,
                     result->files, result->files == 1 ? "" : "s");
    else
        (void)printf("valid: %" PRIu64 " records, %zu file%s, %.1f MB, the last at %s\n",
                     result->records, result->files, result->files == 1 ? "" : "s",
                     (double)result->bytes / (double)MIB,
                     *result->last.time ? result->last.time : "no time");
    if (!result->problems && result->n_unsigned)
        (void)printf("the newest %" PRIu64 " are not signed yet\n", result->n_unsigned);
}

int audit_verify(struct audit *audit, char **words, struct error *err)
{
    cleanup(keys_done) struct keys keys = {0};
    struct findings findings = {.audit = audit};
    struct verify_options options = {.n_keys = 1, .on_finding = on_finding, .user = &findings};
    struct verify_result result;

    (void)words;
    if (audit->cluster.is_asked)
        return audit_verify_cluster(audit, err);
    if (access(audit->dir, F_OK) < 0) {
        error_set(err, E_NOT_FOUND, "there is no trail in `%s`", audit->dir);
        return error_hint(err, "it begins with the first run");
    }
    if (read_keys(audit, &keys, err) < 0)
        return -1;
    options.keys = &keys.public;
    options.secret = keys.pair ? key_mac(keys.pair) : NULL;
    if (audit->against && read_against(audit->against, &keys.public, &options.against, err) < 0)
        return -1;
    if (verify_trail(audit->dir, &options, &result, err) < 0)
        return -1;
    conclude(&findings, &result);
    return result.problems ? 1 : 0;
}

/* --- receipts --- */

int audit_check_receipt(struct audit *audit, char **words, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIMIT_OUTPUT_BYTES_MAX * 8);
    cleanup(keys_done) struct keys keys = {0};
    cleanup_error struct error why = {0};
    struct receipt receipt;

    if (!words[0] || words[1]) {
        error_set(err, E_INVALID, "`belljar audit check-receipt` takes one file");
        return error_hint(err, "a receipt, or a result with one; - is standard input");
    }
    if (read_file(words[0], &text, err) < 0 ||
        receipt_parse(buf_str(&text), text.len, &receipt, err) < 0 ||
        read_keys(audit, &keys, err) < 0)
        return -1;
    if (strcmp(receipt.key, keys.public.name) != 0) {
        (void)printf("NOT GENUINE: it was made with another key, %.16s…\n", receipt.key);
        return 1;
    }
    if (receipt_check(&receipt, &keys.public, &why) < 0 ||
        receipt_check_result(&receipt, buf_str(&text), text.len, &why) < 0) {
        (void)printf("NOT GENUINE: %s\n", why.message);
        return 1;
    }
    (void)printf("genuine: %s ended with `%s` at %s, record %s of the trail\n", receipt.id,
                 receipt.status, receipt.time, receipt.seq);
    return 0;
}

/* --- what others need to check --- */

int audit_key(struct audit *audit, char **words, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(KIB);
    cleanup(keys_done) struct keys keys = {0};

    (void)words;
    if (read_keys(audit, &keys, err) < 0 || key_public_pem(&keys.public, &text, err) < 0)
        return -1;
    return audit_print(&text, err);
}

int audit_head(struct audit *audit, char **words, struct error *err)
{
    cleanup_close int dir = open(audit->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char text[SIGNED_HEAD_TEXT_SIZE];
    struct signed_head head;

    (void)words;
    if (dir < 0) {
        error_errno(err, "there is no trail in `%s`", audit->dir);
        err->code = E_NOT_FOUND;
        return -1;
    }
    if (signed_head_read(dir, &head, err) < 0)
        return -1;
    signed_head_text(&head, text);
    (void)printf("%s", text);
    return 0;
}

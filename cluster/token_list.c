#include "cluster/token_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"

#define SIGNER "operator"

/* The value in base64, and some words around it. */
#define ANSWER_BYTES (TOKEN_LIST_BYTES / 3 * 4 + 16 * KIB)

void token_list_done(struct token_list *list)
{
    buf_done(&list->text);
    list->serial = 0;
}

/* --- the value --- */

static int signed_text(const struct token_list *list, struct buf *text, struct error *err)
{
    return buf_printf(text, err, "belljar-cluster-tokens 1\n%" PRIu64 "\n%s", list->serial,
                      buf_str(&list->text));
}

int token_list_sign(const struct token_list *list, const struct join_pair *operator,
                    struct buf * ret_value, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TOKEN_LIST_BYTES);
    char signature[JOIN_SIGNATURE_SIZE];
    cleanup_json json_t *value = NULL;

    if (signed_text(list, &text, err) < 0 ||
        join_ca_sign_text(operator, buf_str(&text), text.len, signature, err) < 0)
        return -1;
    value = json_pack("{s:I, s:s, s:s, s:s}", "serial", (json_int_t)list->serial, "tokens",
                      buf_str(&list->text), "certificate", buf_str(&operator->cert), "signature",
                      signature);
    if (!value)
        return error_memory(err);
    return json_text_dump(value, JSON_TEXT_COMPACT, ret_value, err);
}

int token_list_read(const char *value, size_t len, const char *ca_cert, struct token_list *ret_list,
                    struct error *err)
{
    static const struct json_text_limits limits = {.bytes = TOKEN_LIST_BYTES, .depth = 2};
    cleanup(buf_done) struct buf text = BUF_OF(TOKEN_LIST_BYTES);
    cleanup_json json_t *tree = NULL;
    const char *tokens, *cert, *signature;
    json_int_t serial;

    token_list_done(ret_list);
    if (json_text_load(value, len, &limits, &tree, err) < 0)
        return -1;
    serial = json_integer_value(json_object_get(tree, "serial"));
    tokens = json_string_value(json_object_get(tree, "tokens"));
    cert = json_string_value(json_object_get(tree, "certificate"));
    signature = json_string_value(json_object_get(tree, "signature"));
    if (serial < 1 || !tokens || !cert || !signature)
        return error_set(err, E_INVALID, "it is no list of tokens");
    ret_list->serial = (uint64_t)serial;
    if (buf_add_str(&ret_list->text, tokens, err) == 0 && signed_text(ret_list, &text, err) == 0 &&
        join_ca_verify_text(ca_cert, cert, SIGNER, buf_str(&text), text.len, signature, err) == 0)
        return 0;
    token_list_done(ret_list);
    return -1;
}

int token_list_read_answer(const char *text, size_t len, struct buf *ret_value, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 4};
    cleanup_json json_t *tree = NULL;
    const char *data;

    if (json_text_load(text, len, &limits, &tree, err) < 0)
        return -1;
    if (json_object_get(tree, "error"))
        return 0;
    data = json_string_value(json_object_get(json_object_get(tree, "message"), "data"));
    if (!data)
        return error_set(err, E_INVALID, "the bucket is empty");
    return base64_decode(ret_value, data, strlen(data), err) < 0 ? -1 : 1;
}

/* --- files --- */

int token_list_read_file(const char *path, struct buf *ret_text, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return errno == ENOENT ? error_set(err, E_NOT_FOUND, "there is no file `%s`", path)
                               : error_errno(err, "`%s`", path);
    buf_clear(ret_text);
    return buf_read_fd(ret_text, fd, err) < 0 ? error_wrap(err, "`%s`", path) : 0;
}

int token_list_load(const char *path, const char *ca_cert, struct token_list *ret_list,
                    struct error *err)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);

    if (token_list_read_file(path, &value, err) < 0)
        return -1;
    return token_list_read(buf_str(&value), value.len, ca_cert, ret_list, err) < 0
               ? error_wrap(err, "`%s`", path)
               : 0;
}

void token_list_unstage(const char *staged)
{
    cleanup_free char *lock = NULL;

    (void)unlink(staged);
    if (asprintf(&lock, "%s.lock", staged) < 0)
        lock = NULL;
    else
        (void)unlink(lock);
}

int token_list_tokens(const struct token_list *list, const char *staged, struct tokens *ret_tokens,
                      struct error *err)
{
    int r = file_replace(staged, buf_str(&list->text), list->text.len, err);

    if (r == 0)
        r = tokens_load(staged, ret_tokens, err);
    token_list_unstage(staged);
    return r;
}

/* Any bytes as what the bus says the list of tokens is: only what the operator has signed is taken,
 * and as it was signed. The bytes are an answer of the server; a value; parts of one, whose
 * certificate or signature is the good one; and changes of the signed value.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cluster/token_list.h"

#define SERIAL 7
#define TOKENS "[ci]\nhash = \"00\"\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct join_pair ca = JOIN_PAIR, signer = JOIN_PAIR;
static struct buf signed_value = BUF_OF(TOKEN_LIST_BYTES);
static char *signature;

/* The keys are new in each process: nothing in a corpus can be signed. */
static void make_keys(void)
{
    cleanup(token_list_done) struct token_list list = TOKEN_LIST;
    static const struct json_text_limits limits = {.bytes = TOKEN_LIST_BYTES, .depth = 2};
    cleanup_json json_t *tree = NULL;

    list.serial = SERIAL;
    if (join_ca_make(&ca, NULL) < 0 || join_ca_sign(&ca, "operator", NULL, &signer, NULL) < 0 ||
        buf_add_str(&list.text, TOKENS, NULL) < 0 ||
        token_list_sign(&list, &signer, &signed_value, NULL) < 0 ||
        json_text_load(buf_str(&signed_value), signed_value.len, &limits, &tree, NULL) < 0)
        abort();
    signature = strdup(json_get_text(tree, "signature"));
}

/* Whatever is taken is the one list that was signed. */
static void check_value(const char *value, size_t len)
{
    cleanup(token_list_done) struct token_list list = TOKEN_LIST;
    int r = token_list_read(value, len, buf_str(&ca.cert), &list, NULL);

    if (r == 0 ? list.serial != SERIAL || strcmp(buf_str(&list.text), TOKENS) != 0
               : list.serial || list.text.len)
        abort();
}

static void check_answer(const char *text, size_t len)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);

    if (token_list_read_answer(text, len, &value, NULL) > 0)
        check_value(buf_str(&value), value.len);
}

static void check_parts(const char *text, size_t len)
{
    for (int part = 0; part < 3; part++) {
        cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);
        const struct span ours = {text, len};
        const struct span parts[] = {{TOKENS, strlen(TOKENS)},
                                     {buf_str(&signer.cert), signer.cert.len},
                                     {signature, strlen(signature)}};
        struct span of[3] = {parts[0], parts[1], parts[2]};
        cleanup_json json_t *tree = NULL;

        of[part] = ours;
        tree = json_pack("{s:i, s:o, s:o, s:o}", "serial", SERIAL, "tokens",
                         json_text_string(of[0].data, of[0].len), "certificate",
                         json_text_string(of[1].data, of[1].len), "signature",
                         json_text_string(of[2].data, of[2].len));
        if (tree && json_text_dump(tree, JSON_TEXT_COMPACT, &value, NULL) == 0)
            check_value(buf_str(&value), value.len);
    }
}

/* Two bytes say where, one what is put there. */
static void check_changes(const uint8_t *data, size_t len)
{
    cleanup(buf_done) struct buf value = BUF_OF(TOKEN_LIST_BYTES);

    if (buf_add(&value, signed_value.data, signed_value.len, NULL) < 0)
        return;
    for (size_t i = 0; i + 3 <= len && i < 24; i += 3)
        value.data[(data[i] | data[i + 1] << 8) % (int)value.len] = (char)data[i + 2];
    check_value(buf_str(&value), value.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    if (!signature)
        make_keys();
    check_answer((const char *)data, len);
    check_value((const char *)data, len);
    check_parts((const char *)data, len);
    check_changes(data, len);
    return 0;
}

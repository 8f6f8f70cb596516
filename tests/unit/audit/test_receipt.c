#include "place.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "audit/receipt.h"
#include "audit/signed_head.h"
#include "base/cleanup.h"

static struct key_pair *key;

static int make_key(void **state)
{
    bool is_new = false;

    (void)state;
    return key_open(AT_FDCWD, "/nonexistent/key", &key, &is_new, NULL) == 0 && is_new ? 0 : -1;
}

static int free_key(void **state)
{
    (void)state;
    key_free(key);
    return 0;
}

static struct receipt make(void)
{
    const struct record_mark mark = {
        .seq = 7, .hash = {1, 2, 3}, .time = "2026-01-31T12:00:00.000Z"};
    struct receipt receipt = {.id = "run_1", .status = "success"};

    memset(receipt.code, 'a', 64);
    memset(receipt.out, 'b', 64);
    memset(receipt.err, 'c', 64);
    memset(receipt.result, 'd', 64);
    memset(receipt.displays, 'e', 64);
    assert_int_equal(receipt_sign(&receipt, &mark, key, NULL), 0);
    return receipt;
}

TEST(what_was_signed_can_be_read_and_checked)
{
    cleanup(buf_done) struct buf text;
    struct receipt receipt = make(), read;
    struct record_mark mark;

    buf_init(&text, 8 * KIB);
    assert_int_equal(receipt_text(&receipt, &text, NULL), 0);
    assert_int_equal(receipt_parse(text.data, text.len, &read, NULL), 0);
    assert_int_equal(receipt_check(&read, key_public(key), NULL), 0);
    assert_int_equal(receipt_mark(&read, &mark, NULL), 0);
    assert_int_equal(mark.seq, 7);
    assert_int_equal(mark.hash[2], 3);
}

/* As the first version wrote them: no `version`, and nothing of what was shown. */
TEST(an_old_receipt_stays_valid)
{
    struct receipt receipt = make(), read;
    char sign[KEY_BASE64_SIZE], signed_text[1024], text[2048];
    struct error err = {0};

    (void)snprintf(signed_text, sizeof(signed_text),
                   "belljar receipt v1\nid=%s\nstatus=%s\ntime=%s\ncode_sha256=%s\n"
                   "stdout_sha256=%s\nstderr_sha256=%s\nresult_sha256=%s\nseq=%s\n"
                   "record_sha256=%s\nkey=%s\n",
                   receipt.id, receipt.status, receipt.time, receipt.code, receipt.out, receipt.err,
                   receipt.result, receipt.seq, receipt.hash, receipt.key);
    assert_int_equal(key_sign(key, signed_text, strlen(signed_text), sign, NULL), 0);
    (void)snprintf(text, sizeof(text),
                   "{\"id\":\"%s\",\"status\":\"%s\",\"time\":\"%s\",\"code_sha256\":\"%s\","
                   "\"stdout_sha256\":\"%s\",\"stderr_sha256\":\"%s\",\"result_sha256\":\"%s\","
                   "\"seq\":\"%s\",\"record_sha256\":\"%s\",\"key\":\"%s\",\"signature\":\"%s\"}",
                   receipt.id, receipt.status, receipt.time, receipt.code, receipt.out, receipt.err,
                   receipt.result, receipt.seq, receipt.hash, receipt.key, sign);
    assert_int_equal(receipt_parse(text, strlen(text), &read, NULL), 0);
    assert_int_equal(receipt_check(&read, key_public(key), NULL), 0);
    /* the newer field is not signed in it, and a version nobody knows is none */
    text[strlen(text) - 1] = '\0';
    (void)snprintf(text + strlen(text), 64, "%s", ",\"displays_sha256\":\"e\"}");
    assert_true(receipt_parse(text, strlen(text), &read, &err) < 0);
    assert_error(&err, E_INVALID, "it contains unsigned fields");
    assert_true(receipt_parse("{\"version\":3}", 13, &read, &err) < 0);
    assert_error(&err, E_INVALID, "`version` is not known");
}

TEST(another_word_is_another_receipt)
{
    struct receipt receipt = make();
    struct error err = {0};

    memcpy(receipt.status, "error", 6);
    assert_true(receipt_check(&receipt, key_public(key), &err) < 0);
    assert_error(&err, E_DENIED, "the signature is not that of the key");
}

/* A value with a newline could say two things at once. */
TEST(a_value_has_one_line)
{
    static const char *const bad[] = {"run\\n1", "run=1", "", "x"};
    struct receipt read;
    struct error err = {0};
    char text[256];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)snprintf(text, sizeof(text), "{\"id\":\"%s\"}", bad[i]);
        assert_true(receipt_parse(text, strlen(text), &read, &err) < 0);
        assert_error(&err, E_INVALID, "this is not a receipt");
    }
}

/* A signature of one kind of statement is none of another. */
TEST(a_seal_is_no_head)
{
    struct record_mark mark = {.seq = 7, .time = "2026-01-31T12:00:00.000Z"};
    char sign[KEY_BASE64_SIZE];
    struct signed_head head;

    assert_int_equal(seal_sign(&mark, key, sign, NULL), 0);
    assert_int_equal(seal_check(&mark, key_public(key), sign, NULL), 0);
    assert_int_equal(signed_head_make(&mark, key, &head, NULL), 0);
    assert_int_equal(signed_head_check(&head, key_public(key), NULL), 0);
    head.mark = mark;
    memcpy(head.signature, sign, sizeof(sign));
    assert_true(signed_head_check(&head, key_public(key), NULL) < 0);
}

TEST(a_public_key_travels_as_pem)
{
    cleanup(buf_done) struct buf text;
    struct key_public read;
    struct error err = {0};

    buf_init(&text, KIB);
    assert_int_equal(key_public_pem(key_public(key), &text, NULL), 0);
    assert_int_equal(key_public_read(text.data, text.len, &read, NULL), 0);
    assert_string_equal(read.name, key_public(key)->name);
    text.data[40] ^= 1; /* within what says that it is Ed25519 */
    assert_true(key_public_read(text.data, 10, &read, &err) < 0);
    assert_error(&err, E_INVALID, "there is no `PUBLIC KEY` in it");
}

UNIT_MAIN_WITH(make_key, free_key)

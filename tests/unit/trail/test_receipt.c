#include "place.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trail/head.h"
#include "trail/receipt.h"

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
        .seq = 7, .hash = {1, 2, 3},
             .time = "2026-01-31T12:00:00.000Z"
    };
    struct receipt receipt = {.id = "run_1", .status = "success"};

    memset(receipt.code, 'a', 64);
    memset(receipt.out, 'b', 64);
    memset(receipt.err, 'c', 64);
    memset(receipt.result, 'd', 64);
    assert_int_equal(receipt_sign(&receipt, &mark, key, NULL), 0);
    return receipt;
}

static void what_was_signed_can_be_read_and_checked(void **state)
{
    cleanup(buf_done) struct buf text;
    struct receipt receipt = make(), read;
    struct record_mark mark;

    (void)state;
    buf_init(&text, 8 * KIB);
    assert_int_equal(receipt_text(&receipt, &text, NULL), 0);
    assert_int_equal(receipt_parse(text.data, text.len, &read, NULL), 0);
    assert_int_equal(receipt_check(&read, key_public(key), NULL), 0);
    assert_int_equal(receipt_mark(&read, &mark, NULL), 0);
    assert_int_equal(mark.seq, 7);
    assert_int_equal(mark.hash[2], 3);
}

static void another_word_is_another_receipt(void **state)
{
    struct receipt receipt = make();
    struct error err = {0};

    (void)state;
    memcpy(receipt.status, "error", 6);
    assert_true(receipt_check(&receipt, key_public(key), &err) < 0);
    assert_error(&err, E_DENIED, "the signature is not that of the key");
}

/* A value with a newline could say two things at once. */
static void a_value_has_one_line(void **state)
{
    static const char *const bad[] = {"run\\n1", "run=1", "", "x"};
    struct receipt read;
    struct error err = {0};
    char text[256];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)snprintf(text, sizeof(text), "{\"id\":\"%s\"}", bad[i]);
        assert_true(receipt_parse(text, strlen(text), &read, &err) < 0);
        assert_error(&err, E_INVALID, "that is no receipt");
    }
}

/* A signature of one kind of statement is none of another. */
static void a_seal_is_no_head(void **state)
{
    struct record_mark mark = {.seq = 7, .time = "2026-01-31T12:00:00.000Z"};
    char sign[KEY_BASE64_SIZE];
    struct head head;

    (void)state;
    assert_int_equal(seal_sign(&mark, key, sign, NULL), 0);
    assert_int_equal(seal_check(&mark, key_public(key), sign, NULL), 0);
    assert_int_equal(head_make(&mark, key, &head, NULL), 0);
    assert_int_equal(head_check(&head, key_public(key), NULL), 0);
    head.mark = mark;
    memcpy(head.signature, sign, sizeof(sign));
    assert_true(head_check(&head, key_public(key), NULL) < 0);
}

static void a_public_key_travels_as_pem(void **state)
{
    cleanup(buf_done) struct buf text;
    struct key_public read;
    struct error err = {0};

    (void)state;
    buf_init(&text, KIB);
    assert_int_equal(key_public_pem(key_public(key), &text, NULL), 0);
    assert_int_equal(key_public_read(text.data, text.len, &read, NULL), 0);
    assert_string_equal(read.name, key_public(key)->name);
    text.data[40] ^= 1; /* within what says that it is Ed25519 */
    assert_true(key_public_read(text.data, 10, &read, &err) < 0);
    assert_error(&err, E_INVALID, "there is no `PUBLIC KEY` in it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_signed_can_be_read_and_checked),
        cmocka_unit_test(another_word_is_another_receipt),
        cmocka_unit_test(a_value_has_one_line),
        cmocka_unit_test(a_seal_is_no_head),
        cmocka_unit_test(a_public_key_travels_as_pem),
    };

    return UNIT_RUN_WITH(tests, make_key, free_key);
}

#include "unit.h"

#include <string.h>

#include "admit/page_tokens.h"
#include "base/cleanup.h"

#define SECOND ((uint64_t)1000000000)

static struct caller ann = {.name = "ann", .is_known = true};
static struct caller bob = {.name = "bob", .is_known = true};

static struct page_tokens *fresh(void)
{
    struct page_tokens *pages = page_tokens_new();

    assert_non_null(pages);
    ann.generation = bob.generation = 0;
    ann.is_known = bob.is_known = true;
    return pages;
}

static void make_code(struct page_tokens *pages, struct caller *caller, uint64_t now, char *code)
{
    assert_int_equal(page_code_make(pages, caller, now, code, NULL), 0);
    assert_int_equal(strlen(code), PAGE_CODE_LEN);
}

static int redeem(struct page_tokens *pages, const char *code, uint64_t now, char *token)
{
    cleanup_error struct error err = {0};
    struct caller *caller = NULL;
    int r = page_code_redeem(pages, span_of(code), now, token, &caller, &err);

    assert_true(r == 0 || err.code == E_AUTH || err.code == E_BUSY);
    return r;
}

static const struct caller *find(struct page_tokens *pages, const char *token, uint64_t now,
                                 unsigned *ret_number)
{
    uint8_t hash[SHA256_BYTES];

    sha256(token, TOKEN_LEN, hash);
    return page_token_find(pages, hash, now, ret_number);
}

TEST(a_code_gives_one_token_that_ends_in_time)
{
    struct page_tokens *pages = fresh();
    char code[PAGE_CODE_LEN + 1], token[TOKEN_LEN + 1], other[TOKEN_LEN + 1];
    unsigned number = 0;

    make_code(pages, &ann, SECOND, code);
    assert_int_equal(redeem(pages, code, SECOND, token), 0);
    assert_int_equal(redeem(pages, code, SECOND, other), -1);
    assert_ptr_equal(find(pages, token, 2 * SECOND, &number), &ann);
    assert_true(number > 0 && page_token_lives(pages, number, 2 * SECOND));
    assert_null(find(pages, token, (PAGE_TOKEN_S + 2) * SECOND, &number));
    assert_false(page_token_lives(pages, number, (PAGE_TOKEN_S + 2) * SECOND));
    page_tokens_free(pages);
}

TEST(a_code_is_good_for_a_minute)
{
    struct page_tokens *pages = fresh();
    char code[PAGE_CODE_LEN + 1], token[TOKEN_LEN + 1];

    make_code(pages, &ann, SECOND, code);
    assert_int_equal(redeem(pages, code, (PAGE_CODE_S + 1) * SECOND, token), -1);
    assert_int_equal(redeem(pages, "", SECOND, token), -1);
    assert_int_equal(redeem(pages, "00000000000000000000000000000000", SECOND, token), -1);
    page_tokens_free(pages);
}

TEST(it_ends_with_the_token_it_came_from)
{
    struct page_tokens *pages = fresh();
    char code[PAGE_CODE_LEN + 1], late[PAGE_CODE_LEN + 1], token[TOKEN_LEN + 1];
    unsigned number = 0;

    make_code(pages, &ann, SECOND, code);
    make_code(pages, &ann, SECOND, late);
    assert_int_equal(redeem(pages, code, SECOND, token), 0);
    ann.generation++; /* another token of the same name */
    assert_null(find(pages, token, SECOND, &number));
    assert_int_equal(redeem(pages, late, SECOND, token), -1);
    page_tokens_free(pages);
}

TEST(it_ends_when_it_is_given_back)
{
    struct page_tokens *pages = fresh();
    char code[PAGE_CODE_LEN + 1], token[TOKEN_LEN + 1];
    unsigned number = 0;

    make_code(pages, &ann, SECOND, code);
    assert_int_equal(redeem(pages, code, SECOND, token), 0);
    assert_non_null(find(pages, token, SECOND, &number));
    page_token_end(pages, 0); /* none */
    assert_true(page_token_lives(pages, number, SECOND));
    page_token_end(pages, number);
    assert_false(page_token_lives(pages, number, SECOND));
    assert_null(find(pages, token, SECOND, &number));
    page_tokens_free(pages);
}

TEST(one_caller_pushes_out_only_its_own)
{
    struct page_tokens *pages = fresh();
    char first[PAGE_CODE_LEN + 1], kept[PAGE_CODE_LEN + 1], code[PAGE_CODE_LEN + 1],
        token[TOKEN_LEN + 1];

    make_code(pages, &bob, SECOND, kept);
    make_code(pages, &ann, SECOND, first);
    for (uint64_t i = 2; i < 40; i++)
        make_code(pages, &ann, i * SECOND, code);
    assert_int_equal(redeem(pages, first, 40 * SECOND, token), -1);
    assert_int_equal(redeem(pages, code, 40 * SECOND, token), 0);
    assert_int_equal(redeem(pages, kept, 40 * SECOND, token), 0);
    page_tokens_free(pages);
}

UNIT_MAIN()

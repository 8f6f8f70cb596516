#include "token_file.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admit/tokens.h"
#include "base/cleanup.h"

static char dir[] = "/tmp/bj-tokens-XXXXXX";
static char lock_path[64];

static int make_dir(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/tokens.toml", dir);
    (void)snprintf(lock_path, sizeof(lock_path), "%s/tokens.toml.lock", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(lock_path);
    return rmdir(dir);
}

TEST(what_is_added_is_found_and_the_file_has_no_token)
{
    cleanup(tokens_done) struct tokens tokens = {0};
    struct error err = {0};
    struct rights rights;
    char token[TOKEN_LEN + 1], other[TOKEN_LEN + 1], text[4096] = "";
    uint8_t hash[SHA256_BYTES];
    struct stat st;
    FILE *file;

    (void)unlink(path);
    rights_init(&rights);
    assert_int_equal(rights_set_profiles(&rights, "strict,cms", &err), 0);
    rights.max_timeout_s = 2.5;
    rights.bytes_per_hour = 1e12;
    rights.is_operator = true;
    assert_int_equal(tokens_add(path, "ann", &rights, token, &err), 0);
    rights_init(&rights);
    assert_int_equal(tokens_add(path, "bob", &rights, other, &err), 0);
    assert_string_not_equal(token, other);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    (void)fclose(file);
    assert_null(strstr(text, token + 3));
    assert_null(strstr(text, other + 3));

    assert_int_equal(tokens_load(path, &tokens, &err), 0);
    assert_int_equal(tokens.count, 2);
    sha256(token, TOKEN_LEN, hash);
    assert_false(sha256_differs(tokens_find(&tokens, "ann")->hash, hash));
    rights = tokens_find(&tokens, "ann")->rights;
    assert_true(rights.is_operator && rights.n_profiles == 2);
    assert_true(rights.max_timeout_s == 2.5 && rights.bytes_per_hour == 1e12);
    assert_true(rights.max_runs < 0);
    assert_null(tokens_find(&tokens, "carl"));
}

TEST(a_name_is_given_once)
{
    static const char *const wrong[] = {
        "",    "-a",  "_a",  ".",        "..",      "a b",   "a.b",
        "a/b", "[a]", "a\n", "\xc3\xa4", "default", "local", "a23456789012345678901234567890123"};
    struct error err = {0};
    struct rights rights;
    char token[TOKEN_LEN + 1], keeper[TOKEN_KEEPER_SIZE];

    (void)unlink(path);
    rights_init(&rights);
    assert_int_equal(tokens_add(path, "ann", &rights, token, &err), 0);
    assert_true(tokens_add(path, "ann", &rights, token, &err) < 0);
    assert_error(&err, E_INVALID, "already");
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        assert_true(tokens_add(path, wrong[i], &rights, token, &err) < 0);
        assert_error(&err, E_INVALID, "");
    }
    assert_int_equal(tokens_remove(path, "ann", keeper, &err), 0);
    assert_true(tokens_remove(path, "ann", keeper, &err) < 0);
    assert_error(&err, E_NOT_FOUND, "`ann`");
    assert_int_equal(tokens_add(path, "ann", &rights, token, &err), 0);
}

/* A token owns by an id that no other ever has; one from before there were ids, by its name. */
TEST(a_name_that_is_given_again_owns_nothing_of_before)
{
    char token[TOKEN_LEN + 1], first[TOKEN_KEEPER_SIZE], second[TOKEN_KEEPER_SIZE];
    struct error err = {0};
    struct rights rights;

    (void)unlink(path);
    rights_init(&rights);
    assert_int_equal(tokens_add(path, "ann", &rights, token, &err), 0);
    assert_int_equal(tokens_remove(path, "ann", first, &err), 0);
    assert_int_equal(tokens_add(path, "ann", &rights, token, &err), 0);
    assert_int_equal(tokens_remove(path, "ann", second, &err), 0);
    assert_memory_equal(first, "ann:tok_", 8);
    assert_memory_equal(second, "ann:tok_", 8);
    assert_string_not_equal(first, second);
    write_file(
        "[ann]\nhash = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n",
        0600);
    assert_int_equal(tokens_add(path, "bob", &rights, token, &err), 0); /* writes ann, too */
    assert_int_equal(tokens_remove(path, "ann", first, &err), 0);
    assert_string_equal(first, "ann");
}

#define HASH "hash = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"\n"

static const struct {
    const char *text, *message;
} broken[] = {
    {"[ann]\n", "`ann` has no `hash`"},
    {"ann = 1\n", "`ann` has no `hash`"},
    {"[ann]\nhash = \"00\"\n", "64 hexadecimal digits"},
    {"[ann]\nhash = 5\n", "64 hexadecimal digits"},
    {"[ann]\n" HASH "max_runs = 0\n", "`max_runs`: expected a whole"},
    {"[ann]\n" HASH "max_runs = \"many\"\n", "`max_runs`: expected a whole"},
    {"[ann]\n" HASH "max_run = 1\n", "unknown key `max_run`"},
    {"[ann]\n" HASH "profiles = []\n", "a list of names"},
    {"[ann]\n" HASH "created = 5\n", "`created`"},
    {"[default]\n" HASH, "reserved for the first token"},
    {"[local]\n" HASH, "for the command line"},
    {"[ann]\n" HASH "id = \"../x\"\n", "`id`"},
    {"[ann]\n" HASH "id = 5\n", "`id`"},
    {"[\"a b\"]\n" HASH, "not a name for a token"},
    {"[ann]\n" HASH "[ann]\n" HASH, "ann"},
};

TEST(a_file_with_a_mistake_is_refused_as_a_whole)
{
    struct tokens tokens = {0};
    struct error err = {0};

    for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
        write_file(broken[i].text, 0600);
        assert_true(tokens_load(path, &tokens, &err) < 0);
        assert_non_null(strstr(err.message, path));
        assert_error(&err, E_INVALID, broken[i].message);
        assert_null(tokens.items);
    }
    write_file("[ann]\n" HASH, 0644);
    assert_true(tokens_load(path, &tokens, &err) < 0);
    assert_error(&err, E_DENIED, "by others");
}

UNIT_MAIN_WITH(make_dir, remove_dir)

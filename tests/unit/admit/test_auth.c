#include "token_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admit/auth.h"

static char dir[] = "/tmp/bj-auth-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof(path), "%s/token", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

static void read_file(char text[128])
{
    FILE *file = fopen(path, "re");

    assert_non_null(file);
    assert_non_null(fgets(text, 128, file));
    (void)fclose(file);
    text[strcspn(text, "\n")] = '\0';
}

static int ask(struct auth *auth, const char *token, struct error *err)
{
    struct auth_claim claim = {.token = {token, token ? strlen(token) : 0}};
    struct caller *caller = NULL;

    return auth_check(auth, &claim, &caller, err);
}

static int open_first(struct auth **auth, struct error *err)
{
    return auth_open(&(struct auth_options){.token_path = path}, auth, err);
}

TEST(a_token_is_made_once_and_only_for_us)
{
    struct auth *auth = NULL;
    struct error err = {0};
    char first[128], second[128];
    struct stat st;

    (void)unlink(path);
    assert_int_equal(open_first(&auth, &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    read_file(first);
    assert_int_equal(ask(auth, first, &err), 0);
    auth_free(auth);
    assert_int_equal(open_first(&auth, &err), 0);
    read_file(second);
    assert_string_equal(first, second);
    assert_int_equal(ask(auth, first, &err), 0);
    auth_free(auth);
}

TEST(wrong_tokens_are_refused_without_being_told)
{
    struct auth *auth = NULL;
    struct error err = {0};
    char token[128], wrong[128];

    (void)unlink(path);
    assert_int_equal(open_first(&auth, &err), 0);
    read_file(token);
    for (size_t i = 0; i < strlen(token); i++) {
        memcpy(wrong, token, sizeof(wrong));
        wrong[i] ^= 1;
        assert_true(ask(auth, wrong, &err) < 0);
        assert_null(strstr(err.message, wrong));
        assert_error(&err, E_AUTH, "not known");
    }
    memcpy(wrong, token, sizeof(wrong));
    wrong[strlen(wrong) - 1] = '\0';
    assert_true(ask(auth, wrong, &err) < 0);
    assert_error(&err, E_AUTH, "not known");
    assert_true(ask(auth, "", &err) < 0);
    assert_error(&err, E_AUTH, "not known");
    assert_true(ask(auth, NULL, &err) < 0);
    assert_error(&err, E_AUTH, "a token is needed");
    auth_free(auth);
}

TEST(a_process_of_ours_needs_none_over_the_socket)
{
    struct auth_claim ours = {.is_unix = true, .uid = geteuid()};
    struct auth_claim theirs = {.is_unix = true, .uid = geteuid() + 1};
    struct auth_claim tcp = {.uid = geteuid()};
    struct auth *auth = NULL;
    struct error err = {0};
    struct caller *caller = NULL;

    assert_int_equal(open_first(&auth, &err), 0);
    assert_int_equal(auth_check(auth, &ours, &caller, &err), 0);
    assert_string_equal(caller->name, TOKEN_FIRST);
    assert_true(caller->rights.is_operator);
    assert_true(auth_check(auth, &theirs, &caller, &err) < 0);
    assert_error(&err, E_AUTH, "needed");
    assert_true(auth_check(auth, &tcp, &caller, &err) < 0);
    assert_error(&err, E_AUTH, "needed");
    ours.token = (struct span){"wrong", 5}; /* a token that is sent counts */
    assert_true(auth_check(auth, &ours, &caller, &err) < 0);
    assert_error(&err, E_AUTH, "not known");
    auth_free(auth);
}

TEST(a_file_that_others_read_is_refused)
{
    struct auth *auth = NULL;
    struct error err = {0};

    write_file("bj_0000000000000000000000000000000000000000000000000000000000000000\n", 0640);
    assert_true(open_first(&auth, &err) < 0);
    assert_error(&err, E_DENIED, "by others");
    write_file("secret\n", 0600);
    assert_true(open_first(&auth, &err) < 0);
    assert_null(strstr(err.message, "secret"));
    assert_error(&err, E_INVALID, "holds no token");
    write_file("", 0600);
    assert_true(open_first(&auth, &err) < 0);
    assert_error(&err, E_INVALID, "holds no token");
    (void)unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_true(open_first(&auth, &err) < 0);
    error_done(&err);
    assert_null(auth);
}

TEST(without_a_file_nobody_needs_a_token)
{
    struct auth *auth = NULL;
    struct error err = {0};

    assert_int_equal(auth_open(&(struct auth_options){0}, &auth, &err), 0);
    assert_int_equal(ask(auth, NULL, &err), 0);
    auth_free(auth);
}

/* --- further tokens --- */

static char tokens_path[64];
static int n_removed, n_troubles;

static void on_removed(void *user, struct caller *caller)
{
    (void)user;
    assert_false(caller->is_known);
    n_removed++;
}

static void on_trouble(void *user, const struct error *err)
{
    (void)user;
    n_troubles += err->code != E_NONE;
}

static struct auth *open_both(void)
{
    const struct auth_options options = {.token_path = path,
                                         .tokens_path = tokens_path,
                                         .on_removed = on_removed,
                                         .on_trouble = on_trouble};
    struct auth *auth = NULL;
    struct error err = {0};

    n_removed = n_troubles = 0;
    (void)snprintf(tokens_path, sizeof(tokens_path), "%s/tokens.toml", dir);
    assert_int_equal(auth_open(&options, &auth, &err), 0);
    return auth;
}

static void remove_both(void)
{
    char lock[80];

    (void)snprintf(lock, sizeof(lock), "%s.lock", tokens_path);
    (void)unlink(lock);
    (void)unlink(tokens_path);
    (void)unlink(path);
}

TEST(a_change_of_the_file_holds_at_once)
{
    struct rights rights;
    char token[TOKEN_LEN + 1], keeper[TOKEN_KEEPER_SIZE];
    struct error err = {0};
    struct caller *caller = NULL;
    struct auth *auth;

    (void)unlink(path);
    auth = open_both();
    rights_init(&rights);
    rights.max_runs = 3;
    assert_int_equal(tokens_add(tokens_path, "ann", &rights, token, &err), 0);
    assert_int_equal(
        auth_check(auth, &(struct auth_claim){.token = {token, TOKEN_LEN}}, &caller, &err), 0);
    assert_string_equal(caller->name, "ann");
    assert_true(caller->rights.max_runs == 3);
    assert_false(caller->rights.is_operator);
    assert_int_equal(tokens_remove(tokens_path, "ann", keeper, &err), 0);
    assert_string_equal(caller->keeper, keeper);
    assert_true(ask(auth, token, &err) < 0);
    assert_error(&err, E_AUTH, "not known");
    assert_int_equal(n_removed, 1);
    auth_free(auth);
    remove_both();
}

TEST(a_broken_file_knows_nobody)
{
    struct rights rights;
    char token[TOKEN_LEN + 1];
    struct error err = {0};
    struct auth *auth;
    FILE *file;

    (void)unlink(path);
    auth = open_both();
    rights_init(&rights);
    assert_int_equal(tokens_add(tokens_path, "ann", &rights, token, &err), 0);
    assert_int_equal(ask(auth, token, &err), 0);
    file = fopen(tokens_path, "ae");
    assert_non_null(file);
    (void)fputs("max_runz = 1\n", file);
    (void)fclose(file);
    assert_true(ask(auth, token, &err) < 0);
    assert_error(&err, E_AUTH, "not known");
    assert_int_equal(n_troubles, 1);
    assert_int_equal(n_removed, 0);
    auth_free(auth);
    remove_both();
}

TEST(with_other_tokens_the_first_is_not_made_again)
{
    struct rights rights;
    char token[TOKEN_LEN + 1];
    struct error err = {0};
    struct auth *auth;

    auth = open_both();
    rights_init(&rights);
    assert_int_equal(tokens_add(tokens_path, "ann", &rights, token, &err), 0);
    auth_free(auth);
    (void)unlink(path);
    auth = open_both();
    assert_false(auth_has_first(auth));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(ask(auth, token, &err), 0);
    auth_free(auth);
    remove_both();
}

UNIT_MAIN_WITH(make_dir, remove_dir)

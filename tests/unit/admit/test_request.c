/* The one decision on requests: what is put into the run, what is refused, and in whose words. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "admit/request.h"
#include "base/cleanup.h"
#include "base/shared.h"

static struct config *config;
static struct profiles *profiles;
static struct caller caller;
static char dir[64];

static int setup(void **state)
{
    char *text = NULL;

    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/belljar-request.XXXXXX");
    config = config_new();
    if (!config || !mkdtemp(dir) || asprintf(&text, "%s:cow", dir) < 0)
        return -1;
    if (config_set_flag(config, "allow", text, NULL) < 0)
        return -1;
    free(text);
    free(config->policies_dir);
    config->policies_dir = strdup(POLICIES_DIR);
    return profiles_open(config, &profiles, NULL);
}

static int teardown(void **state)
{
    (void)state;
    profiles_free(profiles);
    config_free(config);
    return rmdir(dir);
}

static int begin(void **state)
{
    (void)state;
    caller = (struct caller){.name = "ann"};
    rights_init(&caller.rights);
    return 0;
}

static struct admission admission_of(const struct caller *who)
{
    return (struct admission){.config = config, .profiles = profiles, .caller = who};
}

#define CODE(text) .code = {(text), sizeof(text) - 1}

TEST_WITH(the_program_is_put_into_the_run, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    struct run_request asked = {
        CODE("print(1)"),  .input = {"in", 2}, .has_seed = true,
        .seed = 7,         .auto_print = true, .wants_receipt = true,
        .masks_all = true, .can_ask = true,    .filename = "/srv/a b.py",
    };
    struct run *run = NULL;

    assert_int_equal(run_request_add(&asked.args, "x", NULL), 0);
    assert_int_equal(run_request_add_variable(&asked, (struct span){"NAMES", 4}, "v", NULL), 0);
    assert_int_equal(admit_request(&a, &asked, &run, NULL), 0);
    assert_string_equal(buf_str(&run->program.code), "print(1)");
    assert_string_equal(buf_str(&run->program.input), "in");
    assert_true(run->program.has_input && run->terms.has_seed && run->terms.seed == 7);
    assert_true(run->program.auto_print && run->origin.wants_receipt && run->origin.can_ask);
    assert_int_equal(run->terms.masking, RUN_MASK_ALL);
    assert_string_equal(run->program.args[0], "a_b.py");
    assert_string_equal(run->program.args[1], "x");
    assert_null(run->program.args[2]);
    assert_string_equal(run->terms.env[0], "NAME=v");
    assert_null(run->terms.env[1]);
    assert_string_equal(run->terms.profile, "standard");
    assert_int_equal(run->result.out.limit, run->terms.limits.output_bytes);
    assert_null(run->origin.store);
    run_request_done(&asked);
    run_free(run);
}

TEST_WITH(an_empty_program_is_refused_and_none_is_not, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    const struct run_request blank = {CODE(" \n\t")}, none = {0},
                             long_one = {CODE("12345"), .max_code = 4};
    struct error err = {0};
    struct run *run = NULL;

    assert_true(admit_request(&a, &blank, &run, &err) < 0);
    assert_error(&err, E_INVALID, "`code`: the program is empty");
    assert_true(admit_request(&a, &long_one, &run, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "`code`");
    assert_null(run);
    assert_int_equal(admit_request(&a, &none, &run, &err), 0);
    run_free(run);
}

TEST_WITH(a_token_has_its_profiles_alone, begin, NULL)
{
    const struct admission a = admission_of(&caller), user = admission_of(NULL);
    const struct run_request open = {CODE("1"), .profile = "open"}, any = {CODE("1")},
                             unknown = {CODE("1"), .profile = "strct"},
                             path = {CODE("1"), .profile = "/etc/x"};
    struct error err = {0};
    struct run *run = NULL;

    assert_int_equal(rights_set_profiles(&caller.rights, "strict,cms", NULL), 0);
    assert_true(admit_request(&a, &open, &run, &err) < 0);
    assert_error(&err, E_DENIED, "this token may not use the profile `open`");
    assert_int_equal(admit_request(&a, &any, &run, &err), 0); /* the settings say standard */
    assert_string_equal(run->terms.profile, "strict");
    run_free(take_ptr(run));
    assert_int_equal(admit_request(&user, &open, &run, &err), 0);
    assert_string_equal(run->terms.profile, "open");
    run_free(take_ptr(run));
    assert_true(admit_request(&user, &unknown, &run, &err) < 0);
    assert_error(&err, E_INVALID, "strct");
    assert_true(admit_request(&user, &path, &run, &err) < 0);
    assert_error(&err, E_INVALID, "not a path");
}

TEST_WITH(a_profile_refuses_its_languages, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    const struct run_request asked = {CODE("ls"), .language = RUN_BASH, .profile = "strict"};
    struct error err = {0};
    struct run *run = NULL;

    assert_true(admit_request(&a, &asked, &run, &err) < 0);
    assert_error(&err, E_DENIED, "strict");
}

static int ask_for_directory(struct admission a, const char *text, struct run **ret_run,
                             struct error *err)
{
    struct run_request asked = {CODE("1")};
    int r;

    error_done(err);
    assert_int_equal(run_request_add(&asked.allow, text, NULL), 0);
    r = admit_request(&a, &asked, ret_run, err);
    run_request_done(&asked);
    return r;
}

TEST_WITH(directories_are_within_what_is_allowed, begin, NULL)
{
    struct admission a = admission_of(&caller);
    struct error err = {0};
    struct run *run = NULL;
    char text[80];

    assert_true(ask_for_directory(a, dir, &run, &err) < 0);
    assert_error(&err, E_DENIED, "this token may not use directories of the host");
    caller.rights.has_grants = true;
    assert_int_equal(ask_for_directory(a, dir, &run, &err), 0);
    assert_int_equal(run->terms.n_grants, 1);
    assert_int_equal(run->terms.grants[0].mode, RUN_GRANT_RO);
    run_free(take_ptr(run));

    (void)snprintf(text, sizeof(text), "%s:rw", dir);
    assert_true(ask_for_directory(a, text, &run, &err) < 0);
    assert_error(&err, E_DENIED, "not one of the allowed directories");
    assert_true(ask_for_directory(a, "/usr", &run, &err) < 0);
    assert_error(&err, E_DENIED, "not one of the allowed directories");
    assert_true(ask_for_directory(a, "/nowhere", &run, &err) < 0); /* the same words */
    assert_error(&err, E_DENIED, "not one of the allowed directories");

    (void)snprintf(text, sizeof(text), "%s:cow", dir);
    a.cow = ADMISSION_COW_IS_DENIED;
    assert_true(ask_for_directory(a, text, &run, &err) < 0);
    assert_error(&err, E_INVALID, "copy-on-write directories are for sessions");
    a.cow = ADMISSION_COW_READS;
    assert_int_equal(ask_for_directory(a, text, &run, &err), 0);
    assert_int_equal(run->terms.grants[0].mode, RUN_GRANT_RO);
    run_free(take_ptr(run));
    a.cow = ADMISSION_COW_KEEPS;
    assert_int_equal(ask_for_directory(a, text, &run, &err), 0);
    assert_int_equal(run->terms.grants[0].mode, RUN_GRANT_COW);
    run_free(take_ptr(run));
}

/* Grants of the command reach sandboxes only where the door says so. */
TEST_WITH(the_users_own_command_has_the_settings_grants, begin, NULL)
{
    struct admission a = admission_of(NULL);
    const struct run_request asked = {CODE("1")};
    struct run *granted = NULL, *run = NULL;

    assert_int_equal(admit_request(&a, &asked, &run, NULL), 0);
    assert_int_equal(run->terms.n_grants, 0);
    run_free(take_ptr(run));
    a.has_settings_grants = true;
    assert_int_equal(admit_request(&a, &asked, &granted, NULL), 0);
    assert_int_equal(granted->terms.n_grants, 1);

    a = admission_of(&caller);
    a.granted = granted;
    assert_int_equal(admit_request(&a, &asked, &run, NULL), 0);
    assert_int_equal(run->terms.n_grants, 1);
    assert_string_equal(run->terms.grants[0].path, granted->terms.grants[0].path);
    assert_int_not_equal(run->terms.grants[0].fd, granted->terms.grants[0].fd);
    run_free(run);
    run_free(granted);
}

TEST_WITH(hosts_need_the_right_to_them, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    struct run_request asked = {CODE("1"), .has_net = true};
    struct error err = {0};
    struct run *run = NULL;

    assert_int_equal(run_request_add(&asked.net, "example.org", NULL), 0);
    assert_true(admit_request(&a, &asked, &run, &err) < 0);
    assert_error(&err, E_DENIED, "this token may not reach hosts");
    caller.rights.has_grants = true;
    assert_true(admit_request(&a, &asked, &run, &err) < 0); /* the settings name none */
    assert_error(&err, E_DENIED, "`net`");
    run_request_done(&asked);
}

TEST_WITH(limits_are_within_the_ceilings_of_both, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    struct run_request asked = {CODE("1")};
    struct error err = {0};
    struct run *run = NULL;

    caller.rights.max_memory_mb = 128;
    assert_int_equal(admit_request(&a, &asked, &run, &err), 0);
    assert_int_equal(run->terms.limits.memory_bytes, 128 * MIB); /* the default is lowered */
    run_free(take_ptr(run));
    run_request_set_limit(&asked, RUN_LIMIT_ROW_memory_mb, 129);
    assert_true(admit_request(&a, &asked, &run, &err) < 0);
    assert_error(&err, E_INVALID, "`memory_mb`: this token allows at most 128");
    run_request_set_limit(&asked, RUN_LIMIT_ROW_memory_mb, 64);
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, 301);
    assert_true(admit_request(&a, &asked, &run, &err) < 0);
    assert_error(&err, E_INVALID, "`timeout_s`: the operator allows at most 300");
    run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, 300);
    asked.max_output_bytes = 1000;
    assert_int_equal(admit_request(&a, &asked, &run, &err), 0);
    assert_int_equal(run->terms.limits.timeout_ms, 300000);
    assert_int_equal(run->terms.limits.memory_bytes, 64 * MIB);
    assert_int_equal(run->terms.limits.output_bytes, 1000);
    assert_int_equal(run->result.out.limit, 1000);
    run_free(run);
}

/* Whatever a door lets pass. */
TEST_WITH(a_limit_out_of_range_is_refused_here_too, begin, NULL)
{
    static const double wrong[] = {0.5, 0, -1, -1e300, NAN, -INFINITY};
    const struct admission a = admission_of(&caller), user = admission_of(NULL);
    struct error err = {0};
    struct run *run = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct run_request asked = {CODE("1")};

        run_request_set_limit(&asked, RUN_LIMIT_ROW_timeout_s, wrong[i]);
        assert_true(admit_request(&a, &asked, &run, &err) < 0);
        assert_error(&err, E_INVALID, "`timeout_s`: expected a number from 1 to 300");
        assert_true(admit_request(&user, &asked, &run, &err) < 0);
        assert_error(&err, E_INVALID, "`timeout_s`: expected a number from 1 to 300");
        asked.limits_set = 0;
        run_request_set_limit(&asked, RUN_LIMIT_ROW_pids, 1.5);
        assert_true(admit_request(&a, &asked, &run, &err) < 0);
        assert_error(&err, E_INVALID, "`pids`: expected a whole number");
    }
}

TEST_WITH(files_come_along_up_to_a_number, begin, NULL)
{
    const struct admission a = admission_of(&caller);
    struct run_request asked = {CODE("1"), .has_collect = true};
    struct error err = {0};
    struct run *run = NULL;
    int r = 0;

    for (int i = 0; i < LIMIT_FILES_GIVEN; i++) {
        struct shared *owner = i % 2 ? shared_new() : NULL;
        struct span content = {"x", 1};
        char name[16];

        (void)snprintf(name, sizeof(name), "f%d", i);
        if (owner) { /* not copied: a part of something that has several owners */
            assert_int_equal(buf_add_str(&owner->text, "xy", NULL), 0);
            content = (struct span){owner->text.data + 1, 1};
        }
        r |= run_request_add_file(
            &asked,
            &(struct run_request_file){
                .path = strdup(name), .owner = owner, .content = content, .is_executable = i == 0},
            NULL);
    }
    assert_int_equal(r, 0);
    assert_true(
        run_request_add_file(&asked, &(struct run_request_file){.path = strdup("more")}, &err) < 0);
    assert_error(&err, E_TOO_LARGE, "more than 100 files");
    assert_int_equal(admit_request(&a, &asked, &run, &err), 0);
    assert_int_equal(run->program.n_given, LIMIT_FILES_GIVEN);
    assert_true(run->program.given[0].is_executable && !run->program.given[1].is_executable);
    assert_non_null(run->program.collect); /* an empty list was asked for */
    assert_null(run->program.collect[0]);
    run_request_done(&asked);
    for (int i = 0; i < LIMIT_FILES_GIVEN; i++)
        assert_memory_equal(run->program.given[i].data, i % 2 ? "y" : "x", 1);
    run_free(run);
}

TEST_WITH(sessions_of_a_caller_are_counted_as_the_table_counts, begin, NULL)
{
    assert_int_equal(admission_max_sessions(NULL), 0);
    assert_int_equal(admission_max_sessions(&caller), 0);
    caller.rights.max_sessions = 3;
    assert_int_equal(admission_max_sessions(&caller), 3);
    caller.rights.max_sessions = 0;
    assert_int_equal(admission_max_sessions(&caller), -1);
}

UNIT_MAIN_WITH(setup, teardown)

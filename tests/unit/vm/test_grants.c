#include "vm/grants.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/grant.h"
#include "unit.h"

static char base[64];
static struct config *config;
static struct vm_grants *grants;

static const char *at(const char *name)
{
    static char path[8][160];
    static unsigned turn;
    char *p = path[turn++ % 8];

    (void)snprintf(p, sizeof(path[0]), "%s/%s", base, name);
    return p;
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(base, sizeof(base), "/var/tmp/belljar-vm-grants.XXXXXX");
    config = config_new();
    return config && mkdtemp(base) && mkdir(at("a"), 0755) == 0 &&
                   mkdir(at("a/below"), 0755) == 0 && mkdir(at("b"), 0755) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    vm_grants_free(take_ptr(grants));
    config_free(config);
    for (const char *const *name = (const char *const[]){"a/.config/belljar", "a/.config",
                                                         "a/below", "a", "b", "moved", NULL};
         *name; name++)
        (void)rmdir(at(*name));
    return rmdir(base);
}

#define GRANTS_TEST(name) TEST_WITH(name, set_up, tear_down)

static void allow(const char *path)
{
    assert_int_equal(config_set_flag(config, "allow", path, NULL), 0);
}

static void open_all(void)
{
    struct ns_ids ids;
    struct error err = {0};

    assert_int_equal(ns_pick_ids(&ids, &err), 0);
    if (vm_grants_open(config, &ids, &grants, &err) < 0)
        fail_msg("%s", error_message(&err));
}

/* A run that is granted one directory. */
static int check(const char *path, struct error *err)
{
    static struct run_terms terms;
    int r;

    terms = (struct run_terms){.n_grants = 1};
    assert_int_equal(grant_open(path, RUN_GRANT_RO, &terms.grants[0], NULL), 0);
    r = vm_grants_check(grants, &terms, err);
    grant_done(&terms.grants[0]);
    return r;
}

static void is_refused(const char *path, const char *why)
{
    struct error err = {0};

    assert_int_equal(check(path, &err), -1);
    assert_int_equal(err.code, E_UNSUPPORTED);
    assert_contains(error_message(&err), why);
    assert_contains(err.hint, "belljar machine stop");
    error_done(&err);
}

GRANTS_TEST(those_of_the_setting_are_given_once_and_in_order)
{
    cleanup(buf_done) struct buf setting = BUF_OF(4096);
    char expected[256];

    allow(at("b"));
    allow(at("a:ro"));
    allow(at("b:cow"));
    allow(at("missing"));
    open_all();
    assert_int_equal(vm_grants_count(grants), 2);
    assert_string_equal(vm_grants_path(grants, 0), at("a"));
    assert_string_equal(vm_grants_path(grants, 1), at("b"));
    assert_true(vm_grants_fd(grants, 0) >= 0 && vm_grants_fd(grants, 1) >= 0);
    assert_int_equal(vm_grants_setting(grants, &setting, NULL), 0);
    (void)snprintf(expected, sizeof(expected), "allow = [\"%s:ro\", \"%s:ro\"]\n", at("a"),
                   at("b"));
    assert_string_equal(buf_str(&setting), expected);
}

GRANTS_TEST(without_the_setting_nothing_is_given)
{
    cleanup(buf_done) struct buf setting = BUF_OF(4096);

    open_all();
    assert_int_equal(vm_grants_count(grants), 0);
    assert_null(vm_grants_hidden(grants, 0));
    assert_int_equal(vm_grants_setting(grants, &setting, NULL), 0);
    assert_string_equal(buf_str(&setting), "allow = []\n");
    is_refused(at("a"), "started without this directory");
}

GRANTS_TEST(a_run_may_have_what_the_machine_has_and_what_is_below)
{
    allow(at("a"));
    open_all();
    assert_int_equal(check(at("a"), NULL), 0);
    assert_int_equal(check(at("a/below"), NULL), 0);
    is_refused(at("b"), "started without this directory");
}

GRANTS_TEST(a_directory_in_the_place_of_one_is_refused)
{
    allow(at("a"));
    open_all();
    assert_int_equal(rename(at("a"), at("moved")), 0);
    assert_int_equal(rmdir(at("moved/below")), 0);
    assert_int_equal(mkdir(at("a"), 0755), 0);
    is_refused(at("a"), "started without this directory");
}

GRANTS_TEST(a_place_of_belljars_own_is_hidden_or_the_run_refused)
{
    allow(at("a"));
    assert_int_equal(mkdir(at("a/.config"), 0755), 0);
    assert_int_equal(mkdir(at("a/.config/belljar"), 0755), 0);
    open_all();
    assert_string_equal(vm_grants_hidden(grants, 0), at("a/.config/belljar"));
    assert_null(vm_grants_hidden(grants, 1));
    assert_int_equal(check(at("a"), NULL), 0);
    /* Another one in its place has no cover in the machine. */
    assert_int_equal(rename(at("a/.config/belljar"), at("moved")), 0);
    assert_int_equal(check(at("a"), NULL), 0);
    assert_int_equal(mkdir(at("a/.config/belljar"), 0755), 0);
    is_refused(at("a"), "Belljar's own");
}

GRANTS_TEST(a_server_with_a_directory_that_programs_may_change_does_not_start)
{
    struct error err = {0};

    allow(at("a"));
    allow(at("b:cow"));
    assert_int_equal(vm_grants_check_setting(config, NULL), 0);
    allow(at("b:rw"));
    assert_int_equal(vm_grants_check_setting(config, &err), -1);
    assert_int_equal(err.code, E_UNSUPPORTED);
    assert_contains(error_message(&err), at("b:rw"));
    error_done(&err);
}

UNIT_MAIN()

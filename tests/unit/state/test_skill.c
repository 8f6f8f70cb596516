#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "state/skill.h"
#include "wire/policy.h"

static char dir[] = "/tmp/belljar-skill-XXXXXX";
static char path[64];
static struct store *store;

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[96];

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        (void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
        (void)unlink(name);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (!*path && !mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/state.sqlite", dir);
    remove_files();
    store = store_new(path);
    return store ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    store_free(store);
    remove_files();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

static int64_t save(const char *owner, const char *name, const char *code)
{
    struct error err = {0};
    int64_t version = 0;

    if (skill_save(store, owner, name, (struct span){code, strlen(code)}, NULL, &version, &err) < 0)
        fail_msg("%s", err.message);
    return version;
}

static void expect_code(const char *name, const char *code)
{
    struct error err = {0};
    json_t *skill = NULL;

    if (skill_load(store, "ann", name, 0, &skill, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(json_string_value(json_object_get(skill, "code")), code);
    json_decref(skill);
}

static void a_bad_version_is_taken_back(void **state)
{
    struct error err = {0};
    int64_t version = 0;

    (void)state;
    assert_int_equal(save("ann", "x", "good = 1"), 1);
    assert_int_equal(save("ann", "x", "bad = 1"), 2);
    expect_code("x", "bad = 1");
    assert_int_equal(skill_undo(store, "ann", "x", &version, &err), 0);
    assert_int_equal(version, 1);
    expect_code("x", "good = 1");
    assert_int_equal(skill_undo(store, "ann", "x", &version, &err), -1);
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
    expect_code("x", "good = 1");
}

static void versions_and_skills_are_bounded(void **state)
{
    struct error err = {0};
    json_t *skill = NULL;
    int64_t version = 0;
    char name[16];

    (void)state;
    for (int i = 0; i < LIMIT_SKILL_VERSIONS + 3; i++)
        (void)save("ann", "x", "pass");
    assert_int_equal(skill_load(store, "ann", "x", 0, &skill, &err), 0);
    assert_int_equal(json_array_size(json_object_get(skill, "versions")), LIMIT_SKILL_VERSIONS);
    json_decref(skill);
    for (int i = 1; i < LIMIT_SKILLS; i++) {
        (void)snprintf(name, sizeof(name), "y%d", i);
        (void)save("ann", name, "pass");
    }
    assert_int_equal(skill_save(store, "ann", "z", (struct span){"pass", 4}, NULL, &version, &err),
                     -1);
    assert_int_equal(err.code, E_TOO_LARGE);
    error_done(&err);
    assert_int_equal(save("ann", "x", "pass"), LIMIT_SKILL_VERSIONS + 4);
    assert_int_equal(save("bob", "z", "pass"), 1);
}

static void nobody_finds_what_is_anothers(void **state)
{
    struct error err = {0};
    json_t *skill = NULL, *list = NULL;

    (void)state;
    (void)save("ann", "x", "pass");
    assert_int_equal(skill_load(store, "bob", "x", 0, &skill, &err), -1);
    assert_int_equal(err.code, E_NOT_FOUND);
    error_done(&err);
    assert_int_equal(skill_delete(store, "bob", "x", &err), -1);
    error_done(&err);
    assert_int_equal(skill_list(store, "bob", &list, &err), 0);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

static void a_description_cannot_leave_its_docstring(void **state)
{
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};

    (void)state;
    buf_init(&text, KIB);
    assert_int_equal(skill_compose((struct span){"x = 1", 5}, "a\"\"\"\nimport os\\", &text, &err),
                     0);
    assert_string_equal(buf_str(&text), "\"\"\"a\\\"\\\"\\\"\nimport os\\\\\"\"\"\nx = 1");
}

static void names_of_modules_only(void **state)
{
    static const char *const bad[] = {"", "X", "1", "_x", "a-b", "a.b", "../a", "if", "a/b", "a b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = {0};

        assert_int_equal(skill_check_name(bad[i], &err), -1);
        assert_int_equal(err.code, E_INVALID);
        error_done(&err);
    }
    assert_int_equal(skill_check_name("a_1", NULL), 0);
}

/* The number of files that a program of this text is given. */
static size_t given(const char *owner, const char *code, bool allows, bool is_denied)
{
    struct policy_row row = {
        is_denied ? POLICY_IMPORT_DENY : POLICY_IMPORT_ALLOW, {"skills", 6},
             {"",       0}
    };
    struct wire_policy policy = {
        .profile = {"p", 1},
        .flags = is_denied ? 0 : POLICY_IMPORTS_LISTED,
        .max_bytes = 1000,
        .max_lines = 100,
        .rows = &row,
        .n_rows = allows && !is_denied ? 1 : is_denied
    };
    struct run *run = run_new();
    struct error err = {0};
    struct pack p = {0};
    size_t count;

    pack_init(&p, POLICY_BYTES_MAX);
    wire_policy_encode(&policy, &p);
    run->policy = (struct span){(const char *)p.data, p.len};
    assert_int_equal(buf_add_str(&run->code, code, &err), 0);
    if (skill_give(store, owner, run, &err) < 0)
        fail_msg("%s", err.message);
    count = run->n_given;
    run_free(run);
    pack_done(&p);
    return count;
}

static void a_program_gets_what_it_names_and_what_that_names(void **state)
{
    (void)state;
    assert_int_equal(given("ann", "import skills.one", true, false), 0);
    assert_int_equal(access(path, F_OK), -1); /* asking makes no file */
    (void)save("ann", "one", "from skills.two import *");
    (void)save("ann", "two", "import skills.one");
    (void)save("ann", "three", "pass");
    assert_int_equal(given("ann", "import skills.one", true, false), 2);
    assert_int_equal(given("ann", "import one", true, false), 0);
    assert_int_equal(given("ann", "print('skills')", true, false), 0);
    assert_int_equal(given("bob", "import skills.one", true, false), 0);
}

static void a_profile_without_skills_gets_none(void **state)
{
    (void)state;
    (void)save("ann", "one", "pass");
    assert_int_equal(given("ann", "import skills.one", true, false), 1);
    assert_int_equal(given("ann", "import skills.one", false, false), 0);
    assert_int_equal(given("ann", "import skills.one", true, true), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_bad_version_is_taken_back),
        TEST(versions_and_skills_are_bounded),
        TEST(nobody_finds_what_is_anothers),
        TEST(a_description_cannot_leave_its_docstring),
        TEST(names_of_modules_only),
        TEST(a_program_gets_what_it_names_and_what_that_names),
        TEST(a_profile_without_skills_gets_none),
    };

    return UNIT_RUN_WITH(tests, NULL, remove_dir);
}

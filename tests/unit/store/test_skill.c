#include "own_store.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "store/skill.h"
#include "wire/policy.h"

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

TEST_WITH(a_bad_version_is_taken_back, set_up, tear_down)
{
    struct error err = {0};
    int64_t version = 0;

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

TEST_WITH(versions_and_skills_are_bounded, set_up, tear_down)
{
    struct error err = {0};
    json_t *skill = NULL;
    int64_t version = 0;
    char name[16];

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

TEST_WITH(nobody_finds_what_is_anothers, set_up, tear_down)
{
    struct error err = {0};
    json_t *skill = NULL, *list = NULL;

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

TEST_WITH(a_description_cannot_leave_its_docstring, set_up, tear_down)
{
    cleanup(buf_done) struct buf text = {0};
    struct error err = {0};

    buf_init(&text, KIB);
    assert_int_equal(skill_compose((struct span){"x = 1", 5}, "a\"\"\"\nimport os\\", &text, &err),
                     0);
    assert_string_equal(buf_str(&text), "\"\"\"a\\\"\\\"\\\"\nimport os\\\\\"\"\"\nx = 1");
}

TEST_WITH(names_of_modules_only, set_up, tear_down)
{
    static const char *const bad[] = {"", "X", "1", "_x", "a-b", "a.b", "../a", "if", "a/b", "a b"};

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
        is_denied ? POLICY_IMPORT_DENY : POLICY_IMPORT_ALLOW, {"skills", 6}, {"", 0}};
    struct wire_policy policy = {.profile = {"p", 1},
                                 .flags = is_denied ? 0 : POLICY_IMPORTS_LISTED,
                                 .max_bytes = 1000,
                                 .max_lines = 100,
                                 .rows = &row,
                                 .n_rows = allows && !is_denied ? 1 : is_denied};
    struct run *run = run_new();
    struct error err = {0};
    struct pack p = {0};
    size_t count;

    pack_init(&p, POLICY_BYTES_MAX);
    wire_policy_encode(&policy, &p);
    run->terms.policy = (struct span){(const char *)p.data, p.len};
    assert_int_equal(buf_add_str(&run->program.code, code, &err), 0);
    if (skill_give(store, owner, run, &err) < 0)
        fail_msg("%s", err.message);
    count = run->program.n_given;
    run_free(run);
    pack_done(&p);
    return count;
}

TEST_WITH(a_program_gets_what_it_names_and_what_that_names, set_up, tear_down)
{
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

TEST_WITH(a_profile_without_skills_gets_none, set_up, tear_down)
{
    (void)save("ann", "one", "pass");
    assert_int_equal(given("ann", "import skills.one", true, false), 1);
    assert_int_equal(given("ann", "import skills.one", false, false), 0);
    assert_int_equal(given("ann", "import skills.one", true, true), 0);
}

/* --- folders --- */

#define HEAD(name, words) "---\nname: " name "\ndescription: " words "\n---\n"

static void make_folder(struct skill_bundle *folder, const char *text, const char *code)
{
    struct error err = {0};

    *folder = (struct skill_bundle){0};
    if (skill_bundle_add(folder, (struct span){"SKILL.md", 8}, (struct span){text, strlen(text)},
                         false, &err) < 0 ||
        skill_bundle_add(folder, (struct span){"scripts/run.py", 14},
                         (struct span){code, strlen(code)}, true, &err) < 0 ||
        skill_bundle_finish(folder, &err) < 0)
        fail_msg("%s", err.message);
}

static int64_t save_folder(const char *text, const char *code)
{
    cleanup(skill_bundle_done) struct skill_bundle folder;
    struct error err = {0};
    int64_t version = 0;

    make_folder(&folder, text, code);
    if (skill_save_folder(store, "ann", &folder, &version, &err) < 0)
        fail_msg("%s", err.message);
    return version;
}

static void expect_script(const char *name, int64_t version, const char *code)
{
    cleanup(skill_bundle_done) struct skill_bundle folder = {0};
    const struct skill_bundle_file *file;
    struct error err = {0};

    if (skill_open(store, "ann", name, version, &folder, &err) < 0)
        fail_msg("%s", err.message);
    file = skill_bundle_find(&folder, "scripts/run.py");
    assert_string_equal(file->data, code);
    assert_true(file->is_executable);
}

TEST_WITH(a_folder_is_stored_whole_and_taken_back_whole, set_up, tear_down)
{
    struct error err = {0};
    json_t *skill = NULL;
    int64_t version = 0;

    assert_int_equal(save_folder(HEAD("a-b", "one"), "x = 1"), 1);
    assert_int_equal(save_folder(HEAD("a-b", "two"), "x = 2"), 2);
    expect_script("a_b", 0, "x = 2");
    expect_script("a-b", 1, "x = 1");
    assert_int_equal(skill_load(store, "ann", "a-b", 0, &skill, &err), 0);
    assert_string_equal(json_string_value(json_object_get(skill, "name")), "a-b");
    assert_string_equal(json_string_value(json_object_get(skill, "module")), "skills.a_b");
    assert_string_equal(json_string_value(json_object_get(skill, "description")), "two");
    assert_int_equal(json_array_size(json_object_get(skill, "files")), 2);
    assert_int_equal(json_array_size(json_object_get(skill, "versions")), 2);
    json_decref(skill);
    assert_int_equal(skill_undo(store, "ann", "a-b", &version, &err), 0);
    expect_script("a-b", 0, "x = 1");
    assert_int_equal(skill_delete(store, "ann", "a_b", &err), 0);
    assert_int_equal(save_folder(HEAD("a_b", "again"), "x = 3"), 1);
}

/* A module and a folder of one name are versions of one skill. */
TEST_WITH(a_module_may_become_a_folder, set_up, tear_down)
{
    struct error err = {0};
    int64_t version = 0;

    assert_int_equal(save("ann", "x", "code = 1"), 1);
    assert_int_equal(save_folder(HEAD("x", "one"), "y"), 2);
    expect_script("x", 0, "y");
    assert_int_equal(skill_undo(store, "ann", "x", &version, &err), 0);
    expect_code("x", "code = 1");
}

TEST_WITH(bytes_of_an_owner_are_bounded, set_up, tear_down)
{
    cleanup(skill_bundle_done) struct skill_bundle folder;
    struct error err = {0};
    static char code[LIMIT_FOLDER_BYTES - KIB];
    char text[64];
    int64_t version = 0;
    int r = 0;

    memset(code, '#', sizeof(code) - 1);
    for (size_t i = 0; r == 0 && i < LIMIT_SKILLS_BYTES / sizeof(code) + 1; i++) {
        (void)snprintf(text, sizeof(text), HEAD("x%zu", "y"), i);
        make_folder(&folder, text, code);
        r = skill_save_folder(store, "ann", &folder, &version, &err);
        skill_bundle_done(&folder);
    }
    assert_int_equal(r, -1);
    assert_error(&err, E_TOO_LARGE, "MiB");
    /* Versions of one skill do not add up for ever. */
    for (int i = 0; i < 5; i++) {
        make_folder(&folder, HEAD("x", "y"), code);
        assert_int_equal(skill_save_folder(store, "bob", &folder, &version, &err), 0);
        skill_bundle_done(&folder);
    }
    assert_int_equal(skill_open(store, "bob", "x", 4, &folder, &err), 0);
    skill_bundle_done(&folder);
    assert_int_equal(skill_open(store, "bob", "x", 3, &folder, &err), -1);
    assert_error(&err, E_NOT_FOUND, "");
}

TEST_WITH(what_is_everybodys_is_found_and_not_replaced, set_up, tear_down)
{
    char shelf[64], place[96];
    json_t *list = NULL, *item;
    struct error err = {0};
    int64_t version = 0;
    FILE *file;

    (void)snprintf(shelf, sizeof(shelf), "%s/shelf", dir);
    (void)snprintf(place, sizeof(place), "%s/a-b", shelf);
    assert_int_equal(mkdir(shelf, 0700), 0);
    assert_int_equal(mkdir(place, 0700), 0);
    (void)snprintf(place, sizeof(place), "%s/a-b/SKILL.md", shelf);
    file = fopen(place, "w");
    assert_true(file && fputs(HEAD("a-b", "public"), file) >= 0 && fclose(file) == 0);
    assert_int_equal(store_add_shelf(store, shelf, &err), 0);

    assert_int_equal(given("ann", "import skills.a_b", true, false), 1);
    assert_int_equal(access(path, F_OK), -1); /* giving makes no file */
    (void)save("ann", "z", "pass");
    (void)save("ann", "a", "pass");
    assert_int_equal(skill_list(store, "ann", &list, &err), 0);
    assert_int_equal(json_array_size(list), 3);
    item = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(item, "name")), "a-b");
    assert_string_equal(json_string_value(json_object_get(item, "kind")), "public");
    json_decref(list);
    assert_int_equal(skill_save(store, "ann", "a_b", (struct span){"x", 1}, NULL, &version, &err),
                     -1);
    assert_error(&err, E_DENIED, "public skill");
    assert_int_equal(skill_delete(store, "ann", "a-b", &err), -1);
    assert_error(&err, E_DENIED, "public skill");
    assert_int_equal(unlink(place), 0);
    (void)snprintf(place, sizeof(place), "%s/a-b", shelf);
    assert_int_equal(rmdir(place), 0);
    assert_int_equal(rmdir(shelf), 0);
}

UNIT_MAIN_WITH(NULL, remove_dir)

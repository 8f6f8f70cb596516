#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admit/profile.h"
#include "wire/message.h"
#include "wire/policy.h"

/* Two directories of their own: the operator's and the system's. */
static char config[64], operator_dir[128], system_dir[128];

static void write_profile(const char *dir, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s.toml", dir, name);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(config, sizeof(config), "/tmp/belljar-profile.XXXXXX");
    if (!mkdtemp(config))
        return -1;
    (void)snprintf(operator_dir, sizeof(operator_dir), "%s/belljar", config);
    (void)mkdir(operator_dir, 0700);
    (void)snprintf(operator_dir, sizeof(operator_dir), "%s/belljar/policies", config);
    (void)mkdir(operator_dir, 0700);
    (void)snprintf(system_dir, sizeof(system_dir), "%s/system", config);
    (void)mkdir(system_dir, 0700);
    return setenv("XDG_CONFIG_HOME", config, 1);
}

static int teardown(void **state)
{
    char command[256];
    const char *dirs[] = {operator_dir, system_dir};

    (void)state;
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"a", "b", "c", "strict", "standard", "open"};

        for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
            (void)snprintf(command, sizeof(command), "%s/%s.toml", dirs[i], names[n]);
            (void)unlink(command);
        }
        (void)rmdir(dirs[i]);
    }
    (void)snprintf(command, sizeof(command), "%s/belljar", config);
    (void)rmdir(command);
    return rmdir(config);
}

static struct profile *load(const char *name)
{
    struct profile *profile = NULL;
    struct error err = {0};

    if (profile_load(name, system_dir, &profile, &err) < 0)
        fail_msg("%s", err.message);
    return profile;
}

/* Is there a row of this list with this key (and this value, unless NULL)? */
static bool has_row(const struct profile *profile, enum policy_list list, const char *key,
                    const char *value)
{
    struct wire_policy policy;
    bool found = false;

    assert_int_equal(wire_policy_decode(profile_encoded(profile), &policy), 0);
    for (size_t i = 0; i < policy.n_rows; i++) {
        const struct policy_row *row = &policy.rows[i];

        if (row->list == list && row->key.len == strlen(key) &&
            memcmp(row->key.data, key, row->key.len) == 0 &&
            (!value || (row->value.len == strlen(value) &&
                        memcmp(row->value.data, value, row->value.len) == 0)))
            found = true;
    }
    wire_policy_done(&policy);
    return found;
}

#define assert_refused(name, code, part)                                                           \
    do {                                                                                           \
        struct profile *profile_ = NULL;                                                           \
        struct error err_ = {0};                                                                   \
        assert_true(profile_load((name), system_dir, &profile_, &err_) < 0);                       \
        assert_null(profile_);                                                                     \
        assert_error(&err_, code, part);                                                           \
    } while (0)

#define assert_hint(name, part)                                                                    \
    do {                                                                                           \
        struct profile *profile_ = NULL;                                                           \
        struct error err_ = {0};                                                                   \
        assert_true(profile_load((name), system_dir, &profile_, &err_) < 0);                       \
        assert_contains(err_.hint, part);                                                          \
        error_done(&err_);                                                                         \
    } while (0)

TEST_WITH(what_is_not_said_is_refused, setup, teardown)
{
    struct profile *p;
    struct wire_policy policy;

    write_profile(system_dir, "a", "languages = [\"python\"]\n");
    p = load("a");
    assert_string_equal(profile_name(p), "a");
    assert_false(profile_allows_processes(p));
    assert_false(profile_allows_grants(p));
    assert_int_equal(wire_policy_decode(profile_encoded(p), &policy), 0);
    assert_int_equal(policy.flags,
                     POLICY_IMPORTS_LISTED | POLICY_DUNDER_DENIED | POLICY_NO_PROCESSES);
    assert_int_equal(policy.powers, 0);
    wire_policy_done(&policy);
    profile_free(p);
}

TEST_WITH(a_child_adds_to_its_parent_and_takes_away, setup, teardown)
{
    struct profile *p;

    write_profile(system_dir, "a",
                  "languages = [\"python\"]\n"
                  "[imports]\nallow = [\"math\", \"json\"]\n"
                  "[imports.from]\nio = [\"StringIO\", \"BytesIO\"]\n"
                  "[builtins]\ndeny = [\"eval\", \"open\"]\n");
    write_profile(system_dir, "b",
                  "inherits = \"a\"\n"
                  "[imports]\nallow = [\"-json\", \"numpy.*\"]\n"
                  "[imports.from]\nio = [\"-BytesIO\"]\n"
                  "[builtins]\ndeny = [\"-*\", \"exec\"]\n");
    p = load("b");
    assert_true(has_row(p, POLICY_IMPORT_ALLOW, "math", NULL));
    assert_true(has_row(p, POLICY_IMPORT_ALLOW, "numpy", NULL));
    assert_false(has_row(p, POLICY_IMPORT_ALLOW, "json", NULL));
    assert_true(has_row(p, POLICY_IMPORT_FROM, "io", "StringIO"));
    assert_false(has_row(p, POLICY_IMPORT_FROM, "io", "BytesIO"));
    assert_false(has_row(p, POLICY_BUILTIN_DENY, "eval", NULL));
    assert_true(has_row(p, POLICY_BUILTIN_DENY, "exec", NULL));
    profile_free(p);
}

TEST_WITH(taking_away_what_is_not_there_is_a_mistake, setup, teardown)
{
    write_profile(system_dir, "a",
                  "languages = [\"python\"]\n[builtins]\ndeny = [\"eval\", \"-evil\"]\n");
    assert_refused("a", E_INVALID, "a.toml:3: `-evil` removes an entry");
    assert_hint("a", "`-eval`");
}

TEST_WITH(inheriting_in_a_circle_is_found, setup, teardown)
{
    write_profile(system_dir, "a", "inherits = \"b\"\n");
    write_profile(system_dir, "b", "languages = [\"python\"]\ninherits = \"a\"\n");
    assert_refused("a", E_INVALID, "b.toml:2: `a` inherits from itself");
    write_profile(system_dir, "a", "inherits = \"a\"\n");
    assert_refused("a", E_INVALID, "inherits from itself");
}

TEST_WITH(an_operator_may_change_a_ready_profile, setup, teardown)
{
    struct profile *p;

    write_profile(system_dir, "strict",
                  "languages = [\"python\"]\n[imports]\nallow = [\"math\"]\n");
    write_profile(operator_dir, "strict", "inherits = \"strict\"\n[imports]\nallow = [\"ours\"]\n");
    p = load("strict");
    assert_true(has_row(p, POLICY_IMPORT_ALLOW, "math", NULL));
    assert_true(has_row(p, POLICY_IMPORT_ALLOW, "ours", NULL));
    profile_free(p);
}

TEST_WITH(a_name_with_a_slash_is_a_path, setup, teardown)
{
    struct profile *p;
    char path[256];

    write_profile(system_dir, "a", "inherits = \"./b.toml\"\n");
    write_profile(system_dir, "b", "languages = [\"python\"]\n");
    (void)snprintf(path, sizeof(path), "%s/a.toml", system_dir);
    p = load(path);
    assert_string_equal(profile_name(p), "a");
    profile_free(p);
    assert_refused("/nonexistent/x.toml", E_NOT_FOUND, "/nonexistent/x.toml");
}

TEST_WITH(an_unknown_profile_is_told_with_the_nearest, setup, teardown)
{
    write_profile(system_dir, "strict", "languages = [\"python\"]\n");
    assert_refused("strct", E_NOT_FOUND, "`strct`");
    assert_hint("strct", "`strict`");
    assert_hint("zzzzzzzz", "`strict`");
    assert_refused("", E_NOT_FOUND, "there is no profile");
    assert_refused("..", E_NOT_FOUND, "there is no profile");
}

TEST_WITH(unknown_keys_are_refused_with_file_line_and_nearest, setup, teardown)
{
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"languages = [\"python\"]\n[imports]\nalow = []\n", "a.toml:3: unknown key `imports.alow`",
         "`imports.allow`"},
        {"langages = [\"python\"]\n", "a.toml:1: unknown key `langages`", "`languages`"},
        {"languages = [\"python\"]\n[limits]\ntimout_s = 3\n", "unknown key `limits.timout_s`",
         "`limits.timeout_s`"},
        {"languages = [\"pyton\"]\n", "`pyton` is not a language", "`python`"},
        {"languages = [\"python\"]\n[isolation]\nrequire = [\"secomp\"]\n",
         "`secomp` is not a layer", "`seccomp`"},
        {"languages = [\"python\"]\n[runtime]\nallow = [\"file\"]\n", "`file` is not one of",
         "`files`"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_profile(system_dir, "a", cases[i].text);
        assert_refused("a", E_INVALID, cases[i].message);
        assert_hint("a", cases[i].hint);
    }
}

TEST_WITH(wrong_values_are_refused_with_what_was_expected, setup, teardown)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"languages = \"python\"\n", "`languages` is text, expected a list"},
        {"languages = [3]\n", "`languages` is a number"},
        {"imports = 3\n", "`imports` is a number, expected a table"},
        {"[imports]\nmode = \"maybe\"\n", "a.toml:2: `imports.mode` is `maybe`, expected `allow`"},
        {"[imports]\nallow = [\"a b\"]\n", "`a b` is not a module name"},
        {"[imports]\nallow = [\"a..b\"]\n", "`a..b` is not a module name"},
        {"[imports]\nfrom = [1]\n", "`imports.from` is a list"},
        {"[kernel]\nprocesses = 1\n", "expected true or false"},
        {"[source]\nmax_bytes = 0\n", "expected 1 to 1048576"},
        {"[limits]\ntimeout_s = -1\n", "`limits.timeout_s` is -1"},
        {"[limits]\nmemory_mb = \"1\"\n", "expected a whole number"},
        {"inherits = 3\n", "expected the name of a profile"},
        {"inherits = \"nobody\"\n", "there is no profile `nobody`"},
        {"description = \"nothing else\"\n", "allows no language"},
        {"languages = [\n", "a.toml"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct profile *p = NULL;
        struct error err = {0};

        write_profile(system_dir, "a", cases[i].text);
        assert_true(profile_load("a", system_dir, &p, &err) < 0);
        assert_contains(err.message, cases[i].message);
        error_done(&err);
    }
}

TEST_WITH(limits_that_are_not_stated_stay, setup, teardown)
{
    struct run_limits limits = {.timeout_ms = 1, .memory_bytes = 2, .processes = 3};
    struct profile *p;

    write_profile(system_dir, "a",
                  "languages = [\"python\"]\n[limits]\ntimeout_s = 5\nmemory_mb = 256\n"
                  "cpu_percent = 50\n");
    p = load("a");
    profile_apply_limits(p, &limits);
    assert_int_equal(limits.timeout_ms, 5000);
    assert_int_equal(limits.memory_bytes, 256 << 20);
    assert_int_equal(limits.cpu_percent, 50);
    assert_int_equal(limits.processes, 3);
    profile_free(p);
}

TEST_WITH(a_language_that_is_not_served_names_who_serves_it, setup, teardown)
{
    struct error err = {0};
    struct profile *p;

    write_profile(system_dir, "strict", "languages = [\"python\"]\n");
    write_profile(system_dir, "standard", "languages = [\"python\", \"bash\"]\n");
    p = load("strict");
    assert_int_equal(profile_check_language(p, RUN_PYTHON, &err), 0);
    assert_true(profile_check_language(p, RUN_BASH, &err) < 0);
    assert_contains(err.message, "no policy can read Bash");
    assert_contains(err.hint, "`standard`");
    error_done(&err);
    profile_free(p);
}

TEST_WITH(layers_become_bits, setup, teardown)
{
    struct profile *p;

    write_profile(system_dir, "a",
                  "languages = [\"python\"]\n[isolation]\nrequire = [\"seccomp\", "
                  "\"pid-namespace\"]\n");
    p = load("a");
    assert_int_equal(profile_required_layers(p), LAYER_SECCOMP | LAYER_PID_NS);
    profile_free(p);
}

/* The ones that come with Belljar. */
TEST_WITH(ready_profiles_keep_their_promises, setup, teardown)
{
    static const char *const names[] = {"strict",      "standard", "open",   "cms",
                                        "marketplace", "pyrunner", "devskyy"};
    struct run_limits limits = {0};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct profile *p = NULL;
        struct error err = {0};
        bool is_open = strcmp(names[i], "open") == 0;

        (void)setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
        if (profile_load(names[i], POLICIES_DIR, &p, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(profile_check_language(p, RUN_PYTHON, &err), 0);
        assert_true(profile_required_layers(p) & LAYER_SECCOMP);
        if (!is_open) {
            static const char *const evaluators[] = {"eval", "exec", "compile", "__import__"};

            for (size_t e = 0; e < 4; e++)
                assert_true(has_row(p, POLICY_BUILTIN_DENY, evaluators[e], NULL));
            assert_true(has_row(p, POLICY_ATTRIBUTE_DENY, "gi_frame", NULL));
            assert_false(has_row(p, POLICY_ATTRIBUTE_ALLOW, "__globals__", NULL));
            assert_false(has_row(p, POLICY_IMPORT_ALLOW, "os", NULL));
            assert_false(has_row(p, POLICY_IMPORT_ALLOW, "subprocess", NULL));
        }
        if (strcmp(names[i], "strict") == 0) {
            assert_false(profile_allows_processes(p));
            assert_false(profile_allows_grants(p));
            assert_true(profile_required_layers(p) & LAYER_NO_EXEC);
        }
        if (strcmp(names[i], "cms") == 0) {
            profile_apply_limits(p, &limits);
            assert_int_equal(limits.timeout_ms, 5000);
            assert_true(has_row(p, POLICY_IMPORT_ALLOW, "code_helpers", NULL));
            assert_true(has_row(p, POLICY_BUILTIN_DENY, "hasattr", NULL));
            assert_false(has_row(p, POLICY_ATTRIBUTE_ALLOW, "__name__", NULL));
        }
        if (strcmp(names[i], "pyrunner") == 0)
            assert_true(has_row(p, POLICY_IMPORT_FROM, "io", "IncrementalNewlineDecoder"));
        if (strcmp(names[i], "marketplace") == 0) {
            assert_true(has_row(p, POLICY_IMPORT_ALLOW, "api", NULL));
            assert_true(has_row(p, POLICY_IMPORT_ALLOW, "os.path", NULL));
        }
        profile_free(p);
        (void)setenv("XDG_CONFIG_HOME", config, 1);
    }
}

UNIT_MAIN()

/* The Python that a directory is an environment of. */
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "engine/pythons.h"

static char root[] = "/tmp/belljar-pythons-XXXXXX";

static void make_dirs(const char *path)
{
    char part[256];

    for (size_t i = 1; i <= strlen(path); i++)
        if (path[i] == '/' || !path[i]) {
            (void)snprintf(part, sizeof(part), "%s/%.*s", root, (int)i, path);
            (void)mkdir(part, 0755);
        }
}

static void put(const char *name, const char *text)
{
    struct error err = {0};
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    if (file_replace(path, text, strlen(text), &err) < 0)
        fail_msg("%s", err.message);
}

static int examine(const char *name, struct python_environment *found, struct error *err)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", root, name);
    return pythons_examine(path, name, found, err);
}

TEST(a_version_is_read_as_venv_virtualenv_and_uv_write_it)
{
    static const struct {
        const char *name, *settings, *version, *base;
    } cases[] = {
        {"venv", "home = /usr/bin\nversion = 3.11.2\n", "3.11", "/usr/bin"},
        {"uv", "home = /h/.local/bin\nuv = 0.4.1\nversion_info = 3.13.5\n", "3.13",
         "/h/.local/bin"},
        {"virtualenv", "home=/usr/bin\r\nversion_info=3.12.0.final.0\r\n", "3.12", "/usr/bin"},
        {"wild", "VERSION\t=  3.13\nhome =\n", "3.13", ""},
        {"without", "home = /usr/bin", "3.11", "/usr/bin"},
        {"nonsense", "version = 3.x\nversion_info = 33.1\n", "3.11", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct python_environment found = {0};
        struct error err = {0};
        char path[128];

        (void)snprintf(path, sizeof(path), "%s/lib/python%s", cases[i].name, cases[i].version);
        make_dirs(path);
        (void)snprintf(path, sizeof(path), "%s/pyvenv.cfg", cases[i].name);
        put(path, cases[i].settings);
        if (examine(cases[i].name, &found, &err) < 0)
            fail_msg("%s: %s", cases[i].name, err.message);
        assert_string_equal(found.version, cases[i].version);
        assert_string_equal(found.base, cases[i].base);
    }
}

static void refuses(const char *name, const char *why)
{
    struct python_environment found = {0};
    cleanup_error struct error err = {0};

    assert_int_equal(examine(name, &found, &err), -1);
    assert_non_null(err.hint);
    assert_error(&err, E_UNSUPPORTED, why);
}

TEST(what_is_no_virtual_environment_is_refused_with_the_reason)
{
    make_dirs("empty");
    refuses("empty", "is not a Python environment");
    make_dirs("conda/lib/python3.12");
    make_dirs("conda/conda-meta");
    refuses("conda", "is a conda environment, not a virtual environment");
    make_dirs("pyenv/lib/python3.12");
    put("pyenv/lib/python3.12/os.py", "");
    refuses("pyenv", "is an installation of Python, not a virtual environment");
    make_dirs("torn");
    put("torn/pyvenv.cfg", "version = 3.11.2\n");
    refuses("torn", "is damaged: it has no `lib/python3.11`");
}

TEST(only_a_python_with_its_minor_version_names_one)
{
    static const char *const others[] = {
        "python",    "python3",     "python3.",    "python3.x",          "python3.13.5",
        "python4.1", "Python3.13",  "python3.13 ", "python3.1234567890", "system",
        "",          "python3.13/x"};
    char version[PYTHON_VERSION_TEXT];

    assert_true(pythons_name("python3.13", version));
    assert_string_equal(version, "3.13");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (pythons_name(others[i], version))
            fail_msg("`%s` was taken for a Python", others[i]);
}

TEST(a_python_without_a_zygote_is_refused_with_those_there_are)
{
    cleanup_error struct error err = {0};

    assert_null(pythons_program("3.99", &err));
    assert_contains(err.message, "this Belljar runs Python 3.");
    assert_contains(err.hint, "python3.99-dev");
    assert_error(&err, E_UNSUPPORTED, "not 3.99");
    /* The remedy is no remedy for these. */
    assert_null(pythons_program("3.10", &err));
    assert_true(!strstr(err.hint, "-dev"));
    assert_contains(err.hint, "older than 3.11");
}

TEST(programs_run_with_a_python_that_is_installed)
{
    char version[PYTHON_VERSION_TEXT];

    pythons_default(version);
    assert_true(pythons_is_installed(version));
    assert_false(pythons_is_installed("3.99"));
}

static int prepare(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *place)
{
    (void)st;
    (void)kind;
    (void)place;
    return remove(path);
}

static int clean(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

UNIT_MAIN_WITH(prepare, clean)

/* The place of files depends on the place of the program, so the test copies itself and asks the
 * copy. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"

static char dir[] = "/tmp/belljar-paths-XXXXXX";
static char answers[1024];

static int make_executable(const char *name, const char *from)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* `name` may have folders */
    int out = openat(top, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n = 1;

    while (in >= 0 && out >= 0 && n > 0)
        n = sendfile(out, in, NULL, 1 << 20);
    (void)close(in);
    (void)close(out);
    (void)close(top);
    return n == 0 ? 0 : -1;
}

static void ask(const char *name)
{
    char program[64];
    int fds[2], status = 0;
    size_t len = 0;
    ssize_t n;
    pid_t pid;

    (void)snprintf(program, sizeof(program), "%s/%s", dir, name);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)execl(program, program, "--print", (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    while ((n = read(fds[0], answers + len, sizeof(answers) - 1 - len)) > 0)
        len += (size_t)n;
    answers[len] = '\0';
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static int group_setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? make_executable("copy", "/proc/self/exe") : -1;
}

static int group_teardown(void **state)
{
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    (void)unlinkat(top, "copy", 0);
    (void)unlinkat(top, "belljar-zygote", 0);
    (void)close(top);
    return rmdir(dir);
}

TEST(an_installed_program_looks_where_it_was_installed)
{
    ask("copy");
    assert_contains(answers, "zygote=/");
    assert_contains(answers, "/belljar/belljar-zygote\n");
    assert_contains(answers, "/belljar/policies\n");
    assert_null(strstr(answers, dir));
}

TEST(a_program_in_a_checkout_looks_beside_itself)
{
    char expected[128];

    assert_int_equal(make_executable("belljar-zygote", "/bin/true"), 0);
    ask("copy");
    (void)snprintf(expected, sizeof(expected), "zygote=%s/belljar-zygote\n", dir);
    assert_contains(answers, expected);
    (void)snprintf(expected, sizeof(expected), "policies=%s/../policies\n", dir);
    assert_contains(answers, expected);
}

/* A prefix with a program in `bin`, a helper and data. */
static const char *const prefix_dirs[] = {"bin",   "libexec",       "libexec/belljar",
                                          "share", "share/belljar", "share/belljar/policies"};

static void make_prefix(void)
{
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (size_t i = 0; i < ARRAY_SIZE(prefix_dirs); i++)
        assert_int_equal(mkdirat(top, prefix_dirs[i], 0755), 0);
    (void)close(top);
    assert_int_equal(make_executable("bin/copy", "/proc/self/exe"), 0);
    assert_int_equal(make_executable("libexec/belljar/belljar-zygote", "/bin/true"), 0);
}

static void remove_prefix(void)
{
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)unlinkat(top, "bin/copy", 0);
    (void)unlinkat(top, "share/copy", 0);
    (void)unlinkat(top, "libexec/belljar/belljar-zygote", 0);
    for (size_t i = ARRAY_SIZE(prefix_dirs); i > 0; i--)
        (void)unlinkat(top, prefix_dirs[i - 1], AT_REMOVEDIR);
    (void)close(top);
}

static void assert_answer(const char *what, const char *path)
{
    char expected[128];

    (void)snprintf(expected, sizeof(expected), "%s=%s/%s\n", what, dir, path);
    assert_contains(answers, expected);
}

TEST(what_was_moved_together_is_found_together)
{
    make_prefix();
    ask("bin/copy");
    remove_prefix();
    assert_answer("zygote", "libexec/belljar/belljar-zygote");
    assert_answer("policies", "share/belljar/policies");
}

TEST(what_a_stranger_may_have_put_there_is_refused)
{
    static const char *const open_dirs[] = {".", "libexec", "libexec/belljar"};
    char path[64];

    for (size_t i = 0; i < ARRAY_SIZE(open_dirs); i++) {
        make_prefix();
        (void)snprintf(path, sizeof(path), "%s/%s", dir, open_dirs[i]);
        assert_int_equal(chmod(path, 0777), 0);
        ask("bin/copy");
        assert_int_equal(chmod(path, 0755), 0);
        remove_prefix();
        assert_contains(answers, "zygote=\n");
        assert_contains(answers, "others can change it");
    }
}

TEST(what_belongs_to_somebody_else_is_refused)
{
    char path[64];

    if (geteuid() != 0) {
        print_message("# skipped: only root can give files away\n");
        skip();
    }
    make_prefix();
    (void)snprintf(path, sizeof(path), "%s/libexec/belljar/belljar-zygote", dir);
    assert_int_equal(chown(path, 65534, 65534), 0);
    ask("bin/copy");
    remove_prefix();
    assert_contains(answers, "zygote=\n");
    assert_contains(answers, "libexec/belljar/belljar-zygote` is not taken");
}

TEST(a_program_outside_of_bin_takes_nothing_from_next_door)
{
    make_prefix();
    assert_int_equal(make_executable("share/copy", "/proc/self/exe"), 0);
    ask("share/copy");
    remove_prefix();
    assert_null(strstr(answers, dir));
}

static void assert_state(const char *below, const char *path)
{
    struct error err = {0};
    char expected[256], *got = paths_state("history", &err);
    struct stat st;

    if (!got)
        fail_msg("%s", err.message);
    (void)snprintf(expected, sizeof(expected), "%s/%s/belljar/history", dir, path);
    assert_string_equal(got, expected);
    *strrchr(expected, '/') = '\0';
    assert_int_equal(stat(expected, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    free(got);
    for (size_t depth = 0; strlen(expected) > strlen(below); depth++) {
        assert_int_equal(rmdir(expected), 0);
        *strrchr(expected, '/') = '\0';
    }
}

TEST(what_lasts_is_kept_in_a_private_directory)
{
    char place[128];

    (void)snprintf(place, sizeof(place), "%s/state", dir);
    assert_int_equal(setenv("XDG_STATE_HOME", place, 1), 0);
    assert_state(dir, "state");
    (void)snprintf(place, sizeof(place), "%s/not/yet/there", dir);
    assert_int_equal(setenv("XDG_STATE_HOME", place, 1), 0);
    assert_state(dir, "not/yet/there");
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0); /* is to be ignored */
    assert_int_equal(setenv("HOME", dir, 1), 0);
    assert_state(dir, ".local/state");
}

TEST(without_a_home_nothing_lasts)
{
    struct error err = {0};

    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_null(paths_state("history", &err));
    assert_error(&err, E_NOT_FOUND, "HOME");
    assert_int_equal(setenv("HOME", "/dev/null", 1), 0);
    assert_null(paths_state("history", &err));
    assert_error(&err, E_SYSTEM, "/dev/null");
}

static int print_paths(void)
{
    struct error err = {0};
    char *zygote = paths_program("belljar-zygote", &err);
    char *policies = paths_data("policies", &err);

    (void)printf("zygote=%s\npolicies=%s\n%s\n", zygote ? zygote : "", policies ? policies : "",
                 err.message ? err.message : "");
    free(zygote);
    free(policies);
    error_done(&err);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0)
        return print_paths();
    return unit_run(group_setup, group_teardown);
}

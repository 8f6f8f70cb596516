/* The place of files depends on the place of the program, so the test copies itself and asks the
 * copy. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/paths.h"

static char dir[] = "/tmp/belljar-paths-XXXXXX";
static char answers[1024];

static int make_executable(const char *name, const char *from)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int top = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int out = openat(top, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    ssize_t n = 1;

    while (in >= 0 && out >= 0 && n > 0)
        n = sendfile(out, in, NULL, 1 << 20);
    (void)close(in);
    (void)close(out);
    (void)close(top);
    return n == 0 ? 0 : -1;
}

static void ask_copy(void)
{
    char program[64];
    int fds[2], status = 0;
    size_t len = 0;
    ssize_t n;
    pid_t pid;

    (void)snprintf(program, sizeof(program), "%s/copy", dir);
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
    ask_copy();
    assert_contains(answers, "zygote=/");
    assert_contains(answers, "/belljar/belljar-zygote\n");
    assert_contains(answers, "/belljar/policies\n");
    assert_null(strstr(answers, dir));
}

TEST(a_program_in_a_checkout_looks_beside_itself)
{
    char expected[128];

    assert_int_equal(make_executable("belljar-zygote", "/bin/true"), 0);
    ask_copy();
    (void)snprintf(expected, sizeof(expected), "zygote=%s/belljar-zygote\n", dir);
    assert_contains(answers, expected);
    (void)snprintf(expected, sizeof(expected), "policies=%s/../policies\n", dir);
    assert_contains(answers, expected);
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

    (void)printf("zygote=%s\npolicies=%s\n", zygote ? zygote : "", policies ? policies : "");
    free(zygote);
    free(policies);
    return err.code != E_NONE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0)
        return print_paths();
    return unit_run(group_setup, group_teardown);
}

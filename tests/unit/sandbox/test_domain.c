#include "sandbox/domain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

#define NOBODY 65534

static const struct landlock_path whole = {"/", LANDLOCK_READ_EXEC};

/* Never as root: were the scope not there, this user has nothing to lose. */
static void become_keeper(void)
{
    if (geteuid() == 0)
        child_need(setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
                   setresuid(NOBODY, NOBODY, NOBODY) == 0);
    child_need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    child_need(domain_keep(&whole, 1, NULL) == 0);
}

/* Processes that hold the pipe: one that went its own way, and one of each that does not end. */
static void start_strays(void)
{
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            (void)domain_enter_inner(NULL);
            (void)prctl(PR_SET_PDEATHSIG, 0);
            (void)signal(SIGTERM, SIG_IGN);
            (void)setsid();
            (void)fork();
            for (;;)
                (void)pause();
        }
}

static void need_scopes(void)
{
    if (landlock_abi() < LANDLOCK_ISOLATES)
        skip();
}

/* Waits until nobody has the other end of the pipe. */
static int keep(void (*end)(pid_t keeper), int *ret_status)
{
    int pipes[2], started[2];
    char byte;
    pid_t pid;
    ssize_t n;

    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(pipes[0]);
        become_keeper();
        start_strays();
        (void)!write(started[1], "", 1);
        if (!end)
            domain_exit(7);
        for (;;)
            (void)pause();
    }
    (void)close(pipes[1]);
    assert_int_equal(read(started[0], &byte, 1), 1);
    if (end)
        end(pid);
    n = read(pipes[0], &byte, 1);
    assert_int_equal(waitpid(pid, ret_status, 0), pid);
    (void)close(pipes[0]);
    (void)close(started[0]);
    (void)close(started[1]);
    return (int)n;
}

TEST(a_keeper_that_ends_takes_everybody_along)
{
    int status;

    need_scopes();
    assert_int_equal(keep(NULL, &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void send_term(pid_t keeper)
{
    assert_int_equal(kill(keeper, SIGTERM), 0);
}

TEST(the_signal_of_a_parents_death_is_its_end)
{
    int status;

    need_scopes();
    assert_int_equal(keep(send_term, &status), 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int reach_keeper(const void *user)
{
    int status;
    pid_t pid;

    (void)user;
    become_keeper();
    pid = fork();
    if (pid == 0) {
        child_need(domain_enter_inner(NULL) == 0);
        (void)kill(-1, SIGKILL); /* reaches nobody, and Linux says yes all the same */
        _exit(kill(getppid(), 0) < 0 && errno == EPERM ? 0 : 1);
    }
    child_need(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(from_inside_the_keeper_cannot_be_reached)
{
    need_scopes();
    assert_int_equal(in_child(reach_keeper, NULL), 0);
}

static int exit_without(const void *user)
{
    (void)user;
    domain_exit(3);
}

TEST(without_a_domain_it_is_an_ordinary_end)
{
    assert_int_equal(in_child(exit_without, NULL), 3);
}

UNIT_MAIN()

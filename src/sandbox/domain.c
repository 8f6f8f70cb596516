#include "sandbox/domain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The process for which the domain was made. A child that has this from a fork is not it. */
static volatile pid_t keeper;

void domain_exit(int code)
{
    if (keeper == getpid()) {
        (void)kill(-1, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            ;
    }
    _exit(code);
}

static void on_term(int sig)
{
    (void)sig;
    domain_exit(0);
}

/* A process outside of the domain that we could signal otherwise. It ends with `*ret_hold`. */
static pid_t start_witness(int *ret_hold)
{
    int pair[2];
    char byte;
    pid_t pid;

    if (pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void)close(pair[1]);
        _exit(read(pair[0], &byte, 1) == 0 ? 0 : 1);
    }
    (void)close(pair[0]);
    if (pid < 0)
        (void)close(pair[1]);
    else
        *ret_hold = pair[1];
    return pid;
}

/* Without this proof kill(-1) would be meant for every process of this user. */
static int prove_scope(pid_t witness, struct error *err)
{
    if (kill(witness, 0) < 0 && errno == EPERM)
        return 0;
    return error_set(err, E_UNSUPPORTED, "Landlock does not keep signals inside its domain");
}

int domain_keep(const struct landlock_path *paths, size_t count, struct error *err)
{
    struct sigaction action = {.sa_handler = on_term};
    cleanup_close int hold = -1;
    pid_t witness;
    int r;

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return error_errno(err, "adopt orphans");
    witness = start_witness(&hold);
    if (witness < 0)
        return error_errno(err, "fork");
    r = landlock_isolate(paths, count, err);
    if (r == 0)
        r = prove_scope(witness, err);
    close_fd(&hold);
    while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
        ;
    if (r < 0)
        return r;
    keeper = getpid();
    /* All signals wait meanwhile: the handler is the last thing this process does. */
    (void)sigfillset(&action.sa_mask);
    return sigaction(SIGTERM, &action, NULL) < 0 ? error_errno(err, "sigaction") : 0;
}

int domain_enter_inner(struct error *err)
{
    (void)signal(SIGTERM, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return error_errno(err, "prctl");
    return landlock_scope(err);
}

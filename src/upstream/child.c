#include "upstream/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "sandbox/ns.h"

/* Above the numbers of the standard streams, wherever a pipe was opened. */
#define OUT_OF_THE_WAY 16

#define EXIT_KEEPER 126
#define EXIT_EXEC   127

/* A killed process is gone in milliseconds unless Linux itself hangs. */
#define KILL_PATIENCE_MS 5000

/* Variables that a program needs, and none that were meant for us. */
static const char *const inherited[] = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ"};

struct pipes {
    int in[2], out[2], err[2];
};

static void close_pipes(struct pipes *p)
{
    int *all[] = {&p->in[0], &p->in[1], &p->out[0], &p->out[1], &p->err[0], &p->err[1]};

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        close_fd(all[i]);
}

static int open_pipes(struct pipes *p, struct error *err)
{
    *p = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}};
    if (pipe2(p->in, O_CLOEXEC) < 0 || pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->err, O_CLOEXEC) < 0)
        return error_errno(err, "pipe2");
    if (fcntl(p->in[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(p->out[0], F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(p->err[0], F_SETFL, O_NONBLOCK) < 0)
        return error_errno(err, "fcntl");
    return 0;
}

/* --- the environment --- */

static bool is_declared(char *const *env, const char *name)
{
    size_t len = strlen(name);

    for (; env && *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return true;
    return false;
}

/* Ours stand first, up to the first NULL of their slots; the declared ones behind are only lent. */
struct variables {
    char **list;
    size_t n_own;
};

static void free_environment(struct variables *env)
{
    for (size_t i = 0; i < env->n_own; i++)
        free(env->list[i]);
    free((void *)env->list);
}

static int make_environment(struct variables *env, char *const *declared)
{
    size_t n = ARRAY_SIZE(inherited) + 1;

    for (char *const *entry = declared; entry && *entry; entry++)
        n++;
    env->list = calloc(n, sizeof(*env->list));
    if (!env->list)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(inherited); i++) {
        const char *value = is_declared(declared, inherited[i]) ? NULL : getenv(inherited[i]);

        if (!value)
            continue;
        if (asprintf(&env->list[env->n_own], "%s=%s", inherited[i], value) < 0)
            return -1;
        env->n_own++;
    }
    n = env->n_own;
    for (char *const *entry = declared; entry && *entry; entry++)
        env->list[n++] = *entry;
    return 0;
}

/* --- in the new processes, still in the supervisor's image: nothing is allocated --- */

/* Dies with its parent. -1: the parent is gone already. */
static int follow(int parent)
{
    struct pollfd gone = {.fd = parent, .events = POLLIN};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return -1;
    return parent >= 0 && poll(&gone, 1, 0) > 0 ? -1 : 0;
}

static int take_streams(const struct pipes *p)
{
    int in = fcntl(p->in[0], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    int out = fcntl(p->out[1], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
    int err = fcntl(p->err[1], F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);

    if (in < 0 || out < 0 || err < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        return -1;
    return (int)syscall(SYS_close_range, 3U, ~0U, 0U);
}

__attribute__((noreturn)) static void become_program(const struct child_options *options,
                                                     char **env)
{
    const char *cwd = options->cwd ? options->cwd : "/";

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (chdir(cwd) < 0)
        (void)dprintf(2, "cannot go to %s: %s\n", cwd, strerror(errno));
    else if (execvpe(options->argv[0], options->argv, env) < 0)
        (void)dprintf(2, "cannot execute %s: %s\n", options->argv[0], strerror(errno));
    _exit(EXIT_EXEC);
}

/* Everything that loses its parent in this namespace becomes ours to wait for. */
__attribute__((noreturn)) static void keep(pid_t program)
{
    int status;

    (void)prctl(PR_SET_NAME, "belljar-keeper", 0, 0, 0);
    (void)syscall(SYS_close_range, 0U, ~0U, 0U);
    for (;;) {
        pid_t pid = wait(&status);

        if (pid < 0 && errno != EINTR)
            _exit(EXIT_KEEPER);
        if (pid == program)
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
}

/* `map`: of its user namespace; NULL: it has none of its own. */
__attribute__((noreturn)) static void become_keeper(const struct child_options *options, char **env,
                                                    const struct pipes *pipes, int supervisor,
                                                    const struct ns_map *map)
{
    pid_t program;

    if (follow(supervisor) < 0 || (map && ns_write_map(0, map, NULL) < 0))
        _exit(EXIT_KEEPER);
    child_reset_signals();
    (void)setsid();
    if (take_streams(pipes) < 0)
        _exit(EXIT_KEEPER);
    program = fork();
    if (program == 0)
        become_program(options, env);
    if (program < 0)
        _exit(EXIT_KEEPER);
    keep(program);
}

/* --- from the supervisor --- */

/* Root needs no user namespace for a pid namespace. An ordinary user gets one in which its own id
 * is mapped.
 */
static pid_t clone_keeper(bool *ret_is_mapped, int *ret_pidfd)
{
    bool is_root = geteuid() == 0;
    pid_t pid = ns_clone(CLONE_NEWPID | (is_root ? 0 : CLONE_NEWUSER), ret_pidfd);

    *ret_is_mapped = !is_root;
    if (pid >= 0)
        return pid;
    *ret_is_mapped = false;
    return ns_clone(0, ret_pidfd);
}

int child_start(const struct child_options *options, struct child *ret_child, struct error *err)
{
    cleanup_close int supervisor = (int)syscall(SYS_pidfd_open, getpid(), 0);
    cleanup(free_environment) struct variables env = {0};
    cleanup(close_pipes) struct pipes pipes;
    /* Asked for now: in a namespace that maps nobody yet, everybody is nobody. */
    const struct ns_map map = {geteuid(), geteuid(), getegid(), getegid(), 1, true};
    bool is_mapped = false;
    int pidfd = -1;
    pid_t pid;

    if (open_pipes(&pipes, err) < 0)
        return -1;
    if (make_environment(&env, options->env) < 0)
        return error_memory(err);
    pid = clone_keeper(&is_mapped, &pidfd);
    if (pid == 0)
        become_keeper(options, env.list, &pipes, supervisor, is_mapped ? &map : NULL);
    if (pid < 0)
        return error_errno(err, "start %s", options->argv[0]);
    *ret_child = (struct child){.pid = pid,
                                .pidfd = pidfd,
                                .in = take_fd(pipes.in[1]),
                                .out = take_fd(pipes.out[0]),
                                .err = take_fd(pipes.err[0])};
    return 0;
}

bool child_reap(struct child *child, char words[32])
{
    siginfo_t info = {0};

    if (child->pid < 0)
        return true;
    /* Fails where whoever started us ignores SIGCHLD: Linux has reaped it by itself. */
    if (waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED | WNOHANG) == 0 && !info.si_pid)
        return false;
    child->pid = -1;
    if (info.si_code != CLD_EXITED)
        (void)snprintf(words, 32, "signal %d", info.si_status);
    else if (info.si_status > 128)
        (void)snprintf(words, 32, "signal %d", info.si_status - 128);
    else
        (void)snprintf(words, 32, "exit code %d", info.si_status);
    return true;
}

void child_done(struct child *child, int patience_ms)
{
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};
    char words[32];

    close_fd(&child->in);
    close_fd(&child->out);
    close_fd(&child->err);
    if (child->pid > 0 && (patience_ms <= 0 || poll(&end, 1, patience_ms) <= 0)) {
        (void)kill(child->pid, SIGKILL);
        (void)poll(&end, 1, KILL_PATIENCE_MS);
    }
    (void)child_reap(child, words);
    close_fd(&child->pidfd);
    *child = CHILD_NONE;
}

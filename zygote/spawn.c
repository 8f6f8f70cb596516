#include "zygote/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/init.h"
#include "guest/kernel.h"
#include "guest/oom_rank.h"
#include "sandbox/domain.h"
#include "sandbox/ns.h"
#include "sandbox/places.h"
#include "sandbox/recipe.h"
#include "sandbox/root.h"
#include "wire/frame.h"

/* Connections that wait until the supervisor has room for them. */
#define GATE_BACKLOG 128

static int compare_ints(const void *a, const void *b)
{
    return *(const int *)a < *(const int *)b ? -1 : *(const int *)a > *(const int *)b;
}

/* Closes everything above stderr but the given ones: a child inherits all that the zygote holds,
 * the sockets of other sandboxes among it, and nothing else may happen before those are gone. */
static int close_others(int *keep, size_t count)
{
    unsigned from = STDERR_FILENO + 1;

    qsort(keep, count, sizeof(*keep), compare_ints);
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < (int)from)
            continue;
        if ((unsigned)keep[i] > from && close_range(from, (unsigned)keep[i] - 1, 0) < 0)
            return -1;
        from = (unsigned)keep[i] + 1;
    }
    return close_range(from, ~0U, 0);
}

static int isolate_fds(const struct wire_spawn *spec, const struct spawn_fds *fds, int sync)
{
    int keep[WIRE_SPAWN_FDS + 1 + WIRE_ATTACH_MAX + WIRE_GRANTS_MAX];
    size_t n = 0;

    keep[n++] = fds->init;
    keep[n++] = fds->kernel;
    keep[n++] = fds->report;
    keep[n++] = fds->out;
    keep[n++] = fds->err;
    keep[n++] = fds->replies;
    keep[n++] = sync;
    for (uint32_t i = 0; i < spec->attach; i++)
        keep[n++] = fds->attach[i];
    for (uint32_t i = 0; i < spec->n_grants; i++)
        keep[n++] = fds->grants[i];
    return close_others(keep, n);
}

static void __attribute__((noreturn)) fail(int control, const struct error *err)
{
    struct pack p;

    pack_init(&p, 8192);
    wire_pack_failure(&p, &(struct wire_failure){
                              .code = err->code,
                              .errnum = (uint32_t)err->errnum,
                              .message = span_of(err->message),
                              .hint = span_of(err->hint),
                          });
    (void)frame_send(control, WIRE_FAILED, &p, NULL, 0);
    domain_exit(1);
}

/* Connections to this socket are accepted outside (egress/egress.h). */
static int listen_for_gate(void)
{
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_port = htons(WIRE_GATE_PORT),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    cleanup_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) < 0 ||
        listen(fd, GATE_BACKLOG) < 0)
        return -1;
    return take_fd(fd);
}

static size_t count_layer_fds(const struct wire_spawn *spec)
{
    size_t count = 0;

    for (uint32_t i = 0; i < spec->n_grants; i++)
        count += spec->grants[i].mode == WIRE_GRANT_COW ? 2 : 0;
    return count;
}

static int open_place(const char *path)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        domain_exit(1);
    return fd;
}

/* The supervisor works on the files through descriptors that are opened here, inside, before a byte
 * of the program has arrived. They are sent and closed: no kernel ever has them. The same holds for
 * the socket that leads to the gate, the one to the ptmx of its terminals, for what the write
 * broker needs, and for the listener of refused calls. */
static void report_sealed(int control, struct recipe *recipe)
{
    size_t layers = count_layer_fds(recipe->spec), count = 0;
    int fds[2 + 2 * WIRE_COW_MAX + 4];
    struct pack p;

    fds[count++] = open_place(places_workspace());
    if (!places_are_on_host()) /* there, programs know /tmp by another name */
        fds[count++] = open_place(places_tmp());
    memcpy(fds + count, recipe->overlay_fds, layers * sizeof(*fds));
    count += layers;
    if (recipe->spec->flags & WIRE_SPAWN_GATE) {
        fds[count] = listen_for_gate();
        if (fds[count++] < 0)
            domain_exit(1);
    }
    if (recipe->ptmx_fd >= 0)
        fds[count++] = take_fd(recipe->ptmx_fd);
    if (recipe_has_broker(recipe)) {
        fds[count] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (fds[count++] < 0)
            _exit(1);
    }
    if (recipe->listener_fd >= 0)
        fds[count++] = take_fd(recipe->listener_fd);
    pack_init(&p, 16);
    pack_u32(&p, recipe->layers);
    if (frame_send(control, WIRE_SEALED, &p, fds, count) < 0)
        domain_exit(1);
    pack_done(&p);
    for (size_t i = 0; i < count; i++)
        (void)close(fds[i]);
}

/* The other ends are the kernel's now. `score` may be -1. */
static int keep_own(int control, int score, const struct recipe *recipe)
{
    size_t count = count_layer_fds(recipe->spec);
    int keep[4 + 2 * WIRE_COW_MAX];

    keep[0] = control;
    keep[1] = score;
    memcpy(keep + 2, recipe->overlay_fds, count * sizeof(*keep));
    if (recipe->ptmx_fd >= 0)
        keep[2 + count++] = recipe->ptmx_fd;
    if (recipe->listener_fd >= 0)
        keep[2 + count++] = recipe->listener_fd;
    return close_others(keep, 2 + count);
}

/* In a child of pid 1, before anything else. */
static void leave_init(void)
{
    init_leave();
    if (places_are_on_host() && domain_enter_inner(NULL) < 0)
        _exit(1);
}

/* In a child of pid 1: a further kernel of a session. */
static void become_kernel(const int fds[WIRE_KERNEL_FDS])
{
    leave_init();
    kernel_main(&(struct kernel_fds){fds[0], fds[1], fds[2], fds[3], fds[4]}, 0);
}

/* In the clone: pid 1 of the sandbox, with nothing done yet. */
static void __attribute__((noreturn))
become_init(const struct wire_spawn *spec, const struct spawn_fds *fds, const char *directory,
            int sync, uint64_t namespaces, uint64_t ready)
{
    cleanup_error struct error err = {0};
    struct recipe recipe = {
        .spec = spec,
        .directory = directory,
        .sync_fd = sync,
        .namespaces = namespaces,
        .prepared = ready,
    };
    bool touch = spec->flags & WIRE_SPAWN_TOUCH;
    int score;
    pid_t kernel;

    if (isolate_fds(spec, fds, sync) < 0)
        _exit(1);
    memcpy(recipe.attach_fds, fds->attach, sizeof(recipe.attach_fds));
    memcpy(recipe.grant_fds, fds->grants, sizeof(recipe.grant_fds));
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &(sigset_t){0}, NULL);
    if (directory) /* until it is sealed: otherwise its files in /proc are not its own */
        (void)prctl(PR_SET_DUMPABLE, 1);
    score = oom_rank_open(); /* before it has given up the right to */
    if ((directory ? recipe_process_seal : recipe_seal)(&recipe, &err) < 0)
        fail(fds->init, &err);

    if (init_prepare() < 0) {
        error_errno(&err, "wait for processes");
        fail(fds->init, &err);
    }
    oom_rank_as_program();
    kernel = fork();
    if (kernel < 0) {
        error_errno(&err, "fork the kernel");
        fail(fds->init, &err);
    }
    if (kernel == 0) {
        leave_init();
        kernel_main(
            &(struct kernel_fds){fds->kernel, fds->report, fds->out, fds->err, fds->replies},
            KERNEL_HOLD | (touch ? KERNEL_TOUCH : 0));
    }

    oom_rank_as_init();
    if (keep_own(fds->init, score, &recipe) < 0)
        domain_exit(1);
    report_sealed(fds->init, &recipe);
    init_main(fds->init, kernel, become_kernel);
}

static int map_ids(pid_t pid, uint32_t uid, struct error *err)
{
    return ns_write_map(pid, &(struct ns_map){ROOT_UID, uid, ROOT_UID, uid, 1, true}, err);
}

/* Namespaces we are in that are meant for the next sandbox. */
static uint64_t prepared;
static bool is_prepared; /* or it was tried */

void spawn_prepare(void)
{
    prepared = recipe_prepare();
    is_prepared = true;
}

bool spawn_is_prepared(void)
{
    return is_prepared;
}

/* Clones the sandbox's first process, which waits for a byte on `*ret_sync`. */
static pid_t clone_init(const struct wire_spawn *spec, const struct spawn_fds *fds,
                        const char *directory, int *ret_pidfd, int *ret_sync)
{
    uint64_t namespaces = directory ? 0 : recipe_namespaces(), ready = directory ? 0 : prepared;
    int sync[2];
    pid_t pid;

    if (pipe2(sync, O_CLOEXEC) < 0)
        return -1;
    pid = ns_clone(namespaces & ~ready, ret_pidfd);
    if (pid < 0 && errno == EINVAL && namespaces) { /* a kernel without time namespaces: the layer
                                                       will be missing, and said to be */
        namespaces &= ~(uint64_t)CLONE_NEWTIME;
        pid = ns_clone(namespaces & ~ready, ret_pidfd);
    }
    if (pid == 0)
        become_init(spec, fds, directory, sync[0], namespaces, ready);
    (void)close(sync[0]);
    *ret_sync = sync[1];
    return pid;
}

int spawn_sandbox(const struct wire_spawn *spec, const struct spawn_fds *fds, const char *directory,
                  pid_t *ret_pid, int *ret_pidfd, struct error *err)
{
    cleanup_close int pidfd = -1, sync = -1;
    pid_t pid = clone_init(spec, fds, directory, &pidfd, &sync);

    is_prepared = directory != NULL;
    prepared = 0; /* whatever comes of it: nobody else gets them */
    if (pid < 0)
        return error_errno(err, directory ? "start the sandbox's first process"
                                          : "create the sandbox's namespaces");
    if ((!directory && map_ids(pid, spec->uid, err) < 0) || write(sync, "", 1) != 1) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return error_wrap(err, "map the ids");
    }
    *ret_pid = pid;
    *ret_pidfd = take_fd(pidfd);
    return 0;
}

/* belljar-zygote: a warm Python interpreter that makes sandboxes.
 *
 * Theory of operation. The supervisor has cloned this process into namespaces of its own (user,
 * mount, pid, network, ipc, uts), in which it is root and pid 1, given it an environment of its
 * making and one socket, number 3. It builds the file system all sandboxes share, moves into it,
 * starts Python, imports the environment's modules, and then does only two things: for each
 * WIRE_SPAWN it clones a sandbox, and for each sandbox that ended it reaps and says so.
 *
 * It holds no secret, runs no user code, has one thread. It dies when the socket ends or the
 * supervisor does; every sandbox lives in its pid namespace and dies with it.
 *
 * At the level `process` there are no namespaces: it is an ordinary user, Landlock confines it, and
 * it keeps the domain of its sandboxes (sandbox/domain.h), which it ends before it ends itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/hotset.h"
#include "guest/image/image.h"
#include "guest/interpreter.h"
#include "guest/kernel.h"
#include "sandbox/domain.h"
#include "sandbox/ns.h"
#include "sandbox/recipe.h"
#include "sandbox/remove_tree.h"
#include "sandbox/root.h"
#include "sandbox/seccomp.h"
#include "wire/frame.h"
#include "zygote/rebase.h"
#include "zygote/spawn.h"
#include "zygote/warm_python.h"

extern const struct root_file library_files[]; /* made by tools/embed-files.py */

#define SOCKET 3
#define STEADY 4

struct child {
    pid_t pid; /* -1: it is gone, and its files are there */
    uint64_t id;
    char *directory;  /* at the level `process`: its own */
    bool is_unwanted; /* nobody needs what is in it */
};

struct zygote {
    struct frame_decoder decoder;
    struct child *boxes;
    size_t n_boxes;
    size_t size;
    bool is_warm;    /* more than one sandbox is made here */
    bool is_on_host; /* the level `process`: no namespaces */
    char *directory; /* then: where all of them have theirs */
};

static void send_or_die(enum wire_type type, struct pack *p, const int *fds, size_t n_fds)
{
    int r = frame_send(SOCKET, type, p, fds, n_fds);

    pack_done(p);
    if (r < 0)
        domain_exit(0); /* the supervisor is gone */
}

static void send_failure(enum wire_type type, uint64_t id, const struct error *err)
{
    struct pack p;

    pack_init(&p, 8192);
    if (type == WIRE_SPAWN_FAILED)
        pack_u64(&p, id);
    wire_pack_failure(&p, &(struct wire_failure){
                              .code = err->code,
                              .errnum = (uint32_t)err->errnum,
                              .message = span_of(err->message),
                              .hint = span_of(err->hint),
                          });
    send_or_die(type, &p, NULL, 0);
}

static void __attribute__((noreturn)) give_up(const struct error *err)
{
    send_failure(WIRE_FAILED, 0, err);
    _exit(1);
}

/* There is room before the first sandbox is made: with a seed, objects have the same addresses in
 * each of them, and so nothing may be allocated between two. */
static void make_room(struct zygote *z)
{
    size_t size = z->size ? z->size * 2 : 64;
    struct child *grown = realloc(z->boxes, size * sizeof(*grown));

    if (!grown)
        domain_exit(1);
    z->boxes = grown;
    z->size = size;
}

static void remember(struct zygote *z, pid_t pid, uint64_t id, char *directory)
{
    if (z->n_boxes == z->size)
        make_room(z);
    z->boxes[z->n_boxes++] = (struct child){.pid = pid, .id = id, .directory = directory};
}

/* On the host a sandbox whose first process was killed may have others left, which are ours by now
 * and cannot be told from those of its neighbours. */
static void check_end(const struct zygote *z, int status)
{
    if (z->directory && !WIFEXITED(status))
        domain_exit(1);
}

/* --- files of sandboxes on the host --- */

static char *make_directory(const struct zygote *z, struct error *err)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/XXXXXX", z->directory) < 0) {
        path = NULL;
        (void)error_memory(err);
        return NULL;
    }
    if (!mkdtemp(path)) {
        (void)error_errno(err, "make a directory in `%s`", z->directory);
        return NULL;
    }
    return take_ptr(path);
}

/* In a process of its own, since there may be much. It writes where we do and nowhere else. */
static void remove_directory(const char *path)
{
    pid_t pid = fork();

    if (pid == 0)
        _exit(remove_tree(AT_FDCWD, path) < 0 ? 1 : 0);
}

static void forget(struct zygote *z, struct child *box)
{
    if (box->directory)
        remove_directory(box->directory);
    free(box->directory);
    *box = z->boxes[--z->n_boxes];
}

static void handle_remove(struct zygote *z, const struct frame *frame)
{
    struct unpack u;
    uint64_t id;

    unpack_init(&u, frame->body, frame->len);
    id = unpack_u64(&u);
    if (!unpack_ok(&u))
        domain_exit(1);
    for (size_t i = 0; i < z->n_boxes; i++) {
        if (z->boxes[i].id != id)
            continue;
        z->boxes[i].is_unwanted = true;
        if (z->boxes[i].pid < 0)
            forget(z, &z->boxes[i]);
        return;
    }
}

static void reap(struct zygote *z)
{
    for (;;) {
        int status;
        pid_t pid = waitpid(-1, &status, WNOHANG);
        struct pack p;

        if (pid <= 0)
            return;
        for (size_t i = 0; i < z->n_boxes; i++) {
            if (z->boxes[i].pid != pid)
                continue;
            pack_init(&p, 16);
            pack_u64(&p, z->boxes[i].id);
            pack_u32(&p, (uint32_t)status);
            send_or_die(WIRE_GONE, &p, NULL, 0);
            check_end(z, status);
            z->boxes[i].pid = -1;
            if (!z->boxes[i].directory || z->boxes[i].is_unwanted)
                forget(z, &z->boxes[i]);
            break;
        }
    }
}

static int take_fds(struct zygote *z, const struct wire_spawn *spec, struct spawn_fds *fds)
{
    bool complete;

    fds->init = frame_take_fd(&z->decoder);
    fds->kernel = frame_take_fd(&z->decoder);
    fds->report = frame_take_fd(&z->decoder);
    fds->out = frame_take_fd(&z->decoder);
    fds->err = frame_take_fd(&z->decoder);
    fds->replies = frame_take_fd(&z->decoder);
    complete = fds->replies >= 0;
    for (uint32_t i = 0; i < spec->attach; i++)
        complete &= (fds->attach[i] = frame_take_fd(&z->decoder)) >= 0;
    for (uint32_t i = 0; i < spec->n_grants; i++)
        complete &= (fds->grants[i] = frame_take_fd(&z->decoder)) >= 0;
    return complete ? 0 : -1;
}

static void close_fds(const struct wire_spawn *spec, struct spawn_fds *fds)
{
    close_fd(&fds->init);
    close_fd(&fds->kernel);
    close_fd(&fds->report);
    close_fd(&fds->out);
    close_fd(&fds->err);
    close_fd(&fds->replies);
    for (uint32_t i = 0; i < spec->attach; i++)
        close_fd(&fds->attach[i]);
    for (uint32_t i = 0; i < spec->n_grants; i++)
        close_fd(&fds->grants[i]);
}

static void handle_spawn(struct zygote *z, const struct frame *frame)
{
    cleanup_error struct error err = {0};
    cleanup_close int pidfd = -1;
    cleanup_free char *directory = NULL;
    struct wire_spawn spec;
    struct spawn_fds fds;
    struct unpack u;
    struct pack p;
    pid_t pid;

    unpack_init(&u, frame->body, frame->len);
    if (!wire_unpack_spawn(&u, &spec) || take_fds(z, &spec, &fds) < 0)
        domain_exit(1); /* the supervisor does not do that */
    if ((z->directory && !(directory = make_directory(z, &err))) ||
        spawn_sandbox(&spec, &fds, directory, &pid, &pidfd, &err) < 0) {
        if (directory)
            remove_directory(directory);
        close_fds(&spec, &fds);
        send_failure(WIRE_SPAWN_FAILED, spec.id, &err);
        return;
    }
    close_fds(&spec, &fds);
    remember(z, pid, spec.id, take_ptr(directory));
    pack_init(&p, 8);
    pack_u64(&p, spec.id);
    send_or_die(WIRE_SPAWNED, &p, &pidfd, 1);
}

static void on_child(int sig)
{
    (void)sig; /* only there to interrupt ppoll(2) */
}

/* While sandboxes are being made, the next one's needs would take a core from them. */
static const struct timespec quiet = {.tv_nsec = 3000000};

static void __attribute__((noreturn)) serve(struct zygote *z)
{
    struct sigaction action = {.sa_handler = on_child};
    sigset_t blocked, waiting;

    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &blocked, &waiting);
    (void)sigaction(SIGCHLD, &action, NULL);

    for (;;) {
        struct pollfd fd = {.fd = SOCKET, .events = POLLIN};
        int n = ppoll(&fd, 1, z->is_warm && !z->is_on_host && !spawn_is_prepared() ? &quiet : NULL,
                      &waiting);
        struct frame frame;

        if (n < 0 && errno != EINTR)
            domain_exit(1);
        if (n == 0)
            spawn_prepare();
        reap(z);
        if (!fd.revents)
            continue;
        if (frame_wait(&z->decoder, SOCKET, &frame) != 1 ||
            (frame.type != WIRE_SPAWN && frame.type != WIRE_REMOVE))
            domain_exit(0);
        if (frame.type == WIRE_SPAWN)
            handle_spawn(z, &frame);
        else
            handle_remove(z, &frame);
    }
}

/* If it cannot be done, a kernel reports that when it is asked for an image. */
static void prepare_images(void)
{
    uintptr_t start;

    if (rebase_first(&start))
        (void)image_prepare((const void *)start);
}

/* Into what its children share, with the pages known that they will touch. */
static void lay_out_memory(bool has_stack)
{
    struct error err = {0};

    if (has_stack)
        kernel_expect_stack();
    if (rebase_memory(&err) < 0)
        give_up(&err);
    prepare_images();
    hotset_learn(HOTSET_ANY, kernel_rehearse);
    hotset_learn(HOTSET_STACK, interpreter_touch);
}

static void say_ready(char **missing, size_t n_missing)
{
    static struct wire_ready ready;
    struct pack p;

    ready.python_version = span_of(warm_python_version());
    ready.missing.count = (uint32_t)n_missing;
    for (size_t i = 0; i < n_missing; i++)
        ready.missing.items[i] = span_of(missing[i]);
    pack_init(&p, 65536);
    wire_pack_ready(&p, &ready);
    send_or_die(WIRE_READY, &p, NULL, 0);
}

/* Without namespaces: what is built inside them otherwise is refused by Landlock here. */
static int confine(struct zygote *z, const struct wire_setup *setup, struct error *err)
{
    char settings[32]; /* of Debian's Python, which reads them when it starts */
    char plots[PATH_MAX];

    (void)snprintf(settings, sizeof(settings), "/etc/python%s", warm_python_minor());
    if (recipe_process_show(span_of(settings), err) < 0)
        return -1;
    z->directory = span_dup(setup->directory);
    if (!z->directory)
        return error_memory(err);
    for (uint32_t i = 0; i < setup->binds.count; i++)
        if (recipe_process_show(setup->binds.items[i], err) < 0)
            return -1;
    /* For the list of fonts of matplotlib, which is not imported without a place for it. Programs
     * get a place of their own. */
    (void)snprintf(plots, sizeof(plots), "%s/.matplotlib", z->directory);
    if (setenv("MPLCONFIGDIR", plots, 1) < 0)
        return error_errno(err, "name a place for matplotlib");
    return recipe_process_confine_zygote(z->directory, err);
}

/* Those we came with are on mounts of the host that we have left, and lose their names with the
 * last of these. A copy of a session opens what its source had by name. */
static int reopen_null(struct error *err)
{
    cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        return error_errno(err, "open /dev/null");
    return 0;
}

static int build_root(const struct wire_setup *setup, struct error *err)
{
    struct root_python python = {warm_python_minor(), span_dup(setup->python)};

    if (!python.interpreter)
        return error_memory(err);
    if (root_build(&setup->binds, library_files, &python, setup->steady ? STEADY : -1, err) < 0)
        return -1;
    return reopen_null(err);
}

static void enclose(struct zygote *z, const struct wire_setup *setup)
{
    struct error err = {0};

    if ((z->is_on_host ? confine(z, setup, &err) : build_root(setup, &err)) == 0)
        return;
    error_wrap(&err, z->is_on_host ? "confine the zygote" : "build the root");
    give_up(&err);
}

static void warm_up(struct zygote *z)
{
    static char *missing[WIRE_STRINGS_MAX];
    static struct wire_setup setup;
    cleanup_error struct error err = {0};
    size_t n_missing = 0;
    struct frame frame;
    struct unpack u;

    if (frame_wait(&z->decoder, SOCKET, &frame) != 1 || frame.type != WIRE_SETUP)
        _exit(1);
    unpack_init(&u, frame.body, frame.len);
    if (!wire_unpack_setup(&u, &setup) || z->is_on_host != (setup.directory.len > 0))
        _exit(1);
    z->is_warm = setup.warm;
    make_room(z);
    if (seccomp_load(SECCOMP_NO_DROP, &err) < 0) /* before anybody asks for random bytes */
        give_up(&err);
    if (setup.warm)
        rebase_prepare();
    enclose(z, &setup);
    if (setup.steady)
        (void)close(STEADY);
    if (warm_python_start(&setup, missing, &n_missing, &err) < 0 ||
        warm_python_freeze(setup.warm, &err) < 0)
        give_up(&err);
    if (setup.warm)
        lay_out_memory(setup.preload.count > 0);
    (void)prctl(PR_SET_DUMPABLE, 0);
    say_ready(missing, n_missing);
}

int main(int argc, char **argv)
{
    static struct zygote z;

    if (argc == 2 && strcmp(argv[1], "--python-build") == 0) { /* for `belljar doctor` */
        const char *build = warm_python_build();

        return write(STDOUT_FILENO, build, strlen(build)) < 0;
    }
    z.is_on_host = argc == 2 && strcmp(argv[1], NS_ON_HOST) == 0;
    if (z.is_on_host ? getuid() == 0 : getpid() != 1 || getuid() != 0) {
        static const char text[] = "belljar-zygote is started by belljar, not by hand\n";

        (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
        return 64;
    }
    /* Without being root of a namespace it can read its own page tables only while it is dumpable.
     * There is no sandbox yet. */
    (void)prctl(PR_SET_DUMPABLE, z.is_on_host);
    if (z.is_on_host && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) /* filters need it */
        return 1;
    frame_decoder_init(&z.decoder);
    warm_up(&z);
    serve(&z);
}

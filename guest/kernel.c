#include "guest/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <Python.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "guest/bash.h"
#include "guest/call.h"
#include "guest/cells.h"
#include "guest/command.h"
#include "guest/driver.h"
#include "guest/git_identity.h"
#include "guest/hotset.h"
#include "guest/image/image.h"
#include "guest/interpreter.h"
#include "guest/memory_holder.h"
#include "guest/python.h"
#include "guest/report.h"
#include "guest/seed.h"
#include "sandbox/places.h"
#include "sandbox/seccomp.h"
#include "sandbox/terminal.h"
#include "wire/frame.h"
#include "wire/policy.h"

#define EXIT_FAILED 125

static bool has_stack;

void kernel_expect_stack(void)
{
    has_stack = true;
}

/* A number that one of ours is about to get. */
static int move_away(int fd)
{
    return fd < KERNEL_REPLY_FD || fd > KERNEL_CONTROL_FD
               ? fd
               : fcntl(fd, F_DUPFD_CLOEXEC, KERNEL_CONTROL_FD + 1);
}

static int take_place(int fd, int place)
{
    return fd == place ? 0 : dup3(fd, place, O_CLOEXEC);
}

static int arrange_fds(const struct kernel_fds *fds)
{
    int control = move_away(fds->control), report = move_away(fds->report),
        replies = move_away(fds->replies);

    if (dup2(fds->out, STDOUT_FILENO) < 0 || dup2(fds->err, STDERR_FILENO) < 0)
        return -1;
    if (take_place(control, KERNEL_CONTROL_FD) < 0 || take_place(report, KERNEL_REPORT_FD) < 0 ||
        take_place(replies, KERNEL_REPLY_FD) < 0)
        return -1;
    if (close_range(STDERR_FILENO + 1, KERNEL_REPLY_FD - 1, 0) < 0 ||
        close_range(KERNEL_REPLY_FD + 1, KERNEL_REPORT_FD - 1, 0) < 0)
        return -1;
    return close_range(KERNEL_CONTROL_FD + 1, ~0U, 0);
}

/* Lowers a limit; a hard limit that is already lower stays. */
static int lower_limit(int resource, rlim_t value, struct error *err)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return error_errno(err, "getrlimit");
    if (limit.rlim_max > value)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        return error_errno(err, "setrlimit %d", resource);
    return 0;
}

/* Bytes of private writable memory this process has now, which it shares with the zygote. */
static rlim_t present_data(void)
{
    return places_are_on_host() ? places_data_bytes() : places_read_data_bytes();
}

static int set_limits(const struct wire_run *run, struct error *err)
{
    if (lower_limit(RLIMIT_NOFILE, run->descriptors, err) < 0 ||
        lower_limit(RLIMIT_FSIZE, run->file_bytes, err) < 0)
        return -1;
    if (run->cpu_s && lower_limit(RLIMIT_CPU, run->cpu_s, err) < 0)
        return -1;
    /* Per user and per user namespace since Linux 5.14. A namespace of ours has one user; of a user
     * of the host the supervisor has counted the other processes. */
    if (run->processes && lower_limit(RLIMIT_NPROC, run->processes, err) < 0)
        return -1;
    if (run->data_bytes && lower_limit(RLIMIT_DATA, run->data_bytes + present_data(), err) < 0)
        return -1;
    /* More is asked for than the kernel's default only by programs that mean it; a write past FSIZE
     * is an error to Python, not a signal. */
    (void)signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static int take_stdin(const struct wire_run *run, struct frame_decoder *d, struct error *err)
{
    cleanup_close int fd = -1;

    if (!(run->flags & WIRE_RUN_STDIN))
        return 0;
    fd = frame_take_fd(d);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
        return error_set(err, E_PROTOCOL, "no descriptor for standard input");
    return 0;
}

/* A checker gets none: it must not import anything that a program could have left in a directory of
 * its own. */
static int set_environment(const struct wire_run *run, struct error *err)
{
    if (run->flags & WIRE_RUN_CHECK_CELL)
        return interpreter_know_project(err);
    if (places_are_on_host() && interpreter_move_home(err) < 0)
        return -1;
    for (uint32_t i = 0; i < run->env.count; i++)
        if (interpreter_set_variable(run->env.items[i], err) < 0)
            return -1;
    git_identity_write();
    if (interpreter_add_workdir(err) < 0 || interpreter_add_packages(err) < 0)
        return -1;
    if ((run->flags & WIRE_RUN_INSTALLS) && !(run->flags & WIRE_RUN_CHECK_ONLY) &&
        interpreter_install_packages(err) < 0)
        return -1;
    return interpreter_name_session(err);
}

/* The session's leader takes the first terminal that it opens. */
static int take_terminal(const struct wire_run *run, struct error *err)
{
    cleanup_close int fd = -1;
    char path[TERMINAL_PATH_SIZE];

    if (!(run->flags & WIRE_RUN_TERMINAL))
        return 0;
    if (setsid() < 0)
        return error_errno(err, "setsid");
    terminal_path(run->terminal, path);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 || dup2(fd, STDOUT_FILENO) < 0 ||
        dup2(fd, STDERR_FILENO) < 0)
        return error_errno(err, "open the terminal");
    return 0;
}

/* Two pipes have no common order. */
static int join_streams(const struct wire_run *run, struct error *err)
{
    if ((run->flags & WIRE_RUN_ONE_STREAM) && dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return error_errno(err, "dup2");
    return 0;
}

static int hand_over(const struct wire_run *run, struct frame_decoder *d, struct error *err)
{
    if (take_terminal(run, err) < 0 || take_stdin(run, d, err) < 0 || join_streams(run, err) < 0 ||
        set_environment(run, err) < 0 || set_limits(run, err) < 0)
        return -1;
    if ((run->flags & WIRE_RUN_SEED) && seed_start(run->seed, err) < 0)
        return -1;
    if ((run->flags & WIRE_RUN_NO_EXEC) && seccomp_load(SECCOMP_NO_EXEC, err) < 0)
        return -1;
    return 0;
}

void kernel_rehearse(void)
{
    static struct wire_run run;
    struct wire_policy policy = {.profile = span_of("rehearsal"),
                                 .flags = POLICY_IMPORTS_LISTED | POLICY_DUNDER_DENIED,
                                 .max_bytes = 1 << 20,
                                 .max_lines = 1 << 20};
    struct pack p;
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    pack_init(&p, 65536);
    wire_policy_encode(&policy, &p);
    interpreter_wake();
    run.policy = (struct span){(const char *)p.data, p.len};
    run.code = span_of("x = [i for i in range(9)]\nprint(f'{sum(x)}', len(x))\n{'a': x}\n");
    run.flags = WIRE_RUN_AUTO_PRINT;
    (void)python_run(&run, pair[1]);
    python_finish();
}

/* While a client waits, pages are given to programs of the data stack alone. It shows in their
 * text; a wrong guess costs time, not correctness. Others are quicker with a fault for each page
 * they touch: a small program touches few of the pages that were learned. */
static void populate(const struct wire_run *run)
{
    if (!memmem(run->code.data, run->code.len, "pandas", 6) &&
        !memmem(run->code.data, run->code.len, "numpy", 5))
        return;
    hotset_populate(HOTSET_ANY);
    hotset_populate(HOTSET_STACK);
}

/* --- the two lives of a kernel --- */

/* The next message, which has to be of that type, or the end. */
static struct frame expect(struct frame_decoder *decoder, enum wire_type type,
                           enum wire_type or_type)
{
    struct frame frame;

    if (frame_wait(decoder, KERNEL_CONTROL_FD, &frame) != 1 ||
        (frame.type != type && frame.type != or_type))
        _exit(EXIT_FAILED);
    return frame;
}

static void __attribute__((noreturn)) fail(const struct error *err)
{
    (void)report_failed(KERNEL_REPORT_FD, err->message ? err->message : "bad request");
    _exit(EXIT_FAILED);
}

/* A kernel besides those of the languages may begin elsewhere. The program can have removed that
 * directory: what is said here is the output of the first cell. */
static void enter(const struct wire_run *run)
{
    char path[PATH_MAX];

    if (!run->directory.len || run->language == RUN_COMMAND)
        return;
    (void)snprintf(path, sizeof(path), "%.*s", (int)run->directory.len, run->directory.data);
    if (run->directory.len < sizeof(path) && chdir(places_workspace()) == 0 && chdir(path) == 0)
        return;
    (void)fprintf(stderr, "belljar: cannot start in `%s`: %s\n", path, strerror(errno));
    _exit(EXIT_FAILED);
}

static struct wire_run *read_run(const struct frame *frame, struct frame_decoder *decoder)
{
    struct wire_run *run = malloc(sizeof(*run));
    struct error err = {0};
    struct unpack u;

    unpack_init(&u, frame->body, frame->len);
    if (!run || !wire_unpack_run(&u, run))
        fail(&err);
    enter(run);
    if (hand_over(run, decoder, &err) < 0)
        fail(&err);
    return run;
}

/* Takes the pipe for cells in the socket's place. Nothing is left that could carry descriptors. */
static void take_cells(struct frame_decoder *decoder)
{
    cleanup_close int fd = frame_take_fd(decoder);

    if (fd < 0 || dup3(fd, KERNEL_CONTROL_FD, O_CLOEXEC) < 0 ||
        setpgid(0, 0) < 0) /* interrupts reach what a cell started, too */
        _exit(EXIT_FAILED);
}

/* Copies of this kernel may be asked for. */
static void enrol(void)
{
    static const int own[] = {STDOUT_FILENO,      STDERR_FILENO,    KERNEL_KEPT_ERR_FD,
                              KERNEL_KEPT_OUT_FD, KERNEL_REPORT_FD, KERNEL_CONTROL_FD,
                              KERNEL_REPLY_FD};
    static const char *const tree[] = {"/workspace"}; /* /tmp is on the same file system */

    /* If there are no images, it reports that when it is asked for one. */
    (void)image_enrol(&(struct image_kernel){own, ARRAY_SIZE(own), tree, ARRAY_SIZE(tree)});
}

static void __attribute__((noreturn)) serve_session(struct frame_decoder *decoder)
{
    struct frame frame;
    const struct wire_run *run;

    take_cells(decoder);
    if (dup3(STDOUT_FILENO, KERNEL_KEPT_OUT_FD, O_CLOEXEC) < 0 ||
        dup3(STDERR_FILENO, KERNEL_KEPT_ERR_FD, O_CLOEXEC) < 0)
        _exit(EXIT_FAILED);
    if (!places_are_on_host())
        enrol();
    frame = expect(decoder, WIRE_RUN, WIRE_RUN);
    run = read_run(&frame, decoder);
    if ((run->flags & WIRE_RUN_ONE_STREAM) &&
        dup3(STDOUT_FILENO, KERNEL_KEPT_ERR_FD, O_CLOEXEC) < 0)
        _exit(EXIT_FAILED);
    if (run->language == RUN_BASH)
        _exit(bash_session(KERNEL_CONTROL_FD, KERNEL_REPORT_FD, KERNEL_REPLY_FD));
    if (language_has_driver(run->language))
        _exit(driver_session(run, KERNEL_CONTROL_FD, KERNEL_REPORT_FD, KERNEL_REPLY_FD));
    call_open(KERNEL_REPORT_FD, KERNEL_REPLY_FD);
    if (python_open(run, KERNEL_REPORT_FD) < 0)
        _exit(EXIT_FAILED);
    cells_serve(&(struct cells_fds){.cells = KERNEL_CONTROL_FD,
                                    .report = KERNEL_REPORT_FD,
                                    .kept_out = KERNEL_KEPT_OUT_FD,
                                    .kept_err = KERNEL_KEPT_ERR_FD,
                                    .reseed = interpreter_wake_copy});
}

static void __attribute__((noreturn))
serve_run(const struct frame *frame, struct frame_decoder *decoder, bool is_touched, pid_t holder)
{
    const struct wire_run *run;

    /* Nothing more comes this way, and nothing may leave by it. */
    (void)close(KERNEL_CONTROL_FD);
    (void)close(IMAGE_PAGEMAP_FD);
    run = read_run(frame, decoder);
    if (run->language != RUN_PYTHON) {
        if (holder > 0) /* other programs bring memory of their own */
            (void)kill(holder, SIGKILL);
        _exit(run->language == RUN_BASH      ? bash_run(run, KERNEL_REPORT_FD)
              : run->language == RUN_COMMAND ? command_run(run, KERNEL_REPORT_FD)
                                             : driver_run(run, KERNEL_REPORT_FD));
    }
    call_open(KERNEL_REPORT_FD, KERNEL_REPLY_FD);
    if (!is_touched)
        populate(run);
    memory_holder_await(holder);
    python_exit(python_run(run, KERNEL_REPORT_FD));
}

/* The view of its own page tables, by which an image is made, opens for a dumpable process only. It
 * is one for this moment and never again. */
static int look_at_oneself(void)
{
    if (places_are_on_host()) /* where there are no copies */
        return seccomp_load(SECCOMP_NO_DUMP, NULL);
    if (prctl(PR_SET_DUMPABLE, 1) < 0 || image_open_pagemap() < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
        return -1;
    return seccomp_load(SECCOMP_NO_DUMP, NULL);
}

void kernel_main(const struct kernel_fds *fds, unsigned how)
{
    struct frame_decoder decoder;
    struct frame frame;
    pid_t holder = -1;
    bool touch = how & KERNEL_TOUCH;

    if (arrange_fds(fds) < 0 || look_at_oneself() < 0)
        _exit(EXIT_FAILED);
    /* The supervisor hears of it while the rest is done here: what it sends waits in the socket.
     * One that is to be touched says so when it has been, since nobody is in a hurry for it. */
    if (!touch && frame_send(KERNEL_REPORT_FD, WIRE_WAITING, NULL, NULL, 0) < 0)
        _exit(EXIT_FAILED);
    /* Without the data stack an end takes a tenth of a millisecond, which somebody waits for, and a
     * holder costs as much, for which others wait. */
    if ((has_stack || touch) && (how & KERNEL_HOLD) && !places_are_on_host())
        holder = memory_holder_start();
    interpreter_wake();
    if (touch) {
        hotset_populate(HOTSET_ANY);
        hotset_populate(HOTSET_STACK);
        hotset_look_up(HOTSET_ANY);
        hotset_look_up(HOTSET_STACK);
        interpreter_touch();
    }
    frame_decoder_init(&decoder);
    if (touch)
        memory_holder_await(holder);
    if (touch && frame_send(KERNEL_REPORT_FD, WIRE_WAITING, NULL, NULL, 0) < 0)
        _exit(EXIT_FAILED);
    frame = expect(&decoder, WIRE_RUN, WIRE_SESSION);
    if (frame.type == WIRE_RUN)
        serve_run(&frame, &decoder, touch, holder);
    memory_holder_end(holder); /* the end of a session is in no hurry */
    serve_session(&decoder);
}

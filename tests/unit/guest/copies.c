#include "guest/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <Python.h>

#include "guest/program.h"
#include "sandbox/seccomp.h"
#include "wire/archive.h"
#include "zygote/rebase.h"

#define CONTROL_FD 63
#define REPORT_FD  62
#define TEXT_MAX   65536

#define need(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            dprintf(2, "# %s:%d: %s: %s\n", __FILE__, __LINE__, #condition, strerror(errno));      \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

struct order {
    char what; /* 'c'ell, 'i'mage, 'r'estore */
    unsigned flags;
    size_t len;   /* of a cell's text */
    size_t n_fds; /* of a restore: images */
};

static char text[TEXT_MAX];
static char workspace[] = "/tmp/belljar-copies-XXXXXX";

/* --- messages --- */

static void send_order(int sock, const struct order *order, const char *body, const int *fds,
                       size_t n_fds)
{
    char space[CMSG_SPACE(sizeof(int) * 16)] = {0};
    struct iovec iov[2] = {{(void *)order, sizeof(*order)}, {(void *)body, order->len}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = order->len ? 2 : 1};

    if (n_fds) {
        struct cmsghdr *c;

        msg.msg_control = space;
        msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
        c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
        memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
    }
    need(sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)(sizeof(*order) + order->len));
}

static bool receive_order(struct order *order, char *body, int *fds)
{
    char space[CMSG_SPACE(sizeof(int) * 16)];
    struct iovec iov[2] = {{order, sizeof(*order)}, {body, TEXT_MAX - 1}};
    struct msghdr msg = {
        .msg_iov = iov, .msg_iovlen = 2, .msg_control = space, .msg_controllen = sizeof(space)};
    ssize_t n;

    do
        n = recvmsg(CONTROL_FD, &msg, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    body[order->len] = '\0';
    if (CMSG_FIRSTHDR(&msg))
        memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0));
    return true;
}

static void answer(const char *what)
{
    need(write(REPORT_FD, what, strlen(what) + 1) == (ssize_t)strlen(what) + 1);
}

/* --- a kernel --- */

static const char run_cell[] =
    "def _run(code):\n"
    "    import ast, sys\n"
    "    tree = ast.parse(code)\n"
    "    g = sys.modules['__main__'].__dict__\n"
    "    last = None\n"
    "    if tree.body and isinstance(tree.body[-1], ast.Expr):\n"
    "        last = ast.Expression(tree.body.pop().value)\n"
    "    exec(compile(tree, '<cell>', 'exec'), g)\n"
    "    return repr(eval(compile(last, '<cell>', 'eval'), g)) if last else ''\n"
    "def _belljar(code):\n"
    "    try:\n"
    "        return _run(code)\n"
    "    except BaseException as e:\n"
    "        return f'!{type(e).__name__}: {e}'\n";

static PyObject *cell_function;

static void do_cell(const char *code)
{
    PyObject *result = PyObject_CallFunction(cell_function, "s", code);
    const char *said = result ? PyUnicode_AsUTF8(result) : NULL;

    if (!said)
        PyErr_Print();
    answer(said ? said : "!broken");
    Py_XDECREF(result);
}

static void do_image(const struct order *order, const int *fds)
{
    static const char *const pack[] = {workspace};
    struct image_request request = {
        .memory = fds[0],
        .status = fds[1],
        .files = order->flags & IMAGE_WITH_FILES ? fds[2] : -1,
        .is_flat = order->flags & IMAGE_FLAT,
        .no_fork = order->flags & IMAGE_BY_ITSELF,
        .pack = pack,
        .n_pack = 1,
    };
    struct image_refusal why = {""};
    enum image_outcome outcome = IMAGE_REFUSED;
    uint32_t note;

    if (image_check(&request, &why) == 0)
        outcome = image_write(&request, &why);
    if (outcome == IMAGE_IS_COPY) {
        need(image_awake(&note) == 0);
        answer("copy");
        return;
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
    if (order->flags & IMAGE_WITH_FILES)
        (void)close(fds[2]);
    answer(outcome == IMAGE_REFUSED ? why.text : "");
}

static void do_restore(const struct order *order, const int *fds)
{
    static const char *const pack[] = {workspace};
    struct image_source source = {.n_images = order->n_fds};
    struct image_refusal why;

    memcpy(source.images, fds, sizeof(int) * order->n_fds);
    if (order->flags & IMAGE_WITH_FILES) {
        if (archive_read(fds[order->n_fds], pack, 1, why.text, sizeof(why.text)) < 0) {
            answer(why.text);
            return;
        }
        (void)close(fds[order->n_fds]);
    }
    (void)image_restore(&source, &why);
    answer(why.text);
}

static void __attribute__((noreturn)) live(int control, int report, const char *dir)
{
    static const int own[] = {1, 2, REPORT_FD, CONTROL_FD};
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
    const char *trees[] = {dir};
    const struct image_kernel self = {own, 4, trees, 1};
    static char body[TEXT_MAX];
    struct order order;
    int fds[16];

    /* A copy that dies is not the test's end. */
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        (void)signal(deadly[i], SIG_DFL);
    need(chdir(dir) == 0);
    control = fcntl(control, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    report = fcntl(report, F_DUPFD_CLOEXEC, CONTROL_FD + 1);
    need(dup3(control, CONTROL_FD, O_CLOEXEC) >= 0 && dup3(report, REPORT_FD, O_CLOEXEC) >= 0);
    need(close_range(3, REPORT_FD - 1, 0) == 0 && close_range(CONTROL_FD + 1, ~0U, 0) == 0);
    need(image_open_pagemap() == 0 && image_enrol(&self) == 0);
    while (receive_order(&order, body, fds)) {
        if (order.what == 'c')
            do_cell(body);
        else if (order.what == 'i')
            do_image(&order, fds);
        else
            do_restore(&order, fds);
    }
    _exit(0);
}

/* --- the world --- */

static void remove_workspace(void)
{
    (void)rmdir(workspace);
}

void copies_start(void)
{
    static const char *const modules[] = {"numpy", "pandas", "random", "ssl", "threading"};
    struct error err = {0};
    uintptr_t start;
    PyObject *globals;

    (void)setenv("OPENBLAS_NUM_THREADS", "1", 1);
    (void)setenv("OMP_NUM_THREADS", "1", 1);
    (void)signal(SIGCHLD, SIG_IGN); /* nobody here waits for writers, who are ours */
    need(mkdtemp(workspace) && atexit(remove_workspace) == 0);
    /* As in the zygote, and before anybody asks for random bytes. */
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && seccomp_load(SECCOMP_NO_DROP, &err) == 0);
    rebase_prepare();
    need(program_start(modules, sizeof(modules) / sizeof(modules[0])) == 0);
    globals = PyModule_GetDict(PyImport_AddModule("__main__"));
    need(PyRun_String(run_cell, Py_file_input, globals, globals));
    cell_function = PyDict_GetItemString(globals, "_belljar");
    need(PyRun_SimpleString("import gc; gc.collect(); gc.freeze()") == 0);
    need(rebase_memory(&err) == 0);
    need(rebase_first(&start) && image_prepare((void *)start) == 0);
}

/* All kernels are number 2 in namespaces of their own, with a file system of their own in the same
 * place, as in sandboxes. */
static void put_text(const char *path, const char *what)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    need(fd >= 0 && write(fd, what, strlen(what)) == (ssize_t)strlen(what));
    (void)close(fd);
}

static void map_ids(uid_t uid, gid_t gid)
{
    char map[64];

    (void)snprintf(map, sizeof(map), "0 %u 1", uid);
    put_text("/proc/self/uid_map", map);
    put_text("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof(map), "0 %u 1", gid);
    put_text("/proc/self/gid_map", map);
}

static void __attribute__((noreturn)) become_box(int control, int report)
{
    uid_t uid = getuid();
    gid_t gid = getgid();
    pid_t pid;

    need(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    need(unshare(CLONE_NEWNS | CLONE_NEWPID | (uid ? CLONE_NEWUSER : 0)) == 0);
    if (uid)
        map_ids(uid, gid);
    pid = fork();
    need(pid >= 0);
    if (pid > 0) {
        (void)close(control);
        (void)close(report);
        need(waitpid(pid, NULL, 0) == pid);
        _exit(0);
    }
    need(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
    need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
    need(mount("copies", workspace, "tmpfs", 0, NULL) == 0);
    pid = fork();
    need(pid >= 0);
    if (pid == 0)
        live(control, report, workspace);
    (void)close(control);
    (void)close(report);
    while (waitpid(-1, NULL, 0) >= 0)
        ;
    _exit(0);
}

void kernel_start(struct kernel *k)
{
    int control[2], report[2];

    memset(k, 0, sizeof(*k));
    need(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) == 0);
    need(pipe2(report, O_CLOEXEC) == 0);
    k->pid = fork();
    need(k->pid >= 0);
    if (k->pid == 0) {
        (void)signal(SIGCHLD, SIG_DFL);
        become_box(control[1], report[1]);
    }
    (void)close(control[1]);
    (void)close(report[1]);
    k->control = control[0];
    k->report = report[0];
}

void kernel_end(struct kernel *k)
{
    (void)kill(k->pid, SIGKILL);
    (void)close(k->control);
    (void)close(k->report);
    for (size_t i = 0; i < k->n_images; i++)
        (void)close(k->images[i]);
}

/* Up to the NUL; "" at the end. */
static const char *read_answer(struct kernel *k)
{
    size_t len = 0;

    text[0] = '\0';
    for (;;) {
        ssize_t n = read(k->report, text + len, sizeof(text) - 1 - len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return len ? text : "!dead";
        len += (size_t)n;
        if (text[len - 1] == '\0')
            return text;
    }
}

const char *kernel_run(struct kernel *k, const char *code)
{
    struct order order = {.what = 'c', .len = strlen(code)};

    send_order(k->control, &order, code, NULL, 0);
    return read_answer(k);
}

static void read_status(int pipe, struct snapshot *s)
{
    size_t len = 0;
    ssize_t n;

    while ((n = read(pipe, s->said + len, sizeof(s->said) - 1 - len)) > 0)
        len += (size_t)n;
    s->said[len] = '\0';
}

const char *kernel_image(struct kernel *k, struct snapshot *s, unsigned flags)
{
    struct order order = {.what = 'i', .flags = flags};
    const char *why;
    int status[2];

    memset(s, 0, sizeof(*s));
    s->memory = memfd_create("belljar-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    s->files = -1;
    if (flags & IMAGE_WITH_FILES)
        s->files = memfd_create("belljar-files", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    need(s->memory >= 0 && pipe2(status, O_CLOEXEC) == 0);
    send_order(k->control, &order, "", (int[]){s->memory, status[1], s->files},
               s->files < 0 ? 2 : 3);
    (void)close(status[1]);
    why = read_answer(k);
    read_status(status[0], s);
    (void)close(status[0]);
    if (!(flags & IMAGE_FLAT)) {
        for (size_t i = 0; i < k->n_images; i++)
            s->parents[s->n_parents++] = fcntl(k->images[i], F_DUPFD_CLOEXEC, 3);
    }
    return why[0] ? why : NULL;
}

int snapshot_seal(struct snapshot *s)
{
    int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

    if (fcntl(s->memory, F_ADD_SEALS, seals) < 0)
        return -errno;
    return s->files >= 0 && fcntl(s->files, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

void snapshot_done(struct snapshot *s)
{
    (void)close(s->memory);
    if (s->files >= 0)
        (void)close(s->files);
    for (size_t i = 0; i < s->n_parents; i++)
        (void)close(s->parents[i]);
}

const char *kernel_restore(struct kernel *k, const struct snapshot *s)
{
    struct order order = {.what = 'r', .flags = s->files >= 0 ? IMAGE_WITH_FILES : 0};
    int fds[16];
    const char *said;

    for (size_t i = 0; i < s->n_parents; i++)
        fds[order.n_fds++] = s->parents[i];
    fds[order.n_fds++] = s->memory;
    if (s->files >= 0)
        fds[order.n_fds] = s->files;
    send_order(k->control, &order, "", fds, order.n_fds + (s->files >= 0));
    said = read_answer(k);
    if (strcmp(said, "copy") != 0)
        return said;
    for (size_t i = 0; i < order.n_fds; i++)
        k->images[k->n_images++] = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
    return NULL;
}

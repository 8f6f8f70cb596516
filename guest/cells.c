#include "guest/cells.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <Python.h>

#include "guest/call.h"
#include "guest/cells_copy.h"
#include "guest/python.h"
#include "guest/report.h"
#include "wire/frame.h"

#define EXIT_FAILED 125

/* --- standard streams, which a cell may have closed or replaced --- */

static void reopen(int fd, int kept)
{
    if (fcntl(fd, F_GETFD) < 0)
        (void)dup2(kept, fd);
}

/* A new file object on the descriptor, as the interpreter made it: unbuffered, text. */
static PyObject *new_stream(int fd, const char *mode)
{
    PyObject *raw =
        PyFile_FromFd(fd,
                      fd == STDIN_FILENO    ? "<stdin>"
                      : fd == STDOUT_FILENO ? "<stdout>"
                                            : "<stderr>",
                      mode, fd == STDIN_FILENO ? -1 : 1, "utf-8",
                      fd == STDERR_FILENO ? "backslashreplace" : "surrogateescape", NULL, 0);

    if (!raw)
        PyErr_Clear();
    return raw;
}

static bool is_usable(PyObject *file, const char *method)
{
    PyObject *closed;
    bool result;

    if (!file || file == Py_None || !PyObject_HasAttrString(file, method))
        return false;
    closed = PyObject_GetAttrString(file, "closed");
    result = closed != Py_True;
    Py_XDECREF(closed);
    PyErr_Clear();
    return result;
}

/* Only what is of no use any more: a program may replace sys.stdout by something that works. */
static void heal_output(const char *name, int fd, int kept)
{
    PyObject *fresh;

    reopen(fd, kept);
    if (is_usable(PySys_GetObject(name), "write"))
        return;
    fresh = new_stream(fd, "w");
    if (fresh && PySys_SetObject(name, fresh) < 0)
        PyErr_Clear();
    Py_XDECREF(fresh);
}

static int input_file(struct span input)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    size_t at = 0;

    if (fd < 0) /* where no cgroup counts memory there are no memfds */
        fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    while (fd >= 0 && at < input.len) {
        ssize_t n = write(fd, input.data + at, input.len - at);

        if (n <= 0)
            break;
        at += (size_t)n;
    }
    if (fd >= 0 && (at < input.len || lseek(fd, 0, SEEK_SET) < 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int set_input(const struct wire_cell *cell)
{
    PyObject *fresh;
    int fd = cell->flags & WIRE_RUN_STDIN ? input_file(cell->input)
                                          : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
        return -1;
    if (fd != STDIN_FILENO) /* which an earlier cell had closed */
        (void)close(fd);
    fresh = new_stream(STDIN_FILENO, "r");
    if (!fresh || PySys_SetObject("stdin", fresh) < 0)
        PyErr_Clear();
    Py_XDECREF(fresh);
    return 0;
}

/* False: a cell has closed it, exit() does. */
static bool has_input(void)
{
    return fcntl(STDIN_FILENO, F_GETFD) >= 0 && is_usable(PySys_GetObject("stdin"), "readline");
}

/* --- interrupts: they are for the cell that runs, never for the next one --- */

static void block_interrupts(int how)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    (void)sigprocmask(how, &set, NULL);
}

static void forget_interrupts(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGINT);
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
        ;
    if (PyErr_CheckSignals() < 0) /* what Python's own handler noted already */
        PyErr_Clear();
}

/* --- cells --- */

/* In a copy: what was received on the way belongs to the source, the channel is a new one. */
static void begin_as_copy(const struct cells_fds *fds, struct frame_decoder *decoder,
                          uint32_t flags)
{
    frame_decoder_init(decoder);
    call_reset();
    if (flags & WIRE_RESTORE_RESEED)
        fds->reseed();
    if (frame_send(fds->report, WIRE_RESTORED, NULL, NULL, 0) < 0)
        _exit(EXIT_FAILED);
}

static void __attribute__((noreturn))
fail_copy(const struct cells_fds *fds, const struct image_refusal *why)
{
    (void)report_failed(fds->report, why->text);
    _exit(EXIT_FAILED);
}

/* The next cell. Copies are made on the way. */
static int receive(const struct cells_fds *fds, struct frame_decoder *decoder,
                   struct wire_cell *cell)
{
    for (;;) {
        struct image_refusal why = {""};
        struct frame frame;
        struct unpack u;
        uint32_t flags;
        int r;

        /* Threads that a cell has started go on meanwhile. */
        Py_BEGIN_ALLOW_THREADS;
        r = frame_wait(decoder, fds->cells, &frame);
        Py_END_ALLOW_THREADS;
        if (r != 1)
            return -1;
        unpack_init(&u, frame.body, frame.len);
        switch (frame.type) {
        case WIRE_CELL:
            return wire_unpack_cell(&u, cell) ? 0 : -1;
        case WIRE_IMAGE:
            if (cells_write_image(&frame, decoder, &flags))
                begin_as_copy(fds, decoder, flags);
            break;
        case WIRE_RESTORE:
            cells_restore(&frame, decoder, &why);
            fail_copy(fds, &why);
        default:
            return -1;
        }
    }
}

static int report_done(int report, int code)
{
    struct pack p;
    int r;

    pack_init(&p, 16);
    pack_u32(&p, (uint32_t)code);
    r = frame_send(report, WIRE_DONE, &p, NULL, 0);
    pack_done(&p);
    return r;
}

static int run_cell(const struct cells_fds *fds, const struct wire_cell *cell)
{
    int code;

    heal_output("stdout", STDOUT_FILENO, fds->kept_out);
    heal_output("stderr", STDERR_FILENO, fds->kept_err);
    if (((cell->flags & WIRE_RUN_STDIN) || !has_input()) && set_input(cell) < 0) {
        (void)report_failed(fds->report, "standard input could not be set up");
        _exit(EXIT_FAILED);
    }
    forget_interrupts();
    block_interrupts(SIG_UNBLOCK);
    code = python_cell(cell, fds->report);
    block_interrupts(SIG_BLOCK);
    forget_interrupts();
    /* It was for this cell; and a file without a name would be in the way of copies. */
    if ((cell->flags & WIRE_RUN_STDIN) && set_input(&(struct wire_cell){0}) < 0)
        _exit(EXIT_FAILED);
    return code;
}

void cells_serve(const struct cells_fds *fds)
{
    struct frame_decoder decoder;
    struct wire_cell cell;

    frame_decoder_init(&decoder);
    block_interrupts(SIG_BLOCK);
    while (receive(fds, &decoder, &cell) == 0) {
        pid_t before = getpid();
        int code = run_cell(fds, &cell);

        /* A child that the cell has forked comes back, too. Cells are not for it: it ends where a
         * script would. */
        if (getpid() != before)
            python_exit(code);
        if (report_done(fds->report, code) < 0)
            break;
    }
    _exit(0);
}

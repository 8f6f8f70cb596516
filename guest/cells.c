#include "guest/cells.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <Python.h>

#include "guest/call.h"
#include "guest/cell_loop.h"
#include "guest/cells_copy.h"
#include "guest/fresh_modules.h"
#include "guest/python.h"
#include "guest/report.h"
#include "guest/streams.h"
#include "sandbox/places.h"
#include "wire/frame.h"

#define EXIT_FAILED 125

static int input_file(struct span input)
{
    int fd = memfd_create("stdin", MFD_CLOEXEC);
    size_t at = 0;

    if (fd < 0) /* where no cgroup counts memory there are no memfds */
        fd = open(places_tmp(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
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
    fresh = streams_new(STDIN_FILENO, "r");
    if (!fresh || PySys_SetObject("stdin", fresh) < 0)
        PyErr_Clear();
    Py_XDECREF(fresh);
    return 0;
}

/* False: a cell has closed it, exit() does. */
static bool has_input(void)
{
    return fcntl(STDIN_FILENO, F_GETFD) >= 0 &&
           streams_is_usable(PySys_GetObject("stdin"), "readline");
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

        /* Threads and tasks that a cell has started go on meanwhile. */
        cell_loop_wait(fds->cells);
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

static char started_in[WIRE_DIRECTORY_MAX];

/* The working directory, where it is another than at the start. */
static void pack_directory(struct pack *p)
{
    char here[WIRE_DIRECTORY_MAX];

    if (getcwd(here, sizeof(here)) && *started_in && strcmp(here, started_in) != 0)
        pack_str(p, here);
}

static int report_done(int report, int code)
{
    struct pack p;
    int r;

    pack_init(&p, 16 + WIRE_DIRECTORY_MAX);
    pack_u32(&p, (uint32_t)code);
    pack_directory(&p);
    r = frame_send(report, WIRE_DONE, &p, NULL, 0);
    pack_done(&p);
    return r;
}

static int run_cell(const struct cells_fds *fds, const struct wire_cell *cell)
{
    static bool was_typed; /* `sys.stdin` is the one that asks */
    bool is_typed = cell->flags & WIRE_RUN_TYPED, needs_input = was_typed && !is_typed;
    int code;

    streams_begin_cell(fds->kept_out, fds->kept_err);
    was_typed = is_typed;
    needs_input |= (cell->flags & WIRE_RUN_STDIN) || !has_input();
    if (needs_input && set_input(cell) < 0) {
        (void)report_failed(fds->report, "standard input could not be set up");
        _exit(EXIT_FAILED);
    }
    forget_interrupts();
    block_interrupts(SIG_UNBLOCK);
    code = python_cell(cell, fds->report);
    block_interrupts(SIG_BLOCK);
    forget_interrupts();
    streams_end_cell(cell);
    /* It was for this cell; and a file without a name would be in the way of copies. */
    if ((cell->flags & WIRE_RUN_STDIN) && set_input(&(struct wire_cell){0}) < 0)
        _exit(EXIT_FAILED);
    return code;
}

void cells_serve(const struct cells_fds *fds)
{
    struct frame_decoder decoder;
    struct wire_cell cell;

    if (!getcwd(started_in, sizeof(started_in)))
        *started_in = '\0';
    fresh_modules_begin(started_in);
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

/* Terminals of programs (sandbox/terminal.h): the master takes the place of the output pipes, and
 * another descriptor of it is there to type on. */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"
#include "engine/masking.h"
#include "sandbox/terminal.h"

/* The masker waits for the rest of what might be a secret. On a terminal that may be a key that
 * somebody has just pressed, which is to be seen: after so long without output nothing more of a
 * secret is expected. */
#define QUIET_MS 20

int box_take_ptmx(struct box *b, struct error *err)
{
    if (zygote_client_is_on_host(b->zygote))
        return 0;
    b->ptmx = frame_take_fd(&b->init.decoder);
    if (b->ptmx < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without its terminals");
    return 0;
}

static void set_size(int master, const struct run_program *program)
{
    const struct winsize size = {.ws_row = program->rows, .ws_col = program->columns};

    if (program->rows && program->columns)
        (void)ioctl(master, TIOCSWINSZ, &size);
}

int box_use_terminal(struct box_kernel *k, const struct run *run, struct error *err)
{
    int master;

    if (!run->terms.has_terminal)
        return 0;
    if (terminal_open(k->box->ptmx, &master, &k->terminal, err) < 0)
        return -1;
    set_size(master, &run->program);
    close_fd(&k->out);
    k->out = master;
    k->has_terminal = true;
    return 0;
}

int box_open_keyboard(const struct box_kernel *k, int *ret_fd, struct error *err)
{
    *ret_fd = fcntl(k->out, F_DUPFD_CLOEXEC, 0);
    return *ret_fd < 0 ? error_errno(err, "fcntl") : 0;
}

int box_lend_terminal(const struct box *b, struct run *run, struct error *err)
{
    int master;

    if (!b->active->has_terminal || !run->on_terminal)
        return 0;
    if (box_open_keyboard(b->active, &master, err) < 0)
        return -1;
    run->on_terminal(run, master);
    return 0;
}

int box_command_resize(struct run *run, uint16_t columns, uint16_t rows, struct error *err)
{
    if (!run->terms.has_terminal) {
        error_set(err, E_INVALID, "the command has no terminal");
        return error_hint(err, "start it with `pty`");
    }
    run->program.columns = columns;
    run->program.rows = rows;
    if (run->command && run->command->kernel.has_terminal)
        set_size(run->command->kernel.out, &run->program);
    return 0;
}

/* --- what is shown when nothing follows --- */

/* The run whose text may be shown now; NULL: none, or not now. */
static struct run *run_of(const struct box_kernel *k)
{
    const struct box_command *c = k->command;

    if (c)
        return c->is_held || c->is_resting || c->verdict == BOX_WORK ||
                       task_is_under_way(&c->answering)
                   ? NULL
                   : c->run;
    return k->box->cell.state == CELL_ANSWERING ? NULL : k->box->run;
}

/* While more is there to be read, as when the reader of our output is slow, it is not quiet. */
static void on_quiet(void *arg)
{
    struct box_kernel *k = arg;
    struct masker **masks = k->command ? k->command->masks : k->box->masks;
    struct pollfd more = {.fd = k->out, .events = POLLIN};
    struct run *run = run_of(k);

    if (!run)
        return;
    if ((!k->command && box_is_busy(k->box)) || (poll(&more, 1, 0) > 0 && (more.revents & POLLIN)))
        loop_timer_start(k->quiet, QUIET_MS);
    else
        box_deliver(run, 1, mask_stream_end(mask_context_of(run), &masks[0]));
}

void box_expect_quiet(struct box_kernel *k)
{
    if (!k->quiet)
        k->quiet = loop_timer(k->box->loop, on_quiet, k);
    if (k->quiet)
        loop_timer_start(k->quiet, QUIET_MS);
}

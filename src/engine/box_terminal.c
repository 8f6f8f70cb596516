/* The terminal of a program (sandbox/terminal.h): its master takes the place of the output pipes,
 * and the door has another one to type on. */
#include <fcntl.h>
#include <poll.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"
#include "engine/masking.h"

/* The masker waits for the rest of what might be a secret. On a terminal that may be a key that
 * somebody has just pressed, which is to be seen: after so long without output nothing more of a
 * secret is expected. */
#define QUIET_MS 20

int box_take_terminal(struct box *b, struct error *err)
{
    if (!b->has_terminal)
        return 0;
    b->terminal = frame_take_fd(&b->init.decoder);
    if (b->terminal < 0)
        return error_set(err, E_PROTOCOL, "the sandbox came without its terminal");
    return 0;
}

void box_use_terminal(struct box *b)
{
    if (b->terminal < 0)
        return;
    close_fd(&b->active->out);
    b->active->out = take_fd(b->terminal);
}

int box_lend_terminal(const struct box *b, struct run *run, struct error *err)
{
    int master;

    if (!b->has_terminal || !run->on_terminal)
        return 0;
    master = fcntl(b->active->out, F_DUPFD_CLOEXEC, 0);
    if (master < 0)
        return error_errno(err, "fcntl");
    run->on_terminal(run, master);
    return 0;
}

/* While more is there to be read, as when the reader of our output is slow, it is not quiet. */
static void on_quiet(void *arg)
{
    struct box *b = arg;
    struct pollfd more = {.fd = b->active->out, .events = POLLIN};

    if (!b->run || b->cell.state == CELL_ANSWERING)
        return;
    if (box_is_busy(b) || (poll(&more, 1, 0) > 0 && (more.revents & POLLIN)))
        loop_timer_start(b->quiet, QUIET_MS);
    else
        box_deliver(b->run, 1, mask_stream_end(mask_context_of(b->run), &b->masks[0]));
}

void box_expect_quiet(struct box *b)
{
    if (!b->quiet)
        b->quiet = loop_timer(b->loop, on_quiet, b);
    if (b->quiet)
        loop_timer_start(b->quiet, QUIET_MS);
}

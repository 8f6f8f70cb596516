/* Output of a run: reading its pipes piece by piece, and what that costs us.
 *
 * A program can write faster than its output can be masked, and some texts take longer than others.
 * So pipes are read as posted work (base/loop.h), one piece each in turn: while we are behind, the
 * program waits for its pipe, and nobody else does. The CPU time that a run takes here is measured;
 * past a budget the run ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fiber.h"
#include "base/stream.h"
#include "engine/box_internal.h"
#include "engine/display.h"
#include "engine/masking.h"

/* Read in one piece: half a millisecond of masking. */
#define PIECE_BYTES ((size_t)32 << 10)

/* Most that is still read of a program that has ended: more than its pipes hold. A left-over child
 * could write for ever. */
#define DRAIN_MAX ((size_t)4 << 20)

/* For what a killed program left in its pipes, which is read in one go. */
#define LAST_LOOK_NS ((uint64_t)10000000)

/* The time in which a short program has ended. */
#define WATCH_MS 2

/* CPU time of ours that a run may take: a quarter of the time it has by the clock, and at least so
 * much. In a second some 60 MB of plain text are masked. */
#define WORK_SHARE  4
#define WORK_MIN_MS ((uint64_t)500)

/* --- the budget --- */

static uint64_t budget_ms(const struct run *run)
{
    uint64_t share = run->terms.limits.timeout_ms / WORK_SHARE;

    if (!run->terms.limits.timeout_ms) /* a user's own run, without a time limit */
        return UINT64_MAX;
    return share > WORK_MIN_MS ? share : WORK_MIN_MS;
}

bool box_is_too_much_work(const struct run *run, uint64_t work_ns)
{
    return !run->is_unmetered && work_ns / 1000000 >= budget_ms(run);
}

bool box_spend(struct box *b, uint64_t cpu_ns)
{
    b->cell.work_ns += cpu_ns;
    return b->run && box_is_too_much_work(b->run, b->cell.work_ns);
}

static void charge(struct box *b, uint64_t cpu_ns)
{
    if (!b->run || b->cell.state == CELL_ANSWERING)
        return;
    if (box_spend(b, cpu_ns) && b->cell.verdict == BOX_NO_VERDICT)
        box_end_run(b, BOX_WORK);
}

void box_explain_work(struct run *run)
{
    free(run->result.exception.name);
    free(run->result.exception.message);
    run->result.exception.name = strdup("OutputLimit");
    run->result.exception.is_ours = true;
    if (asprintf(&run->result.exception.message,
                 "the program's output took more than %.15g s of Belljar's own CPU time, and the "
                 "supervisor ended the run; later output was discarded",
                 (double)budget_ms(run) / 1000) < 0)
        run->result.exception.message = NULL;
    free(run->result.exception.hint);
    run->result.exception.hint =
        strdup("write less, or write to a file; a longer `timeout_s` allows for more");
}

void box_deny_work(struct run *run)
{
    char what[128];

    (void)snprintf(what, sizeof(what),
                   "write output that takes more than %.15g s of Belljar's own CPU time",
                   (double)budget_ms(run) / 1000);
    (void)run_deny(run, what, RUN_LAYER_OUTPUT,
                   "write less, or write to a file; raise `timeout_s` (`--timeout`)");
}

/* --- reading --- */

void box_deliver(struct run *run, int stream, struct clean_text text)
{
    struct run_stream *kept = stream == 1 ? &run->result.out : &run->result.err;
    struct run_event event = {.kind = stream == 1 ? RUN_EVENT_STDOUT : RUN_EVENT_STDERR,
                              .offset = kept->total,
                              .data = clean_data(text),
                              .len = clean_len(text)};

    if (!clean_len(text))
        return;
    (void)run_stream_add(kept, text, NULL);
    if (run->on_event)
        run->on_event(run, &event);
}

/* The run whose output is read from there; NULL: it is thrown away. Past its budget no more is
 * spent on it, and the program can end. */
static struct run *run_of(const struct box_kernel *k)
{
    const struct box *b = k->box;

    if (k->command)
        return k->command->verdict != BOX_WORK ? k->command->run : NULL;
    return k == b->active && b->cell.verdict != BOX_WORK ? b->run : NULL;
}

/* Reads once; returns how much, 0 when nothing is there now. */
static size_t pump(struct box_kernel *k, int fd, struct loop_watch **watch, int stream)
{
    struct run *run = run_of(k);
    struct masker **masks = k->command ? k->command->masks : k->box->masks;
    char data[PIECE_BYTES];
    ssize_t n = fd < 0 ? 0 : read(fd, data, sizeof(data));

    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) { /* closed by all its writers: watching it would spin */
            loop_watch_free(*watch);
            *watch = NULL;
        }
        return 0;
    }
    if (run) {
        box_deliver(run, stream,
                    mask_stream(mask_context_of(run), &masks[stream - 1], data, (size_t)n));
        if (k->has_terminal)
            box_expect_quiet(k);
        if (stream == 2)
            display_take_bar(run, data, (size_t)n);
    }
    return (size_t)n;
}

size_t box_read_output(struct box_kernel *k)
{
    size_t n = pump(k, k->out, &k->out_watch, 1);

    return n + pump(k, k->err, &k->err_watch, 2);
}

static void read_piece(void *arg)
{
    struct box_kernel *k = arg;
    uint64_t began_ns = loop_cpu_ns();

    if (!k->command && box_is_busy(k->box)) /* what was shown before is not taken yet */
        return;
    (void)box_read_output(k);
    if (k->command)
        box_command_spend(k->command, loop_cpu_ns() - began_ns);
    else if (k == k->box->active)
        charge(k->box, loop_cpu_ns() - began_ns);
}

static void on_output(void *arg)
{
    struct box_kernel *k = arg;

    loop_work_post(k->box->loop, &k->reading, read_piece, k);
}

int box_watch_output(struct box_kernel *k, struct error *err)
{
    k->out_watch = loop_watch_fd(k->box->loop, k->out, LOOP_READ, on_output, k);
    k->err_watch = loop_watch_fd(k->box->loop, k->err, LOOP_READ, on_output, k);
    if (!k->out_watch || !k->err_watch)
        return error_memory(err);
    return 0;
}

void box_unwatch_output(struct box_kernel *k)
{
    if (k == k->box->active && k->box->output_timer)
        loop_timer_stop(k->box->output_timer);
    loop_work_cancel(&k->reading);
    loop_watch_free(k->out_watch);
    loop_watch_free(k->err_watch);
    k->out_watch = k->err_watch = NULL;
}

static void cannot_watch(struct box *b, struct error *err)
{
    error_done(err);
    box_end_run(b, BOX_CANCELLED); /* its output would be lost */
}

void box_hold(struct box *b, bool is_held)
{
    struct error err = {0};

    if (b->cell.state == CELL_ANSWERING) /* all there was has been read */
        return;
    box_unwatch_output(b->active);
    if (peer_hold(&b->active->peer, is_held, &err) < 0 ||
        (!is_held && box_watch_output(b->active, &err) < 0))
        cannot_watch(b, &err);
}

int box_watch_output_soon(struct box *b, struct error *err)
{
    if (b->active->has_terminal) /* somebody looks at it */
        return box_watch_output(b->active, err);
    loop_timer_start(b->output_timer, WATCH_MS);
    return 0;
}

void box_on_output_timer(void *arg)
{
    struct box *b = arg;
    struct error err = {0};

    if (!b->run || b->cell.state == CELL_ANSWERING)
        return;
    box_unwatch_output(b->active);
    if (box_watch_output(b->active, &err) < 0)
        cannot_watch(b, &err);
}

/* --- messages come behind what was written before them --- */

bool box_on_kernel_speaks(void *owner)
{
    struct box_kernel *k = owner;
    size_t n;

    if (!k->box->run || k != k->box->active || k->box->cell.state == CELL_ANSWERING)
        return true;
    n = box_read_output(k);
    k->ahead += n;
    /* A thread that writes without end does not keep the others' messages for ever. */
    if (n && k->ahead < DRAIN_MAX)
        return false;
    k->ahead = 0;
    return true;
}

void box_after_kernel_spoke(void *owner, uint64_t cpu_ns)
{
    struct box_kernel *k = owner;

    if (k == k->box->active)
        charge(k->box, cpu_ns);
}

/* --- the end --- */

static void finish_piece(void *arg)
{
    struct box *b = arg;
    struct box_kernel *k = b->active;
    uint64_t began_ns = loop_cpu_ns();
    bool is_over;
    size_t n = 0;

    if (!box_is_busy(b))
        n = box_read_output(k);
    if (!n && k->peer.loop && !cell_is_done(&b->cell))
        n = peer_read_some(&k->peer);
    if (!b->run) /* answered meanwhile */
        return;
    b->cell.drained += n;
    is_over = box_spend(b, loop_cpu_ns() - began_ns);
    if ((n || box_is_busy(b)) && b->cell.drained < DRAIN_MAX && b->cell.verdict == BOX_NO_VERDICT &&
        !is_over) {
        loop_work_post(b->loop, &b->finishing, finish_piece, b);
        return;
    }
    if (n && is_over && b->cell.verdict == BOX_NO_VERDICT)
        b->cell.verdict = BOX_WORK;
    box_answer(b);
}

void box_finish(struct box *b)
{
    loop_timer_stop(b->deadline);
    loop_timer_stop(b->tick);
    loop_work_post(b->loop, &b->finishing, finish_piece, b);
}

void box_end_output(struct box *b, struct run *run)
{
    uint64_t began_ns = loop_cpu_ns();
    struct box_kernel *k = b->active;
    size_t n = b->cell.verdict != BOX_WORK;

    /* Past its budget only what was held back comes, so that no more time is spent. */
    while (n && !fiber_is_cancelled() && loop_cpu_ns() - began_ns < LAST_LOOK_NS) {
        n = box_read_output(k);
        if (!n && k->peer.loop && !cell_is_done(&b->cell))
            n = peer_read_some(&k->peer);
    }
    for (int stream = 1; stream <= 2; stream++) {
        box_deliver(run, stream, mask_stream_end(mask_context_of(run), &b->masks[stream - 1]));
        masker_free(take_ptr(b->masks[stream - 1]));
    }
    run->result.ended_ns = loop_now_ns();
}

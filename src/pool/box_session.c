/* A sandbox that is kept: its kernels, one cell after the other, and how a cell is made to stop
 * without losing what it leaves behind. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "pool/box_internal.h"

/* From the interrupt to the kill, and from that to giving the whole sandbox up: within the second
 * that a limit has to be kept in. */
#define INTERRUPT_GRACE_MS 500
#define KILL_PATIENCE_MS   400

static enum wire_kernel index_of(const struct box_kernel *k)
{
    return (enum wire_kernel)(k - k->box->kernels);
}

static struct box_kernel *kernel_for(struct box *b, enum run_language language)
{
    return &b->kernels[language == RUN_BASH ? WIRE_KERNEL_BASH : WIRE_KERNEL_PYTHON];
}

/* --- kernels --- */

/* The way cells go, {their end, ours}. A Bash kernel reads it byte by byte: a pipe. A Python kernel
 * is sent descriptors (WIRE_IMAGE); it can send nothing back. */
static int open_way(enum wire_kernel kernel, int pair[2], struct error *err)
{
    if (kernel == WIRE_KERNEL_BASH)
        return pipe2(pair, O_CLOEXEC) < 0 ? error_errno(err, "pipe2") : 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, "socketpair");
    if (shutdown(pair[0], SHUT_WR) < 0) {
        (void)close(pair[0]);
        (void)close(pair[1]);
        return error_errno(err, "shutdown");
    }
    return 0;
}

/* Hands the pipe for cells over and sends what all of them have in common. */
static int open_cells(struct box_kernel *k, struct error *err)
{
    struct box *b = k->box;
    cleanup_close int theirs = -1;
    int pair[2];
    struct pack p;
    int r;

    if (open_way(index_of(k), pair, err) < 0)
        return -1;
    theirs = pair[0];
    if (fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0 ||
        peer_send(&k->peer, WIRE_SESSION, NULL, &theirs, 1, err) < 0) {
        (void)close(pair[1]);
        return -1;
    }
    if (peer_redirect(&k->peer, pair[1], err) < 0)
        return -1;
    k->peer.channel = WIRE_CHANNEL_CELLS;
    b->model->language = index_of(k) == WIRE_KERNEL_BASH ? RUN_BASH : RUN_PYTHON;
    box_pack_run(b, b->model, &p);
    r = peer_send(&k->peer, WIRE_RUN, &p, NULL, 0, err);
    pack_done(&p);
    return r;
}

static int tell_init(struct box *b, enum wire_type type, const uint32_t *words, size_t n_words,
                     const int *fds, size_t n_fds, struct error *err)
{
    struct pack p;
    int r;

    pack_init(&p, 64);
    for (size_t i = 0; i < n_words; i++)
        pack_u32(&p, words[i]);
    r = peer_send(&b->init, type, &p, fds, n_fds, err);
    pack_done(&p);
    return r;
}

static int start_kernel(struct box_kernel *k, struct error *err)
{
    int theirs[WIRE_KERNEL_FDS] = {-1, -1, -1, -1};
    uint32_t index = index_of(k);
    int r;

    box_close_kernel(k);
    r = box_open_kernel(k, theirs, err);
    if (r == 0)
        r = tell_init(k->box, WIRE_KERNEL, &index, 1, theirs, WIRE_KERNEL_FDS, err);
    for (size_t i = 0; i < WIRE_KERNEL_FDS; i++)
        close_fd(&theirs[i]);
    if (r < 0)
        box_close_kernel(k);
    return r;
}

static void signal_kernel(struct box_kernel *k, int sig)
{
    uint32_t words[] = {index_of(k), (uint32_t)sig};
    struct error err = {0};

    /* Pid 1 that does not listen is dead or beyond help: the whole sandbox goes. */
    if (tell_init(k->box, WIRE_SIGNAL, words, ARRAY_SIZE(words), NULL, 0, &err) < 0)
        box_kill(k->box);
    error_done(&err);
}

/* --- cells --- */

static int send_base64(struct peer *peer, const struct buf *input, struct error *err)
{
    cleanup(buf_done) struct buf text;

    buf_init(&text, LIMIT_STDIN_BYTES * 2);
    if (base64_add(&text, input->data, input->len, err) < 0 || buf_add(&text, "", 1, err) < 0)
        return -1;
    return peer_send_bytes(peer, text.data, text.len, err);
}

static int send_bash(struct peer *peer, const struct run *cell, struct error *err)
{
    static const char plain[] = WIRE_BASH_CELL, with_input[] = WIRE_BASH_CELL_WITH_INPUT;
    int r = cell->has_input ? peer_send_bytes(peer, with_input, sizeof(with_input) - 1, err)
                            : peer_send_bytes(peer, plain, sizeof(plain) - 1, err);

    /* The text with the NUL behind it. */
    if (r == 0)
        r = peer_send_bytes(peer, buf_str(&cell->code), cell->code.len + 1, err);
    if (r == 0 && cell->has_input)
        r = send_base64(peer, &cell->input, err);
    return r;
}

static int send_python(struct peer *peer, const struct run *cell, uint32_t number,
                       struct error *err)
{
    struct wire_cell message = {
        .flags = (cell->auto_print ? WIRE_RUN_AUTO_PRINT : 0) |
                 (cell->auto_print_str ? WIRE_RUN_AS_PRINT : 0) |
                 (cell->has_input ? WIRE_RUN_STDIN : 0),
        .number = number,
        .code = {buf_str(&cell->code),  cell->code.len },
        .input = {buf_str(&cell->input), cell->input.len},
    };
    struct pack p;
    int r;

    pack_init(&p, wire_type_max(WIRE_CELL));
    wire_pack_cell(&p, &message);
    r = peer_send(peer, WIRE_CELL, &p, NULL, 0, err);
    pack_done(&p);
    return r;
}

/* The kernel waits: the cell's turn. */
static int hand_over(struct box_kernel *k, struct error *err)
{
    struct box *b = k->box;
    struct run *cell = b->run;

    if (box_watch_output(k, err) < 0)
        return -1;
    box_look_at_files(b);
    peer_enter(&k->peer, WIRE_STATE_HANDED);
    cell->handed_ns = loop_now_ns();
    return index_of(k) == WIRE_KERNEL_BASH ? send_bash(&k->peer, cell, err)
                                           : send_python(&k->peer, cell, ++b->cells, err);
}

/* A cell that could not be handed over: it is the kernel that is gone, or memory that is short. */
static void fail_cell(struct box *b, struct error *err)
{
    if (b->run->error.code == E_NONE)
        error_move(&b->run->error, err);
    error_done(err);
    b->verdict = BOX_CANCELLED;
    b->is_killed = true;
    signal_kernel(b->active, SIGKILL);
    loop_timer_start(b->deadline, KILL_PATIENCE_MS);
}

int box_cell(struct box *b, struct run *cell, struct error *err)
{
    struct box_kernel *k = kernel_for(b, cell->language);

    if (b->state != BOX_KEPT)
        return error_set(err, E_BUSY, "the session's sandbox is not ready for a cell");
    if (!k->is_alive && start_kernel(k, err) < 0)
        return -1;
    b->run = cell;
    b->active = k;
    b->state = BOX_RUNNING;
    cell->handed_ns = loop_now_ns();
    box_start_clocks(b, cell);
    if (k->peer.state == WIRE_STATE_READY && !k->is_restarting) {
        struct error why = {0};

        if (hand_over(k, &why) < 0)
            fail_cell(b, &why);
    }
    return 0;
}

void box_session_on_waiting(struct box_kernel *k)
{
    struct box *b = k->box;
    struct error err = {0};

    if (open_cells(k, &err) < 0) {
        error_done(&err);
        signal_kernel(k, SIGKILL); /* its end is an answer to whoever waits for it */
        return;
    }
    if (b->run && b->active == k && b->state == BOX_RUNNING && hand_over(k, &err) < 0)
        fail_cell(b, &err);
}

void box_session_on_done(struct box_kernel *k, uint32_t code)
{
    struct box *b = k->box;

    b->is_done = true;
    b->done_code = code;
    if (!b->is_answering)
        box_answer(b);
}

void box_session_on_exited(struct box_kernel *k, const struct wire_exited *exited)
{
    struct box *b = k->box;
    bool was_born = k->peer.state != WIRE_STATE_STARTING;
    struct error err = {0};

    k->is_alive = false;
    if (b->state == BOX_ENDING)
        return;
    if (index_of(k) == WIRE_KERNEL_PYTHON)
        box_copy_on_trouble(b, "its kernel died");
    if (k->is_restarting) {
        k->is_restarting = false;
        if (start_kernel(k, &err) < 0 && b->run && b->active == k) {
            error_move(&b->run->error, &err);
            box_answer(b);
        }
        error_done(&err);
        return;
    }
    if (b->run && b->active == k) {
        b->has_exited = true;
        b->exited = *exited;
        if (!was_born)
            error_set(&b->run->error, E_BUSY, "a kernel could not be started in the session");
        box_answer(b);
    }
    /* The next one at once, so that the next cell need not wait; unless this one was not even born:
     * there is no room for it, and the next cell will try again. */
    if (was_born && b->state == BOX_KEPT && !k->is_alive && start_kernel(k, &err) < 0)
        error_done(&err);
}

void box_session_after(struct box *b)
{
    box_unwatch_output(b->active);
    (void)peer_hold(&b->active->peer, false, NULL); /* without memory: as a kernel that is silent */
    b->verdict = BOX_NO_VERDICT;
    b->is_refused = b->has_exited = b->is_done = b->is_interrupted = b->is_killed = false;
    b->memory_peak = 0;
    b->processes_peak = 0;
    b->cpu_ms = 0;
    if (b->state == BOX_RUNNING)
        b->state = BOX_KEPT;
}

/* --- stopping --- */

void box_session_stop_cell(struct box *b)
{
    bool asks = b->verdict != BOX_BROKEN && b->verdict != BOX_MEMORY;

    if (b->is_killed || (asks && b->is_interrupted))
        return;
    if (asks)
        b->is_interrupted = true;
    else
        b->is_killed = true;
    signal_kernel(b->active, asks ? SIGINT : SIGKILL);
    loop_timer_start(b->deadline, asks ? INTERRUPT_GRACE_MS : KILL_PATIENCE_MS);
}

void box_session_on_deadline(struct box *b)
{
    if (b->is_killed) { /* not even that: the whole sandbox */
        box_kill(b);
        return;
    }
    b->is_killed = true;
    signal_kernel(b->active, SIGKILL);
    loop_timer_start(b->deadline, KILL_PATIENCE_MS);
}

void box_restart(struct box *b, enum run_language language)
{
    struct box_kernel *k = kernel_for(b, language);

    if (b->state != BOX_KEPT || !k->is_alive || k->is_restarting)
        return;
    k->is_restarting = true; /* a fresh one follows its end, and a cell waits for that one */
    signal_kernel(k, SIGKILL);
}

int box_keep(struct box *b, struct run *model, const struct box_events *events, void *owner,
             struct error *err)
{
    b->events = events;
    b->owner = owner;
    b->model = model;
    if (b->state != BOX_IDLE)
        return error_set(err, E_BUSY, "the sandbox is not idle");
    if (box_check_layers(b, model, err) < 0 || box_adjust_cgroup(b, model, err) < 0)
        return -1;
    if (open_cells(&b->kernels[WIRE_KERNEL_PYTHON], err) < 0) {
        error_done(err);
        return error_set(err, E_BUSY, "the sandbox died while it waited");
    }
    b->state = BOX_KEPT;
    return 0;
}

bool box_is_kept(const struct box *b)
{
    return b->model != NULL;
}

/* A sandbox that is kept: its kernels, one cell after the other, and how a cell is made to stop
 * without losing what it leaves behind.
 *
 * WIRE_SESSION hands the waiting Python kernel a socket that goes one way only, in place of its
 * own: from then on nothing the kernel holds can send descriptors. (Other kernels get a pipe.) On
 * it comes one WIRE_RUN without code, for rules, limits and variables, then one WIRE_CELL after the
 * other; guest/cells.c answers each with WIRE_DONE. The policy is sealed before the first cell, and
 * every cell is checked on the tree that is compiled.
 *
 * Kernels of other languages, and any kernel in place of one that ended, is forked by init from its
 * pristine memory (WIRE_KERNEL). Bash is an interactive shell without a terminal: only such a shell
 * goes back to its next command after an interrupt.
 *
 * A limit or a cancel is SIGINT to the kernel's process group first, and once more after
 * INTERRUPT_FIRST_MS: Python loses an interrupt that comes just before it begins to sleep. Python
 * notices neither before a long call of a library returns: after the time limit or a cancel the
 * cell has the grace of its terms. It is bounded by the largest time limit there is, and ends with
 * any other limit. Then the group gets SIGKILL, and if even that brings no answer, the sandbox
 * ends. A program can lie about
 * the exit code of its own cell, and about nothing else: refusals are confirmed (box_check.c). */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "engine/box_internal.h"

/* From the interrupt to the second one, and from that at least to the kill. Without a grace that
 * and giving the whole sandbox up are within the second that a limit has to be kept in. */
#define INTERRUPT_FIRST_MS 500
#define INTERRUPT_AGAIN_MS 250

/* A cell that was handed over and has not begun, on a host that has much to do: cancelling it does
 * not lose the variables. A time limit has no such patience.
 */
#define START_PATIENCE_MS 3000
#define KILL_PATIENCE_MS  400

/* A process that has been sent SIGKILL runs nothing of its program any more; letting go of its
 * memory may take a while where many do that at once. */
#define DEATH_PATIENCE_MS 10000

static enum wire_kernel index_of(const struct box_kernel *k)
{
    return (enum wire_kernel)(k - k->box->kernels);
}

enum wire_kernel box_kernel_kind(const struct box_kernel *k)
{
    return k->context ? (enum wire_kernel)languages[k->context->language].kernel : index_of(k);
}

static struct box_kernel *kernel_for(struct box *b, enum run_language language)
{
    return &b->kernels[languages[language].kernel];
}

static struct box_kernel *kernel_of_context(struct box *b, const struct box_context *context)
{
    struct box_kernel *k = &b->kernels[WIRE_KERNEL_CONTEXT + context->slot];

    k->context = context;
    /* Pid 1 has not told the end of the one before: the next one follows it. */
    k->is_restarting |= k->is_dropped;
    k->is_dropped = false;
    return k;
}

/* --- kernels --- */

/* The way cells go, {their end, ours}. A Python kernel is sent descriptors (WIRE_IMAGE); it can
 * send nothing back. For others a pipe is enough. */
static int open_way(enum wire_kernel kernel, int pair[2], struct error *err)
{
    if (kernel != WIRE_KERNEL_PYTHON)
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

/* In a copy: how its first Bash begins. */
static int send_state(struct box_kernel *k, struct error *err)
{
    static const char load[] = WIRE_BASH_LOAD;
    struct buf *state = &k->box->bash;
    int r = 0;

    k->box->has_run_code |= state->len > 0; /* commands that another shell wrote down */
    if (state->len && (peer_send_bytes(&k->peer, load, sizeof(load) - 1, err) < 0 ||
                       peer_send_bytes(&k->peer, buf_str(state), state->len + 1, err) < 0))
        r = -1;
    buf_done(state);
    return r;
}

/* Hands the pipe for cells over and sends what all of them have in common. */
static int open_cells(struct box_kernel *k, struct error *err)
{
    struct box *b = k->box;
    const struct run_program program = {
        .language = (enum run_language)box_kernel_kind(k),
        .directory = k->context ? k->context->directory : NULL,
    };
    cleanup_close int theirs = -1;
    int pair[2];
    struct pack p;
    int r;

    if (open_way(box_kernel_kind(k), pair, err) < 0)
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
    box_pack_run(k, b->terms, &program, &p);
    r = peer_send(&k->peer, WIRE_RUN, &p, NULL, 0, err);
    pack_done(&p);
    return r == 0 && index_of(k) == WIRE_KERNEL_BASH ? send_state(k, err) : r;
}

int box_tell_init(struct box *b, enum wire_type type, const uint32_t *words, size_t n_words,
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

int box_start_process(struct box_kernel *k, uint32_t index, struct error *err)
{
    int theirs[WIRE_KERNEL_FDS] = {-1, -1, -1, -1, -1};
    int r;

    box_close_kernel(k);
    r = box_open_kernel(k, theirs, err);
    if (r == 0)
        r = box_tell_init(k->box, WIRE_KERNEL, &index, 1, theirs, WIRE_KERNEL_FDS, err);
    for (size_t i = 0; i < WIRE_KERNEL_FDS; i++)
        close_fd(&theirs[i]);
    if (r < 0)
        box_close_kernel(k);
    return r;
}

int box_start_kernel(struct box_kernel *k, struct error *err)
{
    return box_start_process(k, index_of(k), err);
}

void box_signal_process(struct box *b, uint32_t index, int sig)
{
    uint32_t words[] = {index, (uint32_t)sig};
    struct error err = {0};

    /* Pid 1 that does not listen is dead or beyond help: the whole sandbox goes. */
    if (box_tell_init(b, WIRE_SIGNAL, words, ARRAY_SIZE(words), NULL, 0, &err) < 0)
        box_kill(b);
    else
        b->signals++;
    error_done(&err);
}

void box_signal_kernel(struct box_kernel *k, int sig)
{
    box_signal_process(k->box, index_of(k), sig);
}

/* It is of no use any more: a fresh one follows its end, and a cell waits for that one. */
static void replace(struct box_kernel *k)
{
    if (k->is_restarting || !k->is_alive)
        return;
    k->is_restarting = true;
    box_signal_kernel(k, SIGKILL);
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
    const char *begin = cell->program.has_input  ? WIRE_BASH_CELL_WITH_INPUT
                        : cell->program.is_typed ? WIRE_BASH_CELL_TYPED
                                                 : WIRE_BASH_CELL;
    int r = peer_send_bytes(peer, begin, strlen(begin), err);

    /* The text with the NUL behind it. */
    if (r == 0)
        r = peer_send_bytes(peer, buf_str(&cell->program.code), cell->program.code.len + 1, err);
    if (r == 0 && cell->program.has_input)
        r = send_base64(peer, &cell->program.input, err);
    return r;
}

/* To a Python kernel, or to a driver (guest/driver.h). */
static int send_cell(struct peer *peer, const struct run *cell, uint32_t number, struct error *err)
{
    struct wire_cell message = {
        .flags = (cell->program.auto_print ? WIRE_RUN_AUTO_PRINT : 0) |
                 (cell->program.auto_print_str ? WIRE_RUN_AS_PRINT : 0) |
                 (cell->program.has_input ? WIRE_RUN_STDIN : 0) |
                 (cell->program.is_typed ? WIRE_RUN_TYPED : 0) |
                 (cell->program.is_notebook ? WIRE_RUN_NOTEBOOK : 0),
        .number = number,
        .code = {buf_str(&cell->program.code), cell->program.code.len},
        .input = {buf_str(&cell->program.input), cell->program.input.len},
        .language = span_of(languages[cell->program.language].name),
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

    if (box_kernel_kind(k) != WIRE_KERNEL_PYTHON) /* no policy checks it before it runs */
        b->has_run_code = true;
    if (box_watch_output_soon(b, err) < 0)
        return -1;
    box_look_at_files(b);
    peer_enter(&k->peer, WIRE_STATE_HANDED);
    cell->result.handed_ns = loop_now_ns();
    return box_kernel_kind(k) == WIRE_KERNEL_BASH ? send_bash(&k->peer, cell, err)
                                                  : send_cell(&k->peer, cell, ++b->cells, err);
}

static void kill_kernel(struct box *b)
{
    box_enter(b, CELL_KILLED);
    box_signal_kernel(b->active, SIGKILL);
    loop_timer_start(b->deadline, KILL_PATIENCE_MS);
}

/* A cell that could not be handed over: it is the kernel that is gone, or memory that is short. */
static void fail_cell(struct box *b, struct error *err)
{
    if (b->run->result.error.code == E_NONE)
        error_move(&b->run->result.error, err);
    error_done(err);
    b->cell.verdict = BOX_CANCELLED;
    kill_kernel(b);
}

/* Hands the cell over as soon as its kernel is ready for it, and not before the signals meant for
 * the cell before have been sent: they would meet this one. What the cell before left open for
 * writing is saved first. */
static void try_to_hand_over(struct box *b)
{
    struct box_kernel *k = b->active;
    struct error err = {0};

    if (b->cell.state != CELL_WAITING || b->state != BOX_RUNNING || b->signals ||
        box_is_refreshing(b) || box_is_filling(b) ||
        (b->broker && !broker_client_has_begun(b->broker)) || k->is_restarting ||
        k->peer.state != WIRE_STATE_READY || k->peer.channel != WIRE_CHANNEL_CELLS)
        return;
    if (hand_over(k, &err) == 0) {
        box_enter(b, CELL_SENT);
    } else if ((k->peer.is_over || err.errnum == EPIPE) && !b->cell.is_retried) {
        /* It died since its last cell, and pid 1 has not said so yet. It has read nothing of this
         * one. */
        error_done(&err);
        box_unwatch_output(k);
        b->cell.is_retried = k->was_lost = true;
        replace(k);
    } else {
        fail_cell(b, &err);
    }
}

/* Its files are there. */
static int begin_cell(struct box *b, struct run *cell, struct error *err)
{
    struct box_kernel *k = b->active;

    run_drop_given(cell);
    if (!k->is_alive && box_start_kernel(k, err) < 0)
        return -1;
    box_changes_leave(b);
    if (b->broker && broker_client_begin(b->broker, cell, err) < 0)
        return -1;
    if (cell->terms.masking != RUN_MASK_ALL) /* a cell may ask for more than its session */
        cell->terms.masking = b->terms->masking;
    box_begin_cell(b, cell);
    box_own_gate(b, cell);
    b->state = BOX_RUNNING;
    cell->result.handed_ns = loop_now_ns();
    box_leave_out_commands(b);
    box_start_clocks(b, cell);
    box_refresh_begin(b);
    try_to_hand_over(b);
    return 0;
}

int box_cell(struct box *b, struct run *cell, const struct box_context *context, struct error *err)
{
    if (b->state != BOX_KEPT)
        return error_set(err, E_BUSY, "the session's sandbox is not ready for a cell");
    b->active = context ? kernel_of_context(b, context) : kernel_for(b, cell->program.language);
    box_settle_files(b);
    if (box_has_large_files(cell) || box_files_are_stale(b)) {
        box_put_files_slowly(b, cell, begin_cell);
        return 0;
    }
    if (box_put_files(b, cell, err) < 0)
        return -1;
    return begin_cell(b, cell, err);
}

void box_session_on_refreshed(struct box *b)
{
    try_to_hand_over(b);
}

void box_session_on_begun(struct box *b)
{
    if (!b->terms)
        return;
    try_to_hand_over(b);
    box_commands_on_begun(b);
}

void box_session_on_waiting(struct box_kernel *k)
{
    struct box *b = k->box;
    struct error err = {0};

    if (box_is_checker(k)) {
        box_check_on_waiting(k);
        return;
    }
    if (k->is_dropped)
        return;
    if (open_cells(k, &err) < 0) {
        error_done(&err);
        box_signal_kernel(k, SIGKILL); /* its end is an answer to whoever waits for it */
        return;
    }
    if (index_of(k) == WIRE_KERNEL_BASH)
        box_copy_on_bash_ready(b);
    if (b->active == k)
        try_to_hand_over(b);
}

void box_session_on_signalled(struct box *b)
{
    if (b->signals)
        b->signals--;
    if ((b->cell.state == CELL_KILLED || b->cell.state == CELL_CLEARED) && !b->signals)
        loop_timer_start(b->deadline, DEATH_PATIENCE_MS);
    try_to_hand_over(b);
}

/* Time that is left for it to end by itself. */
static uint32_t grace_ms(const struct box *b)
{
    const struct run_terms *terms = &b->run->terms;
    uint64_t passed_ms =
        b->cell.verdict == BOX_TIMEOUT ? terms->limits.timeout_ms : box_clock_ns(b) / 1000000;
    uint64_t left_ms = passed_ms < terms->grace_end_ms ? terms->grace_end_ms - passed_ms : 0;

    return left_ms < terms->interrupt_grace_ms ? (uint32_t)left_ms : terms->interrupt_grace_ms;
}

static void send_interrupt(struct box *b)
{
    b->cell.interrupted_ns = loop_now_ns();
    b->cell.grace_ms = grace_ms(b);
    box_signal_kernel(b->active, SIGINT);
    loop_timer_start(b->deadline, INTERRUPT_FIRST_MS);
}

/* Before this word a shell still reads the cell, and an interrupt would leave the rest of it to be
 * read as something else. */
void box_session_on_started(struct box_kernel *k)
{
    k->box->has_run_code = true;
    if (k->box->cell.state == CELL_STOPPING)
        send_interrupt(k->box);
}

/* Between cells: nobody waits for it. */
void box_session_on_broken(struct box_kernel *k)
{
    if (box_is_checker(k)) { /* its end follows, and is its answer */
        box_signal_kernel(k, SIGKILL);
        return;
    }
    if (index_of(k) == WIRE_KERNEL_BASH)
        box_copy_on_bash_end(k->box);
    if (k->box->state != BOX_KEPT && k->box->state != BOX_RUNNING)
        return;
    if (k->is_dropped)
        return;
    k->was_lost = true;
    replace(k);
}

void box_session_on_done(struct box_kernel *k, uint32_t code)
{
    struct box *b = k->box;

    /* Too late: it dies, and what it remembers with it. Its end is the answer. */
    if (cell_has_been(&b->cell, CELL_KILLED))
        return;
    box_enter(b, CELL_DONE);
    b->cell.done_code = code;
    if (box_check_is_pending(b))
        loop_timer_stop(b->deadline); /* the checker has its own time limit */
    else if (b->cell.state != CELL_ANSWERING)
        box_finish(b);
}

/* The next one; a cell that waits for it learns if there is none. */
static void start_next(struct box_kernel *k)
{
    struct box *b = k->box;
    struct error err = {0};

    if (box_start_kernel(k, &err) < 0 && b->run && b->active == k) {
        error_move(&b->run->result.error, &err);
        box_answer(b);
    }
    error_done(&err);
}

/* The kernel died before it was sent this cell, which goes to the next kernel. */
static bool may_retry(const struct box_cell *cell)
{
    return !cell_has_been(cell, CELL_SENT) && !cell_has_been(cell, CELL_KILLED) &&
           !cell->is_retried;
}

/* Its answer says so already. One that is still to be made looks at how the kernel ended. */
static bool says_that_state_is_kept(const struct run *cell)
{
    return cell->result.state == RUN_STATE_KEPT || cell->result.state == RUN_STATE_FRESH;
}

void box_session_on_exited(struct box_kernel *k, const struct wire_exited *exited)
{
    struct box *b = k->box;
    bool was_born = k->peer.state != WIRE_STATE_STARTING, is_reported = false;

    if (box_is_checker(k)) {
        box_check_on_exited(k);
        return;
    }
    k->is_alive = false;
    if (k->is_dropped || b->state == BOX_ENDING) {
        k->is_dropped = k->is_restarting = false;
        return;
    }
    if (index_of(k) == WIRE_KERNEL_PYTHON)
        box_copy_on_trouble(b, "its kernel died");
    else if (index_of(k) == WIRE_KERNEL_BASH && !k->is_restarting)
        box_copy_on_bash_end(b);
    if (k->is_restarting) {
        k->is_restarting = false;
        start_next(k);
        return;
    }
    if (b->run && b->active == k && may_retry(&b->cell)) {
        b->cell.is_retried = true;
        k->was_lost |= was_born;
        start_next(k);
        return;
    }
    if (b->run && b->active == k) {
        b->cell.exited = *exited;
        box_enter(b, CELL_EXITED);
        if (!was_born)
            error_set(&b->run->result.error, E_BUSY,
                      "a kernel could not be started in the session");
        is_reported = !says_that_state_is_kept(b->run);
        box_answer(b);
        if (b->run && was_born) { /* it is not answered yet */
            k->was_lost |= !is_reported;
            b->next_due = k->context ? NULL : k;
            return;
        }
    }
    /* The next one at once, so that the next cell need not wait; unless this one was not even born:
     * there is no room for it, and the next cell will try again. */
    if (!was_born || k->is_alive)
        return;
    k->was_lost |= !is_reported;
    /* That of a context is started by its next cell: its directory may be gone, and with it every
     * one that is started. */
    if (!k->context && (b->state == BOX_KEPT || b->state == BOX_RUNNING))
        start_next(k);
}

void box_session_start_due(struct box *b)
{
    struct box_kernel *k = take_ptr(b->next_due);

    if (k && !k->is_alive && (b->state == BOX_KEPT || b->state == BOX_RUNNING))
        start_next(k);
}

void box_session_after(struct box *b)
{
    box_unwatch_output(b->active);
    if (b->active->peer.loop)                           /* else it was never started */
        (void)peer_hold(&b->active->peer, false, NULL); /* without memory: as if it were silent */
    box_check_end(b);
    if (b->state == BOX_RUNNING)
        b->state = BOX_KEPT;
}

/* --- stopping --- */

/* The kernel runs nothing: the cell has not been sent, or is done. */
static bool is_at_rest(const struct box_cell *cell)
{
    return cell->state == CELL_DONE || !cell_has_been(cell, CELL_SENT);
}

static void interrupt(struct box *b)
{
    bool is_at_limit = b->cell.verdict != BOX_CANCELLED;

    if (b->cell.state == CELL_STOPPING)
        return;
    if (b->cell.state != CELL_DONE)
        box_enter(b, CELL_STOPPING);
    if (is_at_rest(&b->cell)) { /* answered from the loop */
        loop_timer_start(b->deadline, 0);
    } else if (b->active->peer.state != WIRE_STATE_RUNNING) { /* see box_session_on_started() */
        loop_timer_start(b->deadline, is_at_limit ? INTERRUPT_FIRST_MS : START_PATIENCE_MS);
    } else {
        send_interrupt(b);
    }
}

/* Time and the client are patient; other limits are not, and end a grace that has begun. */
static bool is_patient(enum box_verdict verdict)
{
    return verdict == BOX_TIMEOUT || verdict == BOX_CANCELLED;
}

void box_session_stop_cell(struct box *b, enum box_verdict why)
{
    switch (b->cell.state) {
    case CELL_WAITING:
    case CELL_SENT:
    case CELL_STOPPING:
    case CELL_DONE:
        b->cell.has_grace = is_patient(why) && is_patient(b->cell.verdict);
        if (why == BOX_BROKEN || why == BOX_MEMORY ||
            (!b->cell.has_grace && b->cell.is_interrupted_twice))
            kill_kernel(b);
        else
            interrupt(b);
        break;
    default: /* it dies, or has ended */
        break;
    }
}

/* Pid 1 has not killed the kernel yet: the sandbox has everything in a spin, or the host has. We do
 * not need it for that. Its last resort, the end of the sandbox, would cost the files. */
static void kill_more(struct box *b)
{
    if (!b->signals || cgroup_host_kind(b->cgroups) == CGROUP_NONE || box_pid(b) < 0) {
        box_kill(b);
        return;
    }
    box_enter(b, CELL_CLEARED);
    cgroup_kill_others(b->cgroup, box_pid(b));
    for (size_t i = 0; i < WIRE_KERNELS; i++)
        if (&b->kernels[i] != b->active && b->kernels[i].is_alive &&
            !box_is_checker(&b->kernels[i]))
            b->kernels[i].is_restarting = b->kernels[i].was_lost = true;
    loop_timer_start(b->deadline, DEATH_PATIENCE_MS);
}

/* The rest of the cell's grace, or the little that every cell has. */
static uint32_t rest_of_grace_ms(const struct box *b)
{
    uint32_t whole_ms = b->cell.has_grace ? b->cell.grace_ms : 0;

    return whole_ms > INTERRUPT_FIRST_MS + INTERRUPT_AGAIN_MS ? whole_ms - INTERRUPT_FIRST_MS
                                                              : INTERRUPT_AGAIN_MS;
}

/* False: it has had its chances. */
static bool interrupt_again(struct box *b)
{
    if (b->cell.state != CELL_STOPPING || b->cell.is_interrupted_twice ||
        b->active->peer.state != WIRE_STATE_RUNNING)
        return false;
    b->cell.is_interrupted_twice = true;
    box_signal_kernel(b->active, SIGINT);
    loop_timer_start(b->deadline, rest_of_grace_ms(b));
    return true;
}

void box_session_on_deadline(struct box *b)
{
    switch (b->cell.state) {
    case CELL_WAITING:
    case CELL_SENT:
    case CELL_STOPPING:
    case CELL_DONE:
        if (!is_at_rest(&b->cell)) {
            if (!interrupt_again(b))
                kill_kernel(b);
            break;
        }
        box_enter(b, CELL_DONE); /* nothing of the session was touched */
        box_answer(b);
        break;
    case CELL_KILLED:
        kill_more(b);
        break;
    case CELL_CLEARED:
        box_kill(b);
        break;
    default: /* it has ended, and its answer is on its way */
        break;
    }
}

void box_restart(struct box *b, enum run_language language)
{
    struct box_kernel *k = kernel_for(b, language);

    if (b->state != BOX_KEPT)
        return;
    if (language == RUN_BASH)
        buf_done(&b->bash);
    replace(k);
}

void box_restart_context(struct box *b, const struct box_context *context)
{
    if (b->state == BOX_KEPT)
        replace(kernel_of_context(b, context));
}

void box_drop_context(struct box *b, const struct box_context *context)
{
    struct box_kernel *k = &b->kernels[WIRE_KERNEL_CONTEXT + context->slot];

    k->context = NULL;
    k->was_lost = k->is_restarting = false;
    if (!k->is_alive)
        return;
    k->is_dropped = true;
    box_signal_kernel(k, SIGKILL);
}

int box_keep(struct box *b, const struct run_terms *terms, const struct box_events *events,
             void *owner, struct error *err)
{
    b->events = events;
    b->owner = owner;
    b->terms = terms;
    if (b->state != BOX_IDLE)
        return error_set(err, E_BUSY, "the sandbox is not idle");
    if (box_check_layers(b, terms, err) < 0 || box_adjust_cgroup(b, terms, 0, err) < 0)
        return -1;
    if (open_cells(&b->kernels[WIRE_KERNEL_PYTHON], err) < 0) {
        error_done(err);
        return error_set(err, E_BUSY, "the sandbox died while it waited");
    }
    b->state = BOX_KEPT;
    return 0;
}

void box_disown(struct box *b, const struct box_events *events, void *owner)
{
    b->events = events;
    b->owner = owner;
    b->terms = NULL;
    box_kill(b);
}

bool box_is_kept(const struct box *b)
{
    return b->terms != NULL;
}

/* Refusals in a session that a program has run in.
 *
 * The kernel of a session checks each cell against the policy, and says what it refuses and why.
 * Once a program has run there, a thread of it can read the next cell and send a refusal with any
 * text in the kernel's place. So the kernel's text is thrown away, and the cell is checked once
 * more: pid 1 forks a fresh process from its pristine memory, which checks this one cell and runs
 * nothing. The refusal that is passed on is the one of that process. When it finds nothing to
 * refuse, the kernel lied and is ended; when it cannot do its work (no process left, killed by the
 * program), the answer says that the refusal is not confirmed.
 */
#include <signal.h>

#include "base/cleanup.h"
#include "engine/box_internal.h"

/* Parsing the largest program takes a fraction of it. */
#define CHECK_MS 5000

static struct box_kernel *checker_of(struct box *b)
{
    return &b->kernels[WIRE_KERNEL_CHECKER];
}

bool box_is_checker(const struct box_kernel *k)
{
    return k == &k->box->kernels[WIRE_KERNEL_CHECKER];
}

bool box_check_is_pending(const struct box *b)
{
    return b->cell.check != BOX_CHECK_NONE && b->kernels[WIRE_KERNEL_CHECKER].is_alive;
}

static void on_late(void *arg)
{
    struct box *b = arg;

    if (checker_of(b)->is_alive)
        box_signal_kernel(checker_of(b), SIGKILL); /* its end is the answer */
}

void box_check_begin(struct box *b)
{
    struct error err = {0};

    b->cell.check = BOX_CHECK_UNKNOWN;
    if (!b->check_timer)
        b->check_timer = loop_timer(b->loop, on_late, b);
    if (!b->check_timer || checker_of(b)->is_alive)
        return;
    if (box_start_kernel(checker_of(b), &err) == 0) {
        b->cell.check = BOX_CHECK_PENDING;
        loop_timer_start(b->check_timer, CHECK_MS);
    }
    error_done(&err);
}

static int send_cell(struct box_kernel *k, struct error *err)
{
    static struct wire_run message; /* too large for a stack; filled and packed here and now */
    const struct box *b = k->box;
    const struct run_limits *limits = &b->terms->limits;
    uint32_t known = zygote_client_knows_policy(b->zygote, b->terms->policy);
    struct pack p;
    int r;

    message = (struct wire_run){
        .flags = WIRE_RUN_CHECK_CELL | WIRE_RUN_NO_EXEC,
        .descriptors = limits->descriptors,
        .file_bytes = limits->file_bytes,
        .cpu_s = CHECK_MS / 1000,
        .code = {buf_str(&b->run->program.code), b->run->program.code.len},
        .known_policy = known,
    };
    if (!known)
        message.policy = b->terms->policy;
    pack_init(&p, wire_type_max(WIRE_RUN));
    wire_pack_run(&p, &message);
    peer_enter(&k->peer, WIRE_STATE_HANDED);
    r = peer_send(&k->peer, WIRE_RUN, &p, NULL, 0, err);
    pack_done(&p);
    return r;
}

void box_check_on_waiting(struct box_kernel *k)
{
    struct error err = {0};

    if (!k->box->run || k->box->cell.check != BOX_CHECK_PENDING || send_cell(k, &err) < 0)
        box_signal_kernel(k, SIGKILL);
    error_done(&err);
}

void box_check_on_message(struct box_kernel *k, const struct frame *frame)
{
    struct box *b = k->box;
    struct unpack u;

    if (!b->run || b->cell.check != BOX_CHECK_PENDING)
        return;
    unpack_init(&u, frame->body, frame->len);
    if (frame->type == WIRE_STARTED)
        b->cell.check = BOX_CHECK_PASSED;
    else if (frame->type == WIRE_REFUSED && box_take_violations(b->run, &u))
        b->cell.check = BOX_CHECK_REFUSED;
    else
        b->cell.check = BOX_CHECK_UNKNOWN;
}

/* The cell is over and waited for this. */
static void conclude(struct box *b)
{
    if (b->cell.check == BOX_CHECK_PASSED) {
        box_end_run(b, BOX_BROKEN);
        return;
    }
    b->cell.is_refused = b->cell.check == BOX_CHECK_REFUSED;
    if (cell_is_done(&b->cell) && b->cell.state != CELL_ANSWERING)
        box_finish(b);
}

void box_check_on_exited(struct box_kernel *k)
{
    struct box *b = k->box;
    bool is_asked = b->cell.check != BOX_CHECK_NONE && b->run;

    /* Its word comes on another channel, and may not have been read yet. */
    if (k->peer.loop)
        peer_drain(&k->peer);
    if (box_is_busy(b)) { /* with that word */
        b->check_due = k;
        return;
    }
    loop_timer_stop(b->check_timer);
    box_close_kernel(k);
    if (b->state == BOX_ENDING || !is_asked)
        return;
    if (b->cell.check == BOX_CHECK_PENDING)
        b->cell.check = BOX_CHECK_UNKNOWN;
    conclude(b);
}

void box_check_end(struct box *b)
{
    b->cell.check = BOX_CHECK_NONE;
    if (checker_of(b)->is_alive)
        box_signal_kernel(checker_of(b), SIGKILL);
}

#include "admit/queue.h"

#include <stdlib.h>

#include "base/cleanup.h"

#define TICK_MS 250

struct queue {
    struct loop *loop;
    struct queue_options options;
    struct caller *turn; /* whose it is; a ring of those that wait */
    size_t n_running, n_waiting;
    uint64_t displaced, expired;
    struct queue_place *refused_first, *refused_last; /* to be told from the loop */
    struct loop_watch *soon, *tick;
    bool is_ticking;
};

/* --- lines --- */

static void join_ring(struct queue *q, struct caller *c)
{
    if (!q->turn) {
        c->turn_before = c->turn_after = c;
        q->turn = c;
        return;
    }
    /* Last in the round: before the one whose turn it is. */
    c->turn_after = q->turn;
    c->turn_before = q->turn->turn_before;
    c->turn_before->turn_after = c;
    q->turn->turn_before = c;
}

static void leave_ring(struct queue *q, struct caller *c)
{
    if (q->turn == c)
        q->turn = c->turn_after == c ? NULL : c->turn_after;
    c->turn_before->turn_after = c->turn_after;
    c->turn_after->turn_before = c->turn_before;
    c->turn_before = c->turn_after = NULL;
}

static void join_line(struct queue *q, struct queue_place *p)
{
    struct caller *c = p->caller;

    p->state = QUEUE_WAITING;
    p->before = c->last;
    p->after = NULL;
    if (c->last)
        c->last->after = p;
    else
        c->first = p;
    c->last = p;
    q->n_waiting++;
    if (c->n_waiting++ == 0)
        join_ring(q, c);
}

static void leave_line(struct queue *q, struct queue_place *p)
{
    struct caller *c = p->caller;

    if (p->before)
        p->before->after = p->after;
    else
        c->first = p->after;
    if (p->after)
        p->after->before = p->before;
    else
        c->last = p->before;
    p->before = p->after = NULL;
    q->n_waiting--;
    if (--c->n_waiting == 0)
        leave_ring(q, c);
}

/* --- refusing --- */

/* Called from the loop, so that no answer is given while its caller is still asking. Takes
 * `why`. */
static void refuse(struct queue *q, struct queue_place *p, struct error *why)
{
    leave_line(q, p);
    p->state = QUEUE_REFUSED;
    error_move(&p->why, why);
    if (q->refused_last)
        q->refused_last->after = p;
    else
        q->refused_first = p;
    q->refused_last = p;
    loop_timer_start(q->soon, 0);
}

static void tell(struct queue *q)
{
    while (q->refused_first) {
        struct queue_place *p = q->refused_first;
        struct error why = {0};

        q->refused_first = p->after;
        if (!q->refused_first)
            q->refused_last = NULL;
        p->after = NULL;
        p->state = QUEUE_OUT;
        error_move(&why, &p->why);
        p->on_refused(p->user, &why); /* it may be gone now */
        error_done(&why);
    }
}

static struct caller *longest_line(const struct queue *q)
{
    struct caller *longest = q->turn;

    for (struct caller *c = q->turn; c;) {
        if (c->n_waiting > longest->n_waiting)
            longest = c;
        c = c->turn_after == q->turn ? NULL : c->turn_after;
    }
    return longest;
}

/* --- turns --- */

static bool may_run(const struct queue *q, const struct caller *c, const struct queue_place *p)
{
    double most = c->rights.max_runs;
    /* Long programs of one caller keep no other from running something. */
    size_t places = q->options.max_running - (c->n_running ? q->options.reserved : 0);

    return (most < 0 || (double)c->n_running < most) && (p->has_box || q->n_running < places);
}

static void run(struct queue *q, struct queue_place *p)
{
    p->state = QUEUE_RUNNING;
    p->caller->n_running++;
    q->n_running += !p->has_box;
    p->on_turn(p->user);
}

/* One of each line per round, as long as somebody's first can go. The beginning of a run masks and
 * writes down its program: when that has taken long, the others wait for the next turn. */
static void dispatch(struct queue *q)
{
    struct caller *start = q->turn, *c = start;

    while (c) {
        struct queue_place *p = c->first;
        struct caller *next = c->turn_after;

        if (may_run(q, c, p)) {
            if (loop_is_late(q->loop)) {
                loop_timer_start(q->soon, 0);
                return;
            }
            leave_line(q, p);
            q->turn = q->turn ? (next->n_waiting ? next : q->turn) : NULL;
            run(q, p);
            c = start = q->turn;
            continue;
        }
        c = next == start ? NULL : next;
    }
}

static void on_soon(void *arg)
{
    struct queue *q = arg;

    tell(q);
    dispatch(q);
}

/* The first of each line has waited longest. */
static void expire(struct queue *q, struct caller *c, uint64_t now)
{
    while (c->first && (now - c->first->since_ns) / 1000000 >= q->options.wait_ms) {
        struct error why = {0};

        error_set(&why, E_BUSY, "no sandbox became free within %.15g seconds",
                  (double)q->options.wait_ms / 1000);
        error_hint(&why, "try again later");
        q->expired++;
        refuse(q, c->first, &why);
    }
}

static void on_tick(void *arg)
{
    struct queue *q = arg;
    uint64_t now = loop_now_ns();
    struct caller *c = q->turn;

    for (size_t lines = 0; c && lines < TOKENS_MAX + 1; lines++) {
        struct caller *next = c->turn_after == q->turn ? NULL : c->turn_after;

        expire(q, c, now);
        c = next;
    }
    q->is_ticking = q->n_waiting > 0;
    if (q->is_ticking)
        loop_timer_start(q->tick, TICK_MS);
}

/* --- interface --- */

int queue_check(const struct queue *q, const struct caller *caller, struct error *err)
{
    if (q->n_waiting < q->options.max_waiting ||
        (q->turn && longest_line(q)->n_waiting > caller->n_waiting + 1))
        return 0;
    error_set(err, E_BUSY, "too many runs wait already");
    return error_hint(err, "try again in a moment, or send fewer at once");
}

void queue_enter(struct queue *q, struct queue_place *place)
{
    place->since_ns = loop_now_ns();
    if (!place->caller->first && may_run(q, place->caller, place)) {
        if (!loop_is_late(q->loop)) {
            run(q, place);
            return;
        }
        loop_timer_start(q->soon, 0);
    }
    if (q->n_waiting >= q->options.max_waiting && q->turn) {
        struct error why = {0};

        error_set(&why, E_BUSY, "the queue is full, and this token has the most waiting runs");
        error_hint(&why, "try again in a moment, or send fewer at once");
        q->displaced++;
        refuse(q, longest_line(q)->last, &why);
    }
    join_line(q, place);
    if (!q->is_ticking)
        loop_timer_start(q->tick, TICK_MS);
    q->is_ticking = true;
}

bool queue_cancel(struct queue *q, struct queue_place *place)
{
    struct error none = {0};

    if (place->state != QUEUE_WAITING)
        return place->state == QUEUE_REFUSED;
    refuse(q, place, &none);
    return true;
}

void queue_leave(struct queue *q, struct queue_place *place)
{
    if (place->state != QUEUE_RUNNING)
        return;
    place->state = QUEUE_OUT;
    place->caller->n_running--;
    q->n_running -= !place->has_box;
    if (q->turn)
        loop_timer_start(q->soon, 0);
}

int queue_new(struct loop *loop, const struct queue_options *options, struct queue **ret_queue,
              struct error *err)
{
    struct queue *q = calloc(1, sizeof(*q));

    if (q) {
        q->loop = loop;
        q->options = *options;
        q->soon = loop_timer(loop, on_soon, q);
        q->tick = loop_timer(loop, on_tick, q);
    }
    if (!q || !q->soon || !q->tick) {
        queue_free(q);
        return error_memory(err);
    }
    *ret_queue = q;
    return 0;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    tell(q);
    loop_watch_free(q->soon);
    loop_watch_free(q->tick);
    free(q);
}

void queue_level(const struct queue *q, struct queue_level *ret_level)
{
    *ret_level = (struct queue_level){
        .running = q->n_running,
        .waiting = q->n_waiting,
        .max_running = q->options.max_running,
        .max_waiting = q->options.max_waiting,
        .displaced = q->displaced,
        .expired = q->expired,
    };
}

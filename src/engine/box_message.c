/* Handles a kernel's messages about its run: refusals, results, exceptions, displays, and calls. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/quote.h"
#include "base/span.h"
#include "base/stream.h"
#include "calls/approval.h"
#include "engine/advice.h"
#include "engine/box_internal.h"
#include "engine/display.h"
#include "engine/masking.h"
#include "engine/reads_input.h"
#include "engine/recorder.h"

/* --- texts --- */

static char *text_of(struct run *run, struct span s)
{
    struct clean_text clean = mask_text(mask_context_of(run), s);
    char *copy = malloc(clean_len(clean) + 1);

    if (copy) {
        memcpy(copy, clean_data(clean), clean_len(clean));
        copy[clean_len(clean)] = '\0';
        /* Text of the program's may hold NULs; for us it ends at none of them. */
        for (size_t i = 0; i < clean_len(clean); i++)
            if (copy[i] == '\0')
                copy[i] = ' ';
    }
    return copy;
}

bool box_take_violations(struct run *run, struct unpack *u)
{
    uint32_t count = unpack_count(u, 6 * sizeof(uint32_t), LIMIT_VIOLATIONS);

    run->result.violations = calloc(count ? count : 1, sizeof(*run->result.violations));
    if (!run->result.violations)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct run_violation *v = &run->result.violations[i];
        struct wire_violation m;

        if (!wire_unpack_violation(u, &m))
            return false;
        *v = (struct run_violation){.rule = text_of(run, m.rule),
                                    .name = text_of(run, m.name),
                                    .line = m.line,
                                    .column = m.column,
                                    .message = text_of(run, m.message),
                                    .hint = m.hint.len ? text_of(run, m.hint) : NULL};
        run->result.n_violations++;
    }
    run->result.violations_more = unpack_u32(u);
    return unpack_ok(u);
}

static bool take_result(struct run *run, struct unpack *u)
{
    struct span text = unpack_span(u), json = unpack_span(u);
    uint64_t count;

    if (!unpack_ok(u))
        return false;
    run->result.value_text = text_of(run, text);
    count = run->result.masked.count;
    run->result.value_json = json.len ? mask_json(mask_context_of(run), json) : NULL;
    run->result.masked.count = count; /* the same things once more */
    return true;
}

static bool take_exception(struct run *run, struct unpack *u)
{
    const struct run_terms *terms = run->box && run->box->terms ? run->box->terms : &run->terms;
    struct wire_exception m;
    cleanup_free char *hint = NULL;

    if (!wire_unpack_exception(u, &m))
        return false;
    hint = run->program.is_typed && span_is(m.name, "EOFError") ? NULL /* somebody chose it */
           : run->program.has_input && span_is(m.name, "EOFError")
               ? strdup("input() has read all of its input: write the value into the code")
               : advice_on(&m, terms);
    if (!hint && run->program.language == RUN_PYTHON)
        hint = advice_on_language((struct span){run->program.code.data, run->program.code.len},
                                  m.name, terms);
    run->result.exception =
        (struct run_exception){.name = text_of(run, m.name),
                               .message = text_of(run, m.message),
                               .traceback = text_of(run, m.traceback),
                               .line = m.line,
                               .column = m.column,
                               .hint = hint ? text_of(run, span_of(hint)) : NULL};
    return true;
}

/* Of standard error, for advice on it. */
#define TAIL_BYTES ((size_t)4 * KIB)

/* A cell that finds nothing to read goes on in silence, with empty variables. */
static void advise_on_input(const struct box *b, struct run *run)
{
    static const char hint[] = "its standard input was empty: write the value into the code, or "
                               "pass `stdin` (`--stdin FILE`)";
    bool has_ended = run->result.status == RUN_SUCCESS || run->result.status == RUN_ERROR;

    if (b->terms && has_ended && !run->result.hint && !run->result.exception.name &&
        !run->program.has_input && !run->program.is_typed &&
        !strpbrk(buf_str(&run->program.code), "<|") && /* there may be an input of its own */
        reads_input(run->program.language, buf_str(&run->program.code)))
        run->result.hint = strdup(hint);
}

static void advise_on_output(const struct box *b, struct run *run)
{
    cleanup(buf_done) struct buf tail = BUF_OF(TAIL_BYTES);
    cleanup_free char *hint = NULL;
    struct run_terms terms = b->terms ? *b->terms : run->terms; /* a view: it owns nothing */
    bool is_one;                                                /* stream for both */
    bool has_failed = run->result.status == RUN_ERROR;
    bool is_worth_it = has_failed || (b->terms && run->program.language == RUN_BASH &&
                                      run->result.status == RUN_SUCCESS);

    if (run->program.language == RUN_PYTHON || !is_worth_it || run->result.exception.hint ||
        run->result.signal)
        return;
    /* On a terminal there is one stream, and of a shell's hours in it only a command that could
     * not be started is worth a word. */
    if (run->terms.has_terminal && run->result.exit_code != 126 && run->result.exit_code != 127)
        return;
    /* The output of a program that succeeded may be about anything. */
    is_one =
        run->terms.has_terminal || (terms.has_one_stream && has_failed && !run->result.err.total);
    if (run_stream_tail(is_one ? &run->result.out : &run->result.err, &tail) < 0)
        return;
    if (run->result.directory)
        terms.workdir = run->result.directory;
    hint = advice_on_output(buf_str(&tail), tail.len, &terms, has_failed);
    if (!hint && !run->result.out.total && !run->result.err.total)
        hint =
            advice_on_silence((struct span){run->program.code.data, run->program.code.len}, &terms);
    if (hint && run->result.exception.name)
        run->result.exception.hint = text_of(run, span_of(hint));
    else
        run->result.hint = hint ? text_of(run, span_of(hint)) : NULL;
}

void box_advise_on_output(const struct box *b, struct run *run)
{
    advise_on_output(b, run);
    advise_on_input(b, run);
}

#define FAILURE_BYTES ((size_t)2 * KIB)

static bool take_failure(struct run *run, struct unpack *u)
{
    struct wire_failure m;
    struct clean_text message;
    cleanup_free char *words = NULL;

    if (!wire_unpack_failure(u, &m))
        return false;
    message = mask_text(mask_context_of(run), m.message);
    words = quote_words((struct span){clean_data(message), clean_len(message)}, FAILURE_BYTES);
    error_set(&run->result.error, E_INTERNAL, "the kernel failed; it says: %s",
              words ? words : "\"\"");
    return true;
}

/* --- what it asks for --- */

static int record_call(void *user, const struct call_record *record, struct error *err)
{
    const struct box *b = user;

    if (b->run)
        box_deny_call(b->run, record->name, record->error);
    return recorder_call(b->recorder, record, err);
}

static void on_ask(void *user, struct approval *approval)
{
    box_ask(user, approval);
}

static void on_asked(void *user, const struct approval *approval)
{
    (void)approval;
    box_asked(user);
}

static void on_line_wanted(void *user, struct call *call)
{
    box_want_line(user, call);
}

static void on_forward(void *user, struct call *call)
{
    struct box *b = user;

    b->run->on_event(b->run, &(struct run_event){.kind = RUN_EVENT_CALL, .input = call});
}

static void on_call_spent(void *user, uint64_t cpu_ns)
{
    struct box *b = user;

    box_after_kernel_spoke(b->active, cpu_ns);
}

/* Most programs ask for nothing. */
static struct call_desk *desk_of(struct box_kernel *k)
{
    if (!k->calls && k->replies >= 0)
        k->calls = call_desk_new(
            &(struct call_desk_options){.loop = k->box->loop,
                                        .outside = k->box->engine_outside,
                                        .fd = take_fd(k->replies),
                                        .record = record_call,
                                        .on_ask = on_ask,
                                        .on_asked = on_asked,
                                        .on_line_wanted = on_line_wanted,
                                        .on_forward = on_forward,
                                        .spent = on_call_spent,
                                        .is_text = box_kernel_kind(k) == WIRE_KERNEL_BASH,
                                        .is_for_input = box_kernel_kind(k) != WIRE_KERNEL_PYTHON,
                                        .user = k->box});
    return k->calls;
}

static bool take_call(struct box_kernel *k, struct unpack *u)
{
    struct wire_call call;

    if (!wire_unpack_call(u, &call))
        return false;
    if (k->box->cell.state == CELL_ANSWERING) /* nobody is there any more to be answered */
        return true;
    return desk_of(k) && call_desk_take(desk_of(k), k->box->run, &call);
}

/* --- what a kernel says that a program may have in its power --- */

/* Nobody knows who wrote this text, so it is not passed on. The kernel is of no further use. */
static void take_programs_failure(struct box *b)
{
    struct run_exception *e = &b->run->result.exception;

    if (!e->name) {
        e->name = strdup("KernelFailed");
        e->message = strdup("the session's kernel reported an internal failure and was ended");
        e->is_ours = true;
    }
    box_end_run(b, BOX_BROKEN);
}

/* After the first program has run in a session, refusals and failures are not taken at their word:
 * a thread of the program can send them as well as the kernel. True: it was one of these. */
static bool take_claim(struct box_kernel *k, const struct frame *frame)
{
    struct box *b = k->box;

    if (!b->terms || !b->has_run_code)
        return false;
    if (frame->type == WIRE_REFUSED) {
        if (box_kernel_kind(k) == WIRE_KERNEL_PYTHON)
            box_check_begin(b);
        else
            box_end_run(b, BOX_BROKEN); /* other kernels refuse nothing */
        return true;
    }
    if (frame->type != WIRE_FAILED)
        return false;
    take_programs_failure(b);
    return true;
}

/* The message has no content. */
static bool take_started(struct box_kernel *k, struct unpack *u)
{
    (void)u;
    if (k->box->terms)
        box_session_on_started(k);
    return true;
}

/* The name of a directory is the program's word: it is said in a line of ours only if it is a
 * plain path, with which nothing else can be said. */
static void take_directory(struct run *run, struct span path)
{
    for (size_t i = 0; i < path.len; i++)
        if (!isalnum((unsigned char)path.data[i]) && !memchr("/._-+@", path.data[i], 6))
            return;
    if (!run || !path.len || path.data[0] != '/')
        return;
    free(run->result.directory);
    run->result.directory = text_of(run, path);
}

static bool take_done(struct box_kernel *k, struct unpack *u)
{
    uint32_t code = unpack_u32(u);
    struct span directory = u->len > u->at ? unpack_span(u) : (struct span){"", 0};

    if (!unpack_ok(u))
        return false;
    if (k->box->terms && cell_has_been(&k->box->cell, CELL_SENT) &&
        k->peer.state != WIRE_STATE_HANDED) { /* else of the cell before */
        take_directory(k->box->run, directory);
        box_session_on_done(k, code);
    }
    return true;
}

/* Outside of a restore (box_copy.c) this message breaks the rules. */
static bool take_restored(struct box_kernel *k, struct unpack *u)
{
    (void)k;
    (void)u;
    return false;
}

/* Messages that only add to the result. */
static bool (*const parts[WIRE_TYPE_END])(struct run *run, struct unpack *u) = {
    [WIRE_REFUSED] = box_take_violations,    [WIRE_RESULT] = take_result,
    [WIRE_EXCEPTION] = take_exception,       [WIRE_DISPLAY] = display_take,
    [WIRE_PROGRESS] = display_take_progress, [WIRE_FAILED] = take_failure,
};

/* Messages that also concern the kernel or its sandbox. */
static bool (*const events[WIRE_TYPE_END])(struct box_kernel *k, struct unpack *u) = {
    [WIRE_CALL] = take_call,
    [WIRE_STARTED] = take_started,
    [WIRE_DONE] = take_done,
    [WIRE_RESTORED] = take_restored,
};

static void on_waiting(struct box_kernel *k)
{
    if (k->box->terms)
        box_session_on_waiting(k);
    else
        box_kernel_is_waiting(k->box);
}

static void take_message(struct box_kernel *k, const struct frame *frame)
{
    struct box *b = k->box;
    struct unpack u;
    bool ok = true;

    if (frame->type == WIRE_WAITING) {
        on_waiting(k);
        return;
    }
    if (box_is_checker(k)) {
        box_check_on_message(k, frame);
        return;
    }
    if (box_copy_on_message(k, frame))
        return;
    if (frame->type == WIRE_FAILED && b->terms && b->has_run_code && (!b->run || k != b->active)) {
        box_session_on_broken(k); /* between cells: a fresh one takes its place */
        return;
    }
    if (!b->run || k != b->active || take_claim(k, frame))
        return;
    b->cell.is_refused |= frame->type == WIRE_REFUSED;
    unpack_init(&u, frame->body, frame->len);
    if (parts[frame->type])
        ok = parts[frame->type](b->run, &u);
    else if (events[frame->type])
        ok = events[frame->type](k, &u);
    if (!ok)
        box_end_run(b, BOX_BROKEN);
}

/* --- long messages ---
 *
 * A result, a traceback or something shown may be megabytes, and texts that are made for it take
 * the masker a second. Such a message is taken as a task. Until it is done nothing else that the
 * sandbox says is looked at, so that everything stays in its order. */

#define LONG_BYTES ((size_t)32 << 10)

static void work_on_message(void *arg)
{
    struct box *b = arg;

    take_message(b->speaker, &b->message);
}

static void end_message(void *arg)
{
    struct box *b = arg;

    b->speaker = NULL;
    b->message = (struct frame){0};
    box_go_on(b);
}

static void spend_on_message(void *arg, uint64_t cpu_ns)
{
    struct box *b = arg;

    if (box_spend(b, cpu_ns) && b->cell.verdict == BOX_NO_VERDICT)
        box_end_run(b, BOX_WORK);
}

static const struct task_steps message_steps = {work_on_message, end_message, spend_on_message};

static void on_kernel_message(void *owner, const struct frame *frame)
{
    struct box_kernel *k = owner;
    struct box *b = k->box;

    if (frame->len < LONG_BYTES || !b->run || task_is_under_way(&b->text)) {
        take_message(k, frame);
        return;
    }
    b->speaker = k;
    b->message = *frame; /* its body stays until more is read */
    task_post(&b->text, b->loop, &message_steps, b);
}

bool box_is_busy(const struct box *b)
{
    return task_is_paused(&b->text);
}

bool box_is_kernel_busy(void *owner)
{
    const struct box_kernel *k = owner;

    return box_is_busy(k->box);
}

bool box_is_init_busy(void *owner)
{
    return box_is_busy(owner);
}

void box_go_on(struct box *b)
{
    struct box_kernel *checker = take_ptr(b->check_due);

    for (size_t i = 0; i < WIRE_KERNELS; i++)
        peer_go_on(&b->kernels[i].peer);
    if (checker)
        box_check_on_exited(checker);
    if (b->is_gone_due)
        box_on_gone_soon(b);
    else if (b->is_answer_due && b->run)
        box_answer(b);
}

static void on_kernel_end(void *owner, const char *why)
{
    struct box_kernel *k = owner;
    struct box *b = k->box;

    /* A closed channel is nothing: bash has closed it, a program may. What counts is the wait of
     * pid 1. */
    if (why && k == b->active && b->state == BOX_RUNNING)
        box_end_run(b, BOX_BROKEN);
    else if (why && b->terms)
        box_session_on_broken(k);
    else if (why)
        box_copy_on_trouble(b, "it sent an unexpected message");
}

const struct peer_events box_kernel_events = {on_kernel_message, on_kernel_end,
                                              box_on_kernel_speaks, box_after_kernel_spoke,
                                              box_is_kernel_busy};

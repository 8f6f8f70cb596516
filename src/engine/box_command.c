/* Commands beside the kernels of a session: programs that pid 1 starts when it is told to, any
 * number up to WIRE_COMMANDS at once, while a cell runs or not.
 *
 * A command is a run (base/run.h) whose language is RUN_COMMAND. It begins as a kernel that pid 1
 * forks from its pristine memory (WIRE_KERNEL) and that gets one WIRE_RUN, as a single run does:
 * limits, variables, directory and standard input come with it, the walls are those of the sandbox.
 * The kernel leads a process group, says WIRE_STARTED and becomes the command. Its channels close
 * with that, and nothing is read from them any more: how it ended is pid 1's word.
 *
 * Its output is read as that of a cell is (box_output.c), with masks and a budget of its own. A
 * limit or a cancel is SIGKILL to its process group. What a command leaves behind when it ends is
 * a process of the sandbox like any other, and ends with it.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stream.h"
#include "engine/box_internal.h"
#include "engine/masking.h"
#include "mask/masker.h"

/* Of standard input that the command has not read. */
#define INPUT_WAITING_MAX ((size_t)MIB)

/* Most that is still read of a command that has ended: more than its pipes hold. */
#define DRAIN_MAX ((size_t)4 << 20)

/* A process that has been sent SIGKILL and is not gone by then is beyond help. */
#define DEATH_PATIENCE_MS 10000

/* Of our CPU time, what a command without a time limit may take at once, and then of each so many
 * nanoseconds one. */
#define REST_FREE_NS ((uint64_t)500000000)
#define REST_SHARE   4

/* Memory is looked at this often where no cgroup counts it. */
#define TICK_MS 50

static void free_command(struct box_command *c)
{
    struct box *b = c->kernel.box;

    (void)task_end(&c->answering);
    loop_work_cancel(&c->finishing);
    input_pipe_close(&c->input);
    loop_watch_free(c->deadline);
    loop_watch_free(c->rest);
    box_close_kernel(&c->kernel);
    masker_free(c->masks[0]);
    masker_free(c->masks[1]);
    if (b->commands[c->slot] == c)
        b->commands[c->slot] = NULL;
    free(c);
}

/* --- the end --- */

static uint64_t oom_kills(const struct box *b)
{
    struct cgroup_usage usage = {0};

    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE ||
        cgroup_read(b->cgroup, CGROUP_CPU_TIME | CGROUP_PEAKS, &usage, NULL) < 0)
        return 0;
    return usage.oom_kills;
}

/* It was killed, and Linux has killed something here for memory that nobody has answered for. */
static bool has_lost_memory(const struct box_command *c)
{
    struct box *b = c->kernel.box;
    uint64_t kills = oom_kills(b);

    if (c->run->result.exit_code != 128 + SIGKILL || kills <= c->oom_before ||
        kills <= b->oom_before)
        return false;
    b->oom_before++; /* not of the cell that runs */
    return true;
}

static void judge(struct box_command *c)
{
    struct box *b = c->kernel.box;
    struct run *run = c->run;
    struct run_result *result = &run->result;

    result->ended_ns = loop_now_ns();
    result->usage.cpu_ms = (double)c->exited.cpu_us / 1e3;
    result->usage.memory_peak_bytes = c->exited.max_rss_kb * KIB;
    result->usage.processes_peak = 1;
    result->usage.wall_ms = (double)(result->ended_ns - result->handed_ns) / 1e6;
    result->usage.start_ms = (double)(result->handed_ns - result->started_ns) / 1e6;
    result->layers = b->layers;
    box_put_exit(run, c->has_exited ? (int)c->exited.status : SIGKILL);
    if (c->verdict == BOX_NO_VERDICT && has_lost_memory(c))
        c->verdict = BOX_MEMORY;
    if (c->verdict == BOX_NO_VERDICT && run->terms.limits.cpu_ms && result->signal &&
        result->usage.cpu_ms >= run->terms.limits.cpu_ms)
        c->verdict = BOX_CPU_TIME;
    if (c->verdict != BOX_NO_VERDICT)
        box_put_verdict(run, c->verdict);
    if (c->verdict == BOX_WORK)
        box_explain_work(run);
    else if (result->signal && c->verdict == BOX_NO_VERDICT && c->has_exited)
        box_explain_signal(run);
    box_advise_on_output(b, run);
    if (c->verdict != BOX_NO_VERDICT || result->error.code != E_NONE)
        return;
    if (!c->has_exited)
        error_set(&result->error, E_SYSTEM, "the sandbox was lost");
    else if (c->kernel.peer.state != WIRE_STATE_RUNNING)
        error_set(&result->error, E_BUSY, "the command could not be started in the session");
}

/* The command decides how long masking takes: it is done as a task. */
static void work_on_answer(void *arg)
{
    struct box_command *c = arg;

    for (int stream = 1; stream <= 2; stream++)
        box_deliver(c->run, stream,
                    mask_stream_end(mask_context_of(c->run), &c->masks[stream - 1]));
    judge(c);
}

static void end_answer(void *arg)
{
    struct box_command *c = arg;
    struct box *b = c->kernel.box;
    struct run *run = c->run;

    box_changes_end(c);
    run->result.server_cpu_ns += c->work_ns;
    run->command = NULL;
    b->is_seen_stale = true; /* it may have changed files */
    free_command(c);
    box_changes_pass(b);
    b->events->on_command_done(b->owner, b, run);
}

static void spend_on_answer(void *arg, uint64_t cpu_ns)
{
    struct box_command *c = arg;

    c->work_ns += cpu_ns;
    if (!box_is_too_much_work(c->run, c->work_ns) || !task_is_under_way(&c->answering))
        return;
    if (c->verdict == BOX_NO_VERDICT)
        c->verdict = BOX_WORK;
    task_cancel(&c->answering);
}

static const struct task_steps answer_steps = {work_on_answer, end_answer, spend_on_answer};

static bool is_answering(const struct box_command *c)
{
    return task_is_under_way(&c->answering);
}

static void answer(struct box_command *c)
{
    loop_work_cancel(&c->finishing);
    loop_timer_stop(c->deadline);
    c->is_resting = false;
    if (c->rest)
        loop_timer_stop(c->rest);
    box_unwatch_output(&c->kernel);
    input_pipe_close(&c->input);
    task_begin(&c->answering, c->kernel.box->loop, &answer_steps, c);
}

static void finish_piece(void *arg)
{
    struct box_command *c = arg;
    uint64_t began_ns = loop_cpu_ns();
    size_t n = box_read_output(&c->kernel);

    if (!n) /* why it could not be started */
        n = peer_read_some(&c->kernel.peer);
    c->drained += n;
    box_command_spend(c, loop_cpu_ns() - began_ns);
    if (n && c->drained < DRAIN_MAX && c->verdict != BOX_WORK)
        loop_work_post(c->kernel.box->loop, &c->finishing, finish_piece, c);
    else
        answer(c);
}

void box_command_on_exited(struct box *b, uint32_t slot, const struct wire_exited *exited)
{
    struct box_command *c = b->commands[slot];

    if (!c || c->has_exited || is_answering(c)) /* pid 1 is of our making: it does not happen */
        return;
    c->has_exited = true;
    c->exited = *exited;
    loop_timer_stop(c->deadline);
    box_unwatch_output(&c->kernel);
    loop_work_post(b->loop, &c->finishing, finish_piece, c);
}

void box_end_commands(struct box *b)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++) {
        struct box_command *c = b->commands[i];

        if (!c)
            continue;
        if (!is_answering(c))
            answer(c);
        if (b->commands[i] == c && task_end(&c->answering))
            end_answer(c);
    }
}

void box_free_commands(struct box *b)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++)
        if (b->commands[i])
            free_command(b->commands[i]);
    loop_watch_free(b->commands_tick);
}

static void kill_command(struct box_command *c)
{
    loop_timer_start(c->deadline, DEATH_PATIENCE_MS);
    box_signal_process(c->kernel.box, WIRE_KERNELS + c->slot, SIGKILL);
}

static void end_command(struct box_command *c, enum box_verdict verdict)
{
    if (c->verdict != BOX_NO_VERDICT || c->has_exited || is_answering(c))
        return;
    c->verdict = verdict;
    if (!c->kernel.box->is_paused) /* else when it goes on: pid 1 may be frozen, too */
        kill_command(c);
}

/* --- a share of our time --- */

static void fail(struct box_command *c, struct error *err);

static bool is_read(const struct box_command *c)
{
    return !c->is_held && !c->is_resting && c->kernel.peer.state >= WIRE_STATE_HANDED;
}

static void on_rested(void *arg)
{
    struct box_command *c = arg;
    struct error err = {0};

    c->is_resting = false;
    if (c->has_exited || is_answering(c) || !is_read(c))
        return;
    if (box_watch_output(&c->kernel, &err) < 0)
        fail(c, &err);
    else if (c->kernel.has_terminal)
        box_expect_quiet(&c->kernel);
}

/* A terminal without a time limit has no budget that could be used up. Where its output takes more
 * than a share of our time, it waits, as for a slow terminal. */
static void rest(struct box_command *c)
{
    uint64_t lived_ns = loop_now_ns() - c->began_ns,
             due_ns = (c->work_ns - REST_FREE_NS) * REST_SHARE;

    if (c->run->terms.limits.timeout_ms || c->work_ns < REST_FREE_NS || due_ns <= lived_ns ||
        c->has_exited || c->is_resting)
        return;
    if (!c->rest)
        c->rest = loop_timer(c->kernel.box->loop, on_rested, c);
    if (!c->rest)
        return;
    c->is_resting = true;
    box_unwatch_output(&c->kernel);
    loop_timer_start(c->rest, (due_ns - lived_ns) / 1000000 + 1);
}

void box_command_spend(struct box_command *c, uint64_t cpu_ns)
{
    c->work_ns += cpu_ns;
    rest(c);
    if (!box_is_too_much_work(c->run, c->work_ns))
        return;
    if (c->has_exited && c->verdict == BOX_NO_VERDICT)
        c->verdict = BOX_WORK;
    else
        end_command(c, BOX_WORK);
}

static void on_deadline(void *arg)
{
    struct box_command *c = arg;

    if (c->verdict == BOX_NO_VERDICT)
        end_command(c, BOX_TIMEOUT);
    else
        box_kill(c->kernel.box); /* its end is an answer */
}

static void on_tick(void *arg)
{
    struct box *b = arg;
    bool is_over = false, has_some = false;
    uint64_t bytes;

    if (box_own_memory(b, &bytes, NULL) == 0)
        is_over = bytes > b->terms->limits.memory_bytes;
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++) {
        has_some |= b->commands[i] != NULL;
        if (b->commands[i] && is_over)
            end_command(b->commands[i], BOX_MEMORY);
    }
    if (has_some)
        loop_timer_start(b->commands_tick, TICK_MS);
}

/* --- the kernel that becomes it --- */

static int open_keyboard(struct box_command *c, struct error *err)
{
    int fd;

    if (box_open_keyboard(&c->kernel, &fd, err) < 0)
        return -1;
    return input_pipe_use(&c->input, c->kernel.box->loop, &c->run->program.input, fd, err);
}

static int send_run(struct box_command *c, struct error *err)
{
    struct run *run = c->run;
    cleanup_close int theirs = -1;
    struct pack p;
    int r;

    box_pack_run(&c->kernel, &run->terms, &run->program, &p);
    r = c->kernel.has_terminal ? open_keyboard(c, err)
        : run->program.has_input
            ? input_pipe_open(&c->input, c->kernel.box->loop, &run->program.input,
                              run->program.is_input_open, &theirs, err)
            : 0;
    if (r == 0)
        r = peer_send(&c->kernel.peer, WIRE_RUN, &p, &theirs, run->program.has_input ? 1 : 0, err);
    pack_done(&p);
    return r;
}

static void fail(struct box_command *c, struct error *err)
{
    if (c->run->result.error.code == E_NONE)
        error_move(&c->run->result.error, err);
    error_done(err);
    end_command(c, BOX_BROKEN);
}

/* Not before what was left open for writing was saved, as with a cell. */
static void hand_over(struct box_command *c)
{
    const struct box *b = c->kernel.box;
    struct error err = {0};

    if (!c->is_due || (b->broker && !broker_client_has_begun(b->broker)))
        return;
    c->is_due = false;
    peer_enter(&c->kernel.peer, WIRE_STATE_HANDED);
    c->run->result.handed_ns = loop_now_ns();
    if (box_use_terminal(&c->kernel, c->run, &err) < 0 ||
        (is_read(c) && box_watch_output(&c->kernel, &err) < 0) || send_run(c, &err) < 0)
        fail(c, &err);
}

void box_commands_on_begun(struct box *b)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++)
        if (b->commands[i])
            hand_over(b->commands[i]);
}

/* The kernel is one that has run no program: its word is good until it becomes the command. */
static void take_failure(struct box_command *c, const struct frame *frame)
{
    struct wire_failure failure;
    struct error err = {0};
    struct unpack u;

    unpack_init(&u, frame->body, frame->len);
    if (wire_unpack_failure(&u, &failure) && failure.code == E_INVALID) {
        error_set(&err, E_INVALID, "`workdir`: the sandbox has no such directory");
        error_hint(&err, "/workspace and granted directories are there");
    } else {
        error_set(&err, E_INTERNAL, "the command could not be started");
    }
    fail(c, &err);
}

static void send_signals(struct box_command *c)
{
    for (int sig = 1; sig < 64; sig++)
        if (c->signals >> sig & 1)
            box_signal_process(c->kernel.box, WIRE_KERNELS + c->slot, sig);
    c->signals = 0;
}

static void on_message(void *owner, const struct frame *frame)
{
    struct box_kernel *k = owner;
    struct box_command *c = k->command;
    struct error err = {0};

    if (c->verdict != BOX_NO_VERDICT)
        return;
    if (frame->type == WIRE_WAITING) {
        c->is_due = true;
        hand_over(c);
    } else if (frame->type == WIRE_STARTED) {
        send_signals(c);
    } else if (frame->type == WIRE_FAILED) {
        take_failure(c, frame);
    } else {
        error_set(&err, E_PROTOCOL, "the command wrote to Belljar's control channel");
        fail(c, &err);
    }
}

/* The channel closes when the kernel becomes the command. */
static void on_end(void *owner, const char *why)
{
    struct box_kernel *k = owner;
    struct error err = {0};

    if (!why)
        return;
    error_set(&err, E_PROTOCOL, "the command wrote to Belljar's control channel");
    fail(k->command, &err);
}

const struct peer_events box_command_events = {.on_message = on_message, .on_end = on_end};

/* --- beginning --- */

static int find_slot(const struct box *b, uint32_t *ret_slot, struct error *err)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++)
        if (!b->commands[i]) {
            *ret_slot = i;
            return 0;
        }
    error_set(err, E_BUSY, "%d commands of the session run already", WIRE_COMMANDS);
    return error_hint(err, "wait for one to end, or kill one");
}

static struct box_command *new_command(struct box *b, uint32_t slot, struct run *run)
{
    struct box_command *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    *c = (struct box_command){
        .kernel = {.box = b, .command = c, .peer.fd = -1, .out = -1, .err = -1, .replies = -1},
        .slot = slot,
        .run = run,
        .input.fd = -1,
        .oom_before = oom_kills(b),
        .deadline = loop_timer(b->loop, on_deadline, c),
    };
    if (!b->commands_tick && cgroup_host_kind(b->cgroups) == CGROUP_NONE)
        b->commands_tick = loop_timer(b->loop, on_tick, b);
    if (!c->deadline || (!b->commands_tick && cgroup_host_kind(b->cgroups) == CGROUP_NONE)) {
        free_command(c);
        return NULL;
    }
    return c;
}

int box_command(struct box *b, struct run *run, struct error *err)
{
    struct box_command *c;
    uint32_t slot = 0;

    if (b->state != BOX_KEPT && b->state != BOX_RUNNING)
        return error_set(err, E_BUSY, "the session's sandbox is not ready for a command");
    if (find_slot(b, &slot, err) < 0)
        return -1;
    if (file_descriptors_are_scarce()) { /* each has six */
        error_set(err, E_BUSY, "the server has too many open files for another command");
        return error_hint(err, "wait for commands to end, or kill some");
    }
    c = new_command(b, slot, run);
    if (!c)
        return error_memory(err);
    if (run->terms.masking != RUN_MASK_ALL) /* it may ask for more than its session */
        run->terms.masking = b->terms->masking;
    run->result.handed_ns = loop_now_ns();
    if (box_changes_begin(c, err) < 0 ||
        box_start_process(&c->kernel, WIRE_KERNELS + slot, err) < 0) {
        box_changes_end(c);
        free_command(c);
        return -1;
    }
    b->commands[slot] = c;
    run->command = c;
    b->had_commands = b->has_run_code = b->is_seen_stale = true;
    if (!b->run)
        box_own_gate(b, run);
    c->began_ns = loop_now_ns();
    if (run->terms.limits.timeout_ms)
        loop_timer_start(c->deadline, run->terms.limits.timeout_ms);
    if (b->commands_tick)
        loop_timer_start(b->commands_tick, TICK_MS);
    return 0;
}

void box_pause_commands(struct box *b)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++)
        if (b->commands[i] && !is_answering(b->commands[i]))
            loop_timer_stop(b->commands[i]->deadline);
}

void box_resume_commands(struct box *b, uint64_t paused_ns)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++) {
        struct box_command *c = b->commands[i];
        uint64_t used_ms, limit_ms;

        if (!c || c->has_exited || is_answering(c))
            continue;
        if (c->verdict != BOX_NO_VERDICT) {
            kill_command(c);
            continue;
        }
        c->began_ns += paused_ns; /* that time is not its own */
        used_ms = (loop_now_ns() - c->began_ns) / 1000000;
        limit_ms = c->run->terms.limits.timeout_ms;
        if (limit_ms)
            loop_timer_start(c->deadline, used_ms < limit_ms ? limit_ms - used_ms : 0);
    }
}

void box_leave_out_commands(struct box *b)
{
    struct cgroup_usage usage;

    if (!b->had_commands)
        return;
    b->had_commands = box_command_at(b, 0) != NULL;
    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE ||
        cgroup_read(b->cgroup, CGROUP_CPU_TIME | CGROUP_PEAKS, &usage, NULL) < 0)
        return;
    b->cpu_ns_before = usage.cpu_ns;
    b->oom_before = usage.oom_kills;
}

/* --- while it runs --- */

/* NULL: it has not begun, and input waits in the run. */
static struct input_pipe *pipe_of(const struct run *run)
{
    return run->command && run->command->input.data ? &run->command->input : NULL;
}

static int check_terminal(const struct input_pipe *pipe, bool closes, struct error *err)
{
    if (closes) {
        error_set(err, E_INVALID, "the input of a terminal cannot be closed");
        return error_hint(err, "send the byte 4 (Ctrl-D) on a line of its own");
    }
    return pipe && pipe->fd < 0 ? error_set(err, E_INVALID, "the terminal is gone") : 0;
}

int box_command_check_input(const struct run *run, size_t len, bool closes, struct error *err)
{
    const struct input_pipe *pipe = pipe_of(run);

    if (run->terms.has_terminal && check_terminal(pipe, closes, err) < 0)
        return -1;
    if (!run->terms.has_terminal && (!run->program.is_input_open || (pipe && pipe->fd < 0))) {
        error_set(err, E_INVALID, "the command has no standard input, or it is closed");
        return error_hint(err, "start it with `stdin_open`");
    }
    if ((pipe ? input_pipe_waiting(pipe) : run->program.input.len) + len > INPUT_WAITING_MAX) {
        error_set(err, E_BUSY, "the command has not read the input it was sent");
        return error_hint(err, "send at most %zu bytes before it reads them", INPUT_WAITING_MAX);
    }
    return 0;
}

int box_command_input(struct run *run, const char *data, size_t len, bool closes, struct error *err)
{
    struct input_pipe *pipe = pipe_of(run);

    if (box_command_check_input(run, len, closes, err) < 0)
        return -1;
    if (pipe)
        input_pipe_forget(pipe);
    if (buf_add(&run->program.input, data, len, err) < 0)
        return -1;
    if (!run->terms.has_terminal)
        run->program.is_input_open = !closes;
    if (!pipe)
        return 0;
    pipe->stays_open = !closes;
    return input_pipe_go_on(pipe, err);
}

/* The job in the foreground gets it, as from Ctrl-C and Ctrl-\\. False: it is no key, or there is
 * no terminal. */
static bool press_key(const struct box_command *c, int sig)
{
    return c->kernel.has_terminal && c->kernel.peer.state == WIRE_STATE_RUNNING &&
           (sig == SIGINT || sig == SIGQUIT) && ioctl(c->kernel.out, TIOCSIG, sig) == 0;
}

void box_command_signal(struct run *run, int sig)
{
    struct box_command *c = run->command;

    if (c->has_exited || is_answering(c) || press_key(c, sig))
        return;
    if (c->kernel.peer.state == WIRE_STATE_RUNNING || sig == SIGKILL)
        box_signal_process(c->kernel.box, WIRE_KERNELS + c->slot, sig);
    else /* it is for the command, not for the kernel that becomes it */
        c->signals |= UINT64_C(1) << sig;
}

void box_command_cancel(struct run *run)
{
    end_command(run->command, BOX_CANCELLED);
}

void box_command_hold(struct run *run, bool is_held)
{
    struct box_command *c = run->command;
    struct error err = {0};

    c->is_held = is_held;
    if (c->has_exited || is_answering(c))
        return;
    box_unwatch_output(&c->kernel);
    if (!is_read(c))
        return;
    if (box_watch_output(&c->kernel, &err) < 0)
        fail(c, &err);
    else if (c->kernel.has_terminal)
        box_expect_quiet(&c->kernel);
}

const struct run *box_command_at(const struct box *b, size_t index)
{
    for (uint32_t i = 0; i < WIRE_COMMANDS; i++)
        if (b->commands[i] && index-- == 0)
            return b->commands[i]->run;
    return NULL;
}

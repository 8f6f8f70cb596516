/* A run inside a sandbox: handing the code over, pumping its output, watching its limits, and the
 * answer. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/layer.h"
#include "calls/outside.h"
#include "engine/box_internal.h"
#include "sandbox/monitor.h"

/* Without a cgroup the monitor finds who uses too much, and its verdict is the status. The kernel's
 * limit on private memory is only there for what would fill the host between two looks. */
#define UNCOUNTED_SLACK ((uint64_t)4 << 30)

/* Counters are read this often if Linux does not enforce the limit for us. */
#define TICK_MS 50

/* A program that waits for somebody is looked at less often: there may be many, and for long. */
#define HELD_TICK_MS 500

/* --- hand-over --- */

void box_begin_cell(struct box *b, struct run *run)
{
    if (b->cell.state != CELL_NONE) /* it has waited for its files */
        return;
    b->run = run;
    b->cell = BOX_CELL_INIT;
}

void box_enter(struct box *b, enum cell_state state)
{
    if (!cell_enter(&b->cell, state))
        box_kill(b);
}

int box_check_layers(const struct box *b, const struct run_terms *terms, struct error *err)
{
    uint32_t missing = terms->required_layers & ~b->layers & ~(uint32_t)LAYER_NO_EXEC;

    for (unsigned i = 0; i < RUN_LAYER_COUNT; i++)
        if (missing >> i & 1) {
            error_set(err, E_UNSUPPORTED,
                      "profile `%s` requires the layer `%s`, which this host does not provide",
                      terms->profile, run_layer_name(i));
            return error_hint(
                err, 1u << i == RUN_LAYER_MACHINE
                         ? "use a server that was started with `--machine kvm`; `belljar doctor` "
                           "says whether this host can"
                         : "run `belljar doctor` to see why, or choose a profile that does not "
                           "require it");
        }
    return 0;
}

/* All runs of one caller together have about the share of one run of another. */
static uint32_t cpu_weight(uint32_t crowd)
{
    return crowd <= 1 ? 0 : crowd < 100 ? 100 / crowd : 1;
}

int box_adjust_cgroup(struct box *b, const struct run_terms *terms, uint32_t crowd,
                      struct error *err)
{
    const struct run_limits *want = &terms->limits;

    if (want->memory_bytes == b->limits.memory_bytes && want->processes == b->limits.processes &&
        want->cpu_percent == b->limits.cpu_percent && !cpu_weight(crowd))
        return 0;
    return cgroup_set_limits(b->cgroup,
                             &(struct cgroup_limits){want->memory_bytes,
                                                     want->processes + b->own_processes,
                                                     want->cpu_percent, cpu_weight(crowd)},
                             err);
}

static bool has_writable_grant(const struct run_terms *terms)
{
    for (size_t i = 0; i < terms->n_grants; i++)
        if (terms->grants[i].mode == RUN_GRANT_RW)
            return true;
    return false;
}

/* The image of a session is a file for those who write it, and past this limit has to be mapped,
 * which takes twice as long. Where no file can be larger than all of them together anyway it may be
 * written: in the sandbox the disk's size is the limit then, for memory it is the cgroup's. */
static uint64_t file_limit(const struct box *b, const struct run_terms *terms)
{
    const struct run_limits *limits = &terms->limits;

    if (!b->terms || has_writable_grant(terms) || limits->file_bytes < limits->disk_bytes)
        return limits->file_bytes;
    return image_memory_max(limits) > limits->file_bytes ? image_memory_max(limits)
                                                         : limits->file_bytes;
}

/* The words of a command, each with a NUL after it; nothing where memory is short, which the guest
 * does not take for a command. */
static struct span pack_words(char **words, struct buf *out)
{
    for (char **word = words; word && *word; word++)
        if (buf_add(out, *word, strlen(*word) + 1, NULL) < 0)
            return (struct span){"", 0};
    return (struct span){buf_str(out), out->len};
}

/* Processes that count for the limit and are not the program's. Linux counts by user and user
 * namespace, and at the level `process` both are those of others as well. */
static uint32_t other_processes(const struct box *b)
{
    return b->files.is_on_host ? monitor_user_processes(b->files.uid) : b->own_processes;
}

static void add_variables(struct wire_strings *env, const struct run_terms *terms)
{
    for (char **v = terms->is_on_host ? NULL : terms->identity;
         v && *v && env->count < WIRE_STRINGS_MAX; v++)
        env->items[env->count++] = span_of(*v);
    for (char **v = terms->env; v && *v && env->count < WIRE_STRINGS_MAX; v++)
        env->items[env->count++] = span_of(*v);
}

void box_pack_run(const struct box_kernel *k, const struct run_terms *terms,
                  const struct run_program *program, struct pack *p)
{
    const struct box *b = k->box;
    static struct wire_run message; /* too large for a stack; filled and packed here and now */
    cleanup(buf_done) struct buf words = BUF_OF(2 * LIMIT_COMMAND_BYTES);
    bool has_cgroup = cgroup_host_kind(b->cgroups) != CGROUP_NONE;
    bool is_command = program->language == RUN_COMMAND;
    uint32_t known = zygote_client_knows_policy(b->zygote, terms->policy);

    message = (struct wire_run){
        .flags = (terms->has_terminal ? WIRE_RUN_TERMINAL : 0) |
                 (terms->has_one_stream ? WIRE_RUN_ONE_STREAM : 0) |
                 (program->auto_print ? WIRE_RUN_AUTO_PRINT : 0) |
                 (program->auto_print_str ? WIRE_RUN_AS_PRINT : 0) |
                 (terms->may_spawn ? 0 : WIRE_RUN_NO_EXEC) |
                 (program->has_input  ? WIRE_RUN_STDIN
                  : program->is_typed ? WIRE_RUN_TYPED
                                      : 0) |
                 (terms->has_seed ? WIRE_RUN_SEED : 0) |
                 (program->only_checks ? WIRE_RUN_CHECK : 0) |
                 (program->is_check ? WIRE_RUN_CHECK_ONLY : 0) |
                 (terms->may_spawn && packages_are_open(&b->engine_outside->packages, b->net)
                      ? WIRE_RUN_INSTALLS
                      : 0),
        .seed = terms->seed,
        .descriptors = terms->limits.descriptors,
        .processes = has_cgroup ? 0 : terms->limits.processes + other_processes(b),
        .file_bytes = file_limit(b, terms),
        .data_bytes = has_cgroup ? 0 : 2 * terms->limits.memory_bytes + UNCOUNTED_SLACK,
        .code = is_command ? pack_words(program->args, &words)
                           : (struct span){buf_str(&program->code), program->code.len},
        .known_policy = known,
        .script = span_of(program->script ? program->script : ""),
        .language = program->language,
        .memory_mb = (uint32_t)(terms->limits.memory_bytes / MIB),
        .directory = span_of(is_command && b->terms ? terms->workdir : program->directory),
        .terminal = k->terminal,
    };
    if (!known)
        message.policy = terms->policy;
    /* Our look at the counter comes first; the kernel's own limit, per process and in whole
     * seconds, is behind it. In a session each cell has its own, so there is only our look. */
    if (terms->limits.cpu_ms && terms != b->terms)
        message.cpu_s = (terms->limits.cpu_ms + 999) / 1000 + 1;
    for (size_t i = 0; b->net && box_gate_variable(i); i++)
        message.env.items[message.env.count++] = span_of(box_gate_variable(i));
    if (b->terms && terms != b->terms) /* a command of a session has its variables, too */
        add_variables(&message.env, b->terms);
    add_variables(&message.env, terms);
    for (char **v = is_command ? NULL : program->args;
         v && *v && message.args.count < WIRE_STRINGS_MAX; v++)
        message.args.items[message.args.count++] = span_of(*v);
    pack_init(p, wire_type_max(WIRE_RUN));
    wire_pack_run(p, &message);
}

static int send_run(struct box *b, struct run *run, struct error *err)
{
    cleanup_close int theirs = -1;
    struct pack p;
    int r;

    box_pack_run(b->active, &run->terms, &run->program, &p);
    r = run->program.has_input && !run->program.is_input_passed
            ? input_pipe_open(&b->input, b->loop, &run->program.input, false, &theirs, err)
            : 0;
    if (r == 0)
        r = peer_send(&b->active->peer, WIRE_RUN, &p,
                      run->program.is_input_passed ? &run->program.input_fd : &theirs,
                      run->program.has_input ? 1 : 0, err);
    pack_done(&p);
    return r;
}

void box_watch_limits(struct box *b)
{
    if (b->run->terms.limits.cpu_ms || cgroup_host_kind(b->cgroups) == CGROUP_NONE)
        loop_timer_start(b->tick, TICK_MS);
    else if (b->cell.n_held && b->run->terms.limits.timeout_ms)
        loop_timer_start(b->tick, HELD_TICK_MS);
}

void box_start_clocks(struct box *b, const struct run *run)
{
    b->cell.clock_ns = loop_now_ns();
    if (run->terms.limits.timeout_ms) /* 0: a user's own run, without a time limit */
        loop_timer_start(b->deadline, run->terms.limits.timeout_ms);
    box_watch_limits(b);
}

/* The counters' files are opened by the first look. That is time a client need not wait for while
 * its program runs. */
static void open_counters(const struct box *b)
{
    struct cgroup_usage usage;

    (void)cgroup_read(b->cgroup, CGROUP_CPU_TIME | CGROUP_PEAKS, &usage, NULL);
}

/* Its files are there. */
static int start_program(struct box *b, struct run *run, struct error *err)
{
    if (run->program.n_given)
        box_look_at_files(b);
    if (box_use_terminal(b->active, run, err) < 0 || box_lend_terminal(b, run, err) < 0)
        return -1;

    if (b->broker && broker_client_begin(b->broker, run, err) < 0)
        return -1;
    peer_enter(&b->active->peer, WIRE_STATE_HANDED);
    run->result.handed_ns = loop_now_ns();
    box_begin_cell(b, run);
    box_own_gate(b, run);
    if (box_watch_output_soon(b, err) < 0 || send_run(b, run, err) < 0) {
        input_pipe_close(&b->input);
        if (peer_was_gone(err))
            return error_set(err, E_BUSY, "the sandbox died while it waited");
        return -1;
    }
    run_drop_given(run);
    b->state = BOX_RUNNING;
    box_start_clocks(b, run);
    box_enter(b, CELL_SENT);
    open_counters(b);
    return 0;
}

int box_start(struct box *b, struct run *run, struct error *err)
{
    if (b->state != BOX_IDLE)
        return error_set(err, E_BUSY, "the sandbox is not idle");
    if (box_check_layers(b, &run->terms, err) < 0 ||
        box_adjust_cgroup(b, &run->terms, run->origin.crowd, err) < 0)
        return -1;
    if (box_has_large_files(run)) {
        box_put_files_slowly(b, run, start_program);
        return 0;
    }
    if (box_put_files(b, run, err) < 0)
        return -1;
    if (start_program(b, run, err) == 0)
        return 0;
    b->run = NULL;
    b->cell = (struct box_cell){0};
    return -1;
}

/* --- limits that are only watched --- */

/* A socket's buffers where their size cannot be changed (tools/seccomp-table.h), and a few that
 * cost nothing. */
#define SOCKET_BYTES (256 * KIB)
#define SOCKETS_FREE 32

/* The write broker works for the program, outside of its cgroup. */
static uint64_t broker_cpu_ns(const struct box *b)
{
    return b->broker ? broker_client_cpu_ns(b->broker) : 0;
}

/* Memory of the sandbox where no cgroup counts it, files included. */
static uint64_t monitored_memory(const struct box *b, const struct monitor_usage *usage)
{
    uint64_t bytes = usage->memory_bytes, disk = files_used(&b->files);

    /* Files are memory, too. Those that are mapped have been counted. */
    if (disk > usage->shared_bytes)
        bytes += disk - usage->shared_bytes;
    /* Nobody outside can see what the buffers of sockets hold: they count as full. */
    if (!b->files.is_on_host && usage->sockets > SOCKETS_FREE)
        bytes += (uint64_t)(usage->sockets - SOCKETS_FREE) * SOCKET_BYTES;
    return bytes;
}

int box_own_memory(struct box *b, uint64_t *ret_bytes, struct error *err)
{
    struct cgroup_usage counted = {0};
    struct monitor_usage usage;
    uint64_t files;

    if (cgroup_host_kind(b->cgroups) != CGROUP_NONE) {
        if (cgroup_read(b->cgroup, CGROUP_PRESENT, &counted, err) < 0)
            return -1;
        *ret_bytes = counted.memory_bytes;
        return 0;
    }
    if (loop_now_ns() - b->own_memory_ns >= TICK_MS * 1000000ULL) {
        monitor_read(box_pid(b), &usage);
        files = files_used(&b->files);
        b->own_memory = monitored_memory(b, &usage) - (files < b->outside ? files : b->outside);
        b->own_memory_ns = loop_now_ns();
    }
    *ret_bytes = b->own_memory;
    return 0;
}

void box_look(struct box *b)
{
    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE) {
        struct monitor_usage usage;
        uint64_t bytes;

        monitor_read(box_pid(b), &usage);
        bytes = monitored_memory(b, &usage);
        if (bytes > b->cell.memory_peak)
            b->cell.memory_peak = bytes;
        if (usage.processes > b->cell.processes_peak)
            b->cell.processes_peak = usage.processes;
        usage.cpu_ms += broker_cpu_ns(b) / 1000000;
        if (usage.cpu_ms > b->cell.cpu_ms)
            b->cell.cpu_ms = usage.cpu_ms;
    } else {
        struct cgroup_usage usage;

        if (cgroup_read(b->cgroup, CGROUP_CPU_TIME | CGROUP_PEAKS, &usage, NULL) == 0)
            b->cell.cpu_ms = (usage.cpu_ns - b->cpu_ns_before + broker_cpu_ns(b)) / 1000000;
    }
}

void box_on_tick(void *arg)
{
    struct box *b = arg;

    if (b->state != BOX_RUNNING)
        return;
    box_look(b);
    if (b->cell.memory_peak > b->run->terms.limits.memory_bytes)
        box_end_run(b, BOX_MEMORY);
    else if (b->run->terms.limits.cpu_ms && b->cell.cpu_ms >= b->run->terms.limits.cpu_ms)
        box_end_run(b, BOX_CPU_TIME);
    else if (box_is_out_of_time(b))
        box_end_run(b, BOX_TIMEOUT);
    else
        box_watch_limits(b);
}

/* --- the answer --- */

static void read_usage(struct box *b, struct run *run, uint64_t *ret_oom_kills)
{
    struct cgroup_usage usage = {0};
    double exited_ms;

    *ret_oom_kills = 0;
    if (cgroup_host_kind(b->cgroups) == CGROUP_NONE) {
        box_look(b);
        run->result.usage.cpu_ms = (double)b->cell.cpu_ms;
        run->result.usage.memory_peak_bytes = b->cell.memory_peak;
        run->result.usage.processes_peak = b->cell.processes_peak;
        /* The kernel process itself was waited for, which is exact and covers a run shorter than a
         * tick. */
        exited_ms = (double)b->cell.exited.cpu_us / 1e3 + (double)broker_cpu_ns(b) / 1e6;
        if (cell_has_been(&b->cell, CELL_EXITED) && exited_ms > run->result.usage.cpu_ms)
            run->result.usage.cpu_ms = exited_ms;
    } else if (cgroup_read(b->cgroup, CGROUP_CPU_TIME | CGROUP_PEAKS, &usage, NULL) == 0) {
        *ret_oom_kills = usage.oom_kills - b->oom_before;
        run->result.usage.cpu_ms =
            (double)(usage.cpu_ns - b->cpu_ns_before + broker_cpu_ns(b)) / 1e6;
        b->oom_before = usage.oom_kills;
        b->cpu_ns_before = usage.cpu_ns;
        run->result.usage.memory_peak_bytes = usage.memory_peak_bytes;
        run->result.usage.processes_peak = usage.processes_peak;
        b->cell.is_peak_known = usage.processes_peak > 0;
    }
    run->result.usage.processes_peak = run->result.usage.processes_peak > b->own_processes
                                           ? run->result.usage.processes_peak - b->own_processes
                                           : 1;
}

void box_put_verdict(struct run *run, enum box_verdict verdict)
{
    static const struct {
        enum run_status status;
        int exit_code;
    } verdicts[] = {
        [BOX_TIMEOUT] = {RUN_TIMEOUT, 124},        [BOX_CPU_TIME] = {RUN_TIMEOUT, 124},
        [BOX_MEMORY] = {RUN_MEMORY_EXCEEDED, 137}, [BOX_CANCELLED] = {RUN_CANCELLED, 130},
        [BOX_BROKEN] = {RUN_ERROR, 128 + 9},       [BOX_WORK] = {RUN_TIMEOUT, 124},
    };

    run->result.status = verdicts[verdict].status;
    run->result.exit_code = verdicts[verdict].exit_code;
}

void box_put_exit(struct run *run, int status)
{
    if (WIFSIGNALED(status)) {
        run->result.signal = WTERMSIG(status);
        run->result.exit_code = 128 + run->result.signal;
    } else {
        run->result.exit_code = WEXITSTATUS(status);
    }
    run->result.status = run->result.exit_code == 0 ? RUN_SUCCESS : RUN_ERROR;
}

void box_explain_signal(struct run *run)
{
    run->result.exception.is_ours = true;
    run->result.exception.name = strdup("Killed");
    if (asprintf(&run->result.exception.message, "ended by signal %d (%s)", run->result.signal,
                 strsignal(run->result.signal)) < 0)
        run->result.exception.message = NULL;
}

static void decide(struct box *b, struct run *run, uint64_t oom_kills)
{
    int status = cell_has_been(&b->cell, CELL_EXITED) ? (int)b->cell.exited.status : 9;

    if (cell_is_done(&b->cell))
        run->result.exit_code = (int)(b->cell.done_code & 0xff);
    else
        box_put_exit(run, status);
    run->result.has_finished = cell_has_been(&b->cell, CELL_SENT) && run->result.exit_code == 0;
    if (b->cell.verdict != BOX_NO_VERDICT) {
        box_put_verdict(run, b->cell.verdict);
    } else if (oom_kills) {
        run->result.status = RUN_MEMORY_EXCEEDED;
        run->result.exit_code = 137;
    } else if (b->cell.is_refused) {
        run->result.status = RUN_REFUSED;
        run->result.exit_code = 126;
    } else if (b->cell.check == BOX_CHECK_UNKNOWN) {
        run->result.status = RUN_ERROR;
        run->result.exit_code = 126;
    } else if (run->terms.limits.cpu_ms && run->result.signal &&
               run->result.usage.cpu_ms >= run->terms.limits.cpu_ms) {
        run->result.status = RUN_TIMEOUT; /* RLIMIT_CPU was faster than our look */
        run->result.exit_code = 124;
    } else {
        run->result.status = run->result.exit_code == 0 ? RUN_SUCCESS : RUN_ERROR;
    }
}

/* Words for what the next cell will not find. */
static char *what_was_lost(const struct box *b)
{
    char *text = NULL;

    if (b->cell.interrupted_ns &&
        asprintf(&text,
                 "the cell did not end within %.3g s of its interrupt, so its kernel was ended; "
                 "variables are lost, files are not; the next cell gets a fresh kernel",
                 (double)(loop_now_ns() - b->cell.interrupted_ns) / 1e9) < 0)
        return NULL;
    return text ? text
                : strdup("variables are lost, files are not; the next cell gets a fresh kernel");
}

static void explain(const struct box *b, struct run *run)
{
    if (b->cell.verdict == BOX_WORK) /* the program's own word is of the signal we sent */
        box_explain_work(run);
    if (run->result.exception.name)
        return;
    run->result.exception.is_ours = true;
    if (b->cell.check == BOX_CHECK_UNKNOWN && b->cell.verdict == BOX_NO_VERDICT) {
        run->result.exception.name = strdup("RefusalNotConfirmed");
        run->result.exception.message =
            strdup("the session's kernel did not run the cell and says that the policy refuses it; "
                   "Belljar could not confirm that");
        run->result.exception.hint = strdup("send the cell again, or restart the session's kernel");
    } else if (b->cell.verdict == BOX_BROKEN) {
        run->result.exception.name = strdup("ProtocolViolation");
        run->result.exception.message =
            strdup("the program wrote to Belljar's control channel and was ended");
    } else if (run->result.status == RUN_ERROR && run->result.signal) {
        box_explain_signal(run);
    } else if (run->result.state == RUN_STATE_LOST && run->result.status <= RUN_ERROR) {
        run->result.exception.name = strdup("KernelEnded");
        if (asprintf(&run->result.exception.message, "the kernel ended with exit code %d",
                     run->result.exit_code) < 0)
            run->result.exception.message = NULL;
    }
    if (run->result.state == RUN_STATE_LOST && !run->result.exception.hint)
        run->result.exception.hint = what_was_lost(b);
}

static void note_leftovers(struct box *b, struct run *run)
{
    box_note_files(b, run);
    box_collect_files(b, run);
    if (run->terms.keeps_overlays && b->cow)
        run->result.cow = overlays_ref(b->cow);
    box_note_traffic(b, run);
    if (!b->terms)
        box_close_gate(b); /* before the run's own record, which is its last */
}

/* The state that the session's next cell will find. A kernel that ended after this cell was done
 * has taken its state along: the next cell is told, as this one went well. */
static void note_state(struct box *b, struct run *run)
{
    bool was_sent = cell_has_been(&b->cell, CELL_SENT);
    bool is_kept = cell_is_done(&b->cell);

    if (b->terms)
        run->result.state = !is_kept                          ? RUN_STATE_LOST
                            : was_sent && b->active->was_lost ? RUN_STATE_FRESH
                                                              : RUN_STATE_KEPT;
    if (was_sent)
        b->active->was_lost = is_kept && cell_has_been(&b->cell, CELL_EXITED);
}

static void judge(struct box *b, struct run *run)
{
    uint64_t oom_kills;

    read_usage(b, run, &oom_kills);
    decide(b, run, oom_kills);
    note_state(b, run);
    explain(b, run);
    box_advise_on_output(b, run);
    if (!cell_has_been(&b->cell, CELL_EXITED) && !cell_is_done(&b->cell) &&
        b->cell.verdict == BOX_NO_VERDICT && !oom_kills && run->result.error.code == E_NONE)
        error_set(&run->result.error, E_SYSTEM, "the sandbox was lost");
    run->result.layers = b->layers | (run->terms.may_spawn ? 0 : LAYER_NO_EXEC);
    run->result.usage.wall_ms = (double)(run->result.ended_ns - run->result.handed_ns) / 1e6;
    run->result.usage.start_ms = (double)(run->result.handed_ns - run->result.started_ns) / 1e6;
    box_note_denials(b, run);
}

/* The program decides how long masking takes: it is done as a task. */
static void work_on_answer(void *arg)
{
    struct box *b = arg;
    struct run *run = b->run;

    box_end_output(b, run);
    note_leftovers(b, run);
    if (b->broker)
        broker_client_end(b->broker, run);
    judge(b, run);
    if (b->cell.interrupted_ns) {
        run->result.interrupt_ms = (double)(loop_now_ns() - b->cell.interrupted_ns) / 1e6;
        run->result.interrupt_grace_ms = b->cell.grace_ms;
    }
}

static void spend_on_answer(void *arg, uint64_t cpu_ns)
{
    struct box *b = arg;

    if (!box_spend(b, cpu_ns) || !task_is_under_way(&b->text))
        return;
    if (b->cell.verdict == BOX_NO_VERDICT)
        b->cell.verdict = BOX_WORK;
    task_cancel(&b->text);
}

static void end_answer(void *arg)
{
    struct box *b = arg;
    struct run *run = b->run;

    run->result.server_cpu_ns += b->cell.work_ns;
    input_pipe_close(&b->input);
    b->run = NULL;
    if (b->terms)
        box_session_after(b);
    b->cell = (struct box_cell){0};
    b->events->on_done(b->owner, b, run);
    box_changes_pass(b);
    if (b->is_gone_due) {
        box_on_gone(b, NULL);
        return;
    }
    /* The program has ended by itself. */
    if (!b->terms && b->state == BOX_RUNNING)
        box_kill(b);
    box_session_start_due(b);
    box_go_on(b);
}

static const struct task_steps answer_steps = {work_on_answer, end_answer, spend_on_answer};

static void begin_answer(struct box *b)
{
    box_enter(b, CELL_ANSWERING);
    b->is_answer_due = false;
    loop_work_cancel(&b->finishing);
    box_end_questions(b);
    call_desk_end_run(b->active->calls);
    loop_timer_stop(b->deadline);
    loop_timer_stop(b->tick);
}

void box_answer(struct box *b)
{
    if (b->cell.state == CELL_ANSWERING)
        return;
    if (task_is_under_way(&b->text)) {
        b->is_answer_due = true;
        return;
    }
    begin_answer(b);
    task_begin(&b->text, b->loop, &answer_steps, b);
}

void box_answer_now(struct box *b)
{
    if (b->cell.state != CELL_ANSWERING) {
        begin_answer(b);
        task_begin(&b->text, b->loop, &answer_steps, b);
    }
    if (task_end(&b->text))
        end_answer(b);
}

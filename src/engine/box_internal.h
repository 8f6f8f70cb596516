/* Shared by box.c (life and death of a sandbox), box_run.c (the run inside it), box_message.c (what
 * its kernels say), box_session.c (one that is kept) and box_files.c (what it leaves). */
#pragma once

#include "base/id.h"
#include "base/task.h"
#include "calls/call.h"
#include "egress/egress.h"
#include "engine/box.h"
#include "engine/box_cell.h"
#include "engine/broker_client.h"
#include "engine/input_pipe.h"
#include "engine/peer.h"
#include "sandbox/files.h"
#include "sandbox/overlay.h"

/* Processes in a sandbox that are ours and not the program's: pid 1 and the holder of the kernel's
 * memory, where there is one. */
#define BOX_OWN_PROCESSES 2

/* A writer that was killed takes a moment to be gone. Beyond as many nobody waits: see box_copy.c.
 */
#define BOX_IMAGE_GROUPS 2

/* One kernel as we see it. */
struct box_kernel {
    struct box *box;
    struct box_command *command;       /* it is no kernel, but this command; else NULL */
    const struct box_context *context; /* it is one besides those of the languages; else NULL */
    struct peer peer;
    int out, err;
    bool has_terminal;        /* `out` is the master of one */
    unsigned terminal;        /* its number */
    struct loop_watch *quiet; /* what the masker holds of it is shown soon, or NULL */
    int replies;              /* our end, until there is a desk */
    struct call_desk *calls;  /* since its first call */
    struct loop_watch *out_watch, *err_watch;
    struct loop_work reading; /* of both */
    size_t ahead;             /* read of them since a message came */
    bool was_lost;      /* the one before it ended between cells, which nobody has been told */
    bool is_alive;      /* from its start to pid 1's word of its end */
    bool is_restarting; /* killed on request: the next one takes its place, and its cells */
    bool is_dropped;    /* killed on request, and none takes its place */
};

/* A command beside the kernels (box_command.c). */
struct box_command {
    struct box_kernel kernel; /* that becomes it */
    uint32_t slot;
    struct run *run;
    struct masker *masks[2]; /* of its stdout and stderr */
    struct input_pipe input;
    struct loop_watch *deadline; /* of the run; then the patience after a kill */
    struct loop_work finishing;  /* it has ended, and what it wrote is still read */
    struct task answering;
    enum box_verdict verdict;
    bool has_exited;
    bool is_held;     /* its output is not read for now */
    bool is_due;      /* it waits for the write broker */
    bool had_record;  /* its changes were, or are, recorded as its own */
    uint64_t signals; /* a bit for each that waits until it has begun */
    struct wire_exited exited;
    uint64_t oom_before;     /* processes that were killed for memory when it began */
    uint64_t work_ns;        /* CPU time of ours that it has taken so far */
    struct loop_watch *rest; /* its output has taken more than its share, and waits; or NULL */
    bool is_resting;
    size_t drained;    /* bytes read of its output since its end */
    uint64_t began_ns; /* pauses of the session left out */
};

/* The gate to granted hosts, and what went through it. */
struct box_net {
    struct egress *egress;
    struct egress_totals before;         /* when the last answer was given */
    char run[ID_SIZE], session[ID_SIZE]; /* the last that ran here */
    char *owner;
    uint64_t records; /* connections that were written down */
    uint64_t more;    /* those beyond */
    /* Hosts that somebody is asked for, in this run: those that wait, how many there were, and
     * whether one was not answered. */
    struct host_question *questions;
    unsigned n_questions;
    bool is_unheard;
};

struct box {
    struct loop *loop;
    struct zygote_client *zygote;
    struct cgroup_host *cgroups;
    struct masks *engine_masks;
    struct outside *engine_outside; /* what calls of its programs reach (calls/outside.h) */
    struct egress_settings *egress_settings;
    struct recorder *recorder;
    const struct box_events *events;
    void *owner;
    struct pool_order *reserved;
    bool was_idle;

    uint64_t id;
    enum box_state state;
    struct peer init;
    struct box_kernel kernels[WIRE_KERNELS];     /* the first is born with the sandbox */
    struct box_kernel *active;                   /* the one that runs, or ran last */
    struct box_command *commands[WIRE_COMMANDS]; /* NULL: the slot is free */
    struct loop_watch *commands_tick;            /* looks at memory where no cgroup counts it */
    bool had_commands;            /* since the last cell began: see box_leave_out_commands() */
    struct box_command *recorded; /* whose changes are recorded (box_changes.c), or NULL */
    int pidfd;
    struct files files;     /* /workspace and /tmp */
    struct files_list seen; /* what was in it when the last cell ended */
    bool is_seen_stale;     /* somebody else may have changed it since */
    struct cgroup *cgroup;
    struct net *net;              /* hosts it may reach, or NULL */
    struct box_net gate;          /* and the gate to them */
    struct broker_client *broker; /* writes to granted directories; NULL: none is for writing */
    int refusals_fd;              /* of refused system calls; -1: nobody is told */
    struct loop_watch *refusals_watch, *refusals_timer;
    unsigned n_refusals;
    struct overlays *cow;         /* of copy-on-write grants, or NULL */
    struct run_limits limits;     /* what it was made for */
    struct cgroup_limits allowed; /* what it may have now, files from outside included */
    uint64_t outside;             /* for those files */
    uint64_t own_memory;          /* without those files, where no cgroup counts it, */
    uint64_t own_memory_ns;       /* and when that was read */
    uint32_t layers;
    bool is_touched;
    uint32_t own_processes; /* 1, or BOX_OWN_PROCESSES with a holder */
    unsigned stock;         /* as in struct box_spec */
    struct error failure;   /* why it could not be made */
    bool is_given_up;       /* killed in every way we know */

    struct run *run;      /* the program that is here, or NULL */
    struct box_cell cell; /* and how far it is */
    /* A long message, or the answer, is worked on: nothing else of the box is looked at while that
     * pauses. */
    struct task text;
    struct frame message;         /* that it is about, */
    struct box_kernel *speaker;   /* of this kernel */
    bool is_answer_due;           /* the run is to be answered when that is done, */
    bool is_gone_due;             /* the box is gone, */
    struct box_kernel *check_due; /* the checker has ended, */
    struct box_kernel *next_due;  /* a kernel has ended and the next one is to take its place */
    /* The run's files are being written; called then. NULL: they are not. */
    int (*after_files)(struct box *b, struct run *run, struct error *err);
    struct error files_error;    /* why they could not be */
    struct masker *masks[2];     /* of its stdout and stderr, from their first byte on */
    struct loop_watch *deadline; /* of the run; then the patience after a kill */
    struct loop_watch *tick;     /* looks at counters where the kernel does not enforce a limit */
    struct loop_watch *output_timer; /* the program has just begun: its output is watched then */
    struct input_pipe input;
    bool has_terminal;          /* it was made for a program with one */
    int ptmx;                   /* where its terminals come from; -1: nowhere */
    struct loop_work finishing; /* it has ended, and what it wrote is still read */
    struct loop_work going;     /* it is gone, which is to be told */

    /* Of a session. */
    const struct run_terms *terms;  /* of every cell; NULL: the box is not kept */
    uint32_t cells;                 /* so far */
    struct box_port *ports;         /* that are being connected to, the oldest first */
    uint32_t signals;               /* asked for and not sent yet, of this cell or the one before */
    bool is_paused;                 /* nothing in it runs (box_pause.c) */
    uint64_t paused_ns;             /* since when */
    uint32_t pause_look_ms;         /* until the next look whether that is so */
    struct loop_watch *pause_timer; /* or NULL */
    bool has_run_code; /* a program has run here: what kernels say is a program's word */
    struct loop_watch *refresh_watch; /* a child refreshes its overlays; NULL: none does */
    int refresh_fd;
    pid_t refresh_pid;
    struct loop_watch *check_timer;
    struct box_copy *copy; /* an image is being written */
    struct buf bash;       /* of a copy: how its Bash begins, when it does */
    struct cgroup *image_groups[BOX_IMAGE_GROUPS]; /* of earlier ones, which are not empty yet */
    void (*on_restored)(void *owner, struct box *box, struct error *err); /* it becomes a copy */
    uint64_t cpu_ns_before; /* counters when the cell before ended */
    uint64_t oom_before;
    uint64_t forks_refused;
    bool is_disk_full;
};

/* A name for a cgroup that no other has. */
#define BOX_GROUP_NAME 48
void box_next_group(char ret_name[static BOX_GROUP_NAME]);

extern const struct peer_events box_init_events;
extern const struct peer_events box_kernel_events;

/* The kernel is ready for code; with pid 1's word and the pidfd that makes the box idle. */
void box_kernel_is_waiting(struct box *b);

void box_on_deadline(void *arg);
void box_on_tick(void *arg);

/* The deadline of a run has come: true when it has more time, since its clock stood for a while. */
bool box_has_more_time(struct box *b);

/* How long the run has run, by its own clock. */
uint64_t box_clock_ns(const struct box *b);

/* It waits for an answer, and has computed for as long as it may run. */
bool box_is_out_of_time(const struct box *b);

/* Memory of the sandbox without files from outside. Where no cgroup counts it the figure may be a
 * tick old: reading it takes a while. */
int box_own_memory(struct box *b, uint64_t *ret_bytes, struct error *err);

/* Ends the run for a reason of ours; the answer follows when the sandbox is gone. */
void box_end_run(struct box *b, enum box_verdict verdict);

/* The descriptor of /workspace that came with pid 1's first word. */
int box_take_workspace(struct box *b, struct error *err);

/* And those of its overlays. */
int box_take_overlays(struct box *b, struct error *err);

/* --- box_terminal.c --- */

/* The descriptor for them came with pid 1's first word. */
int box_take_ptmx(struct box *b, struct error *err);

/* The program is about to be sent: a terminal is its output from here on, in place of the pipe, if
 * it wants one. */
int box_use_terminal(struct box_kernel *k, const struct run *run, struct error *err);

/* The door gets a master of its own. */
int box_lend_terminal(const struct box *b, struct run *run, struct error *err);

/* A master to type on. */
int box_open_keyboard(const struct box_kernel *k, int *ret_fd, struct error *err);

/* Something was read of a terminal: what the masker holds back of it is not held for long. */
void box_expect_quiet(struct box_kernel *k);

/* --- box_net.c --- */

/* Opens the gate, where hosts are granted: the socket came with pid 1's first word, behind the
 * descriptor of /workspace. */
int box_open_gate(struct box *b, struct error *err);

/* The run's token answers for the connections. Before its program starts. */
void box_own_gate(struct box *b, const struct run *run);

/* Closes it; what is open is told and written down. */
void box_close_gate(struct box *b);

/* The run's part of it, for its answer. */
void box_note_traffic(struct box *b, struct run *run);

/* The variables by which programs find it; NULL past the end. */
const char *box_gate_variable(size_t index);

/* --- box_ask.c --- */

/* Begins and ends a question: shows it to the sender of the run, whose clock stands meanwhile. */
struct approval;
void box_ask(struct box *b, struct approval *approval);
void box_asked(struct box *b);

/* Asks the client for a line of input (calls/call.h). */
struct call;
void box_want_line(struct box *b, struct call *call);

/* Asks for a host (egress/egress.h). `user` is the box. */
enum egress_consent box_ask_host(void *user, const char *grant, const char **ret_why);

/* The run is over: nobody is to be asked any more. */
void box_end_questions(struct box *b);

/* --- box_port.c --- */

/* Pid 1 has answered. False: nobody asked. */
bool box_on_connected(struct box *b, struct unpack *u);

/* The box ends: whoever waits is told. */
void box_drop_ports(struct box *b);

/* --- box_session.c --- */

int box_tell_init(struct box *b, enum wire_type type, const uint32_t *words, size_t n_words,
                  const int *fds, size_t n_fds, struct error *err);

/* --- box_denials.c --- */

/* Adds the limits that struck, and masks what the run was refused so far. The last step of its
 * result. */
void box_note_denials(struct box *b, struct run *run);

/* A host, or a call, was refused. */
void box_deny_host(struct run *run, const struct egress_note *note);
void box_deny_call(struct run *run, const char *name, const struct error *why);

/* --- box_refused_calls.c --- */

/* The listener of refused system calls, the last of the descriptors that came with pid 1's first
 * word. There is none where a directory is granted for writing, or where the host has no room for
 * it. */
void box_refused_calls_begin(struct box *b);
void box_refused_calls_end(struct box *b);

/* --- box_files.c --- */

/* Gives back what is reserved for files from outside that the program has deleted. */
void box_settle_files(struct box *b);

/* Sets the limits of the sandbox, less what is reserved for files from outside. */
int box_limit(struct box *b, const struct cgroup_limits *allowed, struct error *err);

/* Before a cell of a session: what is there is not its doing. */
void box_look_at_files(struct box *b);

/* Writes the files that come with the run. They are not its doing. */
int box_put_files(struct box *b, const struct run *run, struct error *err);

/* Does the same in several turns of the loop, for files that are too large for one. The box is
 * running meanwhile, and b->run is set. Then `next` is called, unless the box is ending or the run
 * was cancelled; where it fails, the failure is the answer of the run. */
bool box_has_large_files(const struct run *run);
void box_put_files_slowly(struct box *b, struct run *run,
                          int (*next)(struct box *b, struct run *run, struct error *err));

/* Somebody else may have changed what is in /workspace, and there may be much to look at. That is
 * done in several turns, too. */
bool box_files_are_stale(const struct box *b);

/* They are still being written: the program must not begin. */
bool box_is_filling(const struct box *b);

/* Brings back what the run's patterns ask for, of the files that box_note_files() has seen. */
void box_collect_files(const struct box *b, struct run *run);

/* Lists the files the run made or changed. What it leaves in /workspace outlives its processes as
 * long as the box does. */
void box_note_files(struct box *b, struct run *run);

/* --- box_session.c --- */

/* A kernel waits for cells, runs one, said that it is over, ended, or cannot be spoken to. */
void box_session_on_waiting(struct box_kernel *k);
void box_session_on_started(struct box_kernel *k);
void box_session_on_done(struct box_kernel *k, uint32_t code);
void box_session_on_exited(struct box_kernel *k, const struct wire_exited *exited);
void box_session_on_broken(struct box_kernel *k);

/* Pid 1 has sent a signal we asked for. */
void box_session_on_signalled(struct box *b);

/* The cell is to end, for the reason in b->cell.verdict; the clock of that has struck. */
void box_session_stop_cell(struct box *b, enum box_verdict why);
void box_session_on_deadline(struct box *b);

/* The cell is answered: the sandbox is ready for the next one. */
void box_session_after(struct box *b);

/* A kernel of a context is of the kind that its language has. */
enum wire_kernel box_kernel_kind(const struct box_kernel *k);

int box_start_kernel(struct box_kernel *k, struct error *err);
void box_signal_kernel(struct box_kernel *k, int sig);

/* By their number, as pid 1 has it (wire/message.h). */
int box_start_process(struct box_kernel *k, uint32_t index, struct error *err);
void box_signal_process(struct box *b, uint32_t index, int sig);

/* The work that a cell waited for is over. */
void box_session_on_refreshed(struct box *b);
void box_session_on_begun(struct box *b); /* the write broker is ready for the cell */

/* --- box_command.c --- */

extern const struct peer_events box_command_events;

/* Pid 1 says that the command of this slot has ended. */
void box_command_on_exited(struct box *b, uint32_t slot, const struct wire_exited *exited);

/* So much CPU time of ours was spent on its output. */
void box_command_spend(struct box_command *c, uint64_t cpu_ns);

/* The sandbox is gone: they are answered. Or freed, without an answer. */
void box_end_commands(struct box *b);
void box_free_commands(struct box *b);

/* Their clocks stand, and go on. */
void box_pause_commands(struct box *b);
void box_resume_commands(struct box *b, uint64_t paused_ns);

/* A cell is about to begin: what commands have used until now is not its doing. */
void box_leave_out_commands(struct box *b);

/* The write broker knows of the present run. */
void box_commands_on_begun(struct box *b);

/* --- box_changes.c --- */

/* A command begins, and its record, if nobody else has one. */
int box_changes_begin(struct box_command *c, struct error *err);

/* A cell is about to begin, and its record. */
void box_changes_leave(struct box *b);

/* The command is answered. */
void box_changes_end(struct box_command *c);

/* A record has ended: a command that runs may have the next one. */
void box_changes_pass(struct box *b);

/* --- box_refresh.c --- */

/* Begins, where there is something to refresh; the cell waits while box_is_refreshing(). */
void box_refresh_begin(struct box *b);
bool box_is_refreshing(const struct box *b);
void box_refresh_end(struct box *b); /* at once */

/* --- box_check.c --- */

/* A kernel that a program may have in its power says that the policy refuses the cell. */
void box_check_begin(struct box *b);

/* The answer has to wait for the checker. */
bool box_check_is_pending(const struct box *b);

bool box_is_checker(const struct box_kernel *k);
void box_check_on_waiting(struct box_kernel *k);
void box_check_on_message(struct box_kernel *k, const struct frame *frame);
void box_check_on_exited(struct box_kernel *k);

/* The cell is answered; whatever the checker still says is of no interest. */
void box_check_end(struct box *b);

/* --- box_message.c --- */

/* The box is in the middle of a long text: what its kernels and pid 1 say waits. */
bool box_is_busy(const struct box *b);

/* Called for a kernel or for pid 1 (struct peer_events). */
bool box_is_kernel_busy(void *owner);
bool box_is_init_busy(void *owner);

/* It no longer is. */
void box_go_on(struct box *b);

bool box_take_violations(struct run *run, struct unpack *u);

/* --- box_overlays.c --- */

struct overlays_packer;

/* Packs the overlays into `file` in a process of its own, which `group` pays for, if there is one.
 * on_done follows, once, from the loop; `why` is a program's words. */
int overlays_packer_new(struct loop *loop, const struct overlays *overlays, int file,
                        const struct cgroup *group,
                        void (*on_done)(void *user, bool is_packed, const char *why), void *user,
                        struct overlays_packer **ret_packer, struct error *err);
void overlays_packer_free(struct overlays_packer *packer); /* accepts NULL; also before its end */

/* --- box_copy.c --- */

/* True: the message was about a copy. */
bool box_copy_on_message(struct box_kernel *k, const struct frame *frame);

/* It will not become one. */
void box_copy_on_trouble(struct box *b, const char *what);

/* The Bash kernel listens; it ended, or cannot be spoken to. */
void box_copy_on_bash_ready(struct box *b);
void box_copy_on_bash_end(struct box *b);

/* The box is going. */
void box_copy_end(struct box *b);

/* --- box_output.c --- */

/* The active kernel is given a program. Most programs are over within a millisecond or two, and
 * all they have written is then read in one go: what they write wakes us only after that time. */
int box_watch_output_soon(struct box *b, struct error *err);
void box_on_output_timer(void *arg);

int box_watch_output(struct box_kernel *k, struct error *err);
void box_unwatch_output(struct box_kernel *k);

/* Reads once from both pipes; returns how much, 0 when nothing is there now. */
size_t box_read_output(struct box_kernel *k);

/* Of a kernel's channel (struct peer_events): what was printed before something is shown comes
 * first, and the time that both take is the run's. */
bool box_on_kernel_speaks(void *owner);
void box_after_kernel_spoke(void *owner, uint64_t cpu_ns);

/* The program has ended by itself: what it wrote is read to its end, piece by piece, then the run
 * is answered. A box that is not kept ends with it. */
void box_finish(struct box *b);

/* The last look at the pipes, and the end of both streams. */
void box_end_output(struct box *b, struct run *run);

/* Masked text of stream 1 or 2 is kept, and passed on. */
void box_deliver(struct run *run, int stream, struct clean_text text);

/* Whether so much of our time is more than the run may take. */
bool box_is_too_much_work(const struct run *run, uint64_t work_ns);

/* Fills in what is said of a run that took too much of our time. */
void box_explain_work(struct run *run);

/* Finds a hint for commands that failed, by what they printed. */
void box_advise_on_output(const struct box *b, struct run *run);
void box_deny_work(struct run *run);

/* --- box.c, box_run.c --- */

int box_open_kernel(struct box_kernel *k, int ret_theirs[WIRE_KERNEL_FDS], struct error *err);
void box_close_kernel(struct box_kernel *k);
int box_check_layers(const struct box *b, const struct run_terms *terms, struct error *err);

/* `crowd` as in struct run_origin. */
int box_adjust_cgroup(struct box *b, const struct run_terms *terms, uint32_t crowd,
                      struct error *err);
void box_pack_run(const struct box_kernel *k, const struct run_terms *terms,
                  const struct run_program *program, struct pack *p);

/* The program is the sandbox's from here on, and waits (box_cell.h). */
void box_begin_cell(struct box *b, struct run *run);

/* A change that the table does not permit would be a mistake of ours: the sandbox ends. */
void box_enter(struct box *b, enum cell_state state);
void box_start_clocks(struct box *b, const struct run *run);

/* Begins to look at the limits that Linux does not enforce for us, if there are any. */
void box_watch_limits(struct box *b);

/* Reads the counters. */
void box_look(struct box *b);

/* How a program ended, in the run's result: our verdict, or the status of wait(2); and words for
 * the signal that ended it. */
void box_put_verdict(struct run *run, enum box_verdict verdict);
void box_put_exit(struct run *run, int status);
void box_explain_signal(struct run *run);

/* Fills the run's result from what is known now and gives it back to the owner, once per run. That
 * takes several turns of the loop where there is much to be masked: b->run is NULL when it is done.
 */
void box_answer(struct box *b);

/* Does it here and now: work that would take long is left out. */
void box_answer_now(struct box *b);

/* The answer's waiter: another kernel. */
void box_session_start_due(struct box *b);

/* So much CPU time of ours was spent on the run. True: its budget is used up. */
bool box_spend(struct box *b, uint64_t cpu_ns);

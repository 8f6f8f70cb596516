/* Sessions: sandboxes that are kept, found by owner and name, and the cells that wait for them.
 *
 * A session is one sandbox with a Python and a Bash kernel and one /workspace. A cell is a struct
 * run; cells of one session run one after the other, in order, whatever their language. A cell that
 * meets a limit is interrupted first and its kernel killed only if that does not help: the answer
 * says whether variables survived (run->result.state). A kernel that ended is started anew from
 * pristine memory; the files stay.
 *
 * A command (a run of the language RUN_COMMAND) runs beside the kernels: it waits for no cell, and
 * no cell waits for it.
 *
 * Three clocks: the cell's (its limits), the idle one (between cells) and the lifetime. When one of
 * the latter strikes, or the sandbox dies, the session ends: waiting cells are answered with an
 * error that says why, on_end is called, and the session is gone.
 *
 * Calls answer from the loop, never from within the call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"
#include "engine/box.h"
#include "engine/masking.h"
#include "engine/pool.h"
#include "sandbox/files.h"
#include "sandbox/overlay.h"

struct sessions; /* the table */
struct session;

/* Something happened to a session; it is only lent. */
struct session_event {
    const char *event; /* as in the trail: "open", "end", "applied", ...; or "paused", "resumed" */
    const char *detail;
    const struct session *session;
};

struct sessions_options {
    size_t max_total;     /* sessions alive at once */
    size_t max_per_owner; /* of one owner */
    /* Memory outside of sandboxes, of all sessions together: files from outside and images. 0: half
     * of the host's. Of both this and the sessions one owner gets a share (base/share.h). */
    uint64_t kept_bytes;
    /* Whether anybody else may want something. Optional: without it there is one owner. */
    bool (*has_others)(void *user);
    /* Something of docs/guide/audit.md happened to one, and went well. Optional. */
    void (*on_event)(void *user, const struct session_event *event);
    void *user;
    bool is_inside; /* a virtual machine: SESSION_ID is among the variables, as it is outside */
    bool
        has_names; /* personal data in them gets names, which are turned back (mask/pseudonyms.h) */
};

struct session_options {
    const char *name;  /* the client's choice; NULL: an unguessable id is the name */
    const char *owner; /* nobody else finds it; "" where there is one user */
    long max_own;      /* sessions of this owner; 0: as the table allows, below 0: none */
    uint64_t idle_ms;  /* 0: never */
    uint64_t lifetime_ms;
    /* At the limit, the owner's longest idle session that was opened with this ends for it, and it
     * may end in the same way. Sessions with a name, a checkpoint or session_keep() do not. */
    bool evicts;
    const char *spares; /* the id of one that does not end for it either, or NULL */
    /* Its sandbox stands, and has no cell yet. Optional. */
    void (*on_start)(void *user, struct session *session);
    /* It is gone after this call, `why` in words. Optional. */
    void (*on_end)(void *user, struct session *session, const char *why);
    void *user;
};

/* The table records what the pool records (pool_set_witness), after the pool. */
int sessions_new(struct loop *loop, struct pool *pool, const struct sessions_options *options,
                 struct sessions **ret_sessions, struct error *err);

/* Ends all of them. They are gone when the pool is freed; only after that the table may be, and
 * before the loop is. */
void sessions_end(struct sessions *table);
void sessions_free(struct sessions *table);

/* Opens a session. `terms` have been admitted (admit/request.h), hold for every cell, and move into
 * the session; after a failure they are still the caller's to free. Cells can be submitted at once
 * and wait for the sandbox. E_BUSY: too many. E_INVALID: the name is taken, or is not a valid name.
 */
int sessions_open(struct sessions *table, struct run_terms *terms,
                  const struct session_options *options, struct session **ret_session,
                  struct error *err);

/* By name or id. Unknown, ended and somebody else's get the same E_NOT_FOUND. */
struct session *sessions_find(struct sessions *sessions, const char *owner, const char *name,
                              struct error *err);

/* All sessions, oldest first; NULL begins and ends. */
struct session *sessions_next(const struct sessions *sessions, const struct session *after);

enum session_state { SESSION_STARTING, SESSION_IDLE, SESSION_BUSY, SESSION_PAUSED };

struct session_info {
    const char *id;      /* base/id.h, "ses_…" */
    const char *parent;  /* the id of the session of which it is a fork, or NULL */
    const char *evicted; /* the ids of sessions that ended to make room for it, or NULL */
    bool is_kept;        /* session_keep(), or it has a name */
    const char *name;
    const char *owner;
    const char *profile;
    bool uses_grants; /* as in struct run_terms */
    enum session_state state;
    uint64_t cells;  /* answered so far */
    size_t waiting;  /* cells in the queue */
    size_t commands; /* that run */
    uint64_t age_ms;
    uint64_t idle_ms; /* since the last cell ended; 0 while one runs */
    uint64_t idle_limit_ms, lifetime_ms;
    const struct run_limits *limits;
    const struct run_terms *terms; /* what all its cells have in common */
};

void session_info(const struct session *session, struct session_info *ret_info);

/* The usage of its sandbox now; zeros before it has one. Reads files of Linux: for a request, not
 * for a loop over all sessions. */
void session_usage(const struct session *session, struct box_usage *ret_usage);

/* `run`, a cell, has been admitted like any run (admit/admit.h). Its time, CPU and output limits
 * are its own, everything else is the session's. Its on_done follows; it stays the caller's. -1:
 * out of memory, which run->result.error says, and no on_done follows. */
int session_submit(struct session *session, struct run *run);

/* Interrupts the cell that runs, as Ctrl-C does; it is answered as cancelled. False: none runs. */
bool session_interrupt(struct session *session);

/* Cancels one cell, wherever it is. */
void session_cancel(struct session *session, struct run *run);

/* The next three are for a run of the language RUN_COMMAND that was submitted and is not answered:
 * a command beside the kernels, which runs at once, while a cell runs or not.
 *
 * Adds to its standard input, and closes that. E_BUSY: it has not read what came before.
 * E_INVALID: it has no standard input, or that is closed. */
int session_input(struct session *session, struct run *run, const char *data, size_t len,
                  bool closes, struct error *err);

/* For its process group. E_BUSY: it has not begun. */
int session_signal(struct session *session, struct run *run, int sig, struct error *err);

/* The size of its terminal. E_INVALID: it has none. */
int session_resize(struct session *session, struct run *run, uint16_t columns, uint16_t rows,
                   struct error *err);

/* Stops everything in its sandbox, or lets it go on (session_pause.c). Memory, variables and files
 * stay; cells, commands and copies are refused meanwhile. The idle clock and the clocks of commands
 * stand, the lifetime goes on. Twice is once. E_BUSY: a cell runs or waits, or it is being copied.
 * E_UNSUPPORTED: this host cannot. */
int session_pause(struct session *session, struct error *err);
int session_resume(struct session *session, struct error *err);

/* Connects to a server that runs in it, at a port that its terms have; `fn` follows (engine/box.h).
 * E_DENIED: they do not. E_BUSY: it is starting, or too many connect at once. The first use of each
 * port is recorded. */
int session_connect(struct session *session, uint16_t port, box_connected_fn fn, void *user,
                    struct box_port **ret_waiting, struct error *err);

/* --- contexts: kernels besides those of the languages (session_context.c) --- */

struct context_info {
    const char *id; /* base/id.h, "ctx_…" */
    enum run_language language;
    const char *directory; /* as it was asked for, or "" */
};

/* A cell names one in its program. They share the sandbox and its limits, and all cells one queue.
 * `directory`: where it starts, in /workspace or a granted directory; NULL: as all code.
 * E_TOO_LARGE: there are WIRE_CONTEXTS of them. */
int session_open_context(struct session *session, enum run_language language, const char *directory,
                         struct context_info *ret_info, struct error *err);

/* Those that there are; false past the end. */
bool session_context_at(const struct session *session, size_t index, struct context_info *ret_info);
int session_find_context(struct session *session, const char *id, struct context_info *ret_info,
                         struct error *err);

/* As session_restart(). */
int session_restart_context(struct session *session, const char *id, struct error *err);

/* Its kernel ends. E_BUSY: it has cells that run or wait. */
int session_close_context(struct session *session, const char *id, struct error *err);

/* A fresh kernel of that language: variables are lost, files stay. E_BUSY while a cell runs. */
int session_restart(struct session *session, enum run_language language, struct error *err);

/* Its pid 1 on the host, for those who measure it; -1: there is none (yet). */
pid_t session_pid(const struct session *session);

/* Its /workspace (sandbox/files.h), or NULL while the session starts. What is changed this way is
 * not listed as a cell's doing. */
struct files *session_files(struct session *session);

/* The place of sessions instead of in sandboxes of this host (engine/elsewhere.h), or NULL. Its
 * files are asked for there, of session_away(). NULL: it is starting. */
const struct elsewhere *session_elsewhere(const struct session *session);
struct away *session_away(struct session *session, struct error *err);

/* The changes in its copy-on-write grants (sandbox/overlay.h), or NULL: it has none, or is still
 * starting. */
struct overlays *session_overlays(struct session *session);

/* The secrets that are masked in its texts. */
struct mask_context session_masks(const struct session *session);

/* The table it is in, which outlives it. */
struct sessions *session_table(const struct session *session);

/* A session that is kept does not end to make room for another one. E_SYSTEM: it could not be
 * recorded. */
int session_keep(struct session *session, bool is_kept, struct error *err);

/* Somebody decided on its changes: writes it down. */
int session_note(struct session *session, const char *event, const char *detail, struct error *err);

/* --- copies: memory of the Python kernel, variables of the Bash kernel, files --- */

struct session_copied {
    const struct error *err; /* code E_NONE: it worked */
    struct session *source;
    struct session *const *sessions; /* of a fork: those that live, in order */
    size_t n_sessions;
    const char *evicted; /* the ids of sessions that ended to make room, or NULL */
    const char *lost;    /* what of the session is not in the copies, in words; NULL: nothing */
    double held_ms;      /* how long the session could not have run a cell */
    double total_ms;
};

/* Called once, from the loop. What `result` points to is only lent. */
typedef void (*session_copied_fn)(void *user, const struct session_copied *result);

/* Keeps the present state under a name, which may be one of before. E_BUSY: a cell runs or waits,
 * or the session is being copied. E_INVALID, also later: it cannot be copied as it is, and why. */
int session_checkpoint(struct session *session, const char *name, session_copied_fn fn, void *user,
                       struct error *err);

/* Goes back to it, any number of times. What came after it is lost; if it fails, nothing is. */
int session_restore(struct session *session, const char *name, session_copied_fn fn, void *user,
                    struct error *err);

/* `n` new sessions with the same variables and files, each with a sandbox of its own; `options` are
 * those of each, the name excepted. Random numbers go on differently in each. */
int session_fork(struct session *session, size_t n, const struct session_options *options,
                 session_copied_fn fn, void *user, struct error *err);

/* Names of checkpoints, newest first; NULL past the end. */
const char *session_checkpoint_name(const struct session *session, size_t index);
int session_forget(struct session *session, const char *name, struct error *err);

/* --- snapshots: the same, for sessions to come (session_snapshot.c) --- */

/* Keeps the present state under a name of the owner's, which may be one of before, until it is
 * forgotten or the server ends. Errors as of session_checkpoint(). */
int session_snapshot(struct session *session, const char *name, session_copied_fn fn, void *user,
                     struct error *err);

struct snapshot_info {
    const char *name, *source; /* the latter: the id of its session */
    const struct run_terms *terms;
    uint64_t age_ms, bytes;
    bool is_usable; /* false: it was lost with its zygote */
};

/* The owner's, newest first; false past the end. */
bool sessions_snapshot(const struct sessions *sessions, const char *owner, size_t index,
                       struct snapshot_info *ret_info);
int sessions_forget_snapshot(struct sessions *table, const char *owner, const char *name,
                             struct error *err);

/* The terms of every session that is opened from it, or NULL. Only lent. */
const struct run_terms *sessions_snapshot_terms(const struct sessions *table, const char *owner,
                                                const char *name, struct error *err);

/* Opens a session with its variables and files, as sessions_open() does. Random numbers go on
 * differently in each. */
int sessions_open_snapshot(struct sessions *table, const char *name,
                           const struct session_options *options, struct session **ret_session,
                           struct error *err);

/* Ends it; `why` reaches waiting cells and on_end. */
void session_close(struct session *session, const char *why);

/* Why it got no sandbox; E_NONE: it got one, or was closed before. */
enum error_code session_failure(const struct session *session);

/* Ends all of one owner. */
void sessions_close(struct sessions *table, const char *owner, const char *why);

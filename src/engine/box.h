/* One sandbox as the supervisor sees it: two channels, two pipes, a pidfd and a cgroup.
 *
 *     MAKING ──▶ IDLE ──▶ RUNNING ──▶ ENDING ──▶ (freed)
 *                     └─▶ KEPT ◀──▶ RUNNING
 *                            ◀──▶ COPYING
 *
 * A box serves one run, or one session, and is then destroyed; it is never cleaned and reused.
 * Status comes from the wait of its init, the clock and the cgroup's counters. Whatever the sandbox
 * says is text.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/run.h"
#include "engine/memory_image.h"
#include "engine/zygote_client.h"
#include "sandbox/cgroup.h"
#include "sandbox/files.h"
#include "sandbox/overlay.h"

struct box;
struct pool_order;
struct recorder;

enum box_state { BOX_MAKING, BOX_IDLE, BOX_RUNNING, BOX_KEPT, BOX_COPYING, BOX_ENDING };

struct box_events {
    void (*on_idle)(void *owner, struct box *box);
    /* The run is answered: every field of its result is filled, box_run() is NULL from here on. */
    void (*on_done)(void *owner, struct box *box, struct run *run);
    /* Like on_done(), but for a command beside the kernels. Needed where there are any. */
    void (*on_command_done)(void *owner, struct box *box, struct run *command);
    /* Nothing of it is left. `err`: why it was never made, or NULL. The owner frees it. */
    void (*on_gone)(void *owner, struct box *box, const struct error *err);
    /* Files from outside are about to take so many bytes more. Anything but 0 refuses. Optional. */
    int (*on_reserve)(void *owner, const struct box *box, uint64_t more, struct error *err);
};

struct box_spec {
    struct run_limits limits;
    const struct run_grant *grants;
    size_t n_grants;
    const char *workdir;            /* where programs start; NULL: /workspace */
    bool has_terminal;              /* programs run on a terminal */
    bool touch;                     /* run the warm-up inside while it waits */
    unsigned stock;                 /* the pool's: where it counts */
    struct masks *masks;            /* for what is said of no run */
    struct outside *outside;        /* what calls of its programs reach (calls/outside.h) */
    struct egress_settings *egress; /* egress/egress.h */
    struct recorder *recorder;      /* of what its programs ask for; or NULL */
    struct net *net;                /* hosts it may reach, or NULL */
    struct brokers *brokers;        /* of directories granted for writing */
};

int box_new(struct loop *loop, struct zygote_client *zygote, struct cgroup_host *cgroups,
            const struct box_spec *spec, const struct box_events *events, void *owner,
            struct box **ret_box, struct error *err);

/* Only after on_gone, or when its zygote is being freed. */
void box_free(struct box *box);

enum box_state box_state(const struct box *box);
struct zygote_client *box_zygote(const struct box *box);
bool box_is_touched(const struct box *box);
unsigned box_stock(const struct box *box);
struct run *box_run(const struct box *box);
pid_t box_pid(const struct box *box); /* of its init on the host, or -1 */

/* Hands the run over. E_UNSUPPORTED: a layer the profile insists on does not stand. E_BUSY: the box
 * is not idle (any more) or died; no code has reached it. After an error it is of no further use.
 */
int box_start(struct box *box, struct run *run, struct error *err);

/* --- one that is kept, for a session --- */

/* Turns an idle box into one that serves cell after cell. From here on, also after a failure, its
 * events go to `owner`, who frees it. `terms` are those of every cell and outlive the
 * box. Errors as of box_start(). */
int box_keep(struct box *box, const struct run_terms *terms, const struct box_events *events,
             void *owner, struct error *err);

/* Kills one that could not be kept. Who wanted it may be gone before it is: its end is told to
 * `owner`. */
void box_disown(struct box *box, const struct box_events *events, void *owner);

bool box_is_kept(const struct box *box);

/* A kernel besides those of the languages. Lent to the box until box_drop_context(). */
struct box_context {
    unsigned slot; /* below WIRE_CONTEXTS */
    enum run_language language;
    const char *directory; /* where it starts, as in struct run_program */
};

/* Runs a cell in the kernel of its language, or of the context unless that is NULL, which is
 * started if it must be; on_done follows. E_BUSY: one runs already, or the box is ending. */
int box_cell(struct box *box, struct run *cell, const struct box_context *context,
             struct error *err);

/* Ends that kernel and starts a fresh one. Only between cells. */
void box_restart(struct box *box, enum run_language language);
void box_restart_context(struct box *box, const struct box_context *context);

/* Ends that kernel. None of its cells runs. */
void box_drop_context(struct box *box, const struct box_context *context);

/* --- commands beside the kernels of a session (box_command.c) --- */

/* Starts one, while a cell runs or not; on_command_done follows. E_BUSY: there are WIRE_COMMANDS of
 * them, the box is not ready or ending, or the server has too many open files. */
int box_command(struct box *box, struct run *run, struct error *err);

/* Adds to the standard input of a command that is not answered yet, and closes that. It may still
 * wait for box_command(). E_BUSY: it has not read what came before.
 * E_INVALID: it has no standard input, or that is closed. */
int box_command_input(struct run *run, const char *data, size_t len, bool closes,
                      struct error *err);

/* Whether it takes so many bytes now. */
int box_command_check_input(const struct run *run, size_t len, bool closes, struct error *err);

/* For the process group of a command that box_command() took and that is not answered yet; SIGINT
 * and SIGQUIT on a terminal for the one in its foreground, as the keys do. */
void box_command_signal(struct run *run, int sig);

/* The size of its terminal; it may still wait for box_command(). E_INVALID: it has none. */
int box_command_resize(struct run *run, uint16_t columns, uint16_t rows, struct error *err);

/* Ends it as cancelled. */
void box_command_cancel(struct run *run);

/* Commands that are not answered yet, NULL past the end. */
const struct run *box_command_at(const struct box *box, size_t index);

/* --- pauses (box_pause.c) --- */

/* Stops every process in it; the clocks of commands stand. Only between cells. Twice is once.
 * E_UNSUPPORTED: this host cannot. A paused box can be killed, and takes no cell or command. */
int box_pause(struct box *box, struct error *err);
int box_resume(struct box *box, struct error *err);

/* --- servers inside (box_port.c) --- */

/* Connects to a port of the sandbox's own loopback. The callback follows, from the loop: with a
 * socket that is connected and its taker's, or with -1 and why. E_BUSY: too many at once, or the
 * box is ending. */
typedef void (*box_connected_fn)(void *user, int fd, const struct error *err);
struct box_port; /* a connection that is being made */
int box_connect(struct box *box, uint16_t port, box_connected_fn fn, void *user,
                struct box_port **ret_waiting, struct error *err);

/* The callback does not follow any more. *ret_waiting holds until it is called. */
void box_connect_forget(struct box_port *waiting);

/* /workspace, or NULL when there is none (yet). Whoever asks may change it: what is there when the
 * next cell begins is not that cell's doing. */
struct files *box_files(struct box *box);

/* Memory that files from outside take; it is part of what the sandbox may have. */
uint64_t box_outside_bytes(const struct box *box);

/* The changes in copy-on-write grants, or NULL: it has none, or not yet. */
struct overlays *box_overlays(const struct box *box);

/* --- copies --- */

struct box_copy_events {
    /* The program may go on: its memory is split off, its files are packed. Comes first, or right
     * before the other. */
    void (*on_released)(void *user, bool goes_well);
    /* A sealed image with a reference for the taker, or NULL and why. */
    void (*on_image)(void *user, struct memory_image *image, const struct error *err);
};

/* Has an image of a kept box written. `origin`: what it is a copy of, or NULL; `is_flat`: the image
 * shall not refer to it. No cell runs until on_released. E_BUSY: not now. */
int box_image(struct box *box, struct memory_image *origin, bool is_flat,
              const struct box_copy_events *events, void *user, struct error *err);

/* Turns a box that was just kept into a copy. `flags`: enum wire_restore_flag. on_restored follows,
 * with an error or an empty one; after an error the box is of no further use. */
int box_restore(struct box *box, const struct memory_image *image, uint32_t flags,
                void (*on_restored)(void *owner, struct box *box, struct error *err),
                struct error *err);

/* Ends the run as cancelled; on_done follows. A cell is interrupted first. */
void box_cancel(struct box *box);

/* Writes down what somebody is shown who decides on the call. */
struct approval;
void box_show_arguments(struct run *run, struct approval *approval);

/* Stops reading the run's output, or goes on. */
void box_hold(struct box *box, bool is_held);
void box_command_hold(struct run *run, bool is_held);

/* Ends the sandbox; on_gone follows. */
void box_kill(struct box *box);

/* Memory that it takes, files from outside included. */
uint64_t box_memory(struct box *box);

/* Memory, files and CPU time of a sandbox, for its owner to see. */
struct box_usage {
    uint64_t memory_bytes; /* files included */
    uint64_t files_bytes;
    uint64_t cpu_ns; /* since it began */
};

void box_usage(struct box *box, struct box_usage *ret_usage);

/* Ends it because memory is short and it has the most: what it runs is answered as
 * `memory_exceeded`, and a session ends. */
void box_sacrifice(struct box *box);

/* For the pool: the order (engine/pool.h) it is being made for or runs, and whether it ever was
 * idle. */
void box_reserve(struct box *box, struct pool_order *order);
struct pool_order *box_reserved(const struct box *box);
bool box_was_idle(const struct box *box);

/* --- from the zygote client --- */
void box_on_spawned(struct box *box, int pidfd);
void box_on_failed(struct box *box, const struct error *err); /* it was never spawned */
void box_on_gone(struct box *box, const struct error *err);

/* Ends as posted work: an answer takes its time, and many sandboxes can end in one moment. */
void box_on_gone_soon(struct box *box);

/* Shared by session.c (the table, cells, clocks, the end) and session_copy.c (checkpoints, forks).
 */
#pragma once

#include <sys/queue.h>

#include "base/id.h"
#include "base/share.h"
#include "engine/box.h"
#include "engine/memory_image.h"
#include "engine/session.h"

struct session_checkpoint;
struct session_copy;

/* The keys of a session: its name, and its id if that differs. */
struct key {
    const char *owner;
    const char *name;
    struct session *session;
};

/* A cell that waits for its turn, or whose on_done is due. */
struct session_cell {
    TAILQ_ENTRY(session_cell) link;
    struct run *run;
};

TAILQ_HEAD(session_cells, session_cell);

struct session_context {
    char id[ID_SIZE]; /* "": the slot is free */
    struct box_context kernel;
    char *directory, *path; /* as it was asked for, and as the kernel takes it */
};

struct session {
    struct sessions *table;
    TAILQ_ENTRY(session) link; /* in order of their age */
    char id[ID_SIZE];
    char parent[ID_SIZE]; /* whose fork it is, or "" */
    char *name, *owner;
    struct key by_name, by_id;
    struct run_terms terms;          /* of every cell */
    struct pool_order order;         /* for its sandbox, which the pool answers */
    struct box *box;                 /* NULL until the pool has given one */
    struct away *away;               /* in place of the two above (session_away.c), or NULL */
    bool is_away_open, is_away_free; /* it stands there; it can take a cell */
    struct session_cells queue;      /* that wait */
    size_t n_queued;
    struct run *current;
    struct session_cells commands; /* that wait for the sandbox, or for the end of a copy */
    size_t n_commands;             /* those, and those that run */
    uint32_t used_ports;           /* bits of terms.ports: the trail knows of them */
    struct loop_watch *idle, *lifetime;
    uint64_t idle_ms, lifetime_ms;
    uint64_t opened_ns, rested_ns; /* the latter: since when no cell runs */
    uint64_t cells;
    bool has_started; /* on_start has been called */
    bool is_used;     /* its sandbox is not like any other any more */
    unsigned losses;  /* sandboxes that died before they were used */
    bool evicts;      /* as in struct session_options */
    bool is_kept;     /* it does not end for another one */
    bool is_paused;   /* nothing in its sandbox runs (session_pause.c) */
    char *evicted;    /* the ids of those that ended for it, or NULL */
    bool is_closing;
    char *why;                   /* it is closing */
    enum error_code failure;     /* as session_failure() */
    struct pseudonyms *names;    /* of people in it, or NULL; its copies know them, too */
    struct memory_image *origin; /* what it is a copy of, or NULL */
    struct memory_image *seed;   /* what it is to become a copy of when it has its sandbox */
    struct session_checkpoint *checkpoints;
    struct session_context contexts[WIRE_CONTEXTS];
    LIST_HEAD(, session_watch) watches; /* of its /workspace (engine/session_watch.h) */
    size_t n_watches;
    struct session_copy *copy; /* what is being done with it, or NULL */
    struct session_copy *fork; /* of another one: this one is to become a copy */
    bool awaits_image;         /* of it: it has its sandbox */
    struct session_copy *born; /* the same, and it is one, which has not been said yet */
    void (*on_start)(void *user, struct session *session);
    void (*on_end)(void *user, struct session *session, const char *why);
    void *user;
};

/* A session that was lost, for whoever asks for it. */
struct lost_session {
    char id[ID_SIZE];
    char *name, *owner;
};

#define LOST_SESSIONS 256

struct sessions {
    struct loop *loop;
    struct pool *pool;
    struct recorder *recorder; /* the pool's, which is gone before the last cell is answered */
    struct sessions_options options;
    void *tree; /* of struct key */
    TAILQ_HEAD(, session) all;
    size_t count;
    TAILQ_HEAD(, session_snapshot) snapshots; /* newest first */
    size_t n_watches;                         /* of all sessions */
    uint64_t marks;            /* of images that are counted (engine/memory_image.h) */
    struct masks *masks;       /* of the pool, which they outlive */
    struct session_cells done; /* their on_done is due */
    struct lost_session lost[LOST_SESSIONS];
    size_t n_lost; /* ever; the newest are kept */
    struct loop_watch *soon;
};

/* --- session.c --- */

#define SESSION_NAME_MAX 64

/* Of sessions, and of checkpoints (base/name.h). */
bool session_is_name(const char *name);

/* Whether a new session may have the name of the options. */
int session_check_name(const struct sessions *table, const struct session_options *options,
                       struct error *err);

/* Whether a kernel may be replaced now. */
int session_check_restart(const struct session *s, struct error *err);

/* It has no sandbox yet, or one that is not itself yet. */
bool session_is_starting(const struct session *s);

extern const struct box_events session_box_events;

/* Kills a sandbox that was not kept; it may outlive the session. */
void session_disown(struct session *s, struct box *box);

/* The terms move into the session; where that fails they stay. */
struct session *session_new(struct sessions *table, struct run_terms *terms,
                            const struct session_options *options);
void session_order_box(struct session *s);
void session_started(struct session *s);
void session_go_on(struct session *s);

/* One that was never submitted. */
void session_discard(struct session *s);

/* Writes an event of the session down (engine/recorder.h). */
int session_tell(const struct session *s, const char *event, const char *key, const char *detail,
                 const struct error *error, struct error *err);

/* Says it to those who watch (struct sessions_options). session_tell() does, but for pauses, which
 * may fail after they were written down. */
void session_announce(const struct session *s, const char *event, const char *detail);
void session_begin_end(struct session *s, const char *why);
void session_finish_end(struct session *s);

/* Whether the run can have its turn; else its error says why not. */
bool session_take(struct session *s, struct run *run);

/* Answered from the loop; the cell is in no queue. */
void session_answer(struct sessions *table, struct session_cell *cell);

/* Records the end and calls on_done, here and now. */
void session_answer_run(const struct sessions *table, struct run *run);

/* It ended with the session. */
void session_set_ended(const struct session *s, struct error *err);

/* A cell has had its turn, and its result is filled in. */
void session_take_back(struct session *s, struct run *cell);

/* --- session_away.c --- */

/* E_UNSUPPORTED: sessions are elsewhere, where there is no such thing. */
int session_check_here(const struct session *s, const char *what, struct error *err);

/* E_UNSUPPORTED: sessions are elsewhere, where one cannot have these terms. */
int session_check_terms(const struct sessions *table, const struct run_terms *terms,
                        struct error *err);

/* Its place, here or elsewhere, can take a cell. */
bool session_is_free(const struct session *s);
void session_open_away(struct session *s);

/* E_LOST: there was one of that name or id, and it was lost. E_NOT_FOUND: none is known. */
int sessions_say_lost(const struct sessions *table, const char *owner, const char *name,
                      struct error *err);
void sessions_forget_lost(struct sessions *table);
void session_restart_away(struct session *s, enum run_language language);

/* --- session_command.c --- */

void session_submit_command(struct session *s, struct session_cell *command);

/* As many of those that wait as can begin now. */
void session_start_commands(struct session *s);

/* False: that run does not wait. */
bool session_cancel_waiting(struct session_cells *queue, struct session *s, struct run *run);

void session_on_command_done(void *owner, struct box *box, struct run *command);

/* The session ends: those that wait are answered. */
void session_drop_commands(struct session *s);

/* E_INVALID, with their names: it has some, and cannot be copied. */
int session_check_commands(const struct session *s, struct error *err);

/* --- session_context.c --- */

/* The kernel that the cell names, or NULL: its language's own. E_NOT_FOUND: it has ended. */
int session_context_of(struct session *s, const struct run *cell,
                       const struct box_context **ret_context, struct error *err);
void session_free_context(struct session_context *context); /* accepts an empty one */

/* E_INVALID: it has some, and cannot be copied. */
int session_check_contexts(const struct session *s, struct error *err);

/* --- session_watch.c --- */

/* Its sandbox goes: whoever watches it is told. */
void session_end_watches(struct session *s, const char *why);

/* --- session_pause.c --- */

/* E_INVALID: it is paused. */
int session_check_awake(const struct session *s, struct error *err);

/* --- session_room.c --- */

/* Ids, with a space between them, of all that can end at once. */
#define SESSION_EVICTED_MAX (64 * KIB)

/* Whether there are other owners, who should find room. */
bool sessions_have_others(const struct sessions *table);

/* A place for `n` sessions, copies of `source` unless that is NULL. Sessions may end for them;
 * their ids are added to `evicted`. */
int session_make_room(struct sessions *table, const struct session_options *options,
                      const struct session *source, size_t n, struct buf *evicted,
                      struct error *err);

/* Whether the session may have so many bytes more outside of its sandbox. E_TOO_LARGE: no. */
int session_check_kept(const struct session *s, uint64_t more, struct error *err);

/* --- session_copy.c --- */

/* No cell may start now. */
bool session_copy_holds(const struct session *s);

/* Something of a copy is still alive that refers to the session. */
bool session_copy_lives(const struct session *s);

/* The session ends, and is not among the copies that live any more. */
void session_copy_leave(struct session *s);

/* The session ends: what is being done with it ends, too. */
void session_copy_cancel(struct session *s);

/* A session that is to become a copy has its sandbox. */
void session_copy_on_box(struct session *s);

/* True: that box was a copy's, not the session's. */
bool session_copy_on_gone(struct session *s, const struct box *box);

/* Bytes of all images that this session keeps, those with `mark` excepted, which they have from
 * here on: an image that several keep is counted once. */
uint64_t session_copy_bytes(const struct session *s, uint64_t mark);

/* For a copy that is a session of its own: it writes to no directory of the host, since others may
 * write to the same one. E_TOO_LARGE: it cannot have a view of its own of so many. */
void session_make_private(struct run_terms *terms);
int session_check_grants(const struct run_terms *terms, struct error *err);

/* Frees checkpoints. */
void session_copy_done(struct session *s);

/* --- session_snapshot.c --- */

/* Whether the owner may have one more, or one of that name instead. */
int snapshot_check_room(const struct session *s, const char *name, struct error *err);

/* Keeps the image, of the session as it is now. */
int snapshot_keep(struct session *s, const char *name, struct memory_image *image,
                  struct error *err);

/* All of one owner; NULL: of all. */
void snapshots_forget(struct sessions *table, const char *owner);

/* Adds what they hold, images with `mark` excepted (image_count()). */
void snapshots_count(const struct sessions *table, const char *owner, uint64_t mark,
                     struct share *share);

/* It has its sandbox, which becomes a copy now. */
void session_seed(struct session *s);

/* struct run: the thing that travels. Read this file first.
 *
 * Admission (admit/request.h) makes a run of what a door (src/cli, src/api, src/mcp, src/compat)
 * was asked for: the program, the terms on which it runs, and its origin. The door sets the
 * callbacks and calls pool_submit(). The pool finds a sandbox, the sandbox runs the code, and
 * `on_done` is called exactly once with the result filled. Everything a run owns dies in
 * run_free().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clean.h"
#include "base/error.h"
#include "base/id.h"
#include "base/run_program.h"
#include "base/run_result.h"
#include "base/run_terms.h"
#include "wire/message.h"

struct approval;    /* calls/approval.h */
struct box;         /* engine/box.h */
struct box_command; /* engine/box_internal.h */
struct call;        /* calls/call.h */
struct elsewhere;   /* engine/elsewhere.h */
struct pseudonyms;  /* mask/pseudonyms.h */
struct masks;       /* engine/masking.h */
struct store;       /* store/store.h */

enum run_event_kind {
    RUN_EVENT_STDOUT,
    RUN_EVENT_STDERR,
    RUN_EVENT_DISPLAY,
    RUN_EVENT_PROGRESS,
    RUN_EVENT_APPROVAL, /* somebody is asked (calls/approval.h) */
    RUN_EVENT_INPUT,    /* the program wants a line of input: call_give_line() */
    RUN_EVENT_CALL,     /* in a machine: the server outside is asked (calls/call.h) */
};

/* Something that happened just now. What it points to is only lent. */
struct run_event {
    enum run_event_kind kind;
    uint64_t offset;  /* of a stream: of its first byte in all that was written; else how many of
                         this kind came before */
    const char *data; /* of a stream: the bytes; of progress: the text */
    size_t len;
    const struct run_display *display;
    const struct approval *approval;
    struct call *input;   /* or the call that is asked */
    uint64_t done, total; /* of progress; a total of 0 is unknown */
};

/* The owner of what a program keeps and finds. The program cannot choose it. */
#define RUN_KEEPER_MAX 72

/* The sender of a run. The door owns the texts, which may be NULL. */
struct run_origin {
    const char *owner;
    const char *correlation_id;
    bool wants_receipt;
    bool is_operator;    /* it is the user who started this process */
    bool can_ask;        /* the door brings questions to the sender, and answers back */
    struct store *store; /* where its owner's things are, which lives longer; NULL: nowhere */
    char keeper[RUN_KEEPER_MAX]; /* the owner by that store's name for it */
    char session[ID_SIZE];       /* the id of its session; "": it has a sandbox of its own */
    const char *session_name;    /* what the client calls it, or NULL */
    /* Runs of the same caller that were under way when it began, itself among them; 0: nobody
     * counts. A caller with many runs waits behind one with few, and has a smaller share of the
     * cores. */
    uint32_t crowd;
};

struct run {
    char id[ID_SIZE]; /* "run_…" */
    struct run_terms terms;
    struct run_program program;
    struct run_origin origin;
    struct run_result result;

    /* --- callbacks, all optional but on_done --- */
    void (*on_event)(struct run *run, const struct run_event *event); /* as things arrive */
    void (*on_done)(struct run *run);
    /* A program with a terminal is about to begin: its master, which is the door's from here on.
     * Output comes as events of stdout; what is typed is written here. Called again where the
     * sandbox was lost before the program began. */
    void (*on_terminal)(struct run *run, int master);
    void *user;
    bool is_unmetered; /* nobody else waits for its supervisor: output is worked on without a budget
                        */

    /* --- the engine's own --- */
    struct masks *masks;               /* of its engine: the pool fills it in */
    struct pseudonyms *names;          /* of its session, or NULL: personal data has no names */
    bool is_recorded;                  /* its beginning is; its end is due */
    struct box *box;                   /* that it runs in, or NULL */
    const struct elsewhere *elsewhere; /* that it runs in, or NULL */
    struct box_command *command; /* there, beside the kernels of a session; NULL: it is none */
};

/* A run with a fresh id and default limits; the code buffer is ready to be filled. NULL: out of
 * memory. */
struct run *run_new(void);
void run_free(struct run *run);

static inline void run_free_p(struct run **run)
{
    run_free(*run);
}

/* Keeps a copy of what was shown, or counts it when there is no room. Returns the copy, or NULL. */
const struct run_display *run_add_display(struct run *run, const struct wire_display *shown);

/* It waits for the sandbox: as a copy, or, where it has an owner, as a reference to that.
 * E_TOO_LARGE: too many. */
int run_give_file(struct run *run, const struct run_given *file, struct error *err);

/* Adds a file of a skill, which is counted apart from the client's files. The client's files come
 * first. */
int run_give_skill(struct run *run, const struct run_given *file, struct error *err);

/* They are where they belong, and not needed any more. */
void run_drop_given(struct run *run);

/* The form of that type, or NULL. */
const struct run_form *run_display_form(const struct run_display *display, const char *mime);

/* Under which name the program of that file is known inside, in tracebacks and as sys.argv[0]: the
 * last part of the path, `_` for each byte that is not a plain character of names. It is never a
 * path and never in brackets, which is what the library's names are (guest/policy/caller.c). */
#define RUN_PROGRAM_NAME_MAX 128
void run_program_name(const char *path, char name[RUN_PROGRAM_NAME_MAX]);

/* Adds something that was refused, or counts it when it is in the list already or the list is full.
 * The texts may have words of the program in them, such as a path: they become one line without
 * control characters, and the pool masks and cuts them before the answer is given. `hint` may be
 * NULL. Returns 0, or -1 without memory. */
int run_deny(struct run *run, const char *what, const char *layer, const char *hint);

/* Masks and cuts those that have not been. What `mask` returns holds until its next call. */
void run_mask_denials(struct run *run,
                      struct clean_text (*mask)(struct run *run, const char *text, size_t len));
void run_free_denials(struct run *run);

/* Whether it says no more than the run's status does. */
bool run_denial_is_status(const struct run *run, const struct run_denial *denial);

/* One of RUN_LAYER_*. */
bool run_denial_is_layer(const char *name);

/* "denied", or "failed" where nothing of ours has refused it. */
const char *run_denial_word(const struct run_denial *denial);

/* Its calls work on the data of its owner in that store. NULL: there is none. */
void run_set_keeper(struct run *run, struct store *store, const char *owner);

/* The word of the lowest bit that is set. */
const char *run_reach_name(uint32_t reach);

const char *run_grant_mode_name(enum run_grant_mode mode); /* "ro", "rw", "cow" */
const char *run_status_name(enum run_status status);
const char *run_state_name(enum run_state state); /* NULL: it was no cell */
int run_status_exit(const struct run *run);

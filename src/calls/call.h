/* Calls of programs to the outside: the table of calls, who may make them, and how an answer gets
 * back (docs/guide/reach.md).
 *
 * A program sends a name and arguments (WIRE_CALL); a row of the table answers, now or later.
 * Claims of a program about itself are ignored: its owner and its grants are in its run. Every call
 * is a record of the trail.
 *
 * A desk is where the calls of one kernel are answered. It has no more of them at once than the
 * wire permits, no more in a run than LIMIT_CALLS, and keeps no more bytes for a program that does
 * not read than LIMIT_REPLIES_BYTES.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/loop.h"
#include "base/run.h"
#include "base/sha256.h"
#include "calls/approval.h"
#include "wire/message.h"

/* --- for whoever answers: a row each --- */

enum call_kind { CALL_TEXT, CALL_NUMBER, CALL_OBJECT, CALL_FLAG };

/* An argument. What has no row is refused by name, and so is what has another type. */
struct call_field {
    const char *name; /* NULL: the last */
    enum call_kind kind;
    bool is_required;
    size_t max; /* bytes of a text, or 0: what a call may have */
};

struct call;
struct outside; /* calls/outside.h */

struct call_row {
    const char *name; /* "state.save"; "servers." stands for all that begin so */
    uint32_t grant;   /* enum run_reach, what the run has to be granted; 0: nothing */
    const struct call_field *fields; /* NULL: the handler looks for itself */
    /* Calls call_answer() or call_fail(), once, from here or later. */
    void (*handle)(struct call *call);
};

struct call {
    char *name;
    json_t *arguments;
    const struct run *run; /* the caller: its sandbox lives as long as the call */
    /* For a handler that answers later: what it needs, and how it lets go of that when the run is
     * over first. There is nobody to answer to then. */
    void *user;
    void (*on_cancel)(struct call *call);

    /* --- the desk's own --- */
    struct call_desk *desk;
    struct call *next;
    char *text;         /* of the arguments, while it waits for its turn */
    struct call *after; /* that waits, too */
    const struct call_row *row;
    uint64_t id;
    uint64_t begun_ns;
    size_t bytes;
    uint8_t digest[SHA256_BYTES]; /* of the arguments as they came */
    const char *approval;         /* "yes", "no", "late"; NULL: nobody was asked */
    uint64_t hidden;              /* bytes of the arguments that were hidden from whoever decided */
    char decided_by[APPROVAL_BY_SIZE]; /* if not the run's owner */
};

/* Takes over `value`. The call is gone afterwards. */
void call_answer(struct call *call, json_t *value);

/* Takes the words out of *err. The call is gone afterwards. */
void call_fail(struct call *call, struct error *err);

/* The arrays of rows, each ending with an empty one. */
extern const struct call_row call_state_rows[], call_skill_rows[], call_apis_rows[],
    call_server_rows[], call_package_rows[], call_input_rows[];

/* `input.line`: a line of standard input, which a person types. The door gets the call with
 * RUN_EVENT_INPUT and answers once: with the line and its newline, or NULL: there are no more.
 * call->on_cancel and call->user are the door's to set. */
void call_give_line(struct call *call, const char *text, size_t len);

/* The line is not to be seen while it is typed: a password. */
bool call_line_is_hidden(const struct call *call);

/* Another line is being waited for. */
void call_refuse_line(struct call *call);

/* Begins and ends a question to the sender of the program, before the call continues; meanwhile the
 * clock of the run stands still. */
void call_ask(struct call *call, struct approval *approval);
void call_asked(struct call *call, const struct approval *approval);

/* Hands the call to the door, and holds the clock of the run until call_asked(). */
void call_want_line(struct call *call);

/* The answer, for the record of the call; APPROVAL_LATE: nobody answered in time, and for the rest
 * of the run nobody is asked again. */
void call_note_answer(struct call *call, const struct approval *approval,
                      enum approval_answer answer);

/* Fills the error if the sender of the program cannot be asked, or did not answer before. */
bool call_cannot_ask(const struct call *call, const char *what, const char *hint,
                     struct error *err);

struct loop *call_loop(const struct call *call);
struct outside *call_outside(const struct call *call); /* of the engine */

/* Nobody answered in time. For the rest of the run nobody is asked again. */
void call_set_unheard(struct call *call);
bool call_is_unheard(const struct call *call);

/* --- for the sandbox's side --- */

struct call_record {
    const struct run *run;
    const char *name;
    size_t bytes_in, bytes_out;
    const uint8_t *digest; /* of what came in */
    const char *approval;  /* as in struct call */
    uint64_t hidden;
    const char *decided_by;
    double ms;
    const struct error *error; /* code E_NONE: it went well */
};

struct call_desk_options {
    struct loop *loop;
    struct outside *outside;
    int fd; /* replies go here; never blocks; the desk's from here on */
    /* Writes it down. A failure is the program's answer: nothing happens unrecorded. */
    int (*record)(void *user, const struct call_record *record, struct error *err);
    /* Shows what is asked, and holds the clock of the run until on_asked. */
    void (*on_ask)(void *user, struct approval *approval);
    void (*on_asked)(void *user, const struct approval *approval);
    /* Asks for a line of input, and holds the clock of the run until it comes. */
    void (*on_line_wanted)(void *user, struct call *call);
    /* Hands it to the server outside (struct outside, is_forwarded), whose answer is call_answer()
     * or call_fail(). Needed where there is one. */
    void (*on_forward)(void *user, struct call *call);
    /* In place of `fd`: takes each reply, JSON. */
    void (*on_reply)(void *user, uint64_t id, bool is_ok, struct span text);
    /* A call that had to wait took so much CPU time. Optional; it may end the run. */
    void (*spent)(void *user, uint64_t cpu_ns);
    void *user;
    const struct call_row *more; /* rows beside the usual ones, or NULL */
    bool is_text;                /* replies are WIRE_REPLY_TEXT */
    bool is_for_input; /* any process of the kernel can call: `input.line`, nothing else */
};

/* NULL: out of memory; the descriptor is closed. */
struct call_desk *call_desk_new(const struct call_desk_options *options);

/* Calls that are under way are cancelled. Accepts NULL. */
void call_desk_free(struct call_desk *desk);

/* A program of `run` asks. False: the kernel does not keep to the rules. A program can ask for much
 * in a few bytes: while the loop is late, calls wait, and are answered one in a turn. */
bool call_desk_take(struct call_desk *desk, const struct run *run, const struct wire_call *call);

/* The run is over. What is under way is cancelled, and whoever still waits inside is told so. */
void call_desk_end_run(struct call_desk *desk);

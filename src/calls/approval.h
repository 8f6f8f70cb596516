/* Calls that wait for somebody's yes.
 *
 * Whoever sent a program is asked before a call goes on that is not simply allowed. The door shows
 * what is asked (run->on_event, RUN_EVENT_APPROVAL) and brings the answer back by the id of the
 * run; no answer in time is a no. Programs see nothing of it but that the call takes its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/id.h"
#include "base/loop.h"
#include "base/run.h"
#include "base/sha256.h"

/* ALWAYS: a yes that is kept for good, where that can be said. */
enum approval_answer { APPROVAL_YES, APPROVAL_NO, APPROVAL_LATE, APPROVAL_ALWAYS };

/* The name of a question for a host that is not granted; its arguments are {"host"}. No call of a
 * program has it. */
#define APPROVAL_CONNECT "net.connect"

#define APPROVAL_BY_SIZE 80

/* One was asked, or is over; it is only lent. */
struct approval_change {
    const struct approval *approval;
    /* "yes", "always", "no", "late", "gone" (its run ended); NULL: it is asked */
    const char *answer;
};

/* Those of one engine that wait, the oldest first. */
struct approvals {
    struct approval *first;
    void (*on_change)(void *user, const struct approval_change *change); /* optional */
    void *user;
};

struct approval {
    struct approvals *all;
    char id[ID_SIZE]; /* "apr_…" */
    const struct run *run;
    char *name;                   /* of the call, "servers.notes.write" */
    json_t *arguments;            /* as the program has them */
    uint8_t digest[SHA256_BYTES]; /* of their bytes */
    char *shown; /* the same for people (mask_json_for_review()); NULL: it could not be, and nobody
                    can approve it */
    uint64_t hidden;           /* bytes that are not in it: a yes has to repeat the number */
    bool can_be_kept;          /* a yes may be one for good */
    double seconds;            /* within which an answer counts */
    char by[APPROVAL_BY_SIZE]; /* who answered instead of the run's owner; "": nobody did */

    /* --- private --- */
    struct approval *next;
    bool is_answered;
    struct loop_watch *clock;
    void (*on_answer)(void *user, enum approval_answer answer);
    void *user;
};

/* One more is waiting; `name` is copied. `digest`: of the bytes that the program sent. on_answer is
 * called once, from the loop, unless the approval is freed first; it frees the approval. NULL with
 * `err`: out of memory. */
struct approval *approval_new(struct approvals *all, struct loop *loop, const struct run *run,
                              const char *name, json_t *arguments,
                              const uint8_t digest[SHA256_BYTES], double seconds,
                              void (*on_answer)(void *user, enum approval_answer answer),
                              void *user, struct error *err);
void approval_free(struct approval *approval);

/* {"approval_id","run_id","session_id","owner","call","arguments","sha256","hidden_bytes",
 * "has_invisible","expires_in_s"} */
json_t *approval_json(const struct approval *approval);

/* The waiting questions of that run, of that session or, with NULL, of the owner (NULL: of all); an
 * array. */
json_t *approval_list(const struct approvals *all, const char *owner, const char *id);

/* The first of that run; NULL: none waits. */
const struct approval *approval_first(const struct approvals *all, const char *run_id);

struct approval_word {
    const char *approval_id; /* which one, or NULL: the first */
    bool is_yes;
    bool is_always;         /* of a yes: for good, where it can be kept */
    uint64_t accept_hidden; /* of a yes: how many bytes were not shown */
    const char *sha256;     /* of a yes: of the arguments that were shown, or NULL */
    const char *by;         /* who answers, or NULL: the run's owner */
};

/* The first that waits of that run or session, or the one that is named, is answered. E_NOT_FOUND:
 * there is none. E_DENIED: something of it was not shown, and the answer does not say so; it goes
 * on waiting. */
int approval_answer(const struct approvals *all, const char *id, const struct approval_word *word,
                    struct error *err);

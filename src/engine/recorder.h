/* Writes everything that happens here to the trail, as masked records.
 *
 * A run is two records: `start` before anything of it runs, `run` before its answer leaves. When
 * the first cannot be written, the run does not begin; when the second cannot be, its answer is
 * withheld. Input that a command gets later is a record before it is passed on. The pool and the
 * sessions see to both, and to files, calls and connections, so that no door can forget it
 * (tools/check-banned). Four events come from the doors, each from one place: a refusal before
 * there was a run, a token, an undo, a server's start and end.
 *
 * Every function takes NULL for a recorder: the operator wants no trail.
 */
#pragma once

#include <stdint.h>

#include "base/config.h"
#include "base/error.h"
#include "base/group_sync.h"
#include "base/loop.h"
#include "base/run.h"

struct recorder;
struct trail;

struct recorder_options {
    const struct config *config;
    struct loop *loop;
    struct masks *masks; /* of the engine; NULL: there is none, and no rules of the operator */
    bool is_brief;       /* audit/trail.h */
    bool has_doors;      /* they hold answers back: recorder_disk() */
    void (*on_note)(void *user, const char *text); /* audit/trail.h */
    /* So many bytes were written down on behalf of somebody. Optional. */
    void (*on_written)(void *user, const char *owner, size_t bytes);
    /* Whether there is more than one token, so that each has a share of the trail. NULL: no. */
    bool (*has_others)(void *user);
    void *user;
};

/* *ret_witness is NULL where the settings say so. */
int recorder_open(const struct recorder_options *options, struct recorder **ret_witness,
                  struct error *err);

/* Nothing more is expected: trail_settle(). */
void recorder_settle(struct recorder *recorder, bool may_leave_child);

/* Waits for the disk. Accepts NULL. */
void recorder_close(struct recorder *recorder);

/* For struct disk_hold of a door (base/disk_hold.h); NULL: answers do not wait for the disk. */
struct group_sync *recorder_disk(const struct recorder *recorder);

/* Whether a line of the trail is a record as it was written by who has the key. */
bool recorder_wrote(const struct recorder *recorder, const char *line, size_t len);

/* --- runs --- */

int recorder_start(struct recorder *recorder, struct run *run, struct error *err);

/* It is about to get more standard input: to a shell that is a program. */
int recorder_input(struct recorder *recorder, const struct run *run, struct span data,
                   struct error *err);

/* Also for a run that never began. Where it cannot be written, run->result.error says so from here
 * on. */
void recorder_end(struct recorder *recorder, struct run *run);

/* Whether the owner's share of the trail has room for so many bytes more. E_BUSY: it has not. What
 * the functions here record before it happens is checked by themselves. */
int recorder_check_share(struct recorder *recorder, const char *owner, size_t bytes,
                         struct error *err);

/* --- everything else --- */

struct recorder_session {
    const char *event; /* "open", "end", "fork", "checkpoint", "restore", "apply", "discard" */
    const char *id, *name, *owner, *profile;
    const char *detail_key; /* "why", "checkpoint", "from", "changes", or NULL */
    const char *detail;
    const struct run_limits *limits; /* or NULL */
    const struct error *error;       /* code E_NONE, or NULL: it went well */
};

int recorder_session(struct recorder *recorder, const struct recorder_session *event,
                     struct error *err);

struct recorder_file {
    const char *event; /* "write", "delete", "make_directory", "move" */
    const char *owner, *session, *path;
    const char *to; /* of "move": the new path */
    uint64_t bytes;
    const uint8_t *digest;     /* SHA-256 of what is written, or NULL */
    const struct error *error; /* it came to nothing, which is a record of its own */
};

int recorder_file(struct recorder *recorder, const struct recorder_file *event, struct error *err);

struct call_record; /* calls/call.h */

/* A program asked for something and is about to be answered. */
int recorder_call(struct recorder *recorder, const struct call_record *call, struct error *err);

/* A connection to a granted host, or one that was refused. */
struct recorder_net {
    const char *run, *session, *owner; /* of the program; "" where there is none */
    const char *host;                  /* "": it named none */
    uint16_t port;
    const char *how;
    const char *why; /* of a refusal, or NULL */
    /* Somebody was asked for the host, and this is the answer: "yes", "always", "no", "late" (there
     * was none) or "remembered"; NULL: it is a connection. */
    const char *asked;
    const char *decided_by; /* whose answer it is, if not the owner's; or NULL */
    uint64_t sent, received;
    double ms;
    uint64_t more; /* others before it that have no record of their own */
};

int recorder_net(struct recorder *recorder, const struct recorder_net *event, struct error *err);

/* A run is about to be undone ("undo"), or was ("undone"). */
struct recorder_undo {
    const char *event;
    const char *owner; /* who asked */
    const char *run;   /* whose changes are taken back */
    const char *undo;  /* of "undone": the id of the undo, or NULL: nothing was done */
    uint64_t done, conflicts;
    const struct error *error; /* it failed, or NULL */
};

int recorder_undo(struct recorder *recorder, const struct recorder_undo *event, struct error *err);

/* Somebody was turned away before there was a run. */
int recorder_refusal(struct recorder *recorder, const char *owner, const char *what,
                     const struct error *why, struct error *err);

/* A token was made, removed, first used by this server, or shown in vain. */
int recorder_token(struct recorder *recorder, const char *event, const char *name,
                   struct error *err);

/* A server began with these settings, or ended. */
int recorder_server(struct recorder *recorder, const char *event, const struct config *config,
                    struct error *err);

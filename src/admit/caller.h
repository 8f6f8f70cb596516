/* A caller: the name that owns what it opens, its rights, and what it has used so far.
 *
 * There is one for each name that was ever known, until the server ends; pointers to it stay good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/rights.h"
#include "admit/tokens.h"
#include "base/date.h"
#include "base/loop.h"
#include "base/share.h"

struct queue_place;

/* An allowance that flows back evenly: full it is worth the whole period. */
struct quota_bucket {
    double used;
    uint64_t at_ns; /* when `used` was right */
    double spent;   /* counted here since the server began; never less */
};

struct caller {
    struct caller *next;
    char name[TOKEN_NAME_SIZE];
    char keeper[TOKEN_KEEPER_SIZE]; /* the owner of what outlives runs, store/store.h */
    struct rights rights;
    uint8_t token_hash[SHA256_BYTES]; /* none for the first */
    bool is_operator;                 /* it is the user who started this process */
    bool is_known;                    /* false: its token was removed */
    bool is_shut_out;                 /* the file of its token cannot be read now */
    unsigned generation;              /* goes up when a token of this name is removed */
    char known_since[DATE_SIZE];      /* records before that are of an earlier token; "": none is */
    char removed[DATE_SIZE];          /* when the last token of this name went; "": never */
    char created[DATE_SIZE];          /* of the token; "": not known */
    time_t last_used;                 /* in the life of this server; 0: not yet */
    bool is_recorded;                 /* the trail knows that it was used */

    double trail_bytes_per_hour;                   /* the server's setting; 0: any amount */
    struct quota_bucket runs, cpu_s, bytes, trail; /* admit/quota.h */
    struct queue_place *first, *last;              /* that wait, admit/queue.h */
    struct caller *turn_before, *turn_after;       /* of those that wait */
    size_t n_waiting, n_running;
    size_t n_requests;             /* that are being answered, api/router.h */
    struct share_account requests; /* bytes of their bodies and answers, http/server.c */
    struct loop_line line;  /* work on what it sends, one piece in each round of all callers */
    size_t n_trail_readers; /* workers that read the trail for it, api/trail_reader.c */
    size_t n_listeners;     /* streams of events, api/events.c */
    size_t n_kept[2];       /* answers without and with a key, api/job.h */
    size_t pending_bytes;   /* of what is not over yet, api/job.h */
    size_t command_bytes;   /* that its commands may come to hold, api/job.h */
    size_t kept_bytes;      /* of answers, api/job.h */
    uint64_t spool_bytes;   /* of whole outputs, base/spool.h */
    uint64_t n_done, n_refused;
};

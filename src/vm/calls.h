/* Calls of a program inside: the machine passes on what the program asks (state, saved skills,
 * servers, functions), and it is answered here, by the rules for the run as this server knows it.
 */
#pragma once

#include <jansson.h>

#include "base/id.h"
#include "base/run.h"
#include "vm/ask.h"

struct call_desk; /* calls/call.h */
struct exchanges;

LIST_HEAD(reply_list, reply);

/* Of one run. All zero but the first two at first. */
struct calls {
    struct exchanges *all;
    struct run *run;
    char inside[ID_SIZE]; /* the id of the run there; "": not known yet */
    struct call_desk *desk;
    struct reply_list replies;
    unsigned n_replies, n_calls;
};

/* The events `start` and `call`. An error ends the run. */
int calls_take_start(struct calls *calls, const char *data, size_t len, struct error *err);
int calls_take(struct calls *calls, const char *data, size_t len, struct error *err);

/* Calls that are under way are cancelled. */
void calls_done(struct calls *calls);

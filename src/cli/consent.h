/* A question on the terminal: may the program call that, or connect to that host? Only where a
 * person is there to answer. Long arguments are shown in part, with how much is missing; `all`
 * shows the rest, and nothing is approved before. Where bytes are hidden, the word is `hidden`
 * instead of `y`. What could not be shown is not approved. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/id.h"
#include "base/loop.h"
#include "calls/approval.h"

struct consent {
    int terminal; /* -1: nobody is there */
    struct loop_watch *watch;
    char run_id[ID_SIZE];
    const struct approvals *approvals; /* where it waits */
    char approval_id[ID_SIZE];         /* what is asked; "": nothing */
    char *name, *arguments;
    uint64_t hidden;  /* bytes of the arguments that are not shown */
    bool can_be_kept; /* `always` is a yes for good */
    bool is_shown;    /* all of the rest was */
    char line[64];
    size_t len;
    void (*on_closed)(void *user); /* nothing is asked any more; NULL: nobody wants to know */
    void *user;
};

/* Messages have to go to a terminal, and that has to be ours. */
void consent_open(struct consent *consent);
void consent_done(struct consent *consent);

/* Asks, and answers the approval from the loop. */
void consent_ask(struct consent *consent, struct loop *loop, const struct approval *approval);

/* Whether a question is on the terminal that a yes would still answer. Whatever else is written
 * there meanwhile could pass for the question. */
bool consent_is_open(const struct consent *consent);

/* The run is over: nothing is asked any more, and what is typed belongs to others. */
void consent_close(struct consent *consent);

/* Asks and waits, for a run on a server: as approval_json() has it. */
bool consent_ask_now(struct consent *consent, const json_t *approval);

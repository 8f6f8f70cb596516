/* A run on behalf of a call, shared by the files that start it (tool_run.c) and that let a client
 * come back for it (tool_wait.c). */
#pragma once

#include "base/id.h"
#include "mcp/tools.h"

/* Clients give up on a request after a minute in which they heard nothing. */
#define MCP_QUIET_MS 15000

struct mcp_running {
    struct mcp_call *call; /* NULL: the client was asked, and comes back with a call of its own */
    struct mcp_running *next; /* of those */
    struct mcp_host *host;
    struct job *job;
    char *note;
    json_t *(*answer)(struct mcp_call *call, const struct run *run, const char *note);
    bool (*settle)(struct mcp_call *call, const struct run *run); /* or NULL */
    struct loop_watch *timer;
    bool is_waiting; /* for the timer */
    bool has_news;   /* not passed on yet */
    struct buf said; /* of it; a report need not have words */
    double done, total;
    uint64_t reported_ns;
    unsigned n_reports;
    char approval[ID_SIZE]; /* what the client is asked; "": nothing */
    uint64_t hidden;        /* bytes of it that masks hide */
    uint64_t unseen; /* bytes that the question does not show: a yes has to repeat the number */

    /* --- for calls with `wait_s` (tool_wait.c) --- */
    struct loop_watch *limit; /* NULL: the call waits for the end */
    bool is_left;             /* the client has been answered, and the code goes on */
    struct mcp_running *next_left;
    struct mcp_call *waiter; /* of wait_run, or NULL */
    struct loop_watch *waiter_limit;
    struct buf fresh;  /* output that no answer has shown, without its beginning if it is long */
    uint64_t skipped;  /* bytes missing before it */
    uint64_t kept[2];  /* bytes of stdout and stderr in it, or missing before it */
    uint64_t begun_ns; /* when the run was started */
};

/* The client is answered after so many seconds. */
int mcp_wait_begin(struct mcp_running *r, double wait_s, struct error *err);

/* Keeps output for the next answer. */
void mcp_wait_keep(struct mcp_running *r, const struct run_event *event);

/* Before the running is freed: whoever waits for it is the caller's, to be answered. */
struct mcp_call *mcp_wait_end(struct mcp_running *r);

/* Answers a call of wait_run with what became of the run. */
void mcp_wait_answer(struct mcp_call *waiter, const char *run_id);

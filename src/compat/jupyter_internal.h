/* Shared by jupyter.c (the table of routes), jupyter_token.c (who asks), jupyter_kernel.c (kernels
 * and their queues), jupyter_cell.c (what runs in them) and jupyter_client.c (who is connected). */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "api/api.h"
#include "api/store_read.h"
#include "base/id.h"
#include "base/task.h"
#include "compat/jupyter.h"
#include "compat/jupyter_message.h"
#include "http/websocket.h"

struct call; /* calls/call.h */

/* Kinds of work that a kernel does for a client, one after the other. */
enum jupyter_work_kind { JUPYTER_EXECUTE, JUPYTER_COMPLETE, JUPYTER_INSPECT };

struct jupyter_work {
    TAILQ_ENTRY(jupyter_work) link;
    struct jupyter_kernel *kernel;
    struct jupyter_client *client; /* that asked; NULL: it is gone */
    struct caller *caller;
    enum jupyter_work_kind kind;
    json_t *header; /* of the message */
    char *code;
    size_t len;
    size_t cursor; /* in bytes */
    bool is_silent, keeps_history, can_type, stops_on_error;

    /* --- while it runs --- */
    struct job *job;
    struct run *run;
    bool is_held;
    uint64_t count;  /* the number of the cell */
    char cuts[2][4]; /* a character that is cut in two between two reads */
    size_t n_cuts[2];
    json_t *display;    /* that may belong to the value of the cell, or NULL */
    struct buf text;    /* what an inspection says */
    struct call *input; /* the program waits for a line */
    struct store_read fresh;
};

struct jupyter_client {
    LIST_ENTRY(jupyter_client) link;
    struct jupyter_kernel *kernel;
    struct websocket *socket;
    struct request *request; /* that the socket was */
    struct caller *caller;
    bool is_binary;
    bool is_behind;
    struct task reading; /* of a long message */
    struct span bytes;
    struct jupyter_message message;
    struct error err;
    int result;
};

struct jupyter_kernel {
    struct jupyter *jupyter;
    struct api *api;
    LIST_ENTRY(jupyter_kernel) link;
    struct session *session;
    char id[ID_SIZE];
    char owner[REQUEST_OWNER_MAX];
    enum run_language language;
    LIST_HEAD(, jupyter_client) clients;
    TAILQ_HEAD(, jupyter_work) queue; /* the first one runs */
    size_t queued_bytes;
    uint64_t cells;    /* executed */
    uint64_t messages; /* sent */
    bool is_running;
    bool restarts;            /* when the cell that runs is over */
    char *path, *name, *type; /* of the notebook, if the client has said; else NULL */
};

struct jupyter {
    LIST_HEAD(, jupyter_kernel) kernels;
};

/* --- jupyter_kernel.c --- */

int jupyter_kernel_open(const struct request *request, const char *name,
                        struct jupyter_kernel **ret_kernel, struct error *err);
struct jupyter_kernel *jupyter_kernel_find(const struct request *request, const char *id);
json_t *jupyter_kernel_json(const struct jupyter_kernel *kernel);
const char *jupyter_kernel_name(enum run_language language);

/* Takes it over, also when it fails: then it has been answered. */
void jupyter_kernel_queue(struct jupyter_work *work);

/* The first of the queue is done with. */
void jupyter_kernel_next(struct jupyter_kernel *kernel, bool has_failed);
void jupyter_kernel_interrupt(struct jupyter_kernel *kernel);
int jupyter_kernel_restart(struct jupyter_kernel *kernel, struct error *err);

/* Sends a message to all clients, or as an answer to one. Takes the content over. */
void jupyter_publish(struct jupyter_kernel *kernel, const char *type, const json_t *parent,
                     json_t *content);
void jupyter_reply(struct jupyter_client *client, enum jupyter_channel channel, const char *type,
                   const json_t *parent, json_t *content);
void jupyter_publish_state(struct jupyter_kernel *kernel, const char *state, const json_t *parent);
bool jupyter_is_behind(const struct jupyter_kernel *kernel);

/* --- jupyter_cell.c --- */

void jupyter_work_begin(struct jupyter_work *work);
void jupyter_work_free(struct jupyter_work *work);

/* It will not run. */
void jupyter_work_abort(struct jupyter_work *work, const char *status, const char *why);

/* Reads as fast as the slowest client. */
void jupyter_work_hold(struct jupyter_work *work);

/* The line that it waits for, if it does; NULL: there are no more. */
void jupyter_work_input(struct jupyter_work *work, const char *line, size_t len);

/* The client is gone. */
void jupyter_work_forget(struct jupyter_work *work, const struct jupyter_client *client);

/* --- jupyter_display.c --- */

/* {type: data} of what a notebook may be shown; NULL: out of memory. */
json_t *jupyter_display_json(const struct run_display *display);

/* --- jupyter_client.c --- */

void jupyter_connect(struct request *request);

/* The kernel is gone. */
void jupyter_client_end(struct jupyter_client *client, const char *why);

/* --- jupyter_token.c --- */

/* For struct route. */
int jupyter_identify(struct request *request, struct caller **ret_caller, struct error *err);

/* --- jupyter.c --- */

void jupyter_answer_error(struct request *request, struct error *err);

/* Runs a program on a server: `belljar run --server` and `--session`.
 *
 * A server is used only when it is asked for, so that nothing but the command line and its
 * environment decides where a program runs, and with whose settings. There the server's settings
 * and the token's rights count; of ours only what is said on the command line is sent along.
 */
#pragma once

#include <jansson.h>

#include "admit/request.h"
#include "base/buf.h"
#include "base/config.h"
#include "base/run.h"
#include "http/client.h"

#define REMOTE_FLAGS_MAX 32

/* `belljar run --job`: words of the command line, or NULL. */
struct remote_job {
    bool is_wanted;
    bool is_once; /* it is not repeatable */
    const char *attempts, *retry_on, *keep_s;
};

struct consent;      /* cli/consent.h */
struct run_terminal; /* cli/run_terminal.h */

struct remote {
    const char *server;                  /* an address, `auto`, or NULL: this user's Unix socket */
    const char *session;                 /* its name or id; NULL: a sandbox of its own */
    const char *token_file;              /* NULL: BELLJAR_TOKEN, or none */
    const char *flags[REMOTE_FLAGS_MAX]; /* settings that were given on the command line */
    size_t n_flags;
    bool is_profile_usual; /* `profile` among them was not: a session that is open keeps its own */
    bool is_local;         /* something is asked for that only a run of our own has */
    bool is_detached;      /* it is started there, and left alone */
    struct remote_job job; /* it is accepted there as a durable job */
    bool is_attached;      /* the session was found: it is not opened if it is gone */
    int ended_by;          /* SIGTERM or SIGHUP, which cancelled the last run; 0: none did */
    json_t *files;         /* fields that are added to the request; NULL: none */
    struct consent *consent;       /* who is asked what the server asks; NULL: nobody */
    struct run_terminal *terminal; /* of a command that has one; NULL: none */
    void (*on_line)(void *user);   /* a line was typed: the cursor is at the left; or NULL */
    void *on_line_user;

    /* --- its own --- */
    struct client client;
    char *socket;
    char *own_session; /* opened for one command, and ended after it; or NULL */
    char run_id[64];
    struct buf typed;    /* of a line so far (cli/remote_line.h) */
    json_t *result;      /* as it came */
    uint64_t dropped[2]; /* bytes of stdout and stderr that the server did not keep */
};

/* Reads the environment for what the command line does not set. */
void remote_init(struct remote *remote);
void remote_done(struct remote *remote);

/* Whether it is to be run there. With `auto` only when this user's server answers, and nothing is
 * asked for that only a run of our own has. */
bool remote_is_wanted(struct remote *remote, const struct config *config);

/* The body of a request for that program. */
int remote_body(const struct remote *remote, const struct config *config,
                const struct run_request *asked, json_t *body, struct error *err);

/* Finds the session, which has to be there, for cells that follow. *ret_session: as the server
 * describes it; the caller's. */
int remote_attach(struct remote *remote, const struct config *config,
                  const struct run_request *asked, json_t **ret_session, struct error *err);

/* Runs what is asked for; afterwards the result is in the run. run->on_event is told what happens;
 * one that answers by remote_cancel() stops it. The first signal does so, too; the second gives up.
 */
int remote_run(struct remote *remote, const struct config *config, const struct run_request *asked,
               struct run *run, struct error *err);
/* Starts it there, or has it accepted as a durable job, and leaves it: *ret_begun has its `id`. The
 * caller's. */
int remote_start(struct remote *remote, const struct config *config,
                 const struct run_request *asked, json_t **ret_begun, struct error *err);

void remote_cancel(struct remote *remote);

/* Adds output that a server sent, and masked, to the run; run->on_event is told. */
void remote_add_text(struct run *run, bool is_stderr, const char *text, size_t len);

/* The error in an event of a server, whose texts are the server's. Always -1. */
int remote_take_error(const json_t *data, struct error *err);

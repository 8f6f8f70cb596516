/* Runs a program on a server: `belljar run --server` and `--session`.
 *
 * A server is used only when it is asked for, so that nothing but the command line and its
 * environment decides where a program runs, and with whose settings. There the server's settings
 * and the token's rights count; of ours only what is said on the command line is sent along.
 */
#pragma once

#include <jansson.h>

#include "admit/request.h"
#include "base/config.h"
#include "base/run.h"
#include "http/client.h"

#define REMOTE_FLAGS_MAX 32
#define REMOTE_TOKEN_MAX 256

/* A server's message about a missing token is meant for HTTP clients. */
#define REMOTE_TOKEN_HINT "give the server's token with `--token-file FILE`, or as BELLJAR_TOKEN"

struct consent; /* cli/consent.h */

struct remote {
    const char *server;                  /* an address, `auto`, or NULL: this user's Unix socket */
    const char *session;                 /* its name or id; NULL: a sandbox of its own */
    const char *token_file;              /* NULL: BELLJAR_TOKEN, or none */
    const char *flags[REMOTE_FLAGS_MAX]; /* settings that were given on the command line */
    size_t n_flags;
    struct consent *consent; /* who is asked what the server asks; NULL: nobody */

    /* --- its own --- */
    struct client client;
    char *socket;
    char run_id[64];
    json_t *result;      /* as it came */
    uint64_t dropped[2]; /* bytes of stdout and stderr that the server did not keep */
};

/* Reads the environment for what the command line does not set. */
void remote_init(struct remote *remote);
void remote_done(struct remote *remote);

/* For a command that only talks to servers: NULL is this user's Unix socket, as is `auto`. */
const char *remote_server_of_environment(void);

/* Whether it is to be run there. With `auto` only when this user's server answers, and nothing is
 * asked for that only a run of our own has. */
bool remote_is_wanted(struct remote *remote, const struct config *config);

/* One line, of a file. */
int remote_read_token(const char *path, char token[REMOTE_TOKEN_MAX], struct error *err);

/* Runs what is asked for; afterwards the result is in the run. run->on_event is told what happens;
 * one that answers by remote_cancel() stops it. The first signal does so, too; the second gives up.
 */
int remote_run(struct remote *remote, const struct config *config, const struct run_request *asked,
               struct run *run, struct error *err);
void remote_cancel(struct remote *remote);

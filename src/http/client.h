/* The other end of the HTTP service, for commands: one request, one JSON answer or one stream of
 * events, over the Unix socket of this user's server or to an address. It waits; a command has
 * nothing else to do. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include <jansson.h>

#include "base/address.h"
#include "base/error.h"

struct client {
    char *socket; /* NULL: TCP */
    struct host host;
    uint16_t port;
    bool is_tls;
    char *token; /* NULL: none is sent */
};

/* `url`: http://HOST[:PORT], https://… or unix:PATH, or NULL for the socket at `socket_path`.
 * `token` may be NULL; it does not travel in clear beyond this machine. */
int client_init(struct client *client, const char *url, const char *socket_path, const char *token,
                struct error *err);
void client_done(struct client *client);

/* Whether a failed call failed because nothing answers there, and not by a server's words. */
bool client_is_unreachable(const struct error *err);

/* An error of the server becomes ours, with its words. *ret_answer: NULL when there was no body;
 * the caller's. E_NOT_FOUND with a hint when no server listens. */
int client_call(const struct client *client, const char *method, const char *path,
                const json_t *body, json_t **ret_answer, struct error *err);

/* --- files --- */

/* Told how many bytes of how many have gone; `all` is UINT64_MAX where it is not known. NULL:
 * nobody is. */
typedef void (*client_progress_fn)(void *user, uint64_t done, uint64_t all);

/* PUT, with the `size` bytes of the file `fd`, which is read to there. */
int client_put(const struct client *client, const char *path, int fd, uint64_t size,
               client_progress_fn progress, void *user, struct error *err);

/* GET: the body goes to `fd`, however large it is. */
int client_get(const struct client *client, const char *path, int fd, client_progress_fn progress,
               void *user, struct error *err);

/* --- events --- */

struct client_stream;

#define CLIENT_ID_SIZE 64

/* Whether the text is one that a server gives out as an id: a few letters, digits, `_` and `-`. */
bool client_is_id(const char *text);

/* A request that is answered with events; `body` may be NULL. */
int client_open(const struct client *client, const char *method, const char *path,
                const json_t *body, struct client_stream **ret_stream, struct error *err);
void client_close(struct client_stream *stream);

/* The next event: 1 and *ret_name (until the next call) and *ret_data (the caller's); 0: there are
 * no more; 2: a signal came while it waited with that mask, 3: the other descriptor can be read;
 * ask again. */
int client_next(struct client_stream *stream, const sigset_t *mask, const char **ret_name,
                json_t **ret_data, struct error *err);

/* A descriptor that ends the wait, too; -1: none. */
void client_also_wait_for(struct client_stream *stream, int fd);

/* "/v1/sessions/" and such with a name behind it, as it may stand in a path. The caller's. */
char *client_path(const char *before, const char *name, const char *after);

/* One HTTP exchange as a handler sees it: what was asked, and the ways to answer.
 *
 * A handler never waits. It answers at once, or keeps the request, sets on_gone, and answers later
 * from the loop. Every answering call but request_begin() and request_write() ends the request: the
 * pointer is dead afterwards. So it is after on_gone: the client is gone, nobody reads an answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/hint.h"
#include "base/loop.h"
#include "base/share.h"
#include "base/shared.h"
#include "http/idempotency_key.h"
#include "http/request_rules.h"

struct caller;
struct http_connection;
struct multipart; /* http/multipart.h */
struct route;
struct router;

#define REQUEST_PARAMS_MAX 2
#define REQUEST_OWNER_MAX  64

/* "00-" trace "-" span "-" flags (W3C Trace Context, level 1), and the NUL. */
#define REQUEST_TRACE_SIZE 56

/* Output that waits for its reader: past the upper mark a stream is not fed any more, below the
 * lower one on_drained says that there is room. */
#define REQUEST_HIGH (256 * KIB)
#define REQUEST_LOW  (64 * KIB)

struct request {
    struct http_connection *connection;
    char *head_text; /* what `head` points into: the fields as the listener sent them */
    struct http_head head;
    char *path_text;    /* of head.path, where the name of the host stands for a path; or NULL */
    size_t path_added;  /* bytes at its beginning that the client did not send */
    uint16_t host_port; /* that the name of the host has (api/host_name.h); 0: none */
    char host_id[64];   /* the sandbox that it names; "": none */
    bool is_unix;       /* came over the Unix socket, from a process of this user */
    bool is_cluster;    /* came from the cluster: is_unix is false */
    uid_t peer_uid;
    uint16_t service; /* of the socket by which it came (http_listen_for()); 0: the usual ones */

    /* --- filled by routing (api/router.c) --- */
    const struct route *route;
    char *params[REQUEST_PARAMS_MAX]; /* {names} of the route's path, decoded, in order */
    json_t *query;                    /* an object, checked against the route's schema */
    json_t *json;                     /* the body, likewise; NULL: the route takes none */
    bool is_loaded;                   /* by the route's `load`, into json or: */
    json_t *mistake;
    struct multipart *parts; /* of a body that came as a form, or NULL */
    char owner[REQUEST_OWNER_MAX];
    struct caller *caller; /* who asks (admit/caller.h); NULL: the route is for everybody */
    unsigned generation;   /* of the caller, when the token was checked */
    unsigned page;         /* the number of a page's token (admit/page_tokens.h), or 0 */
    char traceparent[REQUEST_TRACE_SIZE]; /* that came and is well-formed; "": none did */
    struct idempotency_key idempotency;   /* under which it is asked; is_set: there is one */
    bool is_repeat;                       /* the answer says that it was given before */
    struct share_account *account;        /* whose memory it takes; NULL: nobody's in particular */
    size_t *counted;  /* goes down by one with the request; NULL: nothing does */
    unsigned retry_s; /* what 429 and 503 say as Retry-After; 0: a second */
    bool is_cors;     /* its page may read the answer: `origins` has it */
    void *api;        /* what all handlers share */
    /* Answers a failure in the words of another protocol, and empties the error; NULL: in ours. */
    void (*on_error)(struct request *request, int status, struct error *err);

    struct buf body;
    uint64_t body_limit;

    struct loop_work work; /* whole, and waits in the line of its caller (api/router.c) */
    struct router *router;

    /* --- set by the handler --- */
    /* Instead of collecting the body: its pieces as they come. A failure is the answer. */
    int (*on_piece)(struct request *request, const void *data, size_t len, struct error *err);
    bool takes_itself; /* pieces count as waiting until request_taken() */
    /* After request_upgrade(): what the client sends. `flags` are those of a piece of a WebSocket
     * message, or 0. Counts as waiting until request_taken(). -1: the listener must not have let it
     * through. */
    int (*on_bytes)(struct request *request, unsigned flags, const void *data, size_t len);
    /* It broke the rules of WebSocket: the reason for the end. Nothing more comes. */
    void (*on_broken)(struct request *request, int code);
    void (*on_stop)(struct request *request); /* the server stops: end it soon; upgraded ones */
    void (*on_gone)(struct request *request);
    void (*on_drained)(struct request *request);
    void *user;
};

/* --- answers --- */

/* Takes the value over. */
void request_answer_json(struct request *request, int status, json_t *value);

/* Answers with further headers: lines with their CR LF, or NULL. */
void request_answer_json_with(struct request *request, int status, const char *headers,
                              json_t *value);

/* JSON that is already text. */
void request_answer_text(struct request *request, int status, const char *text, size_t len);

/* Answers with a text that may be long: beyond REQUEST_COPIED bytes it is not copied. */
#define REQUEST_COPIED (64 * KIB)
void request_answer_shared(struct request *request, int status, struct shared *text);

/* The status of the error's code. Empties the error. */
void request_answer_error(struct request *request, struct error *err);

/* Answers with a status of HTTP's own. `headers`: lines with their CR LF, or NULL. */
void request_answer_error_as(struct request *request, int status, const char *headers,
                             struct error *err);

void request_answer_empty(struct request *request, int status);

/* --- answers that come in pieces --- */

#define REQUEST_UNKNOWN_LENGTH UINT64_MAX

/* `length`: of all pieces together; REQUEST_UNKNOWN_LENGTH: the client sees the end when it comes.
 */
void request_begin(struct request *request, int status, const char *type, const char *headers,
                   uint64_t length);

/* Begins an answer that another server has given: its status and headers, without those of the
 * connection and of the length. HEAD, 204 and 304 have no body, whatever the length. */
void request_relay(struct request *request, int status, const char *headers, uint64_t length);

/* Returns false when the reader is behind and should be given nothing more until on_drained. */
bool request_write(struct request *request, const void *data, size_t len);

/* Answers with the first `len` bytes of a text, which are not copied. */
bool request_write_shared(struct request *request, struct shared *data, size_t len);
void request_end(struct request *request);

/* Breaks it off in a way that the client notices. */
void request_abort(struct request *request);

/* Counts bytes of the body that a handler keeps, like those that are collected; and no longer. */
int request_hold(struct request *request, size_t len, struct error *err);
void request_release(struct request *request, size_t len);

/* --- another protocol --- */

/* Answers 101. `headers`: lines with their CR LF. From here on request_write() sends bytes as they
 * are and on_bytes gets them: payload of WebSocket messages of at most `max_message` bytes, or with
 * 0 whatever comes. request_end() closes the connection behind what was written. */
void request_upgrade(struct request *request, const char *headers, uint32_t max_message);

/* A piece of so many bytes is done with (on_bytes, or on_piece with takes_itself). */
void request_taken(struct request *request, size_t len);

struct span request_header(const struct request *request, const char *name);

/* A text of the query, or NULL. */
static inline const char *request_query(const struct request *request, const char *name)
{
    return json_string_value(json_object_get(request->query, name));
}

/* The reader of its hints: `belljar` itself, which sends this, shows them at a terminal. */
#define REQUEST_AGENT "belljar-cli"
enum hint_reader request_reader(const struct request *request);

/* The address of its client, for the log (http_peer_text()). */
void request_peer(const struct request *request, char *text, size_t size);

/* The one table of what the server answers to, and the way from a request to its handler.
 *
 * A row is a method, a path and a handler, with the shape of its body and query. The table makes
 * the routing, 405 with `Allow`, the checks before a handler sees anything, and /openapi.json. A
 * new route is a row and a function.
 *
 * Order of the checks, each before anything of the body is read: Host (403), Origin (403), path
 * (404), method (405), token (401), query (400), content type (415), length (413).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "admit/auth.h"
#include "api/metrics.h"
#include "api/schema.h"
#include "base/config.h"
#include "base/loop.h"
#include "http/request.h"

/* ROUTE_OPERATOR: figures of the whole server. */
enum route_access { ROUTE_TOKEN, ROUTE_PUBLIC, ROUTE_OPERATOR };

#define ROUTE_ANY_TYPE "*/*"

struct route {
    const char *method; /* NULL ends a table */
    const char *path;   /* "/v1/sessions/{session}/files/{path...}": the last one takes slashes */
    void (*handle)(struct request *request);
    /* A body that is taken in pieces: sets on_piece and on_gone. `handle` follows at its end. */
    int (*begin)(struct request *request, struct error *err);
    const struct schema_field *body;  /* of a JSON object; NULL: the route takes no body */
    const struct schema_field *query; /* NULL: none */
    uint64_t max_body;
    bool takes_files; /* the body may also come as a form, with files (api/form.h) */
    bool reads_body;  /* the handler reads and checks the JSON of request->body itself */
    /* Reads a large body of such a route, a few milliseconds at a time: fills request->json, or
     * request->mistake, and sets is_loaded. NULL: the handler reads it in one go. */
    json_t *(*load)(const char *text, size_t len, json_t **ret_mistake);
    bool passes_over; /* and what it does not know */
    enum route_access access;
    /* Finds the caller of a route whose clients send credentials in a way of their own (api/
     * credential.h); NULL: by its token. 1: the request has been answered. */
    int (*identify)(struct request *request, struct caller **ret_caller, struct error *err);
    /* Answers a failure in that protocol's words (struct request, on_error); NULL: in ours. */
    void (*on_error)(struct request *request, int status, struct error *err);
    bool passes_query;     /* it is somebody else's, and not looked at */
    const char *body_type; /* another type than JSON that `body` may have, or ROUTE_ANY_TYPE */
    bool takes_encodings;  /* the handler reads `Content-Encoding` itself */
    bool takes_key;        /* knows `Idempotency-Key`; elsewhere a POST with one is refused */
    bool gives_lines;      /* answers `Accept: application/x-ndjson` with lines */
    bool streams;          /* answers `Accept: text/event-stream` with events */
    const char *answers;   /* which object of /openapi.json's components; NULL: no JSON */
    const char *type;      /* of an answer that is not JSON; NULL: there is none, or it is empty */
    bool has_ranges;       /* `Range` is answered with 206 */
    int status;            /* of a good answer */
    const char *summary;   /* one sentence, for /openapi.json */
    const char *tag;
    bool is_unlisted; /* of another protocol, which /openapi.json has no words for, or for a command
                         of Belljar's own alone */
};

struct api;

struct router {
    const struct route *const *tables; /* NULL at the end */
    const struct config *config;
    struct api *api;   /* for request->api */
    struct loop *loop; /* for large bodies; NULL: they are read in one go */
    struct metrics *metrics;
    struct recorder *recorder; /* engine/recorder.h */
    size_t max_per_caller;     /* requests at once, each on a connection of its own */
    struct loop_line line;     /* requests that need no token */
    uint64_t auth_logged_ns;   /* when the log was last told of a refused token */
    unsigned auth_unlogged;    /* refused since */
    bool is_stopping;
};

/* For struct http_options; `user` is the router. */
int route_on_head(void *user, struct request *request);
void route_on_whole(void *user, struct request *request);

/* Whether more than one caller is known. `user`: the router. */
bool route_has_others(void *user);

/* Whether the token that the request came with has not been removed since. Another token of the
 * same name is somebody else's. */
bool route_is_known(const struct request *request);

/* As route_is_known(), and looks whether the tokens have changed: for what comes on a connection
 * long after its head. */
bool route_is_still_known(const struct request *request);

/* Whether the client wants events, or lines of JSON. */
bool route_wants_events(const struct request *request);
bool route_wants_page(const struct request *request); /* a browser does */
bool route_wants_lines(const struct request *request);

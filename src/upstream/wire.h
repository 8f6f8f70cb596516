/* Transport of messages to another MCP server and back: the contract between the protocol
 * (upstream/upstream.c) and its two transports, a child with pipes (upstream/stdio.c) and HTTP
 * (upstream/http.c).
 *
 * Events come from the loop, never from within a call of ours. After on_end nothing more comes, and
 * the owner frees the wire, though not from within the event.
 */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/config_server.h"
#include "base/error.h"
#include "base/loop.h"

struct upstream_wire;

struct upstream_events {
    void (*on_message)(void *user, const json_t *message);
    /* The answer to that request will not come, or could not be read. */
    void (*on_lost)(void *user, uint64_t id, const struct error *err);
    void (*on_end)(void *user, const struct error *err);
};

struct upstream_wire_ops {
    /* `id`: of a request, 0 for what is not answered. */
    int (*send)(struct upstream_wire *wire, const json_t *message, uint64_t id, struct error *err);
    /* Nobody waits for that answer any more. */
    void (*forget)(struct upstream_wire *wire, uint64_t id);
    void (*free)(struct upstream_wire *wire);
};

struct upstream_wire {
    const struct upstream_wire_ops *ops;
    const struct upstream_events *events;
    void *user;
    bool is_modern;      /* what requests have to look like; set by the owner */
    const char *version; /* of the protocol that was agreed on, or NULL; the owner's */
    int patience_ms;     /* how long free() may wait for a program to end by itself; 0 */
};

struct resolver; /* base/resolve.h */

/* `resolver`: for the name of its host, where it is one of HTTP. */
int upstream_stdio_open(struct loop *loop, struct resolver *resolver,
                        const struct config_server *server, const struct upstream_events *events,
                        void *user, struct upstream_wire **ret_wire, struct error *err);
/* The operator's own functions: it has neither a command nor a URL. */
int upstream_host_open(struct loop *loop, struct resolver *resolver,
                       const struct config_server *server, const struct upstream_events *events,
                       void *user, struct upstream_wire **ret_wire, struct error *err);
int upstream_http_open(struct loop *loop, struct resolver *resolver,
                       const struct config_server *server, const struct upstream_events *events,
                       void *user, struct upstream_wire **ret_wire, struct error *err);

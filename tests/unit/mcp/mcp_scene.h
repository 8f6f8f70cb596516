/* A server with a few tools, and a transport that keeps what it is given: for the tests and the
 * fuzz target of the dispatcher. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/loop.h"
#include "mcp/call.h"
#include "mcp/mcp.h"

struct mcp_scene {
    struct loop *loop;
    struct mcp_server *server;
    struct mcp_peer *peer;
    struct caller caller;
    json_t *sent;            /* array: all that came back, in order; notices of the peer as well */
    size_t n_open;           /* exchanges that are not finished */
    int status;              /* of the last that was */
    json_t *headers;         /* object, or NULL: there are none */
    struct mcp_call *parked; /* the call of the tool `park`, or NULL */
    size_t n_cancelled;
};

int mcp_scene_open(struct mcp_scene *scene);
void mcp_scene_close(struct mcp_scene *scene);

/* Hands the text to the peer, as a transport does. */
void mcp_scene_say(struct mcp_scene *scene, const char *text, size_t len);

/* The exchanges that are open are gone. */
void mcp_scene_leave(struct mcp_scene *scene);

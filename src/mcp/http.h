/* MCP over HTTP: /mcp for both eras (Streamable HTTP), and /sse with /messages for clients of
 * 2024-11-05. What the messages say is not known here (mcp/mcp.h).
 *
 * Legacy clients get a session with their first message, `Mcp-Session-Id`, and may come back to any
 * of its streams behind the last event they saw; a lost connection cancels nothing. A modern
 * request stands for itself, and closing its connection cancels it.
 *
 * A request is answered in one piece of JSON where its answer is all there is to say and comes
 * soon, else as events.
 */
#pragma once

#include <stddef.h>

#include "api/router.h"
#include "base/loop.h"
#include "mcp/mcp.h"

struct mcp_http;

struct mcp_http_options {
    struct loop *loop;
    struct mcp_server *server; /* outlives it */
    size_t max_sessions;       /* beyond, the one that has rested longest ends */
    uint64_t idle_ms;          /* after which a session that nobody reads ends */
};

int mcp_http_new(const struct mcp_http_options *options, struct mcp_http **ret_http,
                 struct error *err);

/* Before the server stops listening: streams that wait for news end, answers still come. */
void mcp_http_stop(struct mcp_http *http);

/* Ends everything that the owner has opened. */
void mcp_http_forget(struct mcp_http *http, const char *owner);

/* Ends everything. */
void mcp_http_free(struct mcp_http *http);

/* Rows of the table of routes; request->api is a struct api whose `mcp` this is. */
extern const struct route mcp_http_routes[];
extern const struct route mcp_sse_routes[];

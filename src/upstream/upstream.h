/* Other MCP servers, whose tools programs in sandboxes call: the client's side of the protocol, in
 * both eras (docs/guide/reach.md).
 *
 * A server is started, or connected to, when something is first asked of it. One that crashes is
 * started again when it is next needed, at growing intervals while it goes on crashing; one that
 * stops answering is ended. Whatever a server does harms the calls it was asked for and nothing
 * else: what it says is bounded, checked (upstream/message.h) and never followed.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/config_server.h"
#include "base/error.h"
#include "base/loop.h"

struct upstreams;
struct upstream_call; /* under way */

/* Exactly one of `value` (lent) and `err` is not NULL. From the loop, never from within the call
 * that asked. */
typedef void (*upstream_done)(void *user, const json_t *value, const struct error *err);

/* `servers` outlive it. Nothing is started yet. */
struct resolver; /* base/resolve.h */

int upstreams_new(struct loop *loop, struct resolver *resolver, const struct config_server *servers,
                  size_t n, struct upstreams **ret_upstreams, struct error *err);

/* Calls under way are dropped, programs ended. Accepts NULL. */
void upstreams_free(struct upstreams *upstreams);

size_t upstreams_count(const struct upstreams *upstreams);
const struct config_server *upstreams_at(const struct upstreams *upstreams, size_t i);

/* -1: there is none. */
int upstreams_find(const struct upstreams *upstreams, const char *name);

/* {"name", "state": "idle"|"starting"|"ready"|"failed", "error", "tools": 5, "calls": 0, "starts"};
 * the caller's. */
json_t *upstreams_status(const struct upstreams *upstreams, size_t i);

/* The server's tools: {"tools": […] as of upstream_tools_add(), "title", "instructions"}. NULL with
 * `err`: not now. `owner`, who may be NULL, has a share of the calls under way. */
struct upstream_call *upstreams_list(struct upstreams *upstreams, size_t server, const char *owner,
                                     upstream_done done, void *user, struct error *err);

/* The server's tools, as an array, once they are known; else NULL. */
const json_t *upstreams_tools(const struct upstreams *upstreams, size_t server);

/* The tool's description, once the server's list is known; NULL: no such tool. */
const json_t *upstreams_tool(const struct upstreams *upstreams, size_t server, const char *tool);

/* Calls a tool: upstream_result(). `arguments` is an object and only lent. */
struct upstream_call *upstreams_call(struct upstreams *upstreams, size_t server, const char *owner,
                                     const char *tool, const json_t *arguments, upstream_done done,
                                     void *user, struct error *err);

/* Nobody waits for it any more; `done` is not called. The server is told. */
void upstream_call_cancel(struct upstream_call *call);

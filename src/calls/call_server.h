/* Calls of tools of other MCP servers: "servers.NAME.TOOL" with the tool's arguments. */
#pragma once

#include "base/loop.h"
#include "upstream/upstream.h"

/* For every call from here on; NULL: there are no servers. Like the masker's settings it is one for
 * the whole process. */
void call_server_configure(struct loop *loop, struct upstreams *upstreams);

/* MCP over a pair of pipes: one message per line, in and out.
 *
 * Lines of any length up to MCP_MESSAGE_BYTES are read as they come, wherever reads cut them;
 * answers are written as fast as their reader takes them, and while it is behind, nothing more is
 * read. At the end of the input, running calls have a moment to be answered; then, or when the
 * output is closed, on_end is called.
 */
#pragma once

#include "base/group_sync.h"
#include "base/loop.h"
#include "mcp/mcp.h"

struct mcp_stdio;

struct mcp_stdio_options {
    struct loop *loop;
    struct mcp_server *server;
    struct group_sync *disk; /* answers wait for it (base/disk_hold.h); NULL: they do not */
    int in, out;             /* `out` does not block while this is open; both stay the caller's */
    const char *owner;
    struct caller *caller;
    void (*on_end)(void *user); /* once, from the loop; not the moment to free this */
    void *user;
};

int mcp_stdio_open(const struct mcp_stdio_options *options, struct mcp_stdio **ret_stdio,
                   struct error *err);

/* Ends the peer and with it everything that runs for it. */
void mcp_stdio_free(struct mcp_stdio *stdio);

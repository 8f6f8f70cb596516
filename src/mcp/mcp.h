/* The Model Context Protocol, whatever carries it: both eras, one table of methods.
 *
 * A *server* has the tables: tools, resources, prompts. A *peer* is one client as a transport knows
 * it: a pair of pipes, or an HTTP session. An *exchange* is one message that came from it and the
 * way back for what belongs to that message; it is the transport's, and embedded in what it keeps.
 * Transports know nothing of tools, and tools (mcp/call.h) nothing of transports.
 *
 * Legacy is 2024-11-05 to 2025-11-25: `initialize`, then a state per peer. Modern is 2026-07-28:
 * every request says what it needs in its `_meta`, and both may come over one pipe. Which it is
 * stands in the message (mcp_sort), for HTTP also in a header.
 *
 * Nothing here waits, and everything is called from the loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "admit/caller.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"
#include "wire/pack.h"

struct mcp_call;     /* mcp/call.h */
struct mcp_prompt;   /* mcp/call.h */
struct mcp_resource; /* mcp/call.h */
struct mcp_tool;     /* mcp/call.h */
struct mcp_peer;
struct mcp_server;

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25" /* the newest of them */

/* The longest message: a file of some megabytes in base64, or a program in escapes. */
#define MCP_MESSAGE_BYTES (16 * MIB)

enum mcp_error_code {
    MCP_PARSE_ERROR = -32700,
    MCP_INVALID_REQUEST = -32600,
    MCP_METHOD_NOT_FOUND = -32601,
    MCP_INVALID_PARAMS = -32602,
    MCP_INTERNAL_ERROR = -32603,
    MCP_RESOURCE_NOT_FOUND = -32002, /* legacy; MCP_INVALID_PARAMS in the modern era */
    MCP_HEADER_MISMATCH = -32020,
    MCP_MISSING_CAPABILITY = -32021,
    MCP_UNSUPPORTED_VERSION = -32022,
};

/* --- the server --- */

struct mcp_server_options {
    struct loop *loop;
    const char *name, *title, *version;

    /* The text that a client reads first, at most 2 KB: with `tools` listed, and with
     * `all_tools`. */
    const char *instructions, *all_instructions;

    /* Adds what is true of this caller alone, in front of them; optional. */
    void (*add_instructions)(const struct mcp_server *server, const struct caller *caller,
                             struct buf *out);

    /* Tables, NULL at the end; each may be NULL. They may change between messages: then
     * mcp_server_changed(). */
    const struct mcp_tool *const *tools;
    const struct mcp_tool *const *all_tools;     /* for peers that list all; NULL: `tools` */
    const struct mcp_tool *const *unlisted;      /* that can be called all the same */
    const struct mcp_resource *const *resources; /* templates too */
    const struct mcp_prompt *const *prompts;

    /* Resources beside those of the table, as entries of `resources/list` that are added to `list`;
     * optional. The call tells whose. */
    void (*list_resources)(struct mcp_call *call, json_t *list);

    /* A peer with a state is about to go. Optional. */
    void (*on_peer_end)(struct mcp_peer *peer);

    /* Tokens of a tool's answer, about; 0: no bound. An argument `max_tokens` sets another number
     * for one call. */
    size_t answer_tokens;

    /* How a reader calls a tool, for words about an answer that was cut. Optional. */
    int (*add_way)(const struct mcp_call *call, const char *tool, const char *arguments,
                   struct buf *out);

    uint64_t task_after_ms; /* then a call of a tool that may be one becomes a task, for clients
                               that take tasks */
    void *user;
};

int mcp_server_new(const struct mcp_server_options *options, struct mcp_server **ret_server,
                   struct error *err);

/* Ends subscriptions in an orderly way: their exchanges are finished. Calls go on. */
void mcp_server_stop(struct mcp_server *server);

/* Ends and removes the tasks of that owner: its name may be given to somebody else. */
void mcp_server_forget(struct mcp_server *server, const char *owner);

/* When its peers are gone. Tasks that still run are cancelled. */
void mcp_server_free(struct mcp_server *server);

void *mcp_server_user(const struct mcp_server *server);

/* Tells those who want to know. */
enum mcp_list { MCP_TOOLS, MCP_PROMPTS, MCP_RESOURCES };
void mcp_server_changed(struct mcp_server *server, enum mcp_list list);
void mcp_server_changed_for(struct mcp_server *server, const char *owner, enum mcp_list list);

/* That resource has changed. `owner`: only for that owner; NULL: for everybody. */
void mcp_server_updated(struct mcp_server *server, const char *owner, const char *uri);

/* --- messages --- */

/* Reads one message. NULL: *ret_answer is what to say (HTTP 400), the caller's. */
json_t *mcp_load(const char *text, size_t len, json_t **ret_answer);

enum mcp_era { MCP_LEGACY, MCP_MODERN };
enum mcp_kind { MCP_NOTHING, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE, MCP_BATCH };

struct mcp_sorted {
    enum mcp_era era;
    enum mcp_kind kind; /* MCP_NOTHING: no message; handing it on gets the right answer */
    bool is_initialize; /* a request, in the legacy era */
    const char *method; /* of the message; "": none */
    const json_t *id;   /* or NULL */
};

/* `version`: the header MCP-Protocol-Version, data NULL without one. */
void mcp_sort(const json_t *message, struct span version, struct mcp_sorted *ret_sorted);

/* {"jsonrpc","id","error"}: for what a transport refuses itself. `id` may be NULL. */
json_t *mcp_error_json(const json_t *id, int code, const char *message);

/* --- one client --- */

struct mcp_peer_options {
    const char *owner; /* nobody else finds what the owner opens */
    struct caller *caller;
    bool lists_all; /* all_tools */

    /* Legacy: what belongs to no request, such as change notices. To the GET stream, or stdout. The
     * message is lent. NULL: there is no such way. */
    void (*send)(void *user, const json_t *message);
    void *user;
};

int mcp_peer_new(struct mcp_server *server, const struct mcp_peer_options *options,
                 struct mcp_peer **ret_peer, struct error *err);

/* Cancels what runs for it (tasks excepted) and ends its state. Its exchanges are not called any
 * more. Not from within a callback of an exchange, but for the last thing that finish() does. */
void mcp_peer_free(struct mcp_peer *peer);

/* The version agreed on by `initialize`, or NULL before. */
const char *mcp_peer_version(const struct mcp_peer *peer);

/* --- one message and its way back --- */

struct mcp_exchange {
    /* --- filled by the transport --- */

    /* A message that belongs to this one and is not its answer: progress, logs, questions of the
     * server (legacy). It is lent. */
    void (*send)(struct mcp_exchange *exchange, const json_t *message);

    /* The end, exactly once for each exchange handed in, maybe from within mcp_peer_receive(). The
     * exchange is the transport's again. `answer` is lent; NULL: there is none, because the message
     * wanted none (status 202) or was cancelled (status 0: end the stream). `status`: of HTTP,
     * where nothing has been sent before. */
    void (*finish)(struct mcp_exchange *exchange, const json_t *answer, int status);

    /* A header by its name in lower case, without white space at its ends; data NULL: there is
     * none. The pointer itself is NULL where there are no headers, and nothing is checked. */
    struct span (*header)(const struct mcp_exchange *exchange, const char *name);

    /* Progress and logs may be left out now: the reader is behind. Optional. */
    bool (*is_behind)(const struct mcp_exchange *exchange);

    /* The server has nothing to say for a while: a transport that can be returned to may end the
     * connection. Optional. */
    void (*rest)(struct mcp_exchange *exchange);

    /* --- filled by the dispatcher, before it calls any of these --- */
    enum mcp_era era;
    struct mcp_call *call; /* what came of it, one of these or none */
    struct mcp_listen *listen;
    struct mcp_batch *batch;
};

/* Takes the message over. */
void mcp_peer_receive(struct mcp_peer *peer, json_t *message, struct mcp_exchange *exchange);

/* Nobody reads this one any more, and neither send() nor finish() will be called. What it asked for
 * is cancelled: a transport calls this when the stream of a modern request is closed. One of the
 * legacy era goes on, and its answer is kept for the client's return: for those do not call it,
 * unless nobody can return. */
void mcp_exchange_gone(struct mcp_exchange *exchange);

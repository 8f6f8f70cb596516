/* Tools, resources and prompts, and one call of them.
 *
 * A handler is called with the call, whose arguments have been checked against its table. It
 * answers, once, with one of the functions below, at once or later; the call is gone then. A call
 * that has not been answered may be cancelled: on_cancel is called, and the call is gone as well.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <jansson.h>

#include "api/schema.h"
#include "base/run.h"
#include "http/request.h"
#include "mcp/mcp.h"

/* How long an answer may be, for any tool. */
/* clang-format off */
#define MCP_TOKENS_FIELD                                                                           \
    {"max_tokens", SCHEMA_INTEGER, .min = 200, .max = 1e7, .example = "4000",                      \
     .help = "length of the answer (default 2000)"}
/* clang-format on */

/* annotations */
enum {
    MCP_READ_ONLY = 1,
    MCP_DESTRUCTIVE = 2,
    MCP_IDEMPOTENT = 4,
    MCP_OPEN_WORLD = 8,
};

struct mcp_tool {
    const char *name, *title;
    const char *description;          /* at most 2 KB */
    const struct schema_field *input; /* NULL: the handler checks */
    const char *input_json;           /* text of the JSON Schema that is listed; NULL: of `input` */
    const char *output_json;          /* or NULL */
    unsigned hints;
    const char *meta_json; /* of the entry's `_meta`, or NULL */
    void (*call)(struct mcp_call *call);
    bool may_be_task;  /* after a while, for clients that take tasks */
    bool must_be_task; /* clients that take none are refused; it is one from the start */
    bool is_brief;     /* listed with no more than a model needs */
};

struct mcp_resource {
    const char *uri; /* with `{`: a template (RFC 6570, simple names and {+names}) */
    const char *name, *title, *description, *mime;
    void (*read)(struct mcp_call *call); /* call->uri is what is asked for */

    /* Values for a variable of the template; optional. Adds strings to `values`. */
    void (*complete)(struct mcp_call *call, const char *variable, const char *value,
                     json_t *values);
};

struct mcp_prompt_argument {
    const char *name, *description; /* name NULL: the end */
    bool is_required;
};

struct mcp_prompt {
    const char *name, *title, *description;
    const struct mcp_prompt_argument *arguments; /* or NULL */
    void (*get)(struct mcp_call *call);          /* call->arguments has strings only */
    void (*complete)(struct mcp_call *call, const char *argument, const char *value,
                     json_t *values);
};

enum mcp_log_level {
    MCP_LOG_DEBUG,
    MCP_LOG_INFO,
    MCP_LOG_NOTICE,
    MCP_LOG_WARNING,
    MCP_LOG_ERROR,
    MCP_LOG_CRITICAL,
    MCP_LOG_ALERT,
    MCP_LOG_EMERGENCY,
    MCP_LOG_OFF, /* nobody asked for any */
};

struct mcp_task;
struct spool;

struct mcp_call {
    struct mcp_server *server;
    struct mcp_peer *peer; /* NULL: it goes on as a task, whose client is anywhere */
    char owner[REQUEST_OWNER_MAX];
    struct caller *caller;
    enum mcp_era era;
    const struct mcp_tool *tool; /* one of these is not NULL */
    const struct mcp_resource *resource;
    const struct mcp_prompt *prompt;
    const json_t *params;
    const json_t *arguments;    /* an object, maybe empty, never NULL */
    const char *uri;            /* of a resource */
    size_t max_tokens;          /* of a tool's answer; 0: no bound */
    uint64_t shown[2];          /* bytes of stdout and stderr that earlier answers have shown */
    bool is_brief;              /* the tool that was called is of the short list: text is enough */
    const json_t *capabilities; /* of the client, an object */

    /* The answers to mcp_call_ask(), by key, and the state it was given. The handler is called
     * again with them. NULL the first time. */
    json_t *answers, *state;

    /* --- set by the handler --- */
    /* The client does not want it any more. It does not answer. */
    void (*on_cancel)(struct mcp_call *call);
    /* About once a second while it runs; optional. It does not answer. */
    void (*on_tick)(struct mcp_call *call);
    void *user;

    /* --- the dispatcher's --- */
    TAILQ_ENTRY(mcp_call) link;    /* of the peer */
    struct mcp_exchange *exchange; /* NULL: it is a task */
    struct mcp_task *task;
    json_t *id;
    json_t *owned_params, *owned_arguments, *owned_capabilities;
    const json_t *progress_token; /* or NULL */
    double last_progress;
    enum mcp_log_level log_level;
    json_t *questions; /* legacy: those that wait for an answer, by the id they were sent with */
    uint64_t begun_ns;
};

/* --- answers; each takes what it is given and ends the call --- */

/* The whole result, such as {"content": […]}; what every result has is added. */
void mcp_call_answer(struct mcp_call *call, json_t *result);

/* A tool's answer that is one text. */
void mcp_call_answer_text(struct mcp_call *call, const char *text, bool is_error);

/* A tool's failure, in words that a model can act on. Empties the error. For resources and prompts
 * it is a protocol error. */
void mcp_call_fail(struct mcp_call *call, struct error *err);

/* An error of the protocol. `data` may be NULL. */
void mcp_call_refuse(struct mcp_call *call, int code, const char *message, json_t *data);

/* There is no such resource, as each era says it. */
void mcp_call_not_found(struct mcp_call *call);

/* Asks the client, if it has what that takes (else the call is refused): `requests` is {key:
 * {"method","params"}}, `state` anything or NULL. The handler is called again when the answers are
 * there; in the modern era as a new call of the client's, which may come with fewer or other
 * answers. */
void mcp_call_ask(struct mcp_call *call, json_t *requests, json_t *state);

/* --- before the answer --- */

/* Whether the client said that it can do this: "elicitation", "sampling", "roots",
 * "extensions.io.modelcontextprotocol/tasks". */
bool mcp_call_client_has(const struct mcp_call *call, const char *capability);

/* Returns it, or the call is refused and gone. */
bool mcp_call_require(struct mcp_call *call, const char *capability);

/* Only if the client wants it. Never goes back: what is not more than before is counted up a
 * little. `total` 0: unknown. `message` may be NULL. */
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message,
                       size_t len);
bool mcp_call_wants_progress(const struct mcp_call *call);

/* Takes the data. */
void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger,
                  json_t *data);

/* A tool by its name, listed or not; NULL: there is none. */
const struct mcp_tool *mcp_tool_find(const struct mcp_server *server, const char *name);

/* Whether the client sees that tool in its list. */
bool mcp_call_lists(const struct mcp_call *call, const char *name);

/* Lists the tool for the client of this call from now on. False: it is listed already, or the
 * client has no list of its own. */
bool mcp_call_enable(struct mcp_call *call, const struct mcp_tool *tool);

/* Tells the client that its list of tools is another one. */
void mcp_call_tools_changed(struct mcp_call *call);

/* Goes on as a call of that tool. It ends the call in any case. */
void mcp_call_redirect(struct mcp_call *call, const struct mcp_tool *tool, const json_t *arguments);

/* A hint without what the reader of this call's answer cannot do. */
int mcp_add_hint(const struct mcp_call *call, const char *hint, struct buf *out);
json_t *mcp_hint_json(const struct mcp_call *call, const char *hint);

/* --- how long an answer may be --- */

/* How much of the text, from its beginning, is about so many tokens. Ends at a whole character.
 * *ret_tokens, if it is wanted: how many that is. Looks at no more than it returns. */
size_t mcp_tokens_fit(const char *text, size_t len, size_t budget, size_t *ret_tokens);

/* About how many there are, at most `most` + 1. */
size_t mcp_tokens(const char *text, size_t len, size_t most);

/* Chooses the middle of a text to leave out, so that the rest is about so many tokens: everything
 * from *ret_head up to *ret_tail. At the ends of lines where they are near. */
void mcp_cut(const char *text, size_t len, size_t budget, size_t *ret_head, size_t *ret_tail);

/* The object, or a copy that fits into so many tokens and says where the whole is. The caller's. */
json_t *mcp_bound_object(struct mcp_call *call, json_t *object, size_t budget);

/* An answer that was cut, as a whole; NULL: there is none with that id. */
const struct spool *mcp_saved_answer_find(const struct mcp_server *server, const char *owner,
                                          const char *id);

/* From here on it is a task: the client has been told, and asks for it later. False: it takes none,
 * or the call is no tool's. */
bool mcp_call_become_task(struct mcp_call *call);

/* --- runs that go on after their answer --- */

/* How many of one owner's may go on at a time. */
#define MCP_LEFT_MAX 16

bool mcp_left_has_room(const struct mcp_server *server, const char *owner);

/* Answers the client with the result, and goes on without it: the call's own answer is kept, to be
 * found by that name. One of the legacy era ends with its connection. False: there is no room, or
 * it is a task already, and the client still waits. Takes the result in any case. */
bool mcp_call_leave(struct mcp_call *call, const char *name, json_t *result);

/* Finds such a call. *ret_result: its answer, lent; NULL: it goes on, or was cancelled. False:
 * there is none with that name. */
bool mcp_left_find(struct mcp_server *server, const char *owner, const char *name,
                   bool *ret_goes_on, json_t **ret_result);

/* See struct mcp_exchange. */
void mcp_call_rest(struct mcp_call *call);

/* A place for what a handler keeps with the peer; its on_peer_end frees it. */
void *mcp_peer_user(const struct mcp_peer *peer);
void mcp_peer_set_user(struct mcp_peer *peer, void *user);
const char *mcp_peer_owner(const struct mcp_peer *peer);
struct mcp_server *mcp_peer_server(const struct mcp_peer *peer);

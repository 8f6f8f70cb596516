/* Shared by the files of the dispatcher (src/mcp/), and by nobody else. */
#pragma once

#include <limits.h>
#include <sys/queue.h>
#include <time.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/sha256.h"
#include "base/spool.h"
#include "mcp/call.h"
#include "mcp/mcp.h"

#define META             "io.modelcontextprotocol/"
#define META_VERSION     META "protocolVersion"
#define META_CAPS        META "clientCapabilities"
#define META_LOG_LEVEL   META "logLevel"
#define META_SERVER_INFO META "serverInfo"
#define META_LISTEN_ID   META "subscriptionId"
#define EXTENSION_TASKS  META "tasks"

/* Requests that run at once for one peer: a client that wants more is refused, not queued. */
#define MCP_CALLS_MAX 256

/* URIs one peer is subscribed to, how long they may be (no file's is longer), and subscriptions it
 * has open. */
#define MCP_WATCHED_MAX 256
#define MCP_WATCHED_LEN ((size_t)5 * PATH_MAX)
#define MCP_LISTENS_MAX 32

/* Entries of one page of a list. */
#define MCP_PAGE 100

/* Tools that one peer may have listed on request. */
#define MCP_ENABLED_MAX 64

/* Tasks: the time they are kept after their end, their number, the polling interval. */
#define MCP_TASK_TTL_MS  ((uint64_t)60 * 60 * 1000)
#define MCP_TASKS_MAX    256
#define MCP_TASK_POLL_MS 1000

enum { ERA_LEGACY = 1 << MCP_LEGACY, ERA_MODERN = 1 << MCP_MODERN };

struct mcp_listen {
    LIST_ENTRY(mcp_listen) link;
    struct mcp_peer *peer;
    struct mcp_exchange *exchange;
    json_t *id;
    bool wants[3];    /* by enum mcp_list */
    json_t *uris;     /* array */
    json_t *task_ids; /* array */
};

struct mcp_peer {
    struct mcp_server *server;
    TAILQ_ENTRY(mcp_peer) link;
    char owner[REQUEST_OWNER_MAX];
    struct caller *caller;
    void (*send)(void *user, const json_t *message);
    void *send_user;
    void *user;

    TAILQ_HEAD(, mcp_call) calls;
    size_t n_calls;
    LIST_HEAD(, mcp_listen) listens;
    size_t n_listens;
    LIST_HEAD(, mcp_batch) batches;
    bool lists_all;

    /* --- of the legacy era --- */
    const char *version;  /* NULL: before `initialize` */
    bool is_initialized;  /* the client has said so */
    json_t *capabilities; /* of the client, or NULL */
    enum mcp_log_level log_level;
    json_t *watched; /* object: URIs it is subscribed to */
    unsigned n_asked;
    const struct mcp_tool *enabled[MCP_ENABLED_MAX]; /* listed besides, on request */
    size_t n_enabled;
};

struct mcp_server {
    struct mcp_server_options options;
    TAILQ_HEAD(, mcp_peer) peers;
    struct loop_watch *tick;
    bool is_ticking;
    TAILQ_HEAD(, mcp_task) tasks;
    size_t n_tasks;
    struct spool_directory *answer_spools; /* answers that were cut, or NULL */
    TAILQ_HEAD(, mcp_saved_answer) saved;
    uint8_t key[SHA256_BYTES]; /* of what clients keep for us */
};

struct mcp_method;

/* A request on its way to its handler, which ends it: with mcp_request_*(), or by making a call of
 * it. */
struct mcp_request {
    struct mcp_server *server;
    struct mcp_peer *peer;
    struct mcp_exchange *exchange;
    enum mcp_era era;
    const struct mcp_method *method;
    json_t *message; /* the handler may take it (set it to NULL) */
    json_t *id;
    const json_t *params; /* an object */
    const json_t *meta;   /* an object */
};

struct mcp_method {
    const char *name;
    unsigned eras;
    void (*handle)(struct mcp_request *request);
    const char *subject; /* the parameter that the header Mcp-Name repeats, or NULL */
    bool (*is_there)(const struct mcp_server *server); /* NULL: always */
};

/* --- mcp.c --- */

/* Both end the request. */
void mcp_request_result(struct mcp_request *request, json_t *result);
void mcp_request_error(struct mcp_request *request, int code, const char *message, json_t *data);

/* {"jsonrpc","id","result"}, with what every result of the era has. Takes the result. */
json_t *mcp_result_json(const struct mcp_server *server, enum mcp_era era, const json_t *id,
                        json_t *result);
json_t *mcp_error_json_data(const json_t *id, int code, const char *message, json_t *data);
json_t *mcp_notice_json(const char *method, json_t *params);
json_t *mcp_server_info(const struct mcp_server *server);
int mcp_status_of(enum mcp_era era, int code);
const json_t *mcp_empty(void); /* an object that nobody changes */

/* The string parameter of that name, or NULL and the request is refused. */
const char *mcp_request_string(struct mcp_request *request, const char *name);

/* A log level by its name, or MCP_LOG_OFF. */
enum mcp_log_level mcp_log_level_of(const char *name);

/* A capability by its dotted name in an object of them. */
bool mcp_capability_has(const json_t *capabilities, const char *name);
json_t *mcp_capability_json(const char *name);

/* Before anything is sent. */
void mcp_server_wake(struct mcp_server *server);

/* --- mcp_session.c: what legacy peers have --- */

extern const struct mcp_method mcp_session_methods[];
void mcp_session_response(struct mcp_peer *peer, const json_t *message);
void mcp_session_cancelled(struct mcp_peer *peer, const json_t *params);
json_t *mcp_capabilities(const struct mcp_server *server, enum mcp_era era);
bool mcp_has_resources(const struct mcp_server *server);
bool mcp_has_prompts(const struct mcp_server *server);
bool mcp_has_tasks(const struct mcp_server *server);

/* --- mcp_list.c --- */

extern const struct mcp_method mcp_list_methods[];

/* The tools that the peer sees without having asked for any. */
const struct mcp_tool *const *mcp_list_tools(const struct mcp_peer *peer);

/* Tells one legacy peer that a list has changed. */
void mcp_peer_changed(struct mcp_peer *peer, enum mcp_list list);

/* Adds ttlMs and cacheScope where the era has them. */
void mcp_list_cache(enum mcp_era era, json_t *result, uint64_t ttl_ms, bool is_private);

/* --- mcp_call.c --- */

extern const struct mcp_method mcp_call_methods[];
void mcp_call_start(struct mcp_call *call); /* (again) */
void mcp_call_free(struct mcp_call *call);  /* out of every list; nobody is told */
void mcp_call_cancel(struct mcp_call *call, bool is_reported);
void mcp_call_answered(struct mcp_call *call, const char *id, const json_t *response);

/* Answers the request with the result (taken). The call goes on as a task; it may be gone when this
 * returns, with its peer. */
void mcp_call_part(struct mcp_call *call, json_t *result);

/* --- bound.c --- */

/* Cuts what a tool's answer has beyond the bound of its call, and keeps the whole. */
void mcp_bound(struct mcp_call *call, json_t *result);
size_t mcp_count_lines(const char *text, size_t len);

/* The value with long strings and lists made shorter, until it fits. The caller's. */
json_t *mcp_shrink(const json_t *value, size_t budget);

/* Text for an error of the protocol, and its data (taken), short enough for one. */
json_t *mcp_bound_string(const char *text, size_t len);
json_t *mcp_bound_data(json_t *data);

/* --- saved_answers.c --- */

/* The most that is kept of one answer. */
#define MCP_SAVED_BYTES ((size_t)8 * MIB)

/* Keeps the text for its owner and returns the id it is found by, or NULL. */
const char *mcp_keep(struct mcp_server *server, const char *owner, const char *text, size_t len);
void mcp_saved_answers_forget(struct mcp_server *server, const char *owner); /* NULL: everybody's */

/* --- tokens.c --- */

/* Declared in mcp/call.h. */

/* --- mcp_state.c: state that the client keeps for us --- */

char *mcp_state_seal(const struct mcp_call *call, const json_t *state);
int mcp_state_open(const struct mcp_call *call, const char *text, json_t **ret_state,
                   struct error *err);

/* --- mcp_headers.c --- */

/* The headers of a modern request against its body. NULL: they agree; else what does not. */
const char *mcp_headers_check(const struct mcp_request *request);
const char *mcp_headers_check_tool(const struct mcp_request *request, const struct mcp_tool *tool,
                                   const json_t *arguments);

/* --- arguments.c --- */

bool mcp_tool_takes(const struct mcp_tool *tool, const char *name, size_t len);

/* The arguments that say something: null stands for none, and another name for its own. */
json_t *mcp_copy_arguments(const json_t *given, const struct mcp_tool *tool);

/* --- mcp_listen.c --- */

extern const struct mcp_method mcp_listen_methods[];
void mcp_listen_end(struct mcp_listen *listen, bool is_reported);
void mcp_listen_task(struct mcp_server *server, const struct mcp_task *task);

/* --- mcp_tasks.c --- */

enum mcp_task_status { TASK_WORKING, TASK_INPUT, TASK_COMPLETED, TASK_FAILED, TASK_CANCELLED };

struct mcp_task {
    TAILQ_ENTRY(mcp_task) link;
    struct mcp_server *server;
    char id[ID_SIZE];
    char name[ID_SIZE];    /* by which a tool finds it (mcp_call_leave), or "" */
    struct mcp_peer *peer; /* with which it ends, or NULL */
    char owner[REQUEST_OWNER_MAX];
    enum mcp_task_status status;
    struct mcp_call *call; /* NULL: it is over */
    json_t *outcome;       /* its result, or its error */
    json_t *requests;      /* that wait for answers */
    struct timespec created, updated;
    uint64_t ended_ns;
};

extern const struct mcp_method mcp_task_methods[];
struct mcp_task *mcp_task_new(struct mcp_call *call);
struct mcp_task *mcp_task_find(struct mcp_server *server, const char *owner, const char *id);
json_t *mcp_task_json(const struct mcp_task *task);

/* The end of its call; takes the outcome. */
void mcp_task_end(struct mcp_task *task, enum mcp_task_status status, json_t *outcome);
void mcp_task_ask(struct mcp_task *task, json_t *requests);
bool mcp_tasks_have_room(const struct mcp_server *server, const char *owner);
void mcp_tasks_sweep(struct mcp_server *server);
void mcp_tasks_part(struct mcp_peer *peer); /* the peer goes, and with it what ends with it */
void mcp_tasks_free(struct mcp_server *server);

/* --- mcp_batch.c --- */

void mcp_batch_receive(struct mcp_peer *peer, json_t *messages, struct mcp_exchange *exchange);
void mcp_batch_gone(struct mcp_batch *batch);

/* Shared by mcp_http.c (requests), mcp_http_session.c (legacy sessions, clocks), mcp_stream.c (ways
 * back) and mcp_sse.c (the transport of 2024-11-05). */
#pragma once

#include <sys/queue.h>

#include "http/sse.h"
#include "mcp/http.h"

#define MCP_SESSION_ID_SIZE 64

/* The interval at which clocks are checked; the silence after which a comment is sent (some clients
 * give up on a silent stream after a minute); the time for which a finished stream can be
 * resumed. */
#define MCP_TICK_MS   5000
#define MCP_SILENT_MS 15000
#define MCP_KEPT_MS   300000

/* Finished streams of a session that can be returned to. */
#define MCP_STREAMS_KEPT 16

/* Messages of one session that are being worked on. */
#define MCP_STREAMS_OPEN 256

/* When a client should come back to a stream that was ended on purpose. */
#define MCP_RETRY_MS 500

/* One message of a client's, and the way back. */
struct mcp_stream {
    struct mcp_exchange exchange; /* the first: a pointer to it is one to the stream */
    struct mcp_http *http;
    LIST_ENTRY(mcp_stream) link;
    struct mcp_http_session *session; /* NULL: modern */
    struct mcp_peer *peer;            /* modern: its own */
    struct request *request; /* waits for the answer in one piece; NULL: events, or nobody */
    unsigned number;         /* in its session */
    uint64_t since_ns;       /* when it began, or ended */
    bool is_initialize;
    bool is_open; /* the dispatcher has it */
    bool has_events;
    struct sse sse;
};

LIST_HEAD(mcp_stream_list, mcp_stream);

/* A legacy client. */
struct mcp_http_session {
    struct mcp_http *http;
    LIST_ENTRY(mcp_http_session) link;
    char id[MCP_SESSION_ID_SIZE];
    char owner[REQUEST_OWNER_MAX];
    struct mcp_peer *peer;
    struct mcp_stream_list streams;
    unsigned last_number;
    struct sse news; /* the stream of GET */
    uint64_t used_ns;
};

struct mcp_http {
    struct mcp_http_options options;
    struct loop_watch *tick;
    LIST_HEAD(, mcp_http_session) sessions;
    size_t n_sessions;
    struct mcp_stream_list streams; /* of modern requests */
    LIST_HEAD(, mcp_old) old;       /* clients of 2024-11-05 */
    unsigned n_silent;              /* ticks since the last comment */
};

/* The object that all handlers share. */
struct mcp_http *mcp_http_of(const struct request *request);

/* Reads a query, and whether it asks for the whole list of tools. */
extern const struct schema_field mcp_http_query[];
bool mcp_http_lists_all(const struct request *request);

/* Answers with a JSON-RPC error that has no id. */
void mcp_http_refuse(struct request *request, int status, int code, const char *message);

/* The message of a POST, which is the caller's, or NULL and what to answer (mcp_load). */
json_t *mcp_http_load(struct request *request, json_t **ret_answer);

/* --- mcp_stream.c --- */

/* Takes the request over. NULL: it has been answered. */
struct mcp_stream *mcp_stream_new(struct mcp_http *http, struct mcp_http_session *session,
                                  struct request *request);

/* Its request, if there is one, is cut off. The dispatcher must not have it. */
void mcp_stream_free(struct mcp_stream *stream);

/* From here on there are events. */
void mcp_stream_begin(struct mcp_stream *stream);

/* The client is back and has seen everything up to that event. */
void mcp_stream_resume(struct mcp_stream *stream, struct request *request, uint64_t after);

/* Adds a message as an event. */
void mcp_stream_add(struct sse *sse, const json_t *message);

/* --- mcp_http_session.c --- */

/* NULL: it has been answered. */
struct mcp_http_session *mcp_http_session_new(struct mcp_http *http, struct request *request);
struct mcp_http_session *mcp_http_session_find(struct mcp_http *http, const char *owner,
                                               struct span id);
void mcp_http_session_free(struct mcp_http_session *session);

/* The GET stream: this request reads it from now on. */
void mcp_http_session_attach(struct mcp_http_session *session, struct request *request,
                             uint64_t after);

/* Lets go of finished streams beyond those that are kept. */
void mcp_http_session_trim(struct mcp_http_session *session);

/* --- mcp_sse.c --- */

void mcp_old_tick(struct mcp_http *http);
void mcp_old_forget(struct mcp_http *http, const char *owner); /* NULL: everybody's */

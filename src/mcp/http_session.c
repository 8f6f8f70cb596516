/* Clients of the legacy era: who they are, which streams they have, and when they are given up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/share.h"
#include "mcp/call.h"
#include "mcp/http_internal.h"

/* --- ends --- */

/* Requests that still wait learn that there is nothing any more, as every later one does. */
static void end_streams(struct mcp_http_session *session)
{
    struct mcp_stream *stream;

    while ((stream = LIST_FIRST(&session->streams))) {
        struct request *request = take_ptr(stream->request), *reader = stream->sse.reader;

        sse_detach(&stream->sse);
        if (reader)
            request_end(reader);
        if (request)
            mcp_http_refuse(request, 404, MCP_INVALID_REQUEST, "the session has ended");
        mcp_stream_free(stream);
    }
}

void mcp_http_session_free(struct mcp_http_session *session)
{
    struct mcp_http *http = session->http;
    struct request *reader = session->news.reader;

    LIST_REMOVE(session, link);
    http->n_sessions--;
    mcp_peer_free(session->peer);
    end_streams(session);
    sse_detach(&session->news);
    if (reader)
        request_end(reader);
    sse_done(&session->news);
    free(session);
}

void mcp_http_session_trim(struct mcp_http_session *session)
{
    size_t count = 0;

    for (struct mcp_stream *stream = LIST_FIRST(&session->streams), *next; stream; stream = next) {
        next = LIST_NEXT(stream, link);
        if (!stream->is_open && !stream->sse.reader && ++count > MCP_STREAMS_KEPT)
            mcp_stream_free(stream);
    }
}

/* --- the GET stream --- */

static void on_news(void *user, const json_t *message)
{
    struct mcp_http_session *session = user;

    /* Nobody has ever listened, or nobody reads: news are not kept without end. */
    if (!session->news.headers || sse_is_behind(&session->news))
        return;
    mcp_stream_add(&session->news, message);
}

static void on_news_gone(struct request *request)
{
    struct mcp_http_session *session = request->user;

    session->used_ns = loop_now_ns();
    sse_detach(&session->news);
}

static void on_news_drained(struct request *request)
{
    struct mcp_http_session *session = request->user;

    sse_pump(&session->news);
}

void mcp_http_session_attach(struct mcp_http_session *session, struct request *request,
                             uint64_t after)
{
    request->user = session;
    request->on_gone = on_news_gone;
    request->on_drained = on_news_drained;
    session->news.headers = "X-Accel-Buffering: no\r\n";
    session->news.is_silent = true;
    (void)snprintf(session->news.prefix, sizeof(session->news.prefix), "0-");
    sse_attach(&session->news, request, after);
}

/* --- beginnings --- */

static bool is_at_rest(const struct mcp_http_session *session)
{
    const struct mcp_stream *s;

    LIST_FOREACH(s, &session->streams, link)
        if (s->is_open || s->sse.reader)
            return false;
    return session->news.reader == NULL;
}

static struct mcp_http_session *longest_at_rest(const struct mcp_http *http, const char *owner)
{
    struct mcp_http_session *oldest = NULL, *s;

    LIST_FOREACH(s, &http->sessions, link)
        if (is_at_rest(s) && owner && strcmp(s->owner, owner) == 0 &&
            (!oldest || s->used_ns < oldest->used_ns))
            oldest = s;
    return oldest;
}

static size_t count_of(const struct mcp_http *http, const char *owner)
{
    const struct mcp_http_session *s;
    size_t count = 0;

    LIST_FOREACH(s, &http->sessions, link)
        count += strcmp(s->owner, owner) == 0;
    return count;
}

static const char *owner_of_most(const struct mcp_http *http)
{
    const char *owner = NULL;
    const struct mcp_http_session *s;
    size_t most = 0;

    LIST_FOREACH(s, &http->sessions, link)
        if (count_of(http, s->owner) > most) {
            most = count_of(http, s->owner);
            owner = s->owner;
        }
    return owner;
}

/* Makes room for one more. An owner that has its share loses one of its own idle sessions. For an
 * owner without a session, the owner with the most loses one. No session in use ends. */
static bool make_room(const struct mcp_http *http, const char *owner)
{
    const struct share share = {.total = http->options.max_sessions,
                                .used = http->n_sessions,
                                .own = count_of(http, owner),
                                .has_others = true};
    struct mcp_http_session *oldest;

    if (share_allows(&share, 1))
        return true;
    oldest = longest_at_rest(http, share.own ? owner : owner_of_most(http));
    if (oldest)
        mcp_http_session_free(oldest);
    return oldest != NULL;
}

static struct mcp_http_session *make(struct mcp_http *http, const struct request *request,
                                     struct error *err)
{
    struct mcp_http_session *session = calloc(1, sizeof(*session));
    struct mcp_peer_options options = {
        .owner = request->owner,
        .caller = request->caller,
        .lists_all = mcp_http_lists_all(request),
        .send = on_news,
        .user = session,
    };

    if (!session || id_make(session->id, "mcp_") < 0) {
        free(session);
        error_set(err, E_SYSTEM, "out of memory or of random bytes");
        return NULL;
    }
    if (mcp_peer_new(http->options.server, &options, &session->peer, err) < 0) {
        free(session);
        return NULL;
    }
    (void)snprintf(session->owner, sizeof(session->owner), "%s", request->owner);
    session->http = http;
    session->used_ns = loop_now_ns();
    sse_init(&session->news);
    return session;
}

struct mcp_http_session *mcp_http_session_new(struct mcp_http *http, struct request *request)
{
    struct mcp_http_session *session;
    struct error err = {0};

    if (!make_room(http, request->owner)) {
        error_set(&err, E_BUSY, "the limit of MCP sessions is reached, and all are in use");
        request_answer_error(request, &err);
        return NULL;
    }
    session = make(http, request, &err);
    if (!session) {
        request_answer_error(request, &err);
        return NULL;
    }
    LIST_INSERT_HEAD(&http->sessions, session, link);
    http->n_sessions++;
    return session;
}

struct mcp_http_session *mcp_http_session_find(struct mcp_http *http, const char *owner,
                                               struct span id)
{
    struct mcp_http_session *s;

    LIST_FOREACH(s, &http->sessions, link)
        if (span_is(id, s->id) && strcmp(s->owner, owner) == 0) {
            s->used_ns = loop_now_ns();
            return s;
        }
    return NULL;
}

/* --- clocks --- */

static bool is_older(uint64_t since_ns, uint64_t now, uint64_t ms)
{
    return now - since_ns >= ms * 1000000;
}

/* A connection without a word is cut by somebody on the way, sooner or later: a comment, and where
 * the answer was to come in one piece, events instead. */
static void tick_streams(const struct mcp_stream_list *list, uint64_t now, bool is_silent)
{
    for (struct mcp_stream *stream = LIST_FIRST(list), *next; stream; stream = next) {
        next = LIST_NEXT(stream, link);
        if (!stream->is_open && stream->session && !stream->sse.reader &&
            is_older(stream->since_ns, now, MCP_KEPT_MS)) {
            mcp_stream_free(stream);
            continue;
        }
        if (stream->request && is_older(stream->since_ns, now, MCP_SILENT_MS))
            mcp_stream_begin(stream);
        if (is_silent)
            sse_keep_alive(&stream->sse);
    }
}

static void on_tick(void *arg)
{
    struct mcp_http *http = arg;
    uint64_t now = loop_now_ns();
    bool is_silent = ++http->n_silent * MCP_TICK_MS >= MCP_SILENT_MS;

    tick_streams(&http->streams, now, is_silent);
    for (struct mcp_http_session *s = LIST_FIRST(&http->sessions), *next; s; s = next) {
        next = LIST_NEXT(s, link);
        tick_streams(&s->streams, now, is_silent);
        if (is_silent)
            sse_keep_alive(&s->news);
        if (is_older(s->used_ns, now, http->options.idle_ms) && is_at_rest(s))
            mcp_http_session_free(s);
    }
    if (is_silent)
        mcp_old_tick(http);
    http->n_silent = is_silent ? 0 : http->n_silent;
    loop_timer_start(http->tick, MCP_TICK_MS);
}

/* --- the whole --- */

int mcp_http_new(const struct mcp_http_options *options, struct mcp_http **ret_http,
                 struct error *err)
{
    struct mcp_http *http = calloc(1, sizeof(*http));

    if (http) {
        http->options = *options;
        http->tick = loop_timer(options->loop, on_tick, http);
    }
    if (!http || !http->tick) {
        free(http);
        return error_memory(err);
    }
    loop_timer_start(http->tick, MCP_TICK_MS);
    *ret_http = http;
    return 0;
}

void mcp_http_stop(struct mcp_http *http)
{
    struct mcp_http_session *s;

    mcp_server_stop(http->options.server);
    LIST_FOREACH(s, &http->sessions, link) {
        struct request *reader = s->news.reader;

        sse_detach(&s->news);
        if (reader)
            request_end(reader);
    }
    mcp_old_forget(http, NULL);
}

/* A modern request that is under way. */
static void drop(struct mcp_stream *stream)
{
    if (stream->is_open)
        mcp_exchange_gone(&stream->exchange);
    mcp_stream_free(stream);
}

void mcp_http_forget(struct mcp_http *http, const char *owner)
{
    for (struct mcp_http_session *s = LIST_FIRST(&http->sessions), *next; s; s = next) {
        next = LIST_NEXT(s, link);
        if (strcmp(s->owner, owner) == 0)
            mcp_http_session_free(s);
    }
    for (struct mcp_stream *stream = LIST_FIRST(&http->streams), *next; stream; stream = next) {
        next = LIST_NEXT(stream, link);
        if (strcmp(mcp_peer_owner(stream->peer), owner) == 0)
            drop(stream);
    }
    mcp_old_forget(http, owner);
    mcp_server_forget(http->options.server, owner);
}

void mcp_http_free(struct mcp_http *http)
{
    if (!http)
        return;
    while (!LIST_EMPTY(&http->sessions))
        mcp_http_session_free(LIST_FIRST(&http->sessions));
    while (!LIST_EMPTY(&http->streams))
        drop(LIST_FIRST(&http->streams));
    mcp_old_forget(http, NULL);
    loop_watch_free(http->tick);
    free(http);
}

#include "http/server.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/cleanup.h"
#include "base/share.h"
#include "http/internal.h"
#include "http/multipart.h"

/* Answers that wait are counted this often. */
#define TICK_MS 500

/* Bytes of a body that are taken before the listener is told. */
#define TELL_BYTES LISTENER_PIECE

void http_enter(struct http_connection *c, enum http_state state)
{
    c->state = state;
    c->since_ns = loop_now_ns();
}

/* --- requests --- */

/* The caller to which the connection's memory is charged. */
static struct share_account *account_of(const struct http_connection *c)
{
    return c->request && c->request->account ? c->request->account : c->account;
}

static void free_request(struct request *request)
{
    loop_work_cancel(&request->work);
    for (size_t i = 0; i < REQUEST_PARAMS_MAX; i++)
        free(request->params[i]);
    json_decref(request->query);
    json_decref(request->json);
    json_decref(request->mistake);
    if (request->parts)
        shared_unref(request->parts->body);
    free(request->parts);
    buf_done(&request->body);
    free(request->head_text);
    free(request->path_text);
    free(request);
}

void http_drop_request(struct http_connection *c, bool is_gone)
{
    struct request *request = c->request;

    if (!request)
        return;
    c->account = account_of(c); /* its answer may still wait for its reader */
    c->request = NULL;
    c->server->n_requests--;
    c->server->held -= c->held;
    c->account->bodies -= c->held;
    c->held = 0;
    request->connection = NULL;
    if (request->counted)
        (*request->counted)--;
    if (is_gone && request->on_gone)
        request->on_gone(request);
    free_request(request);
}

/* The head is a copy that the request owns; its fields point into it. */
static struct request *new_request(struct http_connection *c, const struct listener_frame *frame)
{
    struct request *request = calloc(1, sizeof(*request));
    struct listener_frame copy = *frame;

    if (request)
        request->head_text = malloc(frame->len + 1);
    if (!request || !request->head_text) {
        free(request);
        return NULL;
    }
    memcpy(request->head_text, frame->data, frame->len);
    copy.data = request->head_text;
    if (frame->len && !listener_head_read(&copy, &request->head)) {
        free(request->head_text);
        free(request);
        return NULL;
    }
    request->connection = c;
    request->is_unix = c->is_unix;
    request->is_cluster = c->is_cluster;
    request->peer_uid = c->peer_uid;
    request->service = c->service;
    buf_init(&request->body, 0);
    c->request = request;
    c->account = &c->server->nobody;
    c->server->n_requests++;
    return request;
}

void request_peer(const struct request *request, char *text, size_t size)
{
    http_peer_text(request->connection->peer->key, text, size);
}

/* --- connections --- */

void http_free_connection(struct http_connection *c)
{
    close_fd(&c->fd);
    if (c->out)
        evbuffer_free(c->out);
    free(c);
}

void http_cut(struct http_connection *c)
{
    struct http_server *server = c->server;

    http_drop_request(c, true);
    if (c->fd < 0)
        http_link_say(c->link, LISTENER_CUT, c->id, NULL, 0);
    http_link_flush(c->link);
    http_give_slot_back(server, c);
    TAILQ_REMOVE(&server->connections, c, of_server);
    if (c->is_corked)
        TAILQ_REMOVE(&server->corked, c, of_corked);
    server->count--;
    http_peer_leave(c->peer);
    c->peer = NULL;
    c->state = HTTP_DEAD;
    if (!c->is_going_on)
        http_free_connection(c);
    if (server->is_full)
        http_rest_or_listen(server);
    if (server->is_stopping && server->count == 0)
        loop_timer_start(server->tick, 0);
}

/* The body will not become whole: whoever takes its pieces lets go of them. */
static void abandon(struct http_connection *c)
{
    struct request *request = c->request;
    void (*on_gone)(struct request *) = request ? request->on_gone : NULL;

    if (!on_gone)
        return;
    request->on_gone = NULL;
    on_gone(request);
}

/* A mistake in what came, maybe before there is a request that could be answered. */
static void refuse(struct http_connection *c, int status, const char *message)
{
    static const struct listener_frame nothing = {.data = ""};
    struct error err = {0};

    c->is_closing = true;
    abandon(c);
    if (!c->request && !new_request(c, &nothing)) {
        http_cut(c);
        return;
    }
    error_set(&err, status == 431 || status == 413 ? E_TOO_LARGE : E_INVALID, "%s", message);
    request_answer_error_as(c->request, status, NULL, &err);
}

void http_pump(struct http_connection *c)
{
    struct http_server *server = c->server;
    size_t left = evbuffer_get_length(c->out);

    if (server->is_corked) {
        if (!c->is_corked)
            TAILQ_INSERT_TAIL(&server->corked, c, of_corked);
        c->is_corked = true;
        return;
    }
    while (left && c->passed - c->written < LISTENER_WINDOW) {
        size_t n = LISTENER_WINDOW - (size_t)(c->passed - c->written);

        n = n < left ? n : left;
        n = n < LISTENER_PIECE ? n : LISTENER_PIECE;
        http_link_move(c->link, c->id, c->out, n);
        c->passed += n;
        left -= n;
    }
    if (c->state == HTTP_WRITING && !left && !c->is_ended) {
        c->is_closing = c->is_closing || server->is_stopping;
        http_link_say_number(c->link, LISTENER_END, c->id, c->is_closing);
        c->is_ended = true;
    }
    http_link_flush(c->link);
}

void http_settle(struct http_connection *c)
{
    if (c->state == HTTP_WRITING && c->is_ended && !http_waiting(c))
        http_enter(c, c->is_closing ? HTTP_LINGERING : HTTP_IDLE);
}

void http_cork(struct http_server *server)
{
    server->is_corked = true;
}

void http_uncork(struct http_server *server)
{
    struct http_connection *c;

    server->is_corked = false;
    while ((c = TAILQ_FIRST(&server->corked)) != NULL) {
        TAILQ_REMOVE(&server->corked, c, of_corked);
        c->is_corked = false;
        http_pump(c);
        http_settle(c);
    }
}

/* --- requests as they come --- */

static void begin_body(struct http_connection *c)
{
    struct http_server *server = c->server;
    struct request *request = c->request;

    if (request->head.framing == HTTP_LENGTH && request->head.length > request->body_limit) {
        refuse(c, 413, "the body is longer than this route accepts");
        return;
    }
    if (request->head.framing == HTTP_NO_BODY) {
        http_enter(c, HTTP_HANDLING);
        server->options.on_whole(server->options.user, request);
        return;
    }
    request->body.limit = (size_t)request->body_limit;
    http_enter(c, HTTP_BODY);
    if (request->head.expects_continue) {
        static const char go[] = "HTTP/1.1 100 Continue\r\n\r\n";

        c->added += sizeof(go) - 1;
        (void)evbuffer_add(c->out, go, sizeof(go) - 1); /* out of memory: the client goes on */
        http_pump(c);
    }
}

/* The connection is still beyond the limit. */
static bool refuse_surplus(struct http_connection *c)
{
    struct error err = {0};

    if (!c->is_surplus || c->peer->count <= c->server->options.max_per_peer)
        return false;
    c->is_closing = true;
    error_set(&err, E_BUSY, "too many connections from one address");
    error_hint(&err, "close some, or reuse them; the operator sets "
                     "`http_connections_per_address`");
    request_answer_error(c->request, &err);
    return true;
}

static int on_head(struct http_connection *c, const struct listener_frame *frame)
{
    struct http_server *server = c->server;

    if (c->state != HTTP_IDLE || !new_request(c, frame))
        return -1;
    c->content = c->untold = c->untaken = 0;
    c->is_ended = false;
    c->is_open_body = c->request->head.framing != HTTP_NO_BODY;
    /* A body keeps the connection from being used again, unless all of it is read, below. */
    c->is_closing = server->is_stopping || !c->request->head.keeps_alive || c->is_open_body;
    c->omits_body = span_is(c->request->head.method, "HEAD");
    if (!refuse_surplus(c) && server->options.on_head(server->options.user, c->request) == 0)
        begin_body(c);
    return 0;
}

/* Counts what is held of all bodies together, and of one caller's. Nobody holds so much that
 * others find no room: a body that is never finished is the caller's own loss. */
static int hold(struct http_connection *c, size_t len, struct error *err)
{
    struct http_server *server = c->server;
    const struct share share = {.total = server->options.body_total,
                                .used = server->held,
                                .own = account_of(c)->bodies,
                                .has_others = server->options.has_others(server->options.user)};

    if (!share_allows(&share, len)) {
        error_set(err, E_BUSY, "unfinished requests fill the memory reserved for their bodies");
        return error_hint(err, "send fewer large requests at once, or try again in a moment");
    }
    server->held += len;
    account_of(c)->bodies += len;
    c->held += len;
    return 0;
}

int request_hold(struct request *request, size_t len, struct error *err)
{
    return hold(request->connection, len, err);
}

void request_release(struct request *request, size_t len)
{
    struct http_connection *c = request->connection;

    c->server->held -= len;
    account_of(c)->bodies -= len;
    c->held -= len;
}

static int keep(struct http_connection *c, struct span piece, struct error *err)
{
    struct request *request = c->request;

    if (piece.len == 0)
        return 0;
    if (request->on_piece)
        return request->on_piece(request, piece.data, piece.len, err);
    if (piece.len > request->body_limit - request->body.len)
        return error_set(err, E_TOO_LARGE, "the body is longer than this route accepts");
    if (hold(c, piece.len, err) < 0)
        return -1;
    return buf_add(&request->body, piece.data, piece.len, err);
}

/* A piece, which may be more than the head has promised. */
static int on_body(struct http_connection *c, const struct listener_frame *frame)
{
    const struct http_head *head = c->request ? &c->request->head : NULL;
    struct error err = {0};

    if (c->is_upgraded)
        return http_on_upgraded(c, frame);
    if (!c->is_open_body)
        return -1;
    c->content += frame->len;
    if (c->state != HTTP_BODY || !head)
        return 0; /* it has been answered already */
    if (head->framing == HTTP_LENGTH && c->content > head->length)
        return -1;
    c->untaken += c->request->takes_itself ? frame->len : 0;
    if (keep(c, (struct span){frame->data, frame->len}, &err) < 0) {
        abandon(c);
        request_answer_error(c->request, &err);
        return 0;
    }
    if (c->request && c->request->takes_itself)
        return 0; /* request_taken() tells */
    c->untold += frame->len;
    if (c->state == HTTP_BODY && c->untold >= TELL_BYTES) {
        http_link_say_number(c->link, LISTENER_TAKEN, c->id, (uint32_t)c->untold);
        c->untold = 0;
    }
    return 0;
}

static int on_whole(struct http_connection *c)
{
    struct http_server *server = c->server;
    const struct http_head *head = c->request ? &c->request->head : NULL;

    if (!c->is_open_body)
        return -1;
    c->is_open_body = false;
    if (c->state != HTTP_BODY || !head)
        return 0;
    if (head->framing == HTTP_LENGTH && c->content != head->length)
        return -1;
    c->is_closing = server->is_stopping || !head->keeps_alive;
    http_enter(c, HTTP_HANDLING);
    server->options.on_whole(server->options.user, c->request);
    return 0;
}

static int on_mistake(struct http_connection *c, const struct listener_frame *frame)
{
    struct listener_mistake mistake;

    if (!listener_mistake_read(frame, &mistake))
        return -1;
    if (c->state == HTTP_IDLE) {
        c->is_ended = false;
        c->omits_body = false;
    } else if (!c->is_open_body) {
        return -1;
    }
    c->is_open_body = false;
    if (c->state == HTTP_IDLE || c->state == HTTP_BODY)
        refuse(c, mistake.status, mistake.words);
    return 0;
}

static int on_written(struct http_connection *c, const struct listener_frame *frame)
{
    uint32_t n = listener_number(frame);

    if (n > c->passed - c->written)
        return -1;
    c->written += n;
    http_pump(c);
    if (c->state == HTTP_STREAMING) {
        if (http_waiting(c) <= REQUEST_LOW && c->request->on_drained)
            c->request->on_drained(c->request);
    } else {
        http_settle(c);
    }
    return 0;
}

static int handle_frame(struct http_connection *c, const struct listener_frame *frame)
{
    switch (frame->type) {
    case LISTENER_HEAD:
        return on_head(c, frame);
    case LISTENER_BODY:
        return on_body(c, frame);
    case LISTENER_WHOLE:
        return on_whole(c);
    case LISTENER_MISTAKE:
        return on_mistake(c, frame);
    case LISTENER_WRITTEN:
        return on_written(c, frame);
    case LISTENER_FRAME:
    case LISTENER_BROKEN:
        return http_on_upgraded(c, frame);
    case LISTENER_GONE:
        http_cut(c);
        return 0;
    default:
        return -1;
    }
}

int http_on_frame(void *user, struct http_link *link, const struct listener_frame *frame)
{
    struct http_connection *c;
    int r;

    if (http_find_connection(user, link, frame->connection, &c) < 0)
        return -1;
    if (!c)
        return 0;
    c->is_going_on = true; /* an answer may end the connection under our feet */
    r = handle_frame(c, frame);
    c->is_going_on = false;
    if (c->state == HTTP_DEAD)
        http_free_connection(c);
    return r;
}

/* --- answers that wait --- */

/* Counts the answers of each account anew; returns the sum of all. */
static size_t count_answers(const struct http_server *server)
{
    size_t total = 0;

    for (const struct http_connection *c = TAILQ_FIRST(&server->connections); c;
         c = TAILQ_NEXT(c, of_server))
        account_of(c)->answers = 0;
    for (const struct http_connection *c = TAILQ_FIRST(&server->connections); c;
         c = TAILQ_NEXT(c, of_server)) {
        account_of(c)->answers += http_waiting(c);
        total += http_waiting(c);
    }
    return total;
}

/* The largest answer of the account that has most. */
static struct http_connection *find_largest(const struct http_server *server)
{
    struct http_connection *largest = NULL;

    for (struct http_connection *c = TAILQ_FIRST(&server->connections); c;
         c = TAILQ_NEXT(c, of_server))
        if (http_waiting(c) &&
            (!largest || account_of(c)->answers > account_of(largest)->answers ||
             (account_of(c) == account_of(largest) && http_waiting(c) > http_waiting(largest))))
            largest = c;
    return largest;
}

/* Answers that their readers do not fetch: when they are too much together, whoever has most of
 * them loses the largest. */
static void relieve(struct http_server *server)
{
    size_t total = count_answers(server);
    struct http_connection *largest;

    while (total > server->options.answers_total && (largest = find_largest(server))) {
        size_t len = http_waiting(largest);

        total -= len;
        account_of(largest)->answers -= len;
        http_cut(largest);
    }
}

/* Ends the streams of pages whose token is gone. An answer that is on its way still arrives. */
static void cut_unknown(struct http_server *server)
{
    for (struct http_connection *c = TAILQ_FIRST(&server->connections), *next; c; c = next) {
        next = TAILQ_NEXT(c, of_server);
        if (c->request && c->request->page && c->request->on_gone &&
            !server->options.is_known(c->request))
            http_cut(c);
    }
}

static void on_tick(void *arg)
{
    struct http_server *server = arg;

    relieve(server);
    cut_unknown(server);
    if (server->is_stopping && server->count == 0) {
        if (server->on_idle)
            server->on_idle(server->on_idle_user);
        return;
    }
    http_rest_or_listen(server);
    loop_timer_start(server->tick, TICK_MS);
}

/* --- life --- */

int http_new(struct loop *loop, const struct http_options *options, struct http_server **ret_server,
             struct error *err)
{
    struct http_server *server = calloc(1, sizeof(*server));

    if (server) {
        server->loop = loop;
        server->options = *options;
        TAILQ_INIT(&server->connections);
        TAILQ_INIT(&server->corked);
        server->tick = loop_timer(loop, on_tick, server);
    }
    if (!server || !server->tick) {
        free(server);
        return error_memory(err);
    }
    loop_timer_start(server->tick, TICK_MS);
    *ret_server = server;
    return 0;
}

static void close_listeners(struct http_server *server)
{
    for (size_t i = 0; i < server->n_listeners; i++)
        evconnlistener_free(server->listeners[i].socket);
    server->n_listeners = 0;
}

void http_stop(struct http_server *server, void (*on_idle)(void *user), void *user)
{
    close_listeners(server);
    server->is_stopping = true;
    server->on_idle = on_idle;
    server->on_idle_user = user;
    for (size_t i = 0; i < HTTP_LINKS; i++)
        if (server->links[i]) {
            http_link_say(server->links[i], LISTENER_STOP, 0, NULL, 0);
            http_link_flush(server->links[i]);
        }
    http_stop_upgraded(server);
    loop_timer_start(server->tick, 0);
}

void http_free(struct http_server *server)
{
    if (!server)
        return;
    close_listeners(server);
    server->is_stopping = true;
    while (!TAILQ_EMPTY(&server->connections))
        http_cut(TAILQ_FIRST(&server->connections));
    for (size_t i = 0; i < HTTP_LINKS; i++)
        http_link_free(server->links[i]);
    loop_watch_free(server->tick);
    free(server->slots);
    free(server);
}

void http_level(const struct http_server *server, struct http_level *ret_level)
{
    *ret_level = (struct http_level){server->count, server->n_requests, server->served};
}

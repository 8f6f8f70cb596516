/* How much room the engine has: asked over its socket at every heartbeat. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/node_internal.h"

/* An engine that does not answer for so long is away. */
#define AWAY_NS UINT64_C(1500000000)

#define ANSWER_BYTES (64 * KIB)

/* The body with the counts of other nodes, to the engine. */
#define NEWS_BYTES (512 * KIB)

struct engine_watch {
    struct node *node;
    struct bufferevent *socket;
    struct http_response response;
    struct buf text;
    uint64_t asked_ns; /* 0: nothing is asked */
    uint64_t heard_ns;
    json_t *spent; /* by its name, what each other node has counted for tokens */
    json_t *news;  /* of it: what the engine has not been told */
};

static void hang_up(struct engine_watch *w)
{
    if (w->socket)
        bufferevent_free(w->socket);
    w->socket = NULL;
    w->asked_ns = 0;
}

static void say_whether(struct engine_watch *w, bool has_engine)
{
    if (w->node->beat.has_engine == has_engine)
        return;
    w->node->beat.has_engine = has_engine;
    if (has_engine)
        (void)json_object_update(w->news, w->spent); /* it may be another engine */
    LOG_EVENT(has_engine ? LOG_INFO : LOG_WARNING, "engine",
              {"message", has_engine ? "the engine answers" : "the engine does not answer"});
    if (w->node->bus)
        node_send_beat(w->node); /* gateways need not wait for the next one */
}

static int64_t number_of(const json_t *answer, const char *name)
{
    return json_integer_value(json_object_get(answer, name));
}

/* The engine is our own, but of any version. */
static int take(struct engine_watch *w, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 8};
    cleanup_json json_t *answer = NULL;
    struct node *node = w->node;
    struct beat *beat = &node->beat;
    const char *name;

    if (w->response.head.status != 200)
        return error_set(err, E_PROTOCOL, "`cluster_socket` answers with status %d",
                         w->response.head.status);
    if (json_text_load(buf_str(&w->text), w->text.len, &limits, &answer, err) < 0)
        return -1;
    name = json_get_text(answer, "node");
    if (strcmp(name, beat->name) != 0)
        return error_set(err, E_INVALID, "the engine's `node` is `%s`, not `%s`", name, beat->name);
    beat->room = number_of(answer, "room");
    beat->running = number_of(answer, "running");
    beat->waiting = number_of(answer, "waiting");
    beat->sessions = number_of(answer, "sessions");
    json_decref(beat->spent);
    beat->spent = json_incref(json_object_get(answer, "spent"));
    trail_ship_note(node->trail, json_object_get(answer, "head"));
    node->fresh_then = (int64_t)node->n_fresh;
    return 0;
}

/* Reports wrong settings once. */
static void on_answer(struct engine_watch *w)
{
    struct error err = {0};

    w->asked_ns = 0;
    w->heard_ns = loop_now_ns();
    if (take(w, &err) == 0) {
        say_whether(w, true);
    } else {
        if (w->node->beat.has_engine || !w->node->has_complained)
            LOG_EVENT(LOG_ERROR, "engine",
                      {"message", err.message ? err.message : "out of memory"});
        w->node->has_complained = true;
        say_whether(w, false);
    }
    error_done(&err);
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct engine_watch *w = user;

    return buf_add(&w->text, data, len, err);
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct engine_watch *w = arg;
    struct evbuffer *input = bufferevent_get_input(socket);
    size_t len = evbuffer_get_length(input);
    const char *data = (const char *)evbuffer_pullup(input, -1);

    if (!w->asked_ns || !data ||
        http_response_feed(&w->response, data, len, on_piece, w, NULL) < 0) {
        hang_up(w);
        return;
    }
    (void)evbuffer_drain(input, len);
    if (w->response.is_over)
        on_answer(w);
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    struct engine_watch *w = arg;

    (void)socket;
    if (what & BEV_EVENT_CONNECTED)
        return;
    hang_up(w);
    say_whether(w, false);
}

static int dial(struct engine_watch *w)
{
    int fd = relay_dial(w->node->settings->socket);

    if (fd < 0)
        return -1;
    w->socket = bufferevent_socket_new(loop_base(w->node->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!w->socket) {
        (void)close(fd);
        return -1;
    }
    bufferevent_setcb(w->socket, on_read, NULL, on_event, w);
    bufferevent_setwatermark(w->socket, EV_READ, 0, ANSWER_BYTES);
    return bufferevent_enable(w->socket, EV_READ | EV_WRITE);
}

void engine_watch_hear(struct engine_watch *w, const char *node, json_t *spent)
{
    if (!json_is_object(spent) || json_equal(spent, json_object_get(w->spent, node)))
        return;
    if (json_object_size(w->spent) == CLUSTER_NAMES_MAX && !json_object_get(w->spent, node))
        return;
    (void)json_object_set(w->spent, node, spent);
    (void)json_object_set(w->news, node, spent);
}

/* Asks, and tells what is new. */
static void send_question(struct engine_watch *w)
{
    cleanup_json json_t *body = json_pack("{s:O}", "nodes", w->news);
    cleanup(buf_done) struct buf text = BUF_OF(NEWS_BYTES), all = BUF_OF(NEWS_BYTES + KIB);

    if (json_object_size(w->news) == 0 || !body ||
        json_text_dump(body, JSON_TEXT_COMPACT, &text, NULL) < 0)
        (void)buf_add_str(&all, "GET /v1/cluster/room HTTP/1.1\r\nHost: localhost\r\n\r\n", NULL);
    else
        (void)buf_printf(&all, NULL,
                         "POST /v1/cluster/room HTTP/1.1\r\nHost: localhost\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         text.len, buf_str(&text));
    (void)json_object_clear(w->news);
    (void)bufferevent_write(w->socket, buf_str(&all), all.len);
}

void engine_watch_ask(struct engine_watch *w)
{
    uint64_t now = loop_now_ns();

    if (now > w->heard_ns + AWAY_NS) {
        say_whether(w, false);
        if (w->asked_ns && now > w->asked_ns + AWAY_NS)
            hang_up(w);
    }
    if (w->asked_ns || (!w->socket && dial(w) < 0))
        return;
    w->asked_ns = now;
    http_response_done(&w->response);
    http_response_init(&w->response);
    buf_clear(&w->text);
    send_question(w);
}

int engine_watch_new(struct node *node, struct engine_watch **ret_watch, struct error *err)
{
    struct engine_watch *w = calloc(1, sizeof(*w));

    if (!w)
        return error_memory(err);
    w->node = node;
    w->spent = json_object();
    w->news = json_object();
    if (!w->spent || !w->news) {
        engine_watch_free(w);
        return error_memory(err);
    }
    http_response_init(&w->response);
    buf_init(&w->text, ANSWER_BYTES);
    *ret_watch = w;
    return 0;
}

void engine_watch_free(struct engine_watch *w)
{
    if (!w)
        return;
    hang_up(w);
    http_response_done(&w->response);
    buf_done(&w->text);
    json_decref(w->spent);
    json_decref(w->news);
    free(w);
}

#include "cluster/store_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/job_bus.h"
#include "cluster/node_internal.h"

/* The engine's limit (src/api/route_replica.c). */
#define LINE_BYTES MIB

/* Heartbeats between two tries to connect, when the engine has refused. */
#define REST_TICKS (5000 / CLUSTER_BEAT_MS)

/* Questions of one connection under way: an engine has one for each owner that is at work. */
#define ASKS_MAX 1024

/* It stands in a subject, and has something behind it. */
#define PLACE_SIZE (CLUSTER_SUBJECT_MAX - sizeof(STORE_SUBJECTS) - 2)

#define API(what) "$JS.API.STREAM." what "." STORE_STREAM

enum what { GET, PUT, SWAP, PURGE, FIND, WHATS };

static const char *const words[WHATS] = {
    [GET] = "get", [PUT] = "put", [SWAP] = "swap", [PURGE] = "purge", [FIND] = "find"};

struct ask {
    TAILQ_ENTRY(ask) of_link;
    struct store_link *link; /* NULL: its connection has ended */
    enum what what;
    json_int_t number;
    char place[PLACE_SIZE];
    json_t *subjects; /* that are deleted, and where it is in them */
    size_t at;
};

struct store_link {
    struct node *node;
    struct job_bus *bus;
    struct bufferevent *socket;
    struct evbuffer *lines;
    bool is_open; /* the engine has said 101 */
    unsigned rest;
    TAILQ_HEAD(, ask) asks;
    size_t n_asks;
    bool has_stream, has_complained;
};

/* --- to the engine --- */

/* `data` is base64 already, or NULL. */
static void answer(struct ask *ask, int status, json_int_t sequence, const char *data)
{
    struct store_link *link = ask->link;
    struct evbuffer *out;

    if (!link || !link->socket || ask->what == PURGE)
        return;
    out = bufferevent_get_output(link->socket);
    (void)evbuffer_add_printf(out, "{\"n\":%lld,\"status\":%d,\"sequence\":%lld",
                              (long long)ask->number, status, (long long)sequence);
    if (data) {
        (void)evbuffer_add_printf(out, ",\"data\":\"");
        (void)evbuffer_add(out, data, strlen(data));
        (void)evbuffer_add(out, "\"", 1);
    }
    (void)evbuffer_add(out, "}\n", 2);
}

static void free_ask(struct ask *ask)
{
    if (ask->link) {
        TAILQ_REMOVE(&ask->link->asks, ask, of_link);
        ask->link->n_asks--;
    }
    json_decref(ask->subjects);
    free(ask);
}

static void hang_up(struct store_link *link)
{
    struct ask *ask;

    if (link->socket)
        bufferevent_free(link->socket);
    link->socket = NULL;
    link->is_open = false;
    evbuffer_drain(link->lines, evbuffer_get_length(link->lines));
    while ((ask = TAILQ_FIRST(&link->asks)) != NULL) {
        TAILQ_REMOVE(&link->asks, ask, of_link);
        ask->link = NULL; /* the bus still has the question */
    }
    link->n_asks = 0;
}

/* --- from the bus --- */

static void complain(struct store_link *link, const char *what)
{
    if (!link->has_complained)
        LOG_EVENT(LOG_WARNING, "store", {"message", "the bus does not store skills and states"},
                  {"reason", what});
    link->has_complained = true;
}

static json_int_t code_of(const json_t *answer, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(answer, "error"), name));
}

/* No answer came. Without JetStream there never is one. */
static int no_answer(const struct store_link *link)
{
    return !link->has_stream && job_bus_is_deserted(link->bus) &&
                   link->node->settings->replicas <= 1
               ? 501
               : 503;
}

static void on_created(void *user, const json_t *said)
{
    struct ask *ask = user;
    struct store_link *link = ask->link;
    const json_t *error = json_object_get(said, "error");

    if (link && error)
        complain(link, json_get_text(error, "description"));
    if (link && said && !error)
        link->has_stream = true;
    if (link)
        answer(ask, !said ? no_answer(link) : error ? 507 : 404, 0, NULL);
    free_ask(ask);
}

/* The question is about a stream that does not exist. */
static void create(struct ask *ask)
{
    struct store_link *link = ask->link;
    cleanup(buf_done) struct buf text = BUF_OF(KIB);
    cleanup_json json_t *config =
        json_pack("{s:s, s:[s], s:s, s:s, s:i, s:s, s:I, s:i, s:i, s:i, s:i}", "name", STORE_STREAM,
                  "subjects", STORE_SUBJECTS ">", "retention", "limits", "storage", "file",
                  "max_msgs_per_subject", 1, "discard", "new", "max_bytes", (json_int_t)STORE_BYTES,
                  "max_age", 0, "num_replicas", (int)link->node->settings->replicas, "max_msgs", -1,
                  "max_consumers", -1);

    if (config && json_text_dump(config, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        job_bus_ask(link->bus, link->node->bus, API("CREATE"), buf_str(&text), text.len, on_created,
                    ask) == 0)
        return;
    answer(ask, 503, 0, NULL);
    free_ask(ask);
}

#define NO_STREAM  10059
#define WRONG_LAST 10071

static void on_got(struct ask *ask, const json_t *said)
{
    const json_t *message = json_object_get(said, "message");

    if (message)
        answer(ask, 200, json_integer_value(json_object_get(message, "seq")),
               json_get_text(message, "data"));
    else
        answer(ask, code_of(said, "code") == 404 ? 404 : 503, 0, NULL);
}

static void on_put(struct ask *ask, const json_t *said)
{
    json_int_t sequence = json_integer_value(json_object_get(said, "seq"));

    if (!json_object_get(said, "error"))
        answer(ask, sequence > 0 ? 200 : 503, sequence, NULL);
    else
        answer(ask, code_of(said, "err_code") == WRONG_LAST ? 409 : 507, 0, NULL);
}

/* --- deleting: message by message (cluster/job_delete.c says why) --- */

static void delete_next(struct ask *ask);

static void on_deleted(void *user, const json_t *said)
{
    struct ask *ask = user;

    if (!said || !ask->link) {
        free_ask(ask);
        return;
    }
    ask->at++;
    delete_next(ask);
}

static void ask_to_delete(struct ask *ask, const char *subject, const char *question, job_bus_fn fn)
{
    if (job_bus_ask(ask->link->bus, ask->link->node->bus, subject, question, strlen(question), fn,
                    ask) < 0)
        free_ask(ask);
}

static void on_sequence(void *user, const json_t *said)
{
    struct ask *ask = user;
    json_int_t sequence =
        json_integer_value(json_object_get(json_object_get(said, "message"), "seq"));
    char question[64];

    if (sequence <= 0 || !ask->link) {
        on_deleted(ask, said);
        return;
    }
    (void)snprintf(question, sizeof(question), "{\"seq\":%lld}", (long long)sequence);
    ask_to_delete(ask, API("MSG.DELETE"), question, on_deleted);
}

static void delete_next(struct ask *ask)
{
    const json_t *subject = json_array_get(ask->subjects, ask->at);
    char question[2 * CLUSTER_SUBJECT_MAX];

    if (!subject) {
        free_ask(ask);
        return;
    }
    (void)snprintf(question, sizeof(question), "{\"last_by_subj\":\"%s\"}",
                   json_string_value(subject));
    ask_to_delete(ask, API("MSG.GET"), question, on_sequence);
}

static void on_listed(void *user, const json_t *said)
{
    const json_t *subjects = json_object_get(json_object_get(said, "state"), "subjects");
    struct ask *ask = user;
    const char *subject;
    json_t *unused;

    ask->subjects = json_array();
    json_object_foreach((json_t *)(uintptr_t)subjects, subject, unused)
    {
        if (strncmp(subject, STORE_SUBJECTS, strlen(STORE_SUBJECTS)) == 0 &&
            strlen(subject) < CLUSTER_SUBJECT_MAX)
            (void)json_array_append_new(ask->subjects, json_string(subject));
    }
    if (ask->link)
        delete_next(ask);
    else
        free_ask(ask);
}

/* "belljar.v1.store.PLACE.ID.N": the ids. */
static void on_found(struct ask *ask, const json_t *said)
{
    const json_t *subjects = json_object_get(json_object_get(said, "state"), "subjects");
    cleanup(buf_done) struct buf ids = BUF_OF(LINE_BYTES / 2), text = BUF_OF(LINE_BYTES);
    size_t before = strlen(STORE_SUBJECTS) + strlen(ask->place) + 1;
    const char *subject;
    json_t *unused;

    json_object_foreach((json_t *)(uintptr_t)subjects, subject, unused)
    {
        const char *id = strlen(subject) > before ? subject + before : "";

        if (strchr(id, '.'))
            (void)buf_printf(&ids, NULL, "%.*s\n", (int)strcspn(id, "."), id);
    }
    if (base64_add(&text, buf_str(&ids), ids.len, NULL) == 0)
        answer(ask, json_object_get(said, "state") ? 200 : 503, 0, buf_str(&text));
}

static void on_said(void *user, const json_t *said)
{
    struct ask *ask = user;

    if (ask->link && said && code_of(said, "err_code") == NO_STREAM) {
        create(ask);
        return;
    }
    if (ask->link && said)
        ask->link->has_stream = true;
    if (!ask->link)
        ; /* nobody waits */
    else if (!said)
        answer(ask, no_answer(ask->link), 0, NULL);
    else if (ask->what == GET)
        on_got(ask, said);
    else if (ask->what == FIND)
        on_found(ask, said);
    else
        on_put(ask, said);
    free_ask(ask);
}

/* --- from the engine --- */

/* It becomes a part of a subject and of a JSON text: letters, digits, `_` and periods. */
static bool is_place(const char *text)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    size_t len = strlen(text);

    return len && len < PLACE_SIZE && strspn(text, letters) == len && text[0] != '.' &&
           text[len - 1] != '.' && !strstr(text, "..");
}

static int ask_api(struct ask *ask, const char *subject, const char *form, const char *after,
                   job_bus_fn fn)
{
    char question[2 * CLUSTER_SUBJECT_MAX];
    int len = snprintf(question, sizeof(question), "{\"%s\":\"" STORE_SUBJECTS "%s%s\"}", form,
                       ask->place, after);

    return job_bus_ask(ask->link->bus, ask->link->node->bus, subject, question, (size_t)len, fn,
                       ask);
}

static int ask_put(struct ask *ask, const json_t *line)
{
    cleanup(buf_done) struct buf data = BUF_OF(LINE_BYTES);
    const json_t *text = json_object_get(line, "data");
    json_int_t after = json_integer_value(json_object_get(line, "after"));
    char subject[CLUSTER_SUBJECT_MAX];

    if (!json_is_string(text) || after < 0 ||
        base64_decode(&data, json_string_value(text), json_string_length(text), NULL) < 0)
        return -1;
    (void)snprintf(subject, sizeof(subject), STORE_SUBJECTS "%s", ask->place);
    if (ask->what == SWAP)
        return job_bus_swap(ask->link->bus, ask->link->node->bus, subject, buf_str(&data), data.len,
                            (uint64_t)after, on_said, ask);
    return job_bus_ask(ask->link->bus, ask->link->node->bus, subject, buf_str(&data), data.len,
                       on_said, ask);
}

static int send_ask(struct ask *ask, const json_t *line)
{
    switch (ask->what) {
    case GET:
        return ask_api(ask, API("MSG.GET"), "last_by_subj", "", on_said);
    case PURGE:
        return ask_api(ask, API("INFO"), "subjects_filter", ".*", on_listed);
    case FIND:
        return ask_api(ask, API("INFO"), "subjects_filter", ".>", on_said);
    default:
        return ask_put(ask, line);
    }
}

/* The engine is our own, but of any version: -1 ends the connection. */
static int take_line(struct store_link *link, const char *text, size_t len)
{
    static const struct json_text_limits limits = {.bytes = LINE_BYTES, .depth = 2};
    cleanup_json json_t *line = NULL;
    const char *word, *place;
    struct ask *ask;
    int what = 0;

    if (json_text_load(text, len, &limits, &line, NULL) < 0 || link->n_asks == ASKS_MAX)
        return -1;
    word = json_get_text(line, "do");
    place = json_get_text(line, "at");
    while (what < WHATS && strcmp(words[what], word) != 0)
        what++;
    ask = what < WHATS && is_place(place) ? calloc(1, sizeof(*ask)) : NULL;
    if (!ask)
        return -1;
    ask->link = link;
    ask->what = (enum what)what;
    ask->number = json_integer_value(json_object_get(line, "n"));
    (void)snprintf(ask->place, sizeof(ask->place), "%s", place);
    TAILQ_INSERT_TAIL(&link->asks, ask, of_link);
    link->n_asks++;
    if (bus_is_up(link->node->bus) && send_ask(ask, line) == 0)
        return 0;
    answer(ask, 503, 0, NULL);
    free_ask(ask);
    return 0;
}

static int take_lines(struct store_link *link)
{
    size_t len;
    char *line;
    int r = 0;

    while (r == 0 && (line = evbuffer_readln(link->lines, &len, EVBUFFER_EOL_LF)) != NULL) {
        r = take_line(link, line, len);
        free(line);
    }
    return r < 0 || evbuffer_get_length(link->lines) > LINE_BYTES ? -1 : 0;
}

/* --- the connection --- */

/* 1: it is open; 0: more is needed; -1: the engine has refused. */
static int read_head(struct store_link *link)
{
    static const struct http_limits limits = {8 * KIB, HTTP_HEADERS_MAX, "long", "many"};
    size_t all = evbuffer_get_length(link->lines), scanned = 0;
    struct http_refusal why;
    struct http_head head;
    ssize_t n =
        http_read_response((const char *)evbuffer_pullup(link->lines, -1),
                           all < limits.bytes ? all : limits.bytes, &limits, &scanned, &head, &why);

    if (n <= 0)
        return (int)n;
    if (head.status != 101)
        return -1;
    (void)evbuffer_drain(link->lines, (size_t)n);
    link->is_open = true;
    link->has_complained = false;
    return 1;
}

static void on_read(struct bufferevent *socket, void *arg)
{
    struct store_link *link = arg;
    int r = 1;

    (void)evbuffer_add_buffer(link->lines, bufferevent_get_input(socket));
    if (!link->is_open)
        r = read_head(link);
    if (r < 0 || (r > 0 && take_lines(link) < 0)) {
        hang_up(link);
        link->rest = REST_TICKS;
    }
}

static void on_event(struct bufferevent *socket, short what, void *arg)
{
    (void)socket;
    if (!(what & BEV_EVENT_CONNECTED))
        hang_up(arg);
}

static void dial(struct store_link *link)
{
    static const char head[] = "GET /v1/cluster/store HTTP/1.1\r\nHost: localhost\r\n"
                               "Connection: Upgrade\r\nUpgrade: belljar-store\r\n\r\n";
    int fd = relay_dial(link->node->settings->socket);

    if (fd < 0)
        return;
    link->socket = bufferevent_socket_new(loop_base(link->node->loop), fd, BEV_OPT_CLOSE_ON_FREE);
    if (!link->socket) {
        (void)close(fd);
        return;
    }
    bufferevent_setcb(link->socket, on_read, NULL, on_event, link);
    (void)bufferevent_enable(link->socket, EV_READ | EV_WRITE);
    (void)bufferevent_write(link->socket, head, sizeof(head) - 1);
}

void store_link_tick(struct store_link *link)
{
    job_bus_tick(link->bus);
    if (link->rest)
        link->rest--;
    else if (!link->socket)
        dial(link);
}

bool store_link_take(struct store_link *link, const struct bus_message *message)
{
    return job_bus_take(link->bus, message);
}

const char *store_link_subject(const struct store_link *link)
{
    return job_bus_subject(link->bus);
}

/* --- life --- */

int store_link_new(struct node *node, struct store_link **ret_link, struct error *err)
{
    struct store_link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_memory(err);
    link->node = node;
    TAILQ_INIT(&link->asks);
    link->bus = job_bus_new(STORE_ANSWERS, node->settings->name);
    link->lines = evbuffer_new();
    if (!link->bus || !link->lines) {
        store_link_free(link);
        return error_memory(err);
    }
    *ret_link = link;
    return 0;
}

/* Questions that the bus has not answered go with the process. */
void store_link_free(struct store_link *link)
{
    if (!link)
        return;
    if (link->lines) {
        hang_up(link);
        evbuffer_free(link->lines);
    }
    job_bus_free(link->bus);
    free(link);
}

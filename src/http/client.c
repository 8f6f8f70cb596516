#include "http/client.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/http1.h"
#include "base/json.h"
#include "base/limits.h"
#include "http/client_link.h"
#include "http/request.h"

/* A result with all its displays and both streams. */
#define ANSWER_BYTES (64 * MIB)

/* A path of escapes and a token. */
#define HEAD_BYTES (64 * KIB)

#define DEFAULT_PORT 8222

/* --- where --- */

static int bad_address(const char *url, struct error *err)
{
    error_set(err, E_INVALID, "`%s` is not the address of a server", url);
    return error_hint(err, "write it as http://127.0.0.1:8222, https://HOST:PORT or unix:PATH");
}

static int read_url(struct client *client, const char *text, struct error *err)
{
    struct url url;
    const char *why = url_parse(text, strlen(text), &url);

    if (why || (url.target.len && !span_is(url.target, "/")))
        return bad_address(text, err);
    client->host = url.host;
    client->port = url.port ? url.port : DEFAULT_PORT;
    client->is_tls = url.is_tls;
    return 0;
}

int client_init(struct client *client, const char *url, const char *socket_path, const char *token,
                struct error *err)
{
    *client = (struct client){.token = token ? strdup(token) : NULL};
    if (url && strncmp(url, "unix:", 5) == 0)
        socket_path = url + 5;
    else if (url && read_url(client, url, err) < 0)
        return -1;
    else if (url && client->token && !client->is_tls && !host_is_loopback(&client->host)) {
        error_set(err, E_DENIED, "the token would be sent unencrypted to `%s`", client->host.name);
        return error_hint(err, "use https://");
    } else if (url) {
        return 0;
    }
    client->socket = strdup(socket_path);
    return client->socket ? 0 : error_memory(err);
}

void client_done(struct client *client)
{
    free(client->socket);
    if (client->token)
        explicit_bzero(client->token, strlen(client->token));
    free(client->token);
    *client = (struct client){0};
}

char *client_path(const char *before, const char *name, const char *after)
{
    size_t size = strlen(before) + 3 * strlen(name) + strlen(after) + 1;
    char *path = malloc(size);
    size_t at;

    if (!path)
        return NULL;
    at = (size_t)snprintf(path, size, "%s", before);
    for (const char *c = name; *c; c++)
        at += (size_t)(isalnum((unsigned char)*c) || strchr("-._~", *c)
                           ? snprintf(path + at, size - at, "%c", *c)
                           : snprintf(path + at, size - at, "%%%02X", (unsigned char)*c));
    (void)snprintf(path + at, size - at, "%s", after);
    return path;
}

/* --- one exchange --- */

/* Up to the fields of the body. */
static int write_head(const struct client *client, const char *method, const char *path,
                      const char *accept, struct buf *out, struct error *err)
{
    char host[HOST_TEXT] = "localhost";

    if (buf_add_str(out, method, err) < 0 || buf_add_str(out, " ", err) < 0 ||
        buf_add_str(out, path, err) < 0)
        return -1;
    if (!client->socket)
        host_text(&client->host, host);
    if (buf_printf(out, err,
                   " HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nUser-Agent: " REQUEST_AGENT
                   "\r\nAccept: %s\r\n",
                   host, accept) < 0)
        return -1;
    if (client->token &&
        (buf_add_str(out, "Authorization: Bearer ", err) < 0 ||
         buf_add_str(out, client->token, err) < 0 || buf_add_str(out, "\r\n", err) < 0))
        return -1;
    return 0;
}

static int write_request(const struct client *client, const char *method, const char *path,
                         const char *accept, const json_t *body, struct buf *out, struct error *err)
{
    cleanup(buf_done) struct buf text;

    buf_init(&text, ANSWER_BYTES);
    if (body && json_text_dump(body, JSON_TEXT_COMPACT, &text, err) < 0)
        return -1;
    if (write_head(client, method, path, accept, out, err) < 0)
        return -1;
    if (!body)
        return buf_add_str(out, "\r\n", err);
    if (buf_printf(out, err, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   text.len) < 0)
        return -1;
    return buf_add(out, text.data, text.len, err);
}

/* The server's error, as an error of ours. */
static int take_error(int status, const json_t *answer, struct error *err)
{
    const json_t *object = json_object_get(answer, "error");
    const char *code = json_string_value(json_object_get(object, "code"));
    const char *message = json_string_value(json_object_get(object, "message"));
    const char *hint = json_string_value(json_object_get(object, "hint"));

    if (!message)
        return error_set(err, E_PROTOCOL, "the server answered with status %d", status);
    error_set(err, error_code_by_name(code), "%s", message);
    return hint ? error_hint(err, "%s", hint) : -1;
}

/* It is not what was asked that is wrong. */
static int bad_json(struct error *err)
{
    err->code = E_PROTOCOL;
    return error_wrap(err, "the server's answer");
}

static int not_ours(struct error *err)
{
    error_set(err, E_PROTOCOL, "the server at that address is not Belljar");
    return error_hint(err, "`belljar serve` prints the addresses it listens on");
}

/* The body of a response that has ended. */
static int read_answer(int status, const struct buf *body, json_t **ret_answer, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES,
                                                   .depth = 64,
                                                   .allows_nul = true,
                                                   .allows_scalar = true,
                                                   .allows_many = true};
    cleanup_json json_t *answer = NULL;

    if (body->len && json_text_load(body->data, body->len, &limits, &answer, err) < 0)
        return bad_json(err);
    if (status >= 400)
        return take_error(status, answer, err);
    *ret_answer = take_ptr(answer);
    return 0;
}

/* Sends it; the answer is to be read. */
static int ask(const struct client *client, const char *method, const char *path,
               const char *accept, const json_t *body, struct client_link **ret_link,
               struct error *err)
{
    cleanup(buf_done) struct buf request;
    int r;

    buf_init(&request, ANSWER_BYTES);
    r = write_request(client, method, path, accept, body, &request, err);
    if (r == 0)
        r = client_link_open(client, ret_link, err);
    if (r == 0)
        r = client_link_send(*ret_link, request.data, request.len, err);
    if (request.data)
        explicit_bzero(request.data, request.len); /* the token is in it */
    return r;
}

static int add_piece(void *user, const char *data, size_t len, struct error *err)
{
    return buf_add(user, data, len, err) < 0 ? error_wrap(err, "the server's answer") : 0;
}

/* The next bytes of the response; its content goes to `piece`. */
static int receive_to(struct client_link *link, struct http_response *response, http_piece_fn piece,
                      void *user, struct error *err)
{
    char data[16384];
    ssize_t n = client_link_receive(link, data, sizeof(data), err);

    if (n < 0)
        return -1;
    if (n == 0 && !response->has_head)
        return not_ours(err);
    if (n == 0)
        return http_response_end(response, err);
    if (http_response_feed(response, data, (size_t)n, piece, user, err) == 0)
        return 0;
    return response->has_head ? -1 : (error_done(err), not_ours(err));
}

static int receive(struct client_link *link, struct http_response *response, struct buf *body,
                   struct error *err)
{
    return receive_to(link, response, add_piece, body, err);
}

static int receive_all(struct client_link *link, struct http_response *response, struct buf *body,
                       struct error *err)
{
    while (!response->is_over)
        if (receive(link, response, body, err) < 0)
            return -1;
    return 0;
}

static void link_close_p(struct client_link **link)
{
    client_link_close(*link);
}

int client_call(const struct client *client, const char *method, const char *path,
                const json_t *body, json_t **ret_answer, struct error *err)
{
    cleanup(http_response_done) struct http_response response;
    cleanup(buf_done) struct buf answer;
    cleanup(link_close_p) struct client_link *link = NULL;

    http_response_init(&response);
    buf_init(&answer, ANSWER_BYTES);
    if (ask(client, method, path, "application/json", body, &link, err) < 0 ||
        receive_all(link, &response, &answer, err) < 0)
        return -1;
    return read_answer(response.head.status, &answer, ret_answer, err);
}

bool client_is_id(const char *text)
{
    size_t len = text ? strlen(text) : 0;

    return len > 0 && len < CLIENT_ID_SIZE &&
           strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "abcdefghijklmnopqrstuvwxyz_-") == len;
}

/* --- files --- */

/* A file that is on its way. */
struct transfer {
    int fd;
    uint64_t done, all;
    client_progress_fn progress;
    void *user;
};

static void tell(struct transfer *t, size_t len)
{
    t->done += len;
    if (t->progress)
        t->progress(t->user, t->done, t->all);
}

static int send_file(struct client_link *link, struct transfer *t, struct error *err)
{
    char data[65536];

    while (t->done < t->all) {
        uint64_t left = t->all - t->done;
        ssize_t n = read(t->fd, data, left < sizeof(data) ? (size_t)left : sizeof(data));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "read the file");
        if (n == 0)
            return error_set(err, E_INVALID, "the file became shorter while it was read");
        if (client_link_send(link, data, (size_t)n, err) < 0)
            return -1;
        tell(t, (size_t)n);
    }
    return 0;
}

int client_put(const struct client *client, const char *path, int fd, uint64_t size,
               client_progress_fn progress, void *user, struct error *err)
{
    cleanup(http_response_done) struct http_response response;
    cleanup(buf_done) struct buf head, answer;
    cleanup(link_close_p) struct client_link *link = NULL;
    struct transfer t = {.fd = fd, .all = size, .progress = progress, .user = user};
    json_t *value = NULL;
    int r;

    http_response_init(&response);
    buf_init(&head, HEAD_BYTES);
    buf_init(&answer, ANSWER_BYTES);
    r = write_head(client, "PUT", path, "application/json", &head, err);
    if (r == 0)
        r = buf_printf(
            &head, err,
            "Content-Type: application/octet-stream\r\nContent-Length: %" PRIu64 "\r\n\r\n", size);
    if (r == 0)
        r = client_link_open(client, &link, err);
    if (r == 0)
        r = client_link_send(link, head.data, head.len, err);
    if (head.data)
        explicit_bzero(head.data, head.len); /* the token is in it */
    if (r < 0 || send_file(link, &t, err) < 0 || receive_all(link, &response, &answer, err) < 0 ||
        read_answer(response.head.status, &answer, &value, err) < 0)
        return -1;
    json_decref(value);
    return 0;
}

static int keep_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct transfer *t = user;

    while (len) {
        ssize_t n = write(t->fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "write the file");
        data += n;
        len -= (size_t)n;
        tell(t, (size_t)n);
    }
    return 0;
}

int client_get(const struct client *client, const char *path, int fd, client_progress_fn progress,
               void *user, struct error *err)
{
    cleanup(http_response_done) struct http_response response;
    cleanup(buf_done) struct buf answer;
    cleanup(link_close_p) struct client_link *link = NULL;
    struct transfer t = {.fd = fd, .all = UINT64_MAX, .progress = progress, .user = user};
    json_t *value = NULL;

    http_response_init(&response);
    buf_init(&answer, ANSWER_BYTES);
    if (ask(client, "GET", path, "*/*", NULL, &link, err) < 0)
        return -1;
    /* The first bytes of the body may come with the head: they wait in `answer`. */
    while (!response.has_head)
        if (receive(link, &response, &answer, err) < 0)
            return -1;
    if (response.head.status != 200) {
        if (receive_all(link, &response, &answer, err) < 0 ||
            read_answer(response.head.status, &answer, &value, err) < 0)
            return -1;
        json_decref(value);
        return not_ours(err);
    }
    if (response.head.framing == HTTP_LENGTH)
        t.all = response.head.length;
    if (keep_piece(&t, answer.data, answer.len, err) < 0)
        return -1;
    while (!response.is_over)
        if (receive_to(link, &response, keep_piece, &t, err) < 0)
            return -1;
    return 0;
}

/* --- events --- */

struct client_stream {
    struct client_link *link;
    struct http_response response;
    struct buf text; /* from the next line on */
    size_t scanned;  /* of the text, without a newline */
    int other;       /* client_also_wait_for() */
    char name[32];
};

void client_close(struct client_stream *stream)
{
    if (!stream)
        return;
    client_link_close(stream->link);
    http_response_done(&stream->response);
    buf_done(&stream->text);
    free(stream);
}

void client_also_wait_for(struct client_stream *stream, int fd)
{
    stream->other = fd;
}

static void drop(struct buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

/* The head of a stream of events; any other answer is an error of the server's. */
static int read_head(struct client_stream *s, struct error *err)
{
    const struct http_head *head = &s->response.head;
    json_t *answer = NULL;
    struct span type;

    while (!s->response.has_head)
        if (receive(s->link, &s->response, &s->text, err) < 0)
            return -1;
    type = http_head_get(head, "content-type");
    type.len = type.data ? span_until(type, "; \t") : 0;
    if (head->status == 200 && type.data && span_is_nocase(type, "text/event-stream"))
        return 0;
    if (receive_all(s->link, &s->response, &s->text, err) < 0 ||
        read_answer(head->status, &s->text, &answer, err) < 0)
        return -1;
    json_decref(answer);
    return not_ours(err);
}

int client_open(const struct client *client, const char *method, const char *path,
                const json_t *body, struct client_stream **ret_stream, struct error *err)
{
    struct client_stream *s = calloc(1, sizeof(*s));

    if (!s)
        return error_memory(err);
    s->other = -1;
    http_response_init(&s->response);
    buf_init(&s->text, ANSWER_BYTES);
    if (ask(client, method, path, "text/event-stream", body, &s->link, err) < 0 ||
        read_head(s, err) < 0) {
        client_close(s);
        return -1;
    }
    *ret_stream = s;
    return 0;
}

/* 1: a line is at the beginning of the text, *ret_len bytes without its end. */
static int next_line(struct client_stream *s, const sigset_t *mask, size_t *ret_len,
                     struct error *err)
{
    for (;;) {
        const char *end = s->text.len > s->scanned
                              ? memchr(s->text.data + s->scanned, '\n', s->text.len - s->scanned)
                              : NULL;
        int n;

        if (end) {
            *ret_len = (size_t)(end - s->text.data);
            return 1;
        }
        s->scanned = s->text.len;
        if (s->response.is_over)
            return 0;
        n = client_link_wait(s->link, s->other, mask, err);
        if (n != 1)
            return n < 0 ? -1 : 2 + (n == 2);
        if (receive(s->link, &s->response, &s->text, err) < 0)
            return -1;
    }
}

int client_next(struct client_stream *s, const sigset_t *mask, const char **ret_name,
                json_t **ret_data, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_BYTES, .depth = 2048, .allows_nul = true};
    size_t len = 0;
    int r;

    while ((r = next_line(s, mask, &len, err)) == 1) {
        const char *line = s->text.data;
        bool is_data = len > 6 && memcmp(line, "data: ", 6) == 0;

        if (len > 7 && memcmp(line, "event: ", 7) == 0)
            (void)snprintf(s->name, sizeof(s->name), "%.*s", (int)(len - 7), line + 7);
        if (is_data)
            r = json_text_load(line + 6, len - 6, &limits, ret_data, err);
        drop(&s->text, len + 1);
        s->scanned = 0;
        if (is_data) {
            *ret_name = s->name;
            return r < 0 ? bad_json(err) : 1;
        }
    }
    return r;
}

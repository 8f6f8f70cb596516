#include "front/client.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "front/json.h"

/* A result with all its displays and both streams. */
#define ANSWER_BYTES (64 * MIB)

#define DEFAULT_PORT "8222"

/* --- where --- */

int client_init(struct client *client, const char *url, const char *socket_path, const char *token,
                struct error *err)
{
    static const char scheme[] = "http://";
    const char *rest, *colon;
    size_t len;

    *client = (struct client){.token = token ? strdup(token) : NULL};
    if (!url) {
        client->socket = strdup(socket_path);
        return client->socket ? 0 : error_set(err, E_SYSTEM, "out of memory");
    }
    rest = url + strlen(scheme);
    if (strncmp(url, scheme, strlen(scheme)) != 0 || !*rest || strpbrk(rest, "/?#@ ") != NULL) {
        error_set(err, E_INVALID, "`%s` is not the address of a server", url);
        return error_hint(err, "write it as http://127.0.0.1:" DEFAULT_PORT);
    }
    colon = *rest == '[' ? strstr(rest, "]:") : strrchr(rest, ':');
    colon = colon && *colon == ']' ? colon + 1 : colon;
    len = colon ? (size_t)(colon - rest) : strlen(rest);
    client->host = *rest == '[' && len > 2 ? strndup(rest + 1, len - 2) : strndup(rest, len);
    client->port = strdup(colon ? colon + 1 : DEFAULT_PORT);
    return client->host && client->port ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

void client_done(struct client *client)
{
    free(client->socket);
    free(client->host);
    free(client->port);
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

/* --- the connection --- */

static int no_server(struct error *err)
{
    error_set(err, E_NOT_FOUND, "no server is running");
    return error_hint(err, "start one with `belljar serve`");
}

static int connect_unix(const char *path, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return error_errno(err, "socket");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(err, E_INVALID, "the path of the socket is too long");
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return errno == ENOENT || errno == ECONNREFUSED ? no_server(err)
                                                        : error_errno(err, "connect to %s", path);
    return take_fd(fd);
}

static int connect_tcp(const struct client *client, struct error *err)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;

    if (getaddrinfo(client->host, client->port, &wanted, &found) != 0)
        return error_set(err, E_NOT_FOUND, "there is no host `%s`", client->host);
    for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0)
            close_fd(&fd);
    }
    freeaddrinfo(found);
    return fd < 0 ? no_server(err) : fd;
}

static int send_all(int fd, const struct buf *text, struct error *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t n = send(fd, text->data + at, text->len - at, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "send to the server");
        at += (size_t)n;
    }
    return 0;
}

static int receive_all(int fd, struct buf *text, struct error *err)
{
    char data[16384];

    for (;;) {
        ssize_t n = recv(fd, data, sizeof(data), 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, "receive from the server");
        if (n == 0)
            return 0;
        if (buf_add(text, data, (size_t)n, err) < 0)
            return error_wrap(err, "the server's answer");
    }
}

/* --- one exchange --- */

static int write_request(const struct client *client, const char *method, const char *path,
                         const json_t *body, struct buf *out, struct error *err)
{
    cleanup(buf_done) struct buf text;
    char head[512];
    int n;

    buf_init(&text, ANSWER_BYTES);
    if (body && json_text_dump(body, JSON_TEXT_COMPACT, &text, err) < 0)
        return -1;
    if (buf_add_str(out, method, err) < 0 || buf_add_str(out, " ", err) < 0 ||
        buf_add_str(out, path, err) < 0)
        return -1;
    n = snprintf(head, sizeof(head),
                 " HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nAccept: application/json\r\n",
                 client->socket ? "localhost" : client->host);
    if (n < 0 || (size_t)n >= sizeof(head))
        return error_set(err, E_INVALID, "the name of the host is too long");
    if (buf_add_str(out, head, err) < 0)
        return -1;
    if (client->token &&
        (buf_add_str(out, "Authorization: Bearer ", err) < 0 ||
         buf_add_str(out, client->token, err) < 0 || buf_add_str(out, "\r\n", err) < 0))
        return -1;
    n = snprintf(head, sizeof(head),
                 body ? "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n" : "\r\n",
                 text.len);
    return buf_add(out, head, (size_t)n, err) < 0 ? -1 : buf_add(out, text.data, text.len, err);
}

/* What the server said went wrong, as an error of ours. */
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

static void json_decref_p(json_t **value)
{
    json_decref(*value);
}

static int read_answer(const struct buf *text, json_t **ret_answer, struct error *err)
{
    static const struct json_text_limits limits = {
        .bytes = ANSWER_BYTES, .depth = 64, .allows_nul = true, .allows_scalar = true};
    const char *body = memmem(text->data, text->len, "\r\n\r\n", 4);
    cleanup(json_decref_p) json_t *answer = NULL;
    int status = 0;
    size_t len;

    if (!body || sscanf(text->data, "HTTP/1.%*1d %3d", &status) != 1)
        return error_set(err, E_PROTOCOL, "what answers there is no Belljar");
    body += 4;
    len = text->len - (size_t)(body - text->data);
    if (len && json_text_load(body, len, &limits, &answer, err) < 0)
        return error_wrap(err, "the server's answer");
    if (status >= 400)
        return take_error(status, answer, err);
    *ret_answer = take_ptr(answer);
    return 0;
}

int client_call(const struct client *client, const char *method, const char *path,
                const json_t *body, json_t **ret_answer, struct error *err)
{
    cleanup(buf_done) struct buf request, answer;
    cleanup_close int fd = -1;
    int r;

    buf_init(&request, ANSWER_BYTES);
    buf_init(&answer, ANSWER_BYTES);
    r = write_request(client, method, path, body, &request, err);
    if (r == 0) {
        fd = client->socket ? connect_unix(client->socket, err) : connect_tcp(client, err);
        r = fd < 0 ? -1 : send_all(fd, &request, err);
    }
    if (r == 0)
        r = receive_all(fd, &answer, err);
    if (request.data)
        explicit_bzero(request.data, request.len); /* the token is in it */
    return r < 0 ? r : read_answer(&answer, ret_answer, err);
}

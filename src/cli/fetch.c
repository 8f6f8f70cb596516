/* belljar --fetch: one HTTP request, of which standard input says everything, and its answer.
 * Executed by the supervisor for functions of the host that are requests (upstream/host.c),
 * so that it neither waits nor reads what hosts send. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cmd.h"
#include "http/client.h"
#include "http/client_link.h"
#include "upstream/http_reply.h"

#define PIECE (16 * KIB)

static int compose(const json_t *request, const struct url *url, struct buf *out, struct error *err)
{
    char host[HOST_TEXT], port[8] = "";
    cleanup(buf_done) struct buf body = {0};
    const json_t *content = json_object_get(request, "body"), *header;
    size_t i;

    buf_init(&body, 2 * MIB);
    if (content && json_text_dump(content, JSON_TEXT_COMPACT, &body, err) < 0)
        return -1;
    host_text(&url->host, host);
    if (url->port)
        (void)snprintf(port, sizeof(port), ":%u", url->port);
    if (buf_printf(out, err, "%s %s%.*s HTTP/1.1\r\nHost: %s%s\r\nConnection: close\r\n",
                   json_get_text(request, "method"),
                   url->target.len && *url->target.data == '/' ? "" : "/", (int)url->target.len,
                   url->target.data, host, port) < 0)
        return -1;
    json_array_foreach(json_object_get(request, "headers"), i, header)
    {
        if (buf_printf(out, err, "%s\r\n", json_string_value(header)) < 0)
            return -1;
    }
    if (content && buf_printf(out, err, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                              body.len) < 0)
        return -1;
    return buf_add_str(out, "\r\n", err) < 0 ? -1 : buf_add(out, body.data, body.len, err);
}

static void print(void *user, const char *text, size_t len)
{
    (void)user;
    (void)fwrite(text, 1, len, stdout);
}

static int receive(struct client_link *link, struct error *err)
{
    struct http_reply reply;
    char piece[PIECE];
    ssize_t n = 1;
    int r = 0;

    http_reply_init(&reply, print, NULL);
    while (r == 0 && n > 0 && !reply.response.is_over) {
        n = client_link_receive(link, piece, sizeof(piece), err);
        r = n < 0 ? -1 : n > 0 ? http_reply_feed(&reply, piece, (size_t)n, err) : 0;
    }
    if (r == 0 && !reply.response.is_over)
        r = http_reply_end(&reply, err);
    if (r == 0 && (reply.status < 200 || reply.status > 299))
        r = error_set(err, E_PROTOCOL, "the host answered with status %d", reply.status);
    http_reply_done(&reply);
    return r;
}

static int fetch(const json_t *request, struct error *err)
{
    const char *text_url = json_get_text(request, "url");
    cleanup(buf_done) struct buf text = BUF_OF(4 * MIB);
    struct client client = {0};
    struct client_link *link = NULL;
    struct url url;
    const char *why = url_parse(text_url, strlen(text_url), &url);
    int r;

    if (why)
        return error_set(err, E_INVALID, "the URL: %s", why);
    client = (struct client){.host = url.host, .port = url_port(&url), .is_tls = url.is_tls};
    r = compose(request, &url, &text, err);
    if (r == 0)
        r = client_link_open(&client, &link, err);
    if (r == 0)
        r = client_link_send(link, text.data, text.len, err);
    if (r == 0)
        r = receive(link, err);
    if (link)
        client_link_close(link);
    return r;
}

int cmd_fetch(int argc, char **argv)
{
    static const struct json_text_limits limits = {.bytes = 4 * MIB, .depth = 100};
    cleanup(buf_done) struct buf text = BUF_OF(4 * MIB);
    cleanup_json json_t *request = NULL;
    struct error err = {0};
    int r;

    (void)argv;
    if (argc != 1)
        return 64;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    r = buf_read_fd(&text, STDIN_FILENO, &err);
    if (r == 0)
        r = json_text_load(buf_str(&text), text.len, &limits, &request, &err);
    if (r == 0)
        r = fetch(request, &err);
    if (r == 0 && fflush(stdout) == 0)
        return 0;
    (void)fprintf(stderr, "%s\n", error_message(&err));
    error_done(&err);
    return 1;
}

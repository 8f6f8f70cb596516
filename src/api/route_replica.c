/* The way of shared skills and states to the bus (store/replica.h): the node of this machine
 * connects over `cluster_socket`, gets questions and sends answers, each a line of JSON.
 *
 *     {"n":1,"do":"get","at":"PLACE.list"}             {"n":1,"status":200,"sequence":7,"data":"…"}
 *     {"n":2,"do":"swap","at":"PLACE.list","after":7,"data":"…"}          {"n":2,"status":409}
 *
 * Data is sealed, and in base64. The node has no token and needs none: it can neither read nor
 * forge anything. The last one that has connected is used.
 */
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "store/replica.h"

#define PROTOCOL "belljar-store"

/* A piece in base64, and what is around it. */
#define LINE_BYTES MIB

struct replica_link {
    struct api *api;
    struct request *request;
    struct buf in;
    size_t scanned; /* bytes of it without a newline */
};

static struct replicas *replicas_of(const struct api *api)
{
    return api->store ? store_replicas(api->store) : NULL;
}

/* --- questions --- */

static const char *const words[] = {
    [REPLICA_GET] = "get",     [REPLICA_PUT] = "put",   [REPLICA_SWAP] = "swap",
    [REPLICA_PURGE] = "purge", [REPLICA_FIND] = "find",
};

static void send_ask(void *user, const struct replica_ask *ask)
{
    struct replica_link *link = user;
    cleanup(buf_done) struct buf text = BUF_OF(LINE_BYTES);

    if (buf_printf(&text, NULL, "{\"n\":%llu,\"do\":\"%s\",\"at\":\"%s\"",
                   (unsigned long long)ask->number, words[ask->what], ask->place) < 0 ||
        (ask->what == REPLICA_SWAP &&
         buf_printf(&text, NULL, ",\"after\":%llu", (unsigned long long)ask->after) < 0) ||
        (ask->data.len && (buf_add_str(&text, ",\"data\":\"", NULL) < 0 ||
                           base64_add(&text, ask->data.data, ask->data.len, NULL) < 0 ||
                           buf_add_str(&text, "\"", NULL) < 0)) ||
        buf_add_str(&text, "}\n", NULL) < 0)
        return; /* the question is not answered, which its clock notices */
    (void)request_write(link->request, buf_str(&text), text.len);
}

/* --- answers --- */

static void take_line(const struct replica_link *link, struct span line)
{
    static const struct json_text_limits limits = {.bytes = LINE_BYTES, .depth = 2};
    cleanup(buf_done) struct buf data = BUF_OF(LINE_BYTES);
    cleanup_json json_t *answer = NULL;
    const json_t *text;
    int status;

    if (json_text_load(line.data, line.len, &limits, &answer, NULL) < 0)
        return;
    status = (int)json_integer_value(json_object_get(answer, "status"));
    text = json_object_get(answer, "data");
    if (text && base64_decode(&data, json_string_value(text) ? json_string_value(text) : "",
                              json_string_length(text), NULL) < 0)
        status = 503;
    replicas_answer(replicas_of(link->api),
                    (uint64_t)json_integer_value(json_object_get(answer, "n")), status,
                    (uint64_t)json_integer_value(json_object_get(answer, "sequence")),
                    (struct span){buf_str(&data), data.len});
}

/* Answers lead to new questions, but the link stays while lines are taken. */
static void take_lines(struct replica_link *link)
{
    struct buf *in = &link->in;
    char *newline;

    while (in->len > link->scanned &&
           (newline = memchr(in->data + link->scanned, '\n', in->len - link->scanned)) != NULL) {
        size_t len = (size_t)(newline - in->data);

        take_line(link, (struct span){in->data, len});
        buf_consume(in, len + 1);
        link->scanned = 0;
    }
    link->scanned = in->len;
}

/* --- the connection --- */

static void end(struct replica_link *link)
{
    struct api *api = link->api;
    struct replicas *replicas = replicas_of(api);

    if (replicas && replicas_is_port(replicas, link))
        replicas_connect(replicas, NULL);
    buf_done(&link->in);
    free(link);
}

static void hang_up(struct request *request)
{
    struct replica_link *link = request->user;

    request->on_gone = NULL;
    end(link);
    request_end(request);
}

static int on_bytes(struct request *request, unsigned flags, const void *data, size_t len)
{
    struct replica_link *link = request->user;

    (void)flags;
    if (buf_add(&link->in, data, len, NULL) < 0) {
        hang_up(request); /* a line without an end */
        return 0;
    }
    request_taken(request, len);
    take_lines(link);
    return 0;
}

static void on_gone(struct request *request)
{
    end(request->user);
}

static int check(const struct request *request, struct error *err)
{
    const struct api *api = request->api;

    if (!request->is_cluster)
        return error_set(err, E_NOT_FOUND, "there is nothing at this path");
    if (!span_is(request_header(request, "upgrade"), PROTOCOL))
        return error_set(err, E_INVALID, "the header `Upgrade` must be `" PROTOCOL "`");
    if (!replicas_of(api))
        return error_set(err, E_UNSUPPORTED, "this server does not store skills and states");
    return 0;
}

static void open_link(struct request *request)
{
    struct replica_link *link = calloc(1, sizeof(*link));
    struct error err = {0};

    if (!link)
        error_memory(&err);
    if (!link || check(request, &err) < 0) {
        free(link);
        request_answer_error(request, &err);
        return;
    }
    *link = (struct replica_link){.api = request->api, .request = request};
    buf_init(&link->in, LINE_BYTES);
    request->user = link;
    request->on_gone = on_gone;
    request->on_bytes = on_bytes;
    request->on_stop = hang_up;
    request_upgrade(request, "Upgrade: " PROTOCOL "\r\n", 0);
    replicas_connect(replicas_of(link->api),
                     &(struct replica_port){.send = send_ask, .user = link});
}

/* clang-format off */
const struct route api_replica_routes[] = {
    {"GET", "/v1/cluster/store", open_link, .access = ROUTE_PUBLIC, .status = 101, .is_unlisted = true,
     .summary = "questions to the bus about shared skills and states, for the node of a cluster"},
    {0},
};
/* clang-format on */

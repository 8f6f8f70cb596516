#include "unit.h"

#include <stdio.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "mcp/http.h"
#include "mcp/http_internal.h"

/* In place of connections: what became of the last request. */
static int status;
static char headers[256];
static bool is_streaming;
static char sent_id[64]; /* the header Mcp-Session-Id of what is sent */

void request_answer_json_with(struct request *request, int code, const char *more, json_t *value)
{
    (void)request;
    status = code;
    (void)snprintf(headers, sizeof(headers), "%s", more ? more : "");
    json_decref(value);
}

void request_answer_json(struct request *request, int code, json_t *value)
{
    request_answer_json_with(request, code, NULL, value);
}

void request_answer_error_as(struct request *request, int code, const char *more, struct error *err)
{
    error_done(err);
    request_answer_json_with(request, code, more, NULL);
}

void request_answer_error(struct request *request, struct error *err)
{
    request_answer_error_as(request, error_code_http(err->code), NULL, err);
}

void request_answer_empty(struct request *request, int code)
{
    request_answer_json_with(request, code, NULL, NULL);
}

void request_begin(struct request *request, int code, const char *type, const char *more,
                   uint64_t length)
{
    (void)type;
    (void)length;
    request_answer_json_with(request, code, more, NULL);
    is_streaming = true;
}

bool request_write(struct request *request, const void *data, size_t len)
{
    (void)request;
    (void)data;
    (void)len;
    return true;
}

bool request_write_shared(struct request *request, struct shared *data, size_t len)
{
    return request_write(request, data->text.data, len);
}

void request_end(struct request *request)
{
    (void)request;
    is_streaming = false;
}

void request_abort(struct request *request)
{
    request_end(request);
}

struct span request_header(const struct request *request, const char *name)
{
    (void)request;
    if (strcmp(name, "mcp-session-id") == 0 && *sent_id)
        return (struct span){sent_id, strlen(sent_id)};
    return (struct span){NULL, 0};
}

struct scene {
    struct loop *loop;
    struct mcp_server *server;
    struct api api;
};

static int begin(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct mcp_server_options server = {.name = "test", .version = "0"};
    struct mcp_http_options http = {.max_sessions = 4, .idle_ms = 60000};

    scene->loop = server.loop = http.loop = loop_new(NULL);
    assert_int_equal(mcp_server_new(&server, &scene->server, NULL), 0);
    http.server = scene->server;
    assert_int_equal(mcp_http_new(&http, &scene->api.mcp, NULL), 0);
    *sent_id = '\0';
    *state = scene;
    return 0;
}

static int end(void **state)
{
    struct scene *scene = *state;

    mcp_http_free(scene->api.mcp);
    mcp_server_free(scene->server);
    loop_free(scene->loop);
    free(scene);
    return 0;
}

/* One exchange; the request is answered at once, or streams. */
static struct request *send_as(struct scene *scene, const char *owner, const char *method,
                               const char *body)
{
    static struct request request;

    buf_done(&request.body);
    request = (struct request){.api = &scene->api};
    (void)snprintf(request.owner, sizeof(request.owner), "%s", owner);
    buf_init(&request.body, MIB);
    if (body)
        (void)buf_add_str(&request.body, body, NULL);
    for (const struct route *r = mcp_http_routes; r->method; r++)
        if (strcmp(r->method, method) == 0 && strcmp(r->path, "/mcp") == 0) {
            r->handle(&request);
            return &request;
        }
    fail();
    return NULL;
}

/* The id of a new session, in sent_id from here on; false: there was no room. */
static bool open_as(struct scene *scene, const char *owner)
{
    *sent_id = '\0';
    (void)send_as(scene, owner, "POST",
                  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                  "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
                  "\"name\":\"t\",\"version\":\"1\"}}}");
    if (status != 200)
        return false;
    assert_int_equal(sscanf(headers, "Mcp-Session-Id: %63[^\r]", sent_id), 1);
    return true;
}

static int ping_as(struct scene *scene, const char *owner, const char *id)
{
    (void)snprintf(sent_id, sizeof(sent_id), "%s", id);
    (void)send_as(scene, owner, "POST", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    return status;
}

TEST_WITH(a_token_beyond_its_share_gives_one_of_its_own, begin, end)
{
    struct scene *scene = *state;
    char first[64], second[64], other[64];

    assert_true(open_as(scene, "b"));
    memcpy(other, sent_id, sizeof(other));
    assert_true(open_as(scene, "a"));
    memcpy(first, sent_id, sizeof(first));
    assert_true(open_as(scene, "a"));
    memcpy(second, sent_id, sizeof(second));
    assert_int_equal(ping_as(scene, "a", first), 200);
    assert_true(open_as(scene, "a")); /* the last free place is for others */
    assert_int_equal(ping_as(scene, "a", second), 404);
    assert_int_equal(ping_as(scene, "a", first), 200);
    assert_int_equal(ping_as(scene, "b", other), 200);
    assert_true(open_as(scene, "b"));
    assert_int_equal(ping_as(scene, "b", other), 404);
    assert_int_equal(ping_as(scene, "a", first), 200);
}

TEST_WITH(a_session_that_is_in_use_is_not_taken, begin, end)
{
    struct scene *scene = *state;
    char first[64], second[64];
    static struct request readers[2];

    assert_true(open_as(scene, "a"));
    memcpy(first, sent_id, sizeof(first));
    readers[0] = *send_as(scene, "a", "GET", NULL);
    mcp_http_session_find(scene->api.mcp, "a", (struct span){first, strlen(first)})->news.reader =
        &readers[0];
    assert_true(open_as(scene, "a"));
    memcpy(second, sent_id, sizeof(second));
    readers[1] = *send_as(scene, "a", "GET", NULL);
    mcp_http_session_find(scene->api.mcp, "a", (struct span){second, strlen(second)})->news.reader =
        &readers[1];
    assert_false(open_as(scene, "a"));
    assert_int_equal(status, 429);
    assert_true(open_as(scene, "b"));
    assert_int_equal(ping_as(scene, "a", first), 200);
}

TEST_WITH(an_owner_who_is_forgotten_has_nothing, begin, end)
{
    struct scene *scene = *state;
    char his[64], other[64];

    assert_true(open_as(scene, "a"));
    memcpy(his, sent_id, sizeof(his));
    assert_true(open_as(scene, "b"));
    memcpy(other, sent_id, sizeof(other));
    assert_int_equal(ping_as(scene, "b", his), 404);
    mcp_http_forget(scene->api.mcp, "a");
    assert_int_equal(ping_as(scene, "a", his), 404);
    assert_int_equal(ping_as(scene, "b", other), 200);
}

TEST_WITH(a_failed_initialize_opens_no_session, begin, end)
{
    struct scene *scene = *state;

    *sent_id = '\0';
    (void)send_as(scene, "a", "POST",
                  "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":7}");
    assert_int_equal(status, 400);
    assert_string_equal(headers, "");
    assert_null(LIST_FIRST(&scene->api.mcp->sessions));
}

UNIT_MAIN()

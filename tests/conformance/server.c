/* The conformance server: Belljar's front end, from the socket to the dispatcher, with fixtures
 * instead of its tools. Nothing is run and nobody needs a token.
 *
 * `conformance-server [PORT]` listens on 127.0.0.1, says where, and answers until it is told to
 * end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/config.h"
#include "fixtures.h"
#include "http/listen.h"
#include "mcp/http.h"

#define TOOLS_MAX 64

struct whole {
    struct config *config;
    struct loop *loop;
    struct auth *auth;
    struct mcp_server *mcp;
    struct http_server *http;
    struct api api;
    struct router router;
    struct metrics metrics;
    const struct mcp_tool *tools[TOOLS_MAX];
};

static void collect_tools(struct whole *whole)
{
    const struct mcp_tool *const tables[] = {fixture_content_tools, fixture_ask_tools,
                                             fixture_task_tools};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
        for (const struct mcp_tool *tool = tables[i]; tool->name && n < TOOLS_MAX - 1; tool++)
            whole->tools[n++] = tool;
}

static int open_mcp(struct whole *whole, struct error *err)
{
    const struct mcp_server_options server = {
        .loop = whole->loop,
        .name = "belljar-conformance",
        .title = "Belljar's front end with fixtures",
        .version = BELLJAR_VERSION,
        .instructions = "Fixtures for the conformance suite.",
        .tools = whole->tools,
        .resources = fixture_resources,
        .prompts = fixture_prompts,
        .user = whole->loop,
    };
    struct mcp_http_options http = {.loop = whole->loop, .max_sessions = 1000, .idle_ms = 60000};

    collect_tools(whole);
    if (mcp_server_new(&server, &whole->mcp, err) < 0)
        return -1;
    http.server = whole->mcp;
    return mcp_http_new(&http, &whole->api.mcp, err);
}

static int open_http(struct whole *whole, const char *address, struct error *err)
{
    static const struct route *const tables[] = {mcp_http_routes, mcp_sse_routes, NULL};
    struct http_options options = {
        .max_connections = 256,
        .max_per_peer = 256,
        .idle_ms = 60000,
        .body_total = 64 * MIB,
        .answers_total = 64 * MIB,
        .on_head = route_on_head,
        .on_whole = route_on_whole,
        .has_others = route_has_others,
        .user = &whole->router,
    };
    struct listen_address where;
    int fd;

    whole->api.auth = whole->auth;
    whole->router = (struct router){.tables = tables,
                                    .config = whole->config,
                                    .api = &whole->api,
                                    .metrics = &whole->metrics,
                                    .max_per_caller = 256};
    if (http_new(whole->loop, &options, &whole->http, err) < 0)
        return -1;
    fd = listen_tcp(address, err);
    if (fd < 0 || listen_look(fd, &where, err) < 0)
        return -1;
    (void)printf("http://localhost:%d/mcp\n", where.port);
    (void)fflush(stdout);
    return http_listen(whole->http, fd, HTTP_PLAIN, err);
}

static void on_idle(void *arg)
{
    loop_stop(((struct whole *)arg)->loop);
}

static void on_signal(void *arg)
{
    struct whole *whole = arg;

    mcp_http_stop(whole->api.mcp);
    http_stop(whole->http, on_idle, whole);
}

static int run(struct whole *whole, const char *address, struct error *err)
{
    const struct auth_options nobody = {0};
    struct loop_watch *end;
    int r;

    whole->config = config_new();
    whole->loop = loop_new(err);
    if (!whole->config || !whole->loop || auth_open(&nobody, &whole->auth, err) < 0 ||
        open_mcp(whole, err) < 0 || open_http(whole, address, err) < 0)
        return -1;
    end = loop_watch_signal(whole->loop, SIGTERM, on_signal, whole);
    r = loop_run(whole->loop, err);
    loop_watch_free(end);
    return r;
}

int main(int argc, char **argv)
{
    struct whole whole = {0};
    struct error err = {0};
    char address[64];
    int r;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)snprintf(address, sizeof(address), "127.0.0.1:%s", argc > 1 ? argv[1] : "0");
    r = run(&whole, address, &err);
    if (r < 0)
        (void)fprintf(stderr, "conformance-server: %s\n", err.message ? err.message : "failed");
    error_done(&err);
    http_free(whole.http);
    mcp_http_free(whole.api.mcp);
    mcp_server_free(whole.mcp);
    auth_free(whole.auth);
    loop_free(whole.loop);
    config_free(whole.config);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* E2B's debug mode: its clients then ask nobody for a sandbox, and use fixed ports of this machine
 * without a token. Behind these is one sandbox, of the server's own user. It is made with the
 * server, and anew after its end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admit/access.h"
#include "api/host_name.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "compat/e2b_internal.h"
#include "http/listen.h"
#include "http/server.h"

#define PORT_API 3000

/* Cut to the lifetime that sessions have. */
#define TIMEOUT_MS ((uint64_t)30 * 24 * 60 * 60 * 1000)

static int open_sandbox(struct api *api, struct error *err)
{
    const struct auth_claim claim = {.is_unix = true, .uid = geteuid()};
    struct e2b_order order = {.template = "base", .timeout_ms = TIMEOUT_MS, .is_debug = true};

    if (access_check_caller(api->auth, api->recorder, &claim, &order.caller, err) < 0)
        return -1;
    order.generation = order.caller->generation;
    (void)snprintf(order.domain, sizeof(order.domain), "localhost");
    return e2b_sandbox_open(api, NULL, &order, err);
}

bool e2b_is_debug(const struct request *request)
{
    struct api *api = request->api;
    cleanup_error struct error err = {0};

    if (!request->service || strcmp(request->host_id, HOST_NAME_DEBUG) != 0)
        return false;
    if (!e2b_sandbox_find(api->e2b, HOST_NAME_DEBUG, strlen(HOST_NAME_DEBUG), NULL) &&
        open_sandbox(api, &err) < 0)
        LOG_EVENT(LOG_WARNING, "e2b_debug", {"message", err.message});
    return true;
}

/* A machine may have no IPv6, but nobody else may have the port there: `localhost` is both. */
static int listen_at(struct http_server *http, const char *host, uint16_t port, struct error *err)
{
    bool is_second = *host == '[';
    char address[32];
    int fd;

    (void)snprintf(address, sizeof(address), "%s:%u", host, port);
    fd = listen_tcp(address, err);
    if (fd >= 0)
        return http_listen_for(http, fd, port, err);
    if (!is_second || err->errnum == EADDRINUSE || err->errnum == EACCES)
        return error_wrap(err, "`e2b_debug`");
    error_done(err);
    return 0;
}

int e2b_open(struct api *api, bool is_beyond, struct error *err)
{
    static const char *const hosts[] = {"127.0.0.1", "[::1]"};
    static const uint16_t ports[] = {E2B_PORT_ENVD, E2B_PORT_INTERPRETER, PORT_API};

    api->e2b->is_beyond = is_beyond;
    if (!config_has_e2b_debug(api->config))
        return 0;
    if (is_beyond) {
        error_set(err, E_DENIED, "`e2b_debug` is only for servers that listen on 127.0.0.1");
        return error_hint(err, "change `listen`, or use E2B_API_URL and E2B_SANDBOX_URL instead");
    }
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
        for (size_t k = 0; k < ARRAY_SIZE(hosts); k++)
            if (listen_at(api->http, hosts[k], ports[i], err) < 0)
                return -1;
    return open_sandbox(api, err);
}

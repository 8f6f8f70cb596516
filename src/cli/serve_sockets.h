/* The sockets at which `belljar serve` listens: those of the settings, or those that a service
 * manager has opened. */
#pragma once

#include <stdbool.h>

#include "base/config.h"
#include "base/error.h"
#include "base/service.h"
#include "http/listen.h"
#include "http/server.h"

struct serve_sockets {
    int passed[SERVICE_SOCKETS_MAX]; /* by a service manager */
    int n_passed;
    struct listen_unix own_unix, cluster;
    char origin[96]; /* of the address, with the port that Linux may have chosen; "": passed ones */
    bool is_beyond;  /* other machines reach it */
};

#define SERVE_SOCKETS_NONE                                                                         \
    {                                                                                              \
        .own_unix = {.lock = -1}, .cluster = {.lock = -1 }                                         \
    }

/* Takes those of the service manager. Before anything else has descriptors, which would have their
 * numbers. */
int serve_sockets_take(struct serve_sockets *sockets, struct error *err);

/* E_DENIED: other machines would reach it, and there is no TLS, or no token. */
int serve_sockets_open(struct serve_sockets *sockets, const struct config *config,
                       struct http_server *http, bool is_tls, bool has_token, struct error *err);

void serve_sockets_done(struct serve_sockets *sockets);

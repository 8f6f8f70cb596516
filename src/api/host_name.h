/* Sandboxes by host name: `PORT-ID.DOMAIN` is a port of a sandbox or a session, `api.DOMAIN` the
 * control plane of E2B's interface, `sandbox.DOMAIN` whatever its headers say.
 *
 * A domain is one that the operator lists as `*.DOMAIN` in `hosts`, or `localhost`, whose names
 * lead to this machine. Such a request is answered as one for a path: the routes know no hosts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/error.h"
#include "base/span.h"
#include "http/request.h"

#define HOST_NAME_LABEL 63

struct host_name {
    bool is_api, is_shared;
    uint16_t port;                /* 0: of none */
    char id[HOST_NAME_LABEL + 1]; /* of the sandbox or session */
    bool is_session;              /* the id is one of /v1 */
};

/* `host` has no port. False: it is no such name. */
bool host_name_read(const struct config *config, struct span host, struct host_name *ret_name);

/* Gives the request the path that the name stands for. */
int host_name_apply(struct request *request, const struct host_name *name, struct error *err);

/* The sandbox of E2B's debug mode. */
#define HOST_NAME_DEBUG "debug_sandbox_id"

/* Like host_name_apply(), but for a request that came by a socket of the debug mode, whose service
 * stands for the name. */
int host_name_apply_service(struct request *request, struct error *err);

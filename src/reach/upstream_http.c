/* A server with a URL. */
#include "reach/upstream_wire.h"

int upstream_http_open(struct loop *loop, const struct config_server *server,
                       const struct upstream_events *events, void *user,
                       struct upstream_wire **ret_wire, struct error *err)
{
    (void)loop;
    (void)events;
    (void)user;
    (void)ret_wire;
    return error_set(err, E_UNSUPPORTED, "server `%s` has a URL, which is not supported yet",
                     server->name);
}

/* The role of a gateway: takes clients' HTTP, and sends each request to the node that answers it.
 */
#pragma once

#include "base/error.h"
#include "base/loop.h"
#include "cluster/settings.h"

struct gateway;

int gateway_new(struct loop *loop, const struct settings *settings, struct gateway **ret_gateway,
                struct error *err);

/* Takes no new connection; `on_idle` is called when the last one is gone. */
void gateway_stop(struct gateway *gateway, void (*on_idle)(void *user), void *user);

/* Cuts what is left. */
void gateway_close(struct gateway *gateway);

/* The bus refuses it: the process is to end with an error. */
bool gateway_is_refused(const struct gateway *gateway);

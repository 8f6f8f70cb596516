/* Why the bus cannot be reached. libnats tries to connect for ever and says nothing of why it
 * cannot; so while the bus is away, each server is asked once now and then, on a thread, and the
 * log has what is wrong with the first of them.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct bus_options;
struct bus_probe;
struct __natsOptions;

/* `options` outlives it. */
int bus_probe_new(struct loop *loop, const struct bus_options *options,
                  struct bus_probe **ret_probe, struct error *err);
void bus_probe_free(struct bus_probe *probe); /* accepts NULL */

/* At the beginning, and whenever it changes. */
void bus_probe_note(struct bus_probe *probe, bool is_up);

/* Fills the error for a connection to that server that was not made. `status` is one of libnats,
 * whose own words are this thread's last error. */
void bus_probe_explain(int status, const char *server, struct error *err);

/* Certificates, or a user: a status of libnats. */
int bus_probe_identify(struct __natsOptions *o, const struct bus_options *options);

/* Names to addresses, in a process of its own for each: the C library's resolver knows the host's
 * ways (hosts file, name services, search rules), but waits, and reads what strangers send. It is
 * this program, executed anew with `--resolve NAME`, or one the operator names. It gets the name as
 * its last argument and prints an address a line.
 */
#pragma once

#include <stddef.h>

#include "base/address.h"
#include "base/error.h"
#include "base/loop.h"

#define RESOLVE_MAX 32

struct lookup;

/* Called once, from the loop. `count` 0: `why` says why. */
typedef void (*resolve_fn)(void *user, const struct address *addresses, size_t count,
                           const char *why);

/* The lookups of one engine. */
struct resolver;

/* `program`: the operator's, or "" for our own. The text is only lent. NULL: out of memory. */
struct resolver *resolver_new(struct loop *loop, const char *program, struct error *err);

/* Ends the lookups that nobody waits for. Before its loop goes. Accepts NULL. */
void resolver_free(struct resolver *resolver);

/* Lookups of one owner (a sandbox) take turns with those of others, and a few run at once, however
 * many it asks for (LIMIT_NET_LOOKUPS). All owners of a `group` (a token) have one share of those
 * that run; NULL: the owner belongs to none. Returns NULL when out of memory. */
struct lookup *resolve_start(struct resolver *resolver, const void *owner, const void *group,
                             const char *name, resolve_fn fn, void *user);

/* Nobody waits for it any more. */
void resolve_cancel(struct lookup *lookup);

/* For commands, which have nothing else to do: the addresses of a host, after a wait that is as
 * bounded as above. `program`: as of resolver_new(). An address and `localhost` are not looked up.
 * E_NOT_FOUND: there are none. */
int resolve_wait(const char *program, const struct host *host,
                 struct address addresses[static RESOLVE_MAX], size_t *ret_count,
                 struct error *err);

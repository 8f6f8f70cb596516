/* Hosts that the operator allowed for good when asked: a file with one grant per line, HOST or
 * HOST:PORT, below the state directory. Whoever does not want one any more deletes its line. Only
 * programs of the operator's own commands are answered from it. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* A file that cannot be read remembers nothing. */
bool remembered_hosts_has(const char *grant);

/* E_TOO_LARGE: there are LIMIT_NET_REMEMBERED. */
int remembered_hosts_add(const char *grant, struct error *err);

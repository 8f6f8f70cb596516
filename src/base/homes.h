/* Home directories of the users in /etc/passwd. The file is read by hand: the C library would load
 * modules and ask servers. */
#pragma once

#include <sys/types.h>

#include "base/error.h"

#define HOMES_PASSWD "/etc/passwd"

/* A negative number ends the walk, with an error. */
typedef int (*homes_fn)(void *arg, uid_t uid, const char *home, struct error *err);

/* Calls `fn` for each user whose home directory is an absolute path other than "/". A file that
 * cannot be read has no users. `passwd` is HOMES_PASSWD, but in tests. */
int homes_each(const char *passwd, homes_fn fn, void *arg, struct error *err);

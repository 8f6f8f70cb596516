/* The terminal of a sandbox: one pty in an instance of devpts of its own.
 *
 * The sandbox has the slave, /dev/pts/0. The master goes to the supervisor before a program runs,
 * and the instance has room for no other pty: a program can neither make one nor reach one of the
 * host's.
 */
#pragma once

#include "base/error.h"

#define TERMINAL_SLAVE "/dev/pts/0"

/* Mounts the instance at /dev/pts. *ret_master is the caller's. E_UNSUPPORTED: this host does not
 * allow it. */
int terminal_make(int *ret_master, struct error *err);

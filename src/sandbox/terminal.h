/* The terminals of a sandbox: ptys in an instance of devpts of its own.
 *
 * Every sandbox has the instance, at /dev/pts, and no terminal in it. The supervisor makes them,
 * through a descriptor that leads to the instance's ptmx and that came with the sandbox's first
 * word. It keeps the masters; a program opens the slave that it is told. The ptmx is covered inside
 * and the instance has few ptys: a program can neither make one nor reach one of the host's.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define TERMINAL_PLACE "/dev/pts"

/* "/dev/pts/" and a number. */
#define TERMINAL_PATH_SIZE 24
void terminal_path(unsigned number, char path[static TERMINAL_PATH_SIZE]);

/* In the sandbox: mounts the instance, with at most `max` ptys. *ret_ptmx (O_PATH) is the caller's.
 * On a host that does not allow it, it leads to something of which terminal_open() says so. */
int terminal_mount(unsigned max, int *ret_ptmx, struct error *err);

/* In the supervisor: makes a pty. *ret_master, which never waits, is the caller's. E_UNSUPPORTED:
 * this host does not allow it. E_BUSY: there are as many as there may be. */
int terminal_open(int ptmx, int *ret_master, unsigned *ret_number, struct error *err);

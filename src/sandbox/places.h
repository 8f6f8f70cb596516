/* The directories of a sandbox. In namespaces that is /workspace and /tmp in each of them. At the
 * level `process` the paths are the host's: a directory of its own for each sandbox.
 *
 * What a kernel cannot ask Linux any more, once it may not look into /proc, is remembered here as
 * well. Set in a sandbox's first process, and inherited by its kernels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A second name of /workspace: a link in namespaces, unless something of the host is shown there.
 */
#define PLACES_HOME        "/home/user"
#define PLACES_HOME_TARGET "../workspace"

const char *places_workspace(void);
const char *places_tmp(void);

/* The paths are the host's. */
bool places_are_on_host(void);

/* PLACES_HOME is the workspace here. */
bool places_has_home(void);

/* On the host: private memory of this process, which its kernels share. */
uint64_t places_data_bytes(void);

/* Makes `workspace` and `tmp` in the directory, which is empty. Before /proc is out of reach. */
int places_make(const char *directory, struct error *err);

/* Bytes of private writable memory that this process has now. 0: nobody says. */
uint64_t places_read_data_bytes(void);

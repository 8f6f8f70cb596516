/* `belljar doctor --prove`: the escape programs, run on this host through the door a user has.
 *
 * Each program of the corpus is run by `belljar run --json`. It passes when its status is one it
 * promises, and neither its output nor the bait outside (a file, sockets, shared memory:
 * prove_bait.h) shows that it reached anything.
 */
#pragma once

#include <stddef.h>

#include "base/config.h"
#include "base/error.h"

struct prove_totals {
    size_t passed;
    size_t breaches;   /* reached something outside, or what it must not */
    size_t unexpected; /* reached nothing, but ended in another way than it should */
    size_t gaps;   /* a missing cgroup explains it, or that isolation `process` does not cover it */
    size_t grants; /* read-only directories that were attacked, one of them our own */
};

/* Prints a table on stdout and progress on stderr. Programs that attack read-only grants get one of
 * our own and every directory that the settings grant for reading; in the latter they try to make
 * new names only. Fails only when the suite itself cannot run. */
int prove_run_suite(const struct config *config, struct prove_totals *ret_totals,
                    struct error *err);

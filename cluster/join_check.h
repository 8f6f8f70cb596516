/* What has to be true of a cluster before a machine joins it, or of one that has joined: its
 * servers are there and have certificates of the same authority, the clocks agree, the name is
 * free, and everybody has the same version. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "cluster/operator.h"

struct join_check {
    const struct operator_options *options; /* with the servers to ask */
    const char *name;                       /* of this machine */
    bool is_new;                            /* nobody may use the name yet */
    bool takes_any_version;
};

/* Prints a line for each thing that was looked at. The first that is wrong is the error. */
int join_check(const struct join_check *check, struct error *err);

/* Whether an interface of this machine has the address. A name is not looked up: it passes. */
int join_check_address(const char *address, struct error *err);

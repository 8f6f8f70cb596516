/* Between the files of `belljar machine`. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct machine_build {
    const char *config; /* a file, or NULL */
    const char *kind;   /* kvm, tcg, or NULL: what the settings say, else kvm */
    bool is_json;
};

/* Starts a machine as a server would, runs two programs in it, and says what it can do. */
int machine_build(const struct machine_build *build, struct error *err);

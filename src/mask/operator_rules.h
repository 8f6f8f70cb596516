/* What the operator adds to the masker: a TOML file with values that are secret, the names of
 * variables whose values are, and rules.
 *
 *     values = ["…"]
 *     variables = ["GITHUB_TOKEN"]
 *     [secrets]
 *     EXAMPLE = "…"
 *     [rules.ticket]
 *     pattern = "TCK-[0-9]{8}"
 *     context = "ticket case"
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "mask/masker.h"

struct scrub_own {
    struct scrub_rules *rules;   /* NULL: none */
    struct scrub_values *values; /* NULL: none */
    json_t *secrets;             /* values by their names, which others may use; NULL: none */
};

/* The value of a secret: of [secrets], or of a variable that is listed. NULL: there is none. */
const char *scrub_own_secret(const struct scrub_own *own, const char *name, size_t len);

/* A file with values may be readable for its owner alone. `own` is zeroed by the caller; also after
 * a failure it is his to end with scrub_own_done(). */
int scrub_own_load(struct scrub_own *own, const char *path, struct error *err);

/* One more value that is secret. */
int scrub_own_add(struct scrub_own *own, const char *value, size_t len, struct error *err);

void scrub_own_done(struct scrub_own *own);

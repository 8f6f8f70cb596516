/* The operator's additions to the masker: a TOML file with secret values, names of variables with
 * secret values, and rules.
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

struct operator_rules {
    struct masker_rules *rules;   /* NULL: none */
    struct masker_values *values; /* NULL: none */
    json_t *secrets;              /* values by their names, which others may use; NULL: none */
};

/* The value of a secret: of [secrets], or of a variable that is listed. NULL: there is none. */
const char *operator_rules_secret(const struct operator_rules *own, const char *name, size_t len);

/* A file with values must be readable only for its owner. The caller zeroes `own` and frees it with
 * operator_rules_done(), also after a failure. */
int operator_rules_load(struct operator_rules *own, const char *path, struct error *err);

/* One more value that is secret. */
int operator_rules_add(struct operator_rules *own, const char *value, size_t len,
                       struct error *err);

void operator_rules_done(struct operator_rules *own);

/* Shared by the recipes of the two levels. */
#pragma once

#include <stddef.h>

#include "sandbox/recipe.h"

struct recipe_step {
    const char *name;
    int (*run)(struct recipe *r, struct error *err);
};

int recipe_run(struct recipe *r, const struct recipe_step *recipe, size_t count, struct error *err);

int recipe_join_cgroup(struct recipe *r, struct error *err);
int recipe_set_rlimits(struct recipe *r, struct error *err);
int recipe_filter_base(struct recipe *r, struct error *err);

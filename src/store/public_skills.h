/* Skills for everybody: folders in the directories that a store calls its shelves, the operator's
 * first. What stands further in front hides what has the same name behind it. They are read when
 * they are asked for, so that a new one is there at once. */
#pragma once

#include <jansson.h>

#include "store/skill_bundle.h"
#include "store/store.h"

bool public_skills_has(const struct store *store, const char *key);

/* {key: name} of all. NULL: out of memory. */
json_t *public_skills_names(const struct store *store);

/* Lists them as skill_list() does. A skill that cannot be read has the reason as its
 * description. */
json_t *public_skills_list(const struct store *store);

/* E_NOT_FOUND: there is none; E_INVALID: it is not as it should be. */
int public_skills_open(const struct store *store, const char *key, struct skill_bundle *folder,
                       struct error *err);

/* Loads an open skill, in the format of skill_load(). */
json_t *public_skills_head(const char *key, const struct skill_bundle *folder,
                           const struct store *store);

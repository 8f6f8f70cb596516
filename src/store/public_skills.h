/* Skills for everybody: folders in the directories that a store calls its shelves, the operator's
 * first. What stands further in front hides what has the same name behind it. They are read when
 * they are asked for, so that a new one is there at once. */
#pragma once

#include <jansson.h>

#include "store/skill_bundle.h"
#include "store/store.h"

bool shelf_has(const struct store *store, const char *key);

/* {key: name} of all. NULL: out of memory. */
json_t *shelf_names(const struct store *store);

/* As skill_list() has them. One that cannot be read says why in the place of its description. */
json_t *shelf_list(const struct store *store);

/* E_NOT_FOUND: there is none; E_INVALID: it is not as it should be. */
int shelf_open(const struct store *store, const char *key, struct folder *folder,
               struct error *err);

/* What skill_load() says of one that is open. */
json_t *shelf_head(const char *key, const struct folder *folder, const struct store *store);

/* The profiles a server gives out, each read once. */
#pragma once

#include "admit/profile.h"
#include "base/config.h"
#include "wire/message.h"

struct profiles;

/* Reads the settings' own profile at once, so that a mistake in it shows at the start. `config`
 * outlives it. */
int profiles_open(const struct config *config, struct profiles **ret_profiles, struct error *err);
void profiles_free(struct profiles *profiles);

/* Reads them again, from the same directory, for profiles_replace(). */
int profiles_read_again(const struct profiles *profiles, const struct config *config,
                        struct profiles **ret_profiles, struct error *err);

/* From now on `profiles` gives out those of `next`, which belongs to it from here on. Profiles that
 * were given out before stay. */
void profiles_replace(struct profiles *profiles, struct profiles *next);

/* NULL: that of the settings. Never by a path: that is the operator's to give. It lives as long as
 * the table. */
int profiles_get(struct profiles *profiles, const char *name, const struct profile **ret_profile,
                 struct error *err);

/* The policies of the settings' profile and of those that most clients name, as far as they can be
 * read. They live as long as the table. */
struct wire_policies profiles_usual(struct profiles *profiles);

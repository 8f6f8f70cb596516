/* Skills: modules that were written once and are there for later programs, as `skills.NAME`.
 *
 * A skill is one file of Python with a description. Saving one of a name that is there makes a new
 * version of it; the last ones are kept, so that a bad one can be taken back. Whether the code is
 * good is not known here: whoever saves has had it run in a sandbox before.
 */
#pragma once

#include <jansson.h>

#include "base/run.h"
#include "state/store.h"
#include "wire/pack.h"

/* E_INVALID: it cannot be imported by this name. Small letters, digits and `_`, a letter first, no
 * word of the language. */
int skill_check_name(const char *name, struct error *err);

/* The text that is stored: the description, if there is one, is the module's docstring. */
int skill_compose(struct span code, const char *description, struct buf *out, struct error *err);

/* `text` is what skill_compose() made. */
int skill_save(struct store *store, const char *owner, const char *name, struct span text,
               const char *description, int64_t *ret_version, struct error *err);

/* [{"name","description","version","updated_at","bytes"}], by name. The caller's. */
int skill_list(struct store *store, const char *owner, json_t **ret_list, struct error *err);

/* The same of one, with "code" and "versions":[{"version","timestamp","bytes"}]. `version` 0: the
 * last. */
int skill_load(struct store *store, const char *owner, const char *name, int64_t version,
               json_t **ret_skill, struct error *err);

/* Takes the last version back: the one before is the last again. E_NOT_FOUND: there is none. */
int skill_undo(struct store *store, const char *owner, const char *name, int64_t *ret_version,
               struct error *err);

int skill_delete(struct store *store, const char *owner, const char *name, struct error *err);

/* Gives a run the skills that its program names, and those that they name, as files of its
 * workspace: skills/NAME.py. Only where the profile lets it import `skills`, and nothing at all
 * where the program does not say that word. */
int skill_give(struct store *store, const char *owner, struct run *run, struct error *err);

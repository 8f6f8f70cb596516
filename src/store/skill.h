/* Skills: code that was written once and is there for later programs, as `skills.NAME`.
 *
 * A skill is one file of Python with a description, or a folder with a SKILL.md
 * (store/skill_bundle.h). The user's own are in the store; saving one of a name that is there makes
 * a new version of it, and the last ones are kept, so that a bad one can be taken back. Those for
 * everybody lie on shelves (store/public_skills.h), and their names are taken: nobody's own
 * replaces one of them. Whether code is good is not known here: whoever saves has had it tried in a
 * sandbox before.
 *
 * Names of folders may have a `-`. It is a `_` where they are imported, and for all that looks a
 * skill up both are the same.
 */
#pragma once

#include <jansson.h>

#include "base/run.h"
#include "store/skill_bundle.h"
#include "store/store.h"
#include "wire/pack.h"

/* E_INVALID: it cannot be imported by this name. Small letters, digits and `_`, a letter first, no
 * word of the language. */
int skill_check_name(const char *name, struct error *err);

/* The name it is imported by. */
int skill_key(const char *name, char ret_key[STORE_NAME_MAX + 1], struct error *err);

/* The text that is stored: the description, if there is one, is the module's docstring. */
int skill_compose(struct span code, const char *description, struct buf *out, struct error *err);

/* `text` is what skill_compose() made. E_DENIED: everybody has one of that name. */
int skill_save(struct store *store, const char *owner, const char *name, struct span text,
               const char *description, int64_t *ret_version, struct error *err);

/* Saves a finished folder, under its own name. */
int skill_save_folder(struct store *store, const char *owner, const struct skill_bundle *folder,
                      int64_t *ret_version, struct error *err);

/* Whether the owner may save one of this name. */
int skill_check_free(const struct store *store, const char *name, struct error *err);

/* [{"name","module","kind","is_folder","description","version","updated_at","bytes"}], by name;
 * `kind` is "public" or "user". The caller's. */
int skill_list(struct store *store, const char *owner, json_t **ret_list, struct error *err);

/* Describes one skill, with "files":[{"path","bytes","is_executable"}], "code" (of a module, or of
 * a folder's __init__.py), "instructions" (a folder's SKILL.md) and "versions":[{"version",
 * "timestamp","bytes"}]. `version` 0: the last. */
int skill_load(struct store *store, const char *owner, const char *name, int64_t version,
               json_t **ret_skill, struct error *err);

/* Its files, whatever it is: those of a module are one, NAME.py. `version` 0: the last. */
int skill_open(struct store *store, const char *owner, const char *name, int64_t version,
               struct skill_bundle *ret_folder, struct error *err);

/* Takes the last version back: the one before is the last again. E_NOT_FOUND: there is none. */
int skill_undo(struct store *store, const char *owner, const char *name, int64_t *ret_version,
               struct error *err);

int skill_delete(struct store *store, const char *owner, const char *name, struct error *err);

/* Gives a run the skills that its program names, and those that they name, as files of its
 * workspace: skills/NAME.py, or skills/NAME/…. Only where the profile lets it import `skills`, and
 * nothing at all where the program does not say that word. */
int skill_give(struct store *store, const char *owner, struct run *run, struct error *err);

/* Between the files of skills. */
#pragma once

#include "store/skill.h"

#define SKILL_NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

/* Rows of the last version of each. */
#define SKILL_LAST                                                                                 \
    " version=(SELECT MAX(version) FROM skill s WHERE s.owner=skill.owner AND s.name=skill.name)"

int skill_not_found(const char *name, struct error *err);

/* In a change that has begun: one more version, and what is too old is gone. */
int skill_add_version(struct store *store, const char *owner, const char *key, struct span text,
                      const char *description, int64_t *ret_version, struct error *err);

int skill_drop_old(struct store *store, const char *owner, const char *key, struct error *err);

/* In the same change: the folder of a version without code, and its files. */
int skill_put_files(struct store *store, const char *owner, const char *key, int64_t version,
                    const struct skill_bundle *folder, struct error *err);

/* In the same change: whether the owner has too much now. */
int skill_check_room(struct store *store, const char *owner, struct error *err);

/* Text, or null where it is none. */
json_t *skill_text(const char *data, size_t len);

/* The fields of skill_list(). `key` is the module's name, `title` what SKILL.md says, or NULL. */
json_t *skill_head(const char *key, const char *title, const char *kind, json_t *description,
                   int64_t version, json_t *time, int64_t bytes);

/* Adds "files", "code" and "instructions" to it. */
void skill_add_files(json_t *skill, const struct skill_bundle *folder);

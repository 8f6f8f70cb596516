/* A skill that is a folder, in memory: SKILL.md, scripts, and what they need.
 *
 * It is filled file by file, from a directory, a ZIP file (store/unzip.h) or the store, and what
 * comes in has been looked at: a path means one file on every system, there is not too much of
 * anything, and nothing is compiled code. What SKILL.md says of itself is read at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/pack.h"

#define SKILL_BUNDLE_HEAD     "SKILL.md"
#define SKILL_BUNDLE_PATH_MAX 240

struct skill_bundle_file {
    char *path; /* from the folder on */
    char *data; /* a NUL that does not count follows */
    size_t len;
    bool is_executable;
};

/* Starts zeroed. */
struct skill_bundle {
    struct skill_bundle_file *files;
    size_t count;
    size_t bytes;
    char *name, *description; /* as SKILL.md says; NULL before skill_bundle_finish() */
};

void skill_bundle_done(struct skill_bundle *folder);

/* A copy of it. What systems leave in folders and archives by themselves is passed over, with
 * success: `__MACOSX`, `.DS_Store`, `__pycache__`, `.git`. */
int skill_bundle_add(struct skill_bundle *folder, struct span path, struct span data,
                     bool is_executable, struct error *err);

/* Whether a path may be that of a file of a skill. */
int skill_bundle_check_path(struct span path, struct error *err);

/* Everything below the directory. Links are refused. */
int skill_bundle_read(struct skill_bundle *folder, const char *path, struct error *err);

/* A directory that everything is in is taken off, and SKILL.md is read. */
int skill_bundle_finish(struct skill_bundle *folder, struct error *err);

/* NULL: there is none of that path. */
const struct skill_bundle_file *skill_bundle_find(const struct skill_bundle *folder,
                                                  const char *path);

/* Its files of Python, "path NUL source NUL" each, for WIRE_RUN_CHECK. */
int skill_bundle_sources(const struct skill_bundle *folder, struct buf *out, struct error *err);

/* Adds the text as programs here see it: skills for other systems name directories of those. */
int skill_bundle_rewrite(const char *name, struct span text, struct buf *out, struct error *err);

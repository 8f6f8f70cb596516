/* Protected names: what a program may not create, change or remove in a granted directory, because
 * something on the host runs or obeys it by itself. protected_names.c has the table.
 *
 * Everything here judges names. What a link, a second hard link or git's configuration leads to has
 * another name: survey.h finds it when the grant is opened.
 *
 * Where the name cannot tell enough (a directory is a git directory by what is in it), the parent
 * directory is asked. Where that fails, the answer is "protected".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One row of the table. `pattern` is one name or several in a row (".git/hooks"), at any depth, or
 * from the root if it begins with a slash; `reason` is a clause for people ("git runs the programs
 * in it"). */
struct protected_name {
    const char *pattern;
    const char *reason;
};

/* All rows, for documentation. */
const struct protected_name *protected_names(size_t *ret_count);

/* Judges a place by its name, whatever is to happen there. `path` is absolute, of the host, and
 * resolved (no links, no "." or ".."): the granted directory and what follows. Patterns match
 * across the root of the grant, too (grant ~/.config, path git/config). `parent` is a descriptor
 * (O_PATH will do) of the place's parent directory, or -1 where there is none yet. It may be on a
 * detached mount of the grant. Returns NULL if the place is not protected. */
const struct protected_name *protected_judge(int parent, const char *path);

/* Whether the path is in a directory of modules that Python has compiled, or is one: Python runs
 * them without a look at their source. They are not made or changed, but may be removed. */
bool protected_is_cache(const char *path);

/* Data of git's that is free but believed by git: it comes into being checked, and only by a rename
 * or a second name, so that nobody can write to it later. */
enum protected_data {
    PROTECTED_DATA_NONE,
    PROTECTED_DATA_INDEX,       /* sandbox/git_index.h */
    PROTECTED_DATA_PACKED_REFS, /* sandbox/git_data.h */
    PROTECTED_DATA_MERGE_RR,
    PROTECTED_DATA_OBJECT,  /* sandbox/git_object.h; never changed, removed or replaced */
    PROTECTED_DATA_OBJECTS, /* a directory of such; never moved, nor something else there */
};

/* Finds which of them is at the place, with the same arguments. For places that are not
 * protected. */
enum protected_data protected_judge_data(int parent, const char *path);

/* Judges a symbolic link that is to be made at `path`, or moved there; arguments as above. A link
 * is protected also where a directory would not be: `.config` as a link would let any directory
 * stand for the one that has `git` in it. */
const struct protected_name *protected_judge_link(int parent, const char *path);

/* In addition, for the text of that link: outside of node_modules no link may lead below it, where
 * settings of linters are free. */
const struct protected_name *protected_judge_target(const char *path, const char *target);

/* In addition to protected_judge(), for something at `from` that is to be moved or linked to `to`:
 * would anything in it get a protected name there (`.config` that has `git` in it)? `dir` is a
 * descriptor of it, opened with O_PATH | O_NOFOLLOW. A link is judged as by protected_judge_link();
 * for other files the answer is NULL.
 *
 * A directory that comes from a git directory, or gets into one, or leaves node_modules, is read as
 * a whole: it must not be or hold a git directory. One that is too large for that, or cannot be
 * read, counts as protected. */
const struct protected_name *protected_judge_move(int dir, const char *from, const char *to);

/* --- Belljar's own places: configuration, state, keys, sockets, skills --- */

#define PROTECTED_OWN_MAX 1024

/* Adds a file or directory of Belljar's, wherever the configuration puts it. It counts for
 * protected_judge(), together with all below it, and programs cannot even read it. Both the given
 * path and what it resolves to are added. What is not absolute is ignored. -1: there are too many,
 * or no memory. */
int protected_add_own(const char *path);

/* Adds a place that programs may read but not change: Belljar runs it, or obeys it. Paths and
 * errors as above. */
int protected_add_run(const char *path);

/* The paths added so far by either, for a process that has to be told; NULL: no more. */
const char *protected_own(size_t index);
bool protected_is_hidden(size_t index); /* by protected_add_own() */

/* Whether `path` (absolute, resolved) is one that programs may not even read, or lies in one: by a
 * path added above, or by a row of the table. */
const struct protected_name *protected_judge_own(const char *path);

/* Files that git writes in its own directory in ordinary work are free. Everything else in there
 * may direct git to run or read something, now or in a later version, and is protected. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "sandbox/protected_internal.h"

/* Folded. A name with `.lock` behind it is as free as without.
 *
 * Each is written by ordinary work and only read as what it is: names of commits (HEAD and its
 * like, shallow), words for people (messages, gc.log), the number of a process (gc.pid). */
static const char *const free_files[] = {
    "head",        "orig_head",      "fetch_head",  "merge_head",       "merge_msg",
    "merge_mode",  "auto_merge",     "squash_msg",  "revert_head",      "cherry_pick_head",
    "rebase_head", "commit_editmsg", "tag_editmsg", "notes_editmsg",    "packed-refs.new",
    "gc.pid",      "gc.log",         "shallow",     "edit_description",
};

/* Files that git believes. They are free, but come into being by a rename only, and what they then
 * hold is checked: git_index.h, broker/git_data.c. Their `.lock` files are free. */
static const struct {
    const char *name;
    enum protected_git git;
} checked_files[] = {
    {"index", GIT_INDEX},
    {"packed-refs", GIT_PACKED_REFS},
    {"merge_rr", GIT_MERGE_RR},
};

/* With anything behind them: temporary files of git's own, that no other git looks at. A split
 * index (sharedindex.*) is not among them: it cannot be checked. */
static const char *const free_beginnings[] = {"sharedindex_", "shallow_", "next-index-",
                                              "index.stash.", "tmp-"};

/* Names of commits, their history, and large files by their digest. Not free are rr-cache, from
 * where git puts text into files that it merges, and reftable, which cannot be checked. */
static const char *const free_directories[] = {"logs", "lfs"};

/* Obeyed by git, in the top of a git directory. The rows of the table that begin with `.git/` have
 * the reasons. */
static const char *const settings[] = {
    "config",    "config.worktree", "hooks",     "commondir",    "gitdir",
    "info",      "modules",         "worktrees", "rebase-merge", "rebase-apply",
    "sequencer", "branches",        "remotes",   "config.lock",
};

static bool is_one_of(const char *const *names, size_t count, const char *name, size_t len)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return true;
    return false;
}

#define IS_ONE_OF(names, name, len) is_one_of(names, ARRAY_SIZE(names), name, len)

static bool equals(const char *name, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(name, text, len) == 0;
}

static bool begins(const char *name, size_t len, const char *text)
{
    size_t n = strlen(text);

    return len >= n && memcmp(name, text, n) == 0;
}

static size_t without_lock(const char *name, size_t len)
{
    return len > 5 && memcmp(name + len - 5, ".lock", 5) == 0 ? len - 5 : len;
}

const char *protected_git_setting(size_t i)
{
    static const char *const more[] = {"objects",  "refs",     "index",    "packed-refs",
                                       "merge_rr", "rr-cache", "reftable", "merge_autostash"};

    if (i < ARRAY_SIZE(settings))
        return settings[i];
    i -= ARRAY_SIZE(settings);
    return i < ARRAY_SIZE(more) ? more[i] : NULL;
}

static bool is_free_file(const char *name, size_t len)
{
    size_t n = without_lock(name, len);

    if (IS_ONE_OF(free_files, name, n))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(free_beginnings); i++)
        if (begins(name, len, free_beginnings[i]))
            return true;
    return false;
}

static const struct protected_name *setting_row(const char *name, size_t len)
{
    const struct protected_name *row;
    char pattern[64];

    (void)snprintf(pattern, sizeof(pattern), ".git/%.*s", (int)(len < 50 ? len : 50), name);
    row = protected_row(pattern);
    return row ? row : protected_row(".git/*");
}

static bool is_all_hex(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (hex_lower_value(name[i]) < 0)
            return false;
    return true;
}

/* The directories where git writes objects before they get their names. */
static bool is_object_draft(const char *name, size_t len)
{
    return begins(name, len, "tmp_") || begins(name, len, "incoming-") ||
           without_lock(name, len) != len;
}

/* Sets what is known of the place, and of what is below. */
static void put(struct protected_state *state, enum protected_git git,
                const struct protected_name *row)
{
    state->git = (uint8_t)git;
    state->row = row;
}

static enum protected_git checked_file(const char *name, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(checked_files); i++)
        if (equals(name, len, checked_files[i].name))
            return checked_files[i].git;
    return without_lock(name, len) != len && checked_file(name, without_lock(name, len))
               ? GIT_FREE
               : GIT_OUTSIDE;
}

static void step_top(struct protected_state *state, const char *name, size_t len,
                     enum protected_git data)
{
    enum protected_git checked = checked_file(name, len);

    if (checked)
        put(state, checked == GIT_FREE ? data : checked, NULL);
    else if (equals(name, len, "refs"))
        put(state, data == GIT_FREE ? GIT_REFS : data, NULL);
    else if (is_free_file(name, len) || IS_ONE_OF(free_directories, name, len))
        put(state, data, NULL);
    else if (equals(name, len, "objects"))
        put(state, GIT_OBJECTS, NULL);
    else if (equals(name, len, "info"))
        put(state, GIT_INFO, setting_row(name, len));
    else if (equals(name, len, "worktrees"))
        put(state, GIT_WORKTREES, setting_row(name, len));
    else if (equals(name, len, "modules"))
        put(state, GIT_MODULES, setting_row(name, len));
    else
        put(state, GIT_OUTSIDE, setting_row(name, len)); /* and all below it */
}

/* A submodule's name may have slashes in it, so that any directory here may be the git directory of
 * one: names that git obeys are protected at every level. */
static void step_module(struct protected_state *state, const char *name, size_t len)
{
    bool is_data = state->git == GIT_MODULE_FREE;

    if (IS_ONE_OF(settings, name, len) && !equals(name, len, "modules") &&
        !equals(name, len, "worktrees") && !equals(name, len, "info"))
        put(state, GIT_OUTSIDE, setting_row(name, len));
    else if (is_data && equals(name, len, "replace"))
        put(state, GIT_OUTSIDE, protected_row(".git/refs/replace"));
    else if (is_data && !equals(name, len, "info") && !equals(name, len, "objects") &&
             !checked_file(name, len))
        put(state, GIT_MODULE_FREE, NULL);
    else
        step_top(state, name, len, GIT_MODULE_FREE);
    if (state->git == GIT_OUTSIDE && !IS_ONE_OF(settings, name, len) &&
        !equals(name, len, "replace"))
        put(state, GIT_MODULE, protected_row(".git/modules"));
}

/* Packs, and what speeds up the search in them and in the history, are believed by git and would
 * have to be unpacked as a whole to be checked. */
static void step_objects(struct protected_state *state, const char *name, size_t len)
{
    if (len == 2 && is_all_hex(name, len))
        put(state, GIT_FANOUT, NULL);
    else if (equals(name, len, "info"))
        put(state, GIT_OUTSIDE, protected_row(".git/objects/info"));
    else if (equals(name, len, "pack"))
        put(state, GIT_OUTSIDE, protected_row(".git/objects/pack"));
    else if (is_object_draft(name, len))
        put(state, GIT_FREE, NULL);
    else
        put(state, GIT_OUTSIDE, protected_row(".git/*"));
}

enum protected_data protected_git_data(enum protected_git git)
{
    switch (git) {
    case GIT_INDEX:
        return PROTECTED_DATA_INDEX;
    case GIT_PACKED_REFS:
        return PROTECTED_DATA_PACKED_REFS;
    case GIT_MERGE_RR:
        return PROTECTED_DATA_MERGE_RR;
    case GIT_OBJECTS:
    case GIT_FANOUT:
        return PROTECTED_DATA_OBJECTS;
    case GIT_OBJECT:
        return PROTECTED_DATA_OBJECT;
    default:
        return PROTECTED_DATA_NONE;
    }
}

void protected_git_step(struct protected_state *state, const char *name, size_t len)
{
    const struct protected_name *above = state->row;

    switch ((enum protected_git)state->git) {
    case GIT_TOP:
        step_top(state, name, len, GIT_FREE);
        break;
    case GIT_OBJECTS:
        step_objects(state, name, len);
        break;
    case GIT_FANOUT:
        put(state, (len == 38 || len == 62) && is_all_hex(name, len) ? GIT_OBJECT : GIT_FREE, NULL);
        break;
    case GIT_REFS:
        if (equals(name, len, "replace"))
            put(state, GIT_OUTSIDE, protected_row(".git/refs/replace"));
        else
            put(state, GIT_FREE, NULL);
        break;
    case GIT_INFO:
        if (equals(name, without_lock(name, len), "refs") || begins(name, len, "refs_"))
            put(state, GIT_FREE, NULL);
        else
            put(state, GIT_OUTSIDE, above);
        break;
    case GIT_WORKTREES:
        put(state, GIT_TOP, above);
        break;
    case GIT_MODULES:
        put(state, GIT_MODULE, above);
        break;
    case GIT_MODULE:
    case GIT_MODULE_FREE:
        step_module(state, name, len);
        break;
    case GIT_FREE:
    case GIT_INDEX:
    case GIT_PACKED_REFS:
    case GIT_MERGE_RR:
    case GIT_OBJECT:
        put(state, GIT_FREE, NULL);
        break;
    case GIT_OUTSIDE:
        break;
    }
}

/* --- directories that are git directories by what is in them --- */

/* Also a link that leads nowhere: it may lead somewhere later. */
static bool exists(int dir, const char *prefix, const char *name)
{
    char path[512];
    struct stat st;

    if ((size_t)snprintf(path, sizeof(path), "%s%s", prefix, name) >= sizeof(path))
        return true;
    return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

bool protected_git_is_directory(int dir, const char *prefix)
{
    return exists(dir, prefix, "HEAD") &&
           (exists(dir, prefix, "commondir") ||
            (exists(dir, prefix, "objects") && exists(dir, prefix, "refs")));
}

/* HEAD is refused even where nothing else is: two programs that make the parts at the same time
 * must not get a git directory either. In another case it is a common name, and counts only where
 * the rest is there. */
bool protected_git_would_become(int dir, const char *raw, const char *name, size_t len)
{
    if (equals(name, len, "head"))
        return !exists(dir, "", raw) && (strcmp(raw, "HEAD") == 0 || exists(dir, "", "commondir") ||
                                         (exists(dir, "", "objects") && exists(dir, "", "refs")));
    if (equals(name, len, "commondir"))
        return exists(dir, "", "HEAD");
    if (equals(name, len, "objects") || equals(name, len, "refs"))
        return exists(dir, "", "HEAD") && !exists(dir, "", raw);
    return false;
}

/* Git takes the first directory that looks like a git directory on its way up, and a link in the
 * working tree may lead somebody into this one. */
bool protected_git_would_complete(int dir, const char *raw, const char *name, size_t len)
{
    if (exists(dir, "", raw))
        return false;
    if (equals(name, len, "head"))
        return exists(dir, "", "commondir") ||
               (exists(dir, "", "objects") && exists(dir, "", "refs"));
    if (equals(name, len, "commondir"))
        return exists(dir, "", "HEAD");
    if (equals(name, len, "objects"))
        return exists(dir, "", "HEAD") && exists(dir, "", "refs");
    if (equals(name, len, "refs"))
        return exists(dir, "", "HEAD") && exists(dir, "", "objects");
    return false;
}

/* Shared by protected.c (names), protected_own.c (Belljar's places), protected_git.c (inside of git
 * directories), protected_names.c (the table) and survey.c, which walks a tree with these states.
 */
#pragma once

#include <stdint.h>

#include "sandbox/protected.h"

/* The reason of rows that do not count below node_modules: packages bring such files along, and no
 * editor looks for them there. */
#define PROTECTED_LINTER "editors load the programs that it names"

/* The number of patterns that can be half matched at a time. The table's need is far below; a state
 * that would need more counts as protected. */
#define PROTECTED_ACTIVE 8

/* The position of a directory inside a git directory. */
enum protected_git {
    GIT_OUTSIDE,
    GIT_TOP,         /* it is the git directory */
    GIT_FREE,        /* git's data; nothing in it is obeyed */
    GIT_INDEX,       /* an index; it is checked when it comes into being, as the next two are */
    GIT_PACKED_REFS, /* packed-refs */
    GIT_MERGE_RR,    /* MERGE_RR */
    GIT_REFS,        /* refs/ */
    GIT_OBJECTS,     /* objects/ */
    GIT_FANOUT,      /* objects/ab/ */
    GIT_OBJECT,      /* an object in a file of its own, checked */
    GIT_INFO,        /* info/ */
    GIT_WORKTREES,   /* worktrees/: each name in it is the git directory of a worktree */
    GIT_MODULES,     /* modules/: each name in it is, or leads to, one of a submodule */
    GIT_MODULE,      /* below that: a git directory, or one more name on the way to one */
    GIT_MODULE_FREE, /* data of that */
};

/* The directory where Python looks for modules first: beside a script that something runs by
 * itself. */
enum protected_python {
    PYTHON_ELSEWHERE,
    PYTHON_TOP,     /* in the directory */
    PYTHON_PACKAGE, /* something in it with the name of a module that Python has */
};

/* The state of a place, known from the names that lead to it. Starts zeroed, at the root of a path
 * with PROTECTED_START. */
struct protected_state {
    const struct protected_name *row; /* this place is protected; NULL: it is not */
    uint8_t git;                      /* enum protected_git */
    uint8_t python;                   /* enum protected_python */
    bool is_installed; /* below node_modules: settings of linters are those of packages */
    uint8_t n_active;
    uint16_t active[PROTECTED_ACTIVE]; /* nodes of half matched patterns */
};

/* The state at "/", where patterns that begin with a slash may start. */
struct protected_state protected_start(void);

/* The state of a git directory, whatever its name. */
struct protected_state protected_git_start(void);

/* One name further down. */
void protected_step(struct protected_state *state, const char *text, size_t len);

/* All names of a path, separated by slashes. */
void protected_walk(struct protected_state *state, const char *path);

/* Whether something in a directory of this state may be protected although its name alone is not.
 */
bool protected_is_open(const struct protected_state *state);

/* The row for something that a link at a place of this state would stand for; NULL: none. */
const struct protected_name *protected_link_row(const struct protected_state *state);

/* The question of protected_judge_move() about something that gets this state. */
const struct protected_name *protected_judge_content(int dir, const struct protected_state *state);

/* Whether files of the row are scripts, or name commands: what they run in turn counts, too. */
bool protected_is_script(const struct protected_name *row);

/* The reason of rows with hooks. */
#define PROTECTED_HOOKS "git hooks are set up from it"

/* The row whose pattern is this one. */
const struct protected_name *protected_row(const char *pattern);

/* In protected_git.c; `name` is folded. */
void protected_git_step(struct protected_state *state, const char *name, size_t len);

enum protected_data protected_git_data(enum protected_git git);

/* The names that git obeys in the top of a git directory, or that lead to such; NULL: no more. */
const char *protected_git_setting(size_t index);

/* Whether `dir`/`prefix` is a git directory. What cannot be known counts as one. `prefix` is empty
 * or ends with a slash. */
bool protected_git_is_directory(int dir, const char *prefix);

/* Whether `dir` would become a git directory with something called `raw` in it; `name` is the same,
 * folded. */
bool protected_git_would_become(int dir, const char *raw, const char *name, size_t len);

/* The check inside a git directory's data, where `HEAD` and `refs` are ordinary names (logs/HEAD):
 * whether the name would be the last one missing. */
bool protected_git_would_complete(int dir, const char *raw, const char *name, size_t len);

/* The row of places that belong to Belljar. */
extern const struct protected_name protected_own_row;

/* Whether a folded path is, or lies below, one of Belljar's own places or one that it runs code
 * from. NULL: neither. */
const struct protected_name *protected_own_judge(const char *folded, size_t len);

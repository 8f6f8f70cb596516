/* Shared by survey.c (the walk, and the answers), survey_place.c (what is remembered; where links
 * lead), survey_git.c (what git's files lead to) and survey_run.c (what scripts run). */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "sandbox/protected_internal.h"
#include "sandbox/survey.h"

#define SURVEY_HOMES 4
#define SURVEY_FILES 12

#define SURVEY_HOLDS     1u /* something below is protected */
#define SURVEY_DIRECTORY 2u

struct survey_inode {
    dev_t dev;
    ino_t ino;
    const struct protected_name *row; /* NULL: only holds */
    unsigned flags;                   /* 0: the slot is empty */
};

/* A path below the grant that counts as if it had other names. */
struct survey_place {
    char *path; /* relative; "" is the grant itself */
    struct protected_state state;
};

struct survey_file {
    char *path;
    struct buf text;
    bool is_too_large;
};

struct survey_outside {
    char *homes[SURVEY_HOMES];  /* whose owners may obey what is in the tree; NULL: no more */
    struct survey_place *leads; /* by absolute path */
    size_t n_leads, leads_size;
    struct survey_file files[SURVEY_FILES]; /* git's settings */
    size_t n_files;
};

struct survey {
    int root;
    char *path;
    struct survey_inode *inodes; /* a hash table of open addresses */
    size_t n_inodes, n_slots;
    struct survey_place *places; /* in the order of finding; sorted by path at the end */
    size_t n_places, places_size;
    uint32_t *place_slots; /* 1 + index by path and state, a hash table */
    size_t n_place_slots;
    size_t next_place; /* the first that has not been walked */
    bool has_directories;
    bool is_for_review;
    unsigned n_files; /* of git's that were read */
    const struct survey_outside *outside;
};

/* The most places, and the most git files, before the survey gives up: nobody has that many. */
#define SURVEY_PLACES_MAX (1u << 20)
#define SURVEY_FILES_MAX  (1u << 20)
#define SURVEY_FILE_BYTES (1u << 20)

/* --- survey_place.c --- */

int survey_add_inode(struct survey *s, const struct stat *st, const struct protected_name *row,
                     unsigned flags, struct error *err);
const struct survey_inode *survey_find_inode(const struct survey *s, dev_t dev, ino_t ino);

/* Remembers the place; if something is there, its inode, and that the directories above hold it. */
int survey_add_place(struct survey *s, const char *path, const struct protected_state *state,
                     struct error *err);

/* Resolves `target`, found in the directory `base`; *ret_path is NULL if it leads out of the grant.
 * Each link on the way becomes a place of `row`. The target need not exist. */
int survey_resolve(struct survey *s, const char *base, const char *target,
                   const struct protected_name *row, char **ret_path, struct error *err);

/* Both: `target` in `base` leads to what has this state. */
int survey_lead(struct survey *s, const char *base, const char *target,
                const struct protected_state *state, struct error *err);

/* A descriptor of something below the grant, however long the path; -1 with errno. */
int survey_open(const struct survey *s, const char *path, int flags);

/* Marks the directories above `path`. */
int survey_mark_holders(struct survey *s, const char *path, struct error *err);

/* "a/b" for "a" and "b". NULL: out of memory. */
char *survey_join(const char *dir, const char *name);

/* --- survey_git.c --- */

/* `.git` as a file: says where the git directory is. */
int survey_git_file(struct survey *s, const char *dir, const char *name, struct error *err);

/* A git directory: its configuration, and where else it points. */
int survey_git_directory(struct survey *s, const char *path, struct error *err);

/* The configuration of the user and of the machine, for the git directory `git`, or for none ("").
 */
int survey_git_global(struct survey *s, const char *git, struct error *err);

/* --- survey_run.c --- */

/* A hook or another script that is run by itself: protects what it runs in turn. `path` is below
 * the grant. */
int survey_script(struct survey *s, const char *path, struct error *err);

/* Adds what a command runs, in the directory `top`. */
int survey_command(struct survey *s, const char *top, const char *command, struct error *err);

/* --- survey_outside.c --- */

/* Links with protected names in the homes that lead into the tree: `~/.bashrc`, where `~/dotfiles`
 * is granted. */
int survey_outside_leads(struct survey *s, struct error *err);

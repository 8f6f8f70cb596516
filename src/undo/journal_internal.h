/* Shared by journal.c (entries), journal_save.c (content) and journal_seal.c (the end). */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/limits.h"
#include "undo/entry.h"
#include "undo/journal.h"

/* The journal's knowledge of an inode. */
enum object_flag {
    OBJECT_MADE = 1,    /* by this run */
    OBJECT_SAVED = 2,   /* saved/N has its content from before the run */
    OBJECT_CHANGED = 4, /* there is an ENTRY_CHANGE */
    OBJECT_META = 8,    /* there is an ENTRY_META, or an ENTRY_CHANGE, which has the same */
    OBJECT_LINKED = 16, /* the run gave it another name */
};

struct object {
    uint64_t dev, ino;
    int64_t born_ns; /* btime; of what was made: not later than that; 0: unknown */
    uint64_t saved;
    unsigned flags;
    unsigned grant; /* of the names */
    char *names[2]; /* by which the file was known last; NULL: none */
};

/* A copy in the background. */
struct background {
    pid_t pid; /* 0: free */
    int pidfd;
    bool is_over;
    uint64_t saved, reserved;
    struct stat st; /* of the file when it began */
    int64_t born_ns;
};

/* A change that was announced and may be taken back. */
struct announced {
    enum entry_kind kind;
    uint64_t id;
    bool is_made;     /* the object was made by this run */
    bool is_replaced; /* counted as a change of what was removed before */
    uint64_t dev, ino;
    unsigned flags; /* of the object, before */
    char *path;     /* of a removal */
};

#define BACKGROUND_MAX 4
#define ANNOUNCED_MAX  4

struct journal {
    int dir, saved_dir, fd;
    struct journal_limits limits;
    struct journal_counts counts;
    uint64_t entries, last_saved;
    off_t size;      /* of the journal's file */
    bool is_broken;  /* nothing can be added any more */
    bool is_sealing; /* the limits do not hold any more */
    bool is_sealed;
    struct object *objects; /* a hash table, by dev and ino; ino 0: free */
    size_t n_objects, n_slots;
    size_t names_bytes; /* of all names of objects */
    int grants[LIMIT_GRANTS];
    struct background background[BACKGROUND_MAX];
    struct announced announced[ANNOUNCED_MAX]; /* the latest is at n_announced - 1 */
    size_t n_announced;
    journal_final_fn *on_final; /* or NULL */
    void *on_final_arg;
    char line[ENTRY_LINE_MAX];
};

int journal_append(struct journal *j, struct entry *entry, struct error *err);
int journal_charge(struct journal *j, uint64_t bytes, struct error *err);

/* The known object of this inode; NULL: nothing is known, or the inode number was given to another
 * file since. `parent` < 0: not looked at. */
struct object *journal_object(struct journal *j, const struct stat *st, int parent,
                              const char *name);
struct object *journal_object_make(struct journal *j, const struct stat *st, struct error *err);

/* When the inode was made, 0: the file system does not say. */
int64_t journal_born(int parent, const char *name);

/* Sees to it that saved/N has the content; *ret_saved is N. */
int journal_save(struct journal *j, int parent, const char *name, const struct stat *st,
                 uint64_t *ret_saved, struct error *err);
/* Like journal_save(), from another file that had this content. */
int journal_save_from(struct journal *j, int content, const struct stat *st, uint64_t *ret_saved,
                      struct error *err);
/* Writes the entries for the attributes user.* of an entry that is about to get this id. */
int journal_save_xattrs(struct journal *j, int parent, const char *name, const struct stat *st,
                        uint64_t id, struct error *err);
void journal_stop_background(struct journal *j);

/* --- names --- */

int journal_open_below(int dir, const char *path);

void journal_names_forget(struct journal *j, struct object *o);
void journal_names_move(struct journal *j, struct object *o, const char *from, const char *to);

/* Another name than `path`, which is `name` in `parent`, by which the file is there now. */
bool journal_find_name(const struct journal *j, const struct object *o, unsigned grant,
                       const char *path, int parent, const struct stat *st, char other[PATH_MAX]);

/* Shared by undo.c (the steps), undo_state.c (what is known) and undo_act.c (what is done). */
#pragma once

#include "base/limits.h"
#include "sandbox/files_internal.h"
#include "sandbox/tree_lock.h"
#include "undo/reader.h"
#include "undo/undo.h"
#include "undo/view.h"

/* An undo's knowledge of an inode of the journal. */
struct subject {
    uint64_t dev, ino;          /* ino 0: a free slot */
    uint64_t new_dev, new_ino;  /* what stands for it now */
    const struct entry *final_; /* how the run left it */
    bool is_gone;               /* the run made it and removed it again */
    bool is_ours;               /* its content is what this undo put there */
    bool was_as_left;           /* without `final_`: before this undo gave it another name */
    unsigned extra_links;       /* of a rehearsal */
    size_t twin;                /* its place among the report's twins, from 1; 0: it has none */
    bool is_made;               /* while the journal is read: by the run */
};

/* The file that stands for an inode in the end, by inode: a hash table. */
struct last_twins {
    struct undo_twin *items;
    size_t n_slots;
};

struct undoer {
    const struct undo_task *task;
    struct reader reader;
    struct files dirs[LIMIT_GRANTS];
    struct view view;
    struct subject *subjects; /* a hash table */
    size_t n_subjects, n_slots;
    struct last_twins twins;
    struct undo_report *report;
    bool *made; /* by entry: the run had made the inode by then */
    int saved_dir;
    struct tree_lock lock; /* the one that write brokers take; closed: none */
    int64_t end_ns;
    bool is_rehearsal;
};

/* --- undo_state.c --- */

int undoer_init(struct undoer *g, const struct undo_task *task, struct undo_report *report,
                struct error *err);
void undoer_done(struct undoer *g);

/* Never NULL for an inode of the journal. */
struct subject *undoer_subject(struct undoer *g, uint64_t dev, uint64_t ino);

/* Before its creation an inode's number was another file's, if any. */
void undoer_forget(struct subject *s);

/* Whether what is there is this subject. */
bool undoer_is_it(struct undoer *g, const struct entry *e, const struct stat *st);

/* Whether the file is as the run left it. */
bool undoer_is_as_left(struct undoer *g, const struct entry *e, const struct stat *st);

/* Remembers how this undo leaves a file. Does nothing for other things, and in a rehearsal. */
int undoer_mark(struct undoer *g, const struct stat *st, struct error *err);

/* Whether a directory is one of the journal's, or stands for one. Looks at all of them. */
bool undoer_knows_directory(const struct undoer *g, const struct stat *st);

/* From now on `st` stands for the inode of the entry. */
int undoer_stands_for(struct undoer *g, const struct entry *e, const struct stat *st);

bool undoer_is_protected(struct undoer *g, unsigned grant, const char *path, uint32_t mode);
/* Checks both ends of a move, and the contents of a directory that is moved. */
bool undoer_is_protected_move(struct undoer *g, unsigned grant, const char *from, const char *to,
                              uint32_t mode);

/* The attributes of an entry: ENTRY_XATTR, the first and how many. */
size_t undoer_xattrs(const struct undoer *g, const struct entry *e, const struct entry **ret_first);

/* --- undo_act.c: each does one step, or fails with the reason --- */

int act_remove(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err);
int act_make(struct undoer *g, const struct entry *e, struct stat *ret_st, struct error *err);
int act_link(struct undoer *g, const struct entry *e, const char *other, struct stat *ret_st,
             struct error *err);
int act_revert(struct undoer *g, const struct entry *e, const struct stat *st, bool has_content,
               struct error *err);
int act_rename(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err);
int act_swap(struct undoer *g, const struct entry *e, const struct stat *st, struct error *err);

/* 1: the content is the saved one; 0: it differs, or cannot be compared. */
int act_has_saved_content(struct undoer *g, const struct entry *e, const struct stat *st);
/* 1: mode, times and attributes are those of the entry. */
int act_has_saved_meta(struct undoer *g, const struct entry *e, const struct stat *st);

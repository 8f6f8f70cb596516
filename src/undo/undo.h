/* Takes back what one run changed in directories granted for writing.
 *
 * The journal is read backwards. Each step has a precondition: what the run left is still there,
 * unchanged, and the place where something goes back to is free. If not, the step
 * is a conflict: reported with the path and the reason, and left alone. A step that depends on it
 * finds its own precondition broken. A step whose result is there already is passed over in
 * silence. The steps that are done are handed back, and given to the next undo of the same run,
 * which leaves them out: undoing twice is harmless, and repeats nothing but what was in conflict.
 *
 * A file is the run's when its inode is the recorded one, or the one that an undo has put in its
 * place. How the run left it is known from the seal of its journal: same size, mtime and ctime; an
 * undo since may have changed the ctime (undo/marks.h). Without a seal (a crash), or for a file
 * that the seal could not find, its ctime, which programs cannot set, must lie between the first
 * entry and the end of the run; where the end is not known either, the last entry.
 *
 * Paths are resolved below the descriptor of the granted directory, without links and mounts.
 * Protected names are never written: from its check to its end a step holds the lock of the write
 * brokers, so that no sandbox moves a directory in between. As root everything is done with the ids
 * of the directory's owner.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "undo/journal.h"
#include "undo/marks.h"

struct undo_grant {
    const char *path; /* absolute */
    int fd;           /* the directory of the run, compared by the caller; -1: it is not there */
};

enum undo_action {
    UNDO_REMOVED,  /* the run made it */
    UNDO_RESTORED, /* the run removed it */
    UNDO_REVERTED, /* the run changed its content, mode, times or attributes */
    UNDO_RENAMED,  /* the run moved it from `to` */
};

struct undo_item {
    enum undo_action action;
    unsigned grant;
    char *path;     /* below the grant */
    char *to;       /* where it goes back to, or NULL */
    char *conflict; /* why it was left alone; NULL: it is done, or would be */
};

struct undo_report {
    struct undo_item *items; /* in the order of the steps; at most UNDO_ITEMS_MAX */
    size_t count, size;
    size_t n_done, n_conflicts; /* all of them */
    struct undo_twin *twins;
    size_t n_twins, twins_size;
    struct undo_marks marks; /* of the files that this undo touched */
    char *steps; /* '1' or '0' by number of the change, from 0; those done before included */
    size_t n_steps;
};

/* An inode that an undo made in place of one that is gone. Numbers are given out again: the type
 * keeps most of them apart, and what is mistaken all the same is a conflict. */
struct undo_twin {
    uint32_t type;             /* S_IFMT */
    uint64_t dev, ino;         /* which it stands for */
    uint64_t new_dev, new_ino; /* what it is */
    size_t undo;               /* in a task: which undo made it, counted up */
};

#define UNDO_ITEMS_MAX 10000

/* Selects the twins that concern a run: those of later undos, but not those of an undo of this run
 * that was itself undone, because what it had restored is gone again. */
struct undo_task {
    int run; /* directory of the run */
    const struct undo_grant *grants;
    size_t n_grants;
    int64_t ended_ns;              /* when the run ended; 0: unknown */
    const char *lock;              /* the file that write brokers lock while they act, or NULL */
    struct journal *own;           /* records what the undo does; NULL: a rehearsal */
    const struct undo_twin *twins; /* of undos made since, in their order; see below */
    size_t n_twins;
    const struct undo_marks *marks; /* of undos made since, or NULL */
    const char *steps;              /* of the undo before this one, or NULL */
    size_t n_steps;
};

/* Conflicts are no failure. After a failure the report says how far it came. */
int undo_run(const struct undo_task *task, struct undo_report *ret_report, struct error *err);
void undo_report_done(struct undo_report *report);

const char *undo_action_name(enum undo_action action);

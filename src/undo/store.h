/* Stores the journals of runs: $STATE/undo/, a directory for each run.
 *
 *     RUN/meta.json           owner, time, granted directories by path and inode
 *     RUN/changes/journal     undo/journal.h
 *     RUN/changes/saved/N     contents
 *     RUN/end.json            when it ended, and how many changes it made; not there: it goes on,
 *                             or crashed
 *     RUN/undone              which steps were taken back
 *     RUN/twins               of an undo: the inodes that it made in place of others
 *     RUN/marks               of an undo: the ctimes of the files that it touched
 *     RUN/removed             instead of `changes`: they were removed to make room
 *     .gone-RUN               is being removed
 *
 * Started as root, RUN/changes belongs to the sandbox's user, by whom the journal is written;
 * everything else, which says where an undo works, stays root's. Whoever writes in RUN/changes
 * holds a lock on it (flock), which ends with the last process that has the descriptor: what is
 * locked is neither removed nor undone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/config.h"
#include "base/error.h"
#include "base/run.h"
#include "undo/journal.h"

/* Of the settings. */
bool undo_store_is_on(const struct config *config);
void undo_store_limits(const struct config *config, struct journal_limits *ret_limits);

/* --- a run --- */

struct undo_store_run {
    const char *id;                 /* of the run */
    const char *owner;              /* whoever may undo it; "": who has the state directory */
    const char *session;            /* or NULL */
    const char *undoes;             /* of an undo: the run that it takes back; else NULL */
    const struct run_grant *grants; /* all of the run; those for writing are recorded */
    size_t n_grants;
    uid_t uid; /* who writes the journal, for root: the sandbox's host ids; (uid_t)-1: we do */
    gid_t gid;
};

/* Makes the directory. *ret_dir: a locked descriptor of RUN/changes, for journal_new(); hand it to
 * the process that writes the journal and keep it until the run is over. The numbers of grants in
 * the journal are their numbers in `grants`. */
int undo_store_begin(const struct undo_store_run *run, int *ret_dir, struct error *err);

/* The run is over, its journal is sealed or lost. A run that did
 * not begin a journal is forgotten. `counts`:
 * NULL where the journal was lost. `dir` is of undo_store_begin(), and closed. */
void undo_store_end(int dir, const char *id, const struct journal_counts *counts);

/* --- those that are there --- */

/* [{"run","session","time","undoes","undone","is_running","directories":[…],"created","changed",
 * "removed","renamed","removed_for_space"}], the latest first. `owner`: NULL: everybody's. */
int undo_store_list(const char *owner, json_t **ret_list, struct error *err);

/* --- undoing --- */

struct undo_store_wish {
    const char *id;
    const char *owner; /* NULL: whoever's it is */
    bool is_dry;
    uint64_t bytes; /* what the undo may save in its turn */
    /* Whether a directory may still be written; NULL: yes. */
    bool (*may_write)(void *arg, const char *path);
    void *arg;
};

/* {"run","dry_run","undo","done":[{"action","path","to"}],"conflicts":[{"action","path","reason"}],
 * "n_done","n_conflicts","already_undone"}. `undo` is the id by which this undo can be undone, or
 * null. Paths are text of one line. It may take long: a server has it done by a process of its own.
 */
int undo_store_undo(const struct undo_store_wish *wish, json_t **ret_answer, struct error *err);

/* --- making room --- */

/* Removes runs that are too old. While all together are too large, removes the contents of the
 * oldest of the owner who holds the most, in the directory that holds the most; the run stays
 * listed as removed. What is locked stays. May take long. */
int undo_store_prune(uint64_t total_bytes, unsigned days, struct error *err);

/* Prunes in a process that nobody waits for. The next one finishes what it leaves. */
void undo_store_prune_aside(const struct config *config);

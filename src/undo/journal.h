/* Records the changes of a run in directories granted for writing, so that they can be undone.
 *
 * The journal is append-only, and each entry is written before its change is made: after `kill -9`
 * at any moment it describes at least every change that was made. An entry whose change was not
 * made is harmless. A failure of any function means that the change must not be made.
 *
 * Content is saved before it is overwritten or removed, once per inode and run. Files that the run
 * has made itself are not saved. Nothing is synced to the disk: a crash of the machine may lose the
 * last entries, a crash of a process does not.
 *
 * This module needs libc and base/ alone; the broker links it. Not for threads.
 *
 * How one change goes, for example an open for writing of an existing file:
 *
 *     journal_prepare(...)    may start a copy in the background; then answer this call later
 *     journal_change(...)     saved, and written down
 *     openat(...)             on failure: journal_done()
 *
 * and the creation of a file:
 *
 *     journal_create(...)
 *     openat(O_CREAT|O_EXCL)  on failure: journal_done(). O_EXCL: otherwise the file may be
 *                             somebody else's, who made it just now
 *     journal_created(...)    with the result of fstat(2)
 *
 * A rename onto an existing name is journal_remove() of the target and then journal_rename(); when
 * it fails, journal_done() is called twice. A rename with RENAME_EXCHANGE is journal_swap().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

struct journal;

/* `bytes`: of saved content as it is stored (holes are free), extended attributes and the journal's
 * own text. `entries`: changes. `text`: of the journal's own text, without what the seal adds; 0:
 * LIMIT_UNDO_TEXT. Beyond: E_TOO_LARGE. */
struct journal_limits {
    uint64_t bytes;
    uint64_t entries;
    uint64_t text;
    bool is_undo; /* the changes are those of an undo: see journal_remove() */
};

/* `dir`: a private, empty directory, which is only lent. */
int journal_new(int dir, const struct journal_limits *limits, struct journal **ret_journal,
                struct error *err);

/* Without journal_seal() before it: as after a crash. Accepts NULL. */
void journal_free(struct journal *j);

/* Tells the journal where a granted directory is: a descriptor (O_PATH will do) of it, only lent,
 * on a mount that can be read. journal_seal() looks there for the files that the run wrote; of
 * those in a directory that it was not told, `undo` does not know how the run left them. */
int journal_grant(struct journal *j, unsigned grant, int dir, struct error *err);

/* In all of them: `grant` is the index of the granted directory, `path` is relative to it and
 * resolved (no links, "." or ".."; "" is the directory itself), `parent` is a descriptor of the
 * parent directory, O_PATH or not, and `name` the last part of the path. `st` is what fstatat(2)
 * without following links says of it now. */

/* Nothing is there; a file, a directory, a symbolic link, a FIFO or a hard link follows. */
int journal_create(struct journal *j, unsigned grant, const char *path, struct error *err);

/* It is there now: this inode. */
int journal_created(struct journal *j, unsigned grant, const char *path, const struct stat *st,
                    struct error *err);

/* Records a hard link: another name of the file at `from`, in the same granted directory. */
int journal_linked(struct journal *j, unsigned grant, const char *path, const char *from,
                   int parent, const char *name, const struct stat *st, struct error *err);

/* The file has this name, too: only a help to find it again. */
void journal_name(struct journal *j, unsigned grant, const char *path, const struct stat *st);

/* The content will change: open for writing or appending, truncate. Saves the whole file, its mode,
 * times and attributes: writes to the descriptor are not seen later. Nothing but regular files has
 * content. */
int journal_change(struct journal *j, unsigned grant, const char *path, int parent,
                   const char *name, const struct stat *st, struct error *err);

/* The file was open for writing before the run began: its content may change without a further
 * call. `content` has what it was, or -1: then an undo reports that it cannot be given back. */
int journal_held(struct journal *j, unsigned grant, const char *path, int parent, const char *name,
                 const struct stat *st, int content, struct error *err);

/* Mode, times or extended attributes will change. For the granted directory itself `name` is "."
 * or "". */
int journal_meta(struct journal *j, unsigned grant, const char *path, int parent, const char *name,
                 const struct stat *st, struct error *err);

/* It will be removed (unlink, rmdir) or replaced by a rename. Where the run has changed the file,
 * and it goes on under another name, that name has to be known: else an undo could not find it.
 * E_UNSUPPORTED: it is not. An undo removes the name all the same. */
int journal_remove(struct journal *j, unsigned grant, const char *path, int parent,
                   const char *name, const struct stat *st, struct error *err);

int journal_rename(struct journal *j, unsigned grant, const char *from, const char *to,
                   const struct stat *st, struct error *err);

/* Both exist and change places. `st` is that of `one`. */
int journal_swap(struct journal *j, unsigned grant, const char *one, const char *other,
                 const struct stat *st, struct error *err);

/* The change last announced was not made: its entry does not count. Called again, the same for the
 * one announced before it. */
int journal_done(struct journal *j, struct error *err);

/* --- large files --- */

/* journal_change() and journal_remove() copy what has not been saved. To keep a copy of a large
 * file from holding up everybody else, call this before them:
 *
 * 0: go on; the file is small, made by this run, saved already, cloned just now, or its copy is
 *    finished.
 * 1: a child process is copying it. *ret_fd becomes readable when it has ended; the descriptor
 *    stays the journal's and may be the same for several callers. Then begin again with
 *    fstatat(2) and this function.
 *
 * Failures: as those of journal_change(). Where no child can be started the answer is 0, and the
 * copy is made in journal_change(). Not calling this at all is correct, only slower for others. */
int journal_prepare(struct journal *j, int parent, const char *name, const struct stat *st,
                    int *ret_fd, struct error *err);

/* --- the end --- */

/* Called by journal_seal() for each regular file that the run wrote and that is still where the run
 * left it. `fd` is opened with O_PATH. */
typedef void journal_final_fn(void *arg, unsigned grant, const char *path, int fd,
                              const struct stat *st);
void journal_on_final(struct journal *j, journal_final_fn *fn, void *arg);

/* The run is over, all its processes are gone: notes size and times of every file that it wrote, by
 * which `undo` sees later changes. Nothing can be added afterwards. */
int journal_seal(struct journal *j, struct error *err);

/* Changes so far: things made, files whose content or attributes may have changed (opened for
 * writing counts), things removed or replaced, things renamed. What this run has made counts once,
 * as created; when it has removed it again, not at all. */
struct journal_counts {
    uint64_t created, changed, removed, renamed;
    uint64_t bytes; /* towards the limit */
};
void journal_count(const struct journal *j, struct journal_counts *ret_counts);

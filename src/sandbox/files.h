/* The /workspace and the /tmp of a sandbox, worked on from outside while its program works on it
 * from inside.
 *
 * Everything here is a trap until shown otherwise: names are the program's, and so are the moments
 * at which a directory turns into a link. Paths are resolved by Linux below one
 * descriptor (openat2: beneath, no links, no other mounts), as the sandbox's own user, so that even
 * a mistake of ours reaches nothing that the program could not reach itself. Only regular files are
 * read. Nothing waits for the program, and every answer has a ceiling (base/limits.h).
 *
 * Linux counts the memory of files written from outside as the supervisor's. A bill for each
 * sandbox keeps count (files_open_bill()), and the limit of its cgroup is lowered by as much.
 *
 * Paths are relative to /workspace, "" is /workspace itself; those in /tmp are absolute (`/tmp/x`).
 * Both are parts of one file system, so that one bill and one limit cover them. Paths are bytes: a
 * name that is no text can be read and deleted, and is shown escaped; new names must be text.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"

struct files_bill;

struct files {
    int fd;       /* O_PATH; -1: none */
    int tmp_fd;   /* O_PATH, of /tmp, */
    bool has_tmp; /* if it is the sandbox's own */
    uid_t uid;
    gid_t gid;
    bool is_on_host;         /* the file system has others' files, too: the level `process` */
    bool is_other;           /* that user is not us: act as them */
    struct files_bill *bill; /* what is written is counted here; NULL: nowhere */
};

/* Takes the descriptor over, also on failure. Anything but a directory of a tmpfs is refused: no
 * other file system promises that a look at it ends. */
int files_init(struct files *files, int fd, struct error *err);

/* Like files_init(), but at the level `process`, where it is a directory of any file system. */
int files_init_on_host(struct files *files, int fd, struct error *err);
void files_done(struct files *files);

/* Adds /tmp. Takes the descriptor over, also on failure. Anything but a directory of the same file
 * system is refused: the bill would not count it. */
int files_add_tmp(struct files *files, int fd, struct error *err);

/* Copies the handle for work in later turns of the loop: the sandbox may end meanwhile.
 */
int files_copy(const struct files *files, struct files *ret_copy, struct error *err);

/* --- the bill ---
 *
 * Pages of a file belong, for Linux, to whoever wrote them. Those that we write into
 * a sandbox are ours, and no limit of the sandbox counts them. So they are counted here, and the
 * owner of the sandbox is asked before more is written. What the program deletes is noticed when
 * the bill is settled.
 */

/* Asked before the sum reaches `bytes`, in steps of a megabyte, and told when it has become less.
 * Anything but 0 refuses. */
typedef int (*files_reserve_fn)(void *user, uint64_t bytes, struct error *err);

/* Makes the bill of `files`. */
int files_open_bill(struct files *files, files_reserve_fn reserve, void *user, struct error *err);

/* Compares it with what the file system holds. */
void files_settle_bill(const struct files *files);

/* Bytes of memory that the whole file system holds, whoever wrote it. */
uint64_t files_used(const struct files *files);

/* Nobody pays any more: whatever is still being written is refused. */
void files_close_bill(const struct files *files);

/* --- paths --- */

/* Checks what a stranger wrote and brings it into the one form used here: relative to /workspace,
 * no `.`, no doubled or final slash. It may be written from /workspace or /home/user on.
 * E_INVALID: absolute and elsewhere, `..`, a NUL, or too long. */
int files_path_check(const char *path, size_t len, char ret_path[PATH_MAX], struct error *err);

/* Like files_path_check(), but a path in /tmp is allowed, too, and stays absolute. */
int files_path_check_tmp(const char *path, size_t len, char ret_path[PATH_MAX], struct error *err);

/* /tmp, or written from /tmp on. */
bool files_path_is_tmp(const char *path);

/* Relative, or written from /workspace or /home/user on. */
bool files_path_is_inside(const char *path);

/* As text of one line: what is not UTF-8, control characters and the backslash become \xNN. */
int files_path_escape(const char *path, struct buf *out, struct error *err);

/* The path of which that is the text. ret_path is at least as long as `text`. */
void files_path_unescape(const char *text, char *ret_path);

/* For whom the name is a thing to say yes to: so does what cannot be seen (utf8_is_visible()). */
int files_path_reveal(const char *path, struct buf *out, struct error *err);

/* --- looking --- */

enum files_kind {
    FILES_REGULAR,
    FILES_DIRECTORY,
    FILES_LINK,
    FILES_FIFO,
    FILES_SOCKET,
    FILES_OTHER,
};

const char *files_kind_name(enum files_kind kind);

struct files_entry {
    const char *path; /* from /workspace on, or absolute in /tmp */
    enum files_kind kind;
    unsigned mode; /* permission bits */
    uint64_t size; /* as the file says: a sparse one may say anything */
    uint64_t inode;
    int64_t mtime_ns;
    int64_t ctime_ns;
    size_t path_at; /* for files.c: where the path stands while the list grows */
    unsigned depth;
};

/* The path of *ret_entry is the caller's `path`. */
int files_stat(const struct files *files, const char *path, struct files_entry *ret_entry,
               struct error *err);

struct files_list {
    struct files_entry *entries; /* by path, each once */
    size_t count;
    bool has_more;    /* this page ended at its limit */
    bool is_partial;  /* something was not looked at: too much, too deep, or closed to us */
    int64_t taken_ns; /* before the first look, by the clock that stamps files */
    struct buf paths;
    size_t size; /* of entries */
};

void files_list_done(struct files_list *list);

struct files_page {
    unsigned depth;    /* 1: the directory's own entries; 0: all the way down */
    const char *after; /* only paths that sort behind it: the last of the page before. NULL: all */
    size_t limit;      /* entries, and LIMIT_FILES_PAGE bytes of paths at most; 0: all */
};

/* Lists the directory `path`. Entries have full paths. In a fiber it pauses, and so does
 * files_delete(). */
int files_list(const struct files *files, const char *path, const struct files_page *page,
               struct files_list *ret_list, struct error *err);

/* --- reading --- */

/* Reads a link's target, which may be anything and is not checked. E_INVALID: not a link. */
int files_read_link(const struct files *files, const char *path, char ret_target[PATH_MAX],
                    struct error *err);

/* Opens a regular file. Reads of it never wait. The size is of now: the program may change it. */
int files_open(const struct files *files, const char *path, int *ret_fd,
               struct files_entry *ret_entry, struct error *err);

/* At most `len` bytes from `offset` on, fewer at the end, none behind it. Returns their number. */
ssize_t files_read(int fd, uint64_t offset, void *data, size_t len, struct error *err);

/* --- writing --- */

/* A file that comes in pieces. It has no name until files_write_commit() gives it one, in one step
 * and in place of whatever is there; a reader inside sees the old one or the new one. */
struct files_writer {
    struct files dir; /* that it goes to; its own, so that the sandbox may end meanwhile */
    int fd;
    char name[NAME_MAX + 1];
    uint64_t written;
    uint64_t limit;
    bool is_synced, is_new; /* of the options */
};

struct files_write_options {
    bool is_executable; /* mode 0755 instead of 0644 */
    bool makes_parents;
    bool has_mode; /* this mode instead; only permissions of it count */
    unsigned mode;
    bool is_synced; /* on the disk before it has its name, and then with it */
    bool is_new;    /* never in place of something: E_INVALID, EEXIST */
    uint64_t limit; /* most bytes; 0: what the disk holds */
};

int files_write_begin(struct files_writer *writer, const struct files *files, const char *path,
                      const struct files_write_options *options, struct error *err);
int files_write_feed(struct files_writer *writer, const void *data, size_t len, struct error *err);

/* Ends the writer, whether it succeeds or not. */
int files_write_commit(struct files_writer *writer, struct error *err);
void files_write_abort(struct files_writer *writer); /* leaves nothing; harmless after the end */

/* The directory and those above it; that they exist is fine. */
int files_make_directory(const struct files *files, const char *path, struct error *err);

/* Gives it another path, in one step and in place of a file that is there. Missing directories are
 * made. Between /workspace and /tmp, which are two mounts, a regular file is copied and then
 * deleted, and in a fiber this pauses; anything else is E_INVALID. */
int files_move(const struct files *files, const char *from, const char *to, struct error *err);

/* A file, a link (not what it points to), an empty directory or, with `recursive`, all below one.
 * E_TOO_LARGE: more or deeper than one call deletes; what was deleted stays deleted. */
int files_delete(const struct files *files, const char *path, bool recursive, struct error *err);

/* --- before and after --- */

enum files_change { FILES_NEW, FILES_CHANGED, FILES_GONE };

/* All there is, for files_diff(). An empty /workspace costs a few microseconds. */
int files_snapshot(const struct files *files, struct files_list *ret_list, struct error *err);

/* Calls `on_change` for every regular file that differs by inode, size or time of change; by path.
 * `before` NULL: there was nothing. Where a snapshot is partial, what was not seen is not called
 * gone, nor new unless it was made since. */
void files_diff(const struct files_list *before, const struct files_list *after,
                void (*on_change)(void *arg, enum files_change change,
                                  const struct files_entry *entry),
                void *arg);

/* --- collecting --- */

/* Calls `on_file` for every regular file of the list whose path matches one of the patterns
 * (base/glob.h), by path, with an open descriptor that is the callee's; a negative answer ends it
 * and is returned. *ret_partial: some could not be looked at or opened, or matching took too many
 * steps.
 */
int files_collect(const struct files *files, const struct files_list *list,
                  const char *const *patterns, size_t n_patterns,
                  int (*on_file)(void *arg, const struct files_entry *entry, int fd,
                                 struct error *err),
                  void *arg, bool *ret_partial, struct error *err);

/* One line of a journal. The broker writes lines, the seal and `undo` read them.
 *
 * A line is a letter, twelve hexadecimal numbers, a path and, for some kinds, a second text,
 * separated by single blanks and ended by a newline. Bytes of texts that would be mistaken for
 * something else (blank, control characters, '%') are written as %XX, so a name may hold anything
 * but NUL. The paths are chosen by the sandboxed program: the parser takes nothing on trust.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"

enum entry_kind {
    ENTRY_BEGIN = 'B',   /* the first line: `size` is the version of the format */
    ENTRY_CREATE = 'C',  /* something will be made where nothing is */
    ENTRY_CREATED = 'c', /* it is there: this inode */
    ENTRY_LINKED = 'l',  /* it is there: another name of the inode at `more` (older ones: NULL) */
    ENTRY_CHANGE = 'W',  /* content will change; `saved` has what it was */
    ENTRY_META = 'M',    /* mode, times or extended attributes will change */
    ENTRY_XATTR = 'A',   /* one attribute of the entry `id`, which follows: name, value in hex */
    ENTRY_REMOVE = 'R',  /* will be removed; `saved` has the content, `more` a link's target, or
                          * another name of the same file */
    ENTRY_DROP = 'r',    /* the same for something that this run has made: nothing is saved */
    ENTRY_RENAME = 'N',  /* will move to `more` */
    ENTRY_SWAP = 'E',    /* will change places with `more` */
    ENTRY_CANCEL = 'X',  /* the change of the entry `id` was not made */
    ENTRY_FINAL = 'F',   /* how the run left an inode that it wrote */
    ENTRY_SEAL = 'Z',    /* the last line of a run that ended in order */
};

#define ENTRY_VERSION 1

struct entry {
    enum entry_kind kind;
    unsigned grant; /* index of the granted directory */
    uint64_t id;    /* counts changes, from 1 */
    int64_t at_ns;  /* when the line was written */
    uint64_t dev;   /* of the inode, as all down to ctime_ns: before the change */
    uint64_t ino;
    uint32_t mode; /* with the type */
    uint64_t nlink;
    uint64_t size;
    int64_t mtime_ns, atime_ns, ctime_ns;
    uint64_t saved;   /* the file saved/N; 0: none */
    const char *path; /* below the grant; "" is the grant itself; of ENTRY_XATTR: the name */
    const char *more; /* or NULL */
};

/* Room for the longest line: an attribute of 64 KiB in hex, or two escaped paths. */
#define ENTRY_LINE_MAX (2 * 65536 + 3 * 2 * PATH_MAX + 512)

/* Writes the line, newline included, and returns its length; 0: a text is too long. */
size_t entry_format(const struct entry *entry, char line[ENTRY_LINE_MAX]);

/* Reads a line of `len` bytes without its newline and decodes the texts in place; they end with NUL
 * (line[len] is overwritten). Paths are checked: relative, no empty, "." or ".." part. */
int entry_parse(char *line, size_t len, struct entry *ret_entry, struct error *err);

/* Copies the result of fstat(2) into the fields of the inode. */
void entry_set_stat(struct entry *entry, const struct stat *st);

struct timespec entry_timespec(int64_t ns);
int64_t entry_now(void);

/* The ctime with which undos left the files that they touched. Programs cannot set a ctime: a file
 * that has another one was changed since by somebody else.
 *
 * An undo changes the ctime of what it moves, links or writes. Without this record, a later undo
 * would take that for work of the user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct undo_mark {
    uint64_t dev, ino; /* ino 0: a free slot */
    int64_t ctime_ns;
};

/* A hash table by inode; zeroed: empty. */
struct undo_marks {
    struct undo_mark *slots;
    size_t count, n_slots;
};

/* The last one set for an inode counts. -1: no memory. */
int undo_marks_set(struct undo_marks *marks, const struct undo_mark *mark);
bool undo_marks_has(const struct undo_marks *marks, const struct stat *st);
void undo_marks_done(struct undo_marks *marks);

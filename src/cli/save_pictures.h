/* Pictures of a run as files in a directory of the user's.
 *
 * The bytes are a program's, the names are ours. A file is whole or not there: it is written under
 * another name and then renamed, and neither step follows a link.
 */
#pragma once

#include "base/run.h"

struct save {
    int dir; /* -1: nothing is saved */
    const char *path;
    char *name; /* the files are NAME-1.png, NAME-2.png, ... */
};

/* `program` is the file that is run, or NULL. The directory has to be there. */
int save_open(struct save *save, const char *path, const char *program, struct error *err);
void save_done(struct save *save);

/* Writes every picture of the run and adds a line for each to `out`; without a directory the line
 * says how to get it. */
int save_pictures(const struct save *save, const struct run *run, struct buf *out,
                  struct error *err);

/* A sandbox's files in one file: packed inside the source, unpacked inside the copy, so that nobody
 * outside ever walks a tree that a program has laid out.
 *
 * Directories, regular files (holes stay holes), symbolic links (as links, never followed), hard
 * links, modes and times. A socket or a FIFO is refused by name: there is no other side to it in a
 * copy. What a program has no right to read is refused, too. Owners and extended attributes are not
 * kept: a sandbox has one user.
 *
 * The reader takes the archive for hostile: no name leaves the directory it is for, nothing that
 * exists is followed or overwritten, and the file system's own limits bound the rest.
 */
#pragma once

#include <stddef.h>

/* Packs the trees below `paths` (absolute, "/workspace") into the empty or pre-sized file `fd`.
 * 0, or -1 and why in one line. Allocates nothing. */
int archive_write(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size);

/* Unpacks into directories that exist; `paths` are the only ones the archive may name. */
int archive_read(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size);

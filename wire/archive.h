/* A sandbox's files in one file: packed inside the source, unpacked inside the copy. The overlays
 * of copy-on-write grants are packed from outside, since no program sees them, and unpacked inside.
 *
 * Directories, regular files (holes stay holes), symbolic links (as links, never followed), hard
 * links, modes and times. A socket or a FIFO is refused by name: there is no other side to it in a
 * copy. What a program has no right to read is refused, too. Owners and extended attributes are not
 * kept: a sandbox has one user.
 *
 * The reader takes the archive for hostile: no name leaves the directory it is for, no link is
 * followed, nothing that exists is overwritten (but in overlays), and the file system's own limits
 * bound the rest.
 */
#pragma once

#include <stddef.h>

/* Packs the trees below `paths` (absolute, "/workspace") into the empty or pre-sized file `fd`.
 * 0, or -1 and why in one line. Allocates nothing. */
int archive_write(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size);

/* Unpacks into directories that exist; `paths` are the only ones the archive may name. */
int archive_read(int fd, const char *const *paths, size_t n_paths, char *why, size_t why_size);

/* Does that for upper directories of overlays, which stay in place: what was deleted is packed,
 * too. `dirs` are descriptors of these, each may be O_PATH. */
int archive_write_overlays(int fd, const int *dirs, size_t n_dirs, char *why, size_t why_size);

/* Brings the overlays at `paths`, whose upper directories are empty, to the state that was packed.
 * What exists there is replaced. */
int archive_read_overlays(int fd, const char *const *paths, size_t n_paths, char *why,
                          size_t why_size);

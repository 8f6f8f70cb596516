/* Copies the content of a file: a clone where the file system can, else the data without holes. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* True: `to`, which is empty, shares the blocks of `from` now. Costs nothing, and is tried first.
 */
int copy_clone(int from, int to);

/* Both stand at their start, `to` is empty. At most `limit` bytes of data are written, holes do not
 * count; more is E_TOO_LARGE. Adds what was written to *stored. */
int copy_data(int from, int to, uint64_t limit, uint64_t *stored, struct error *err);

/* Moves the zygote's own memory into a sealed file that it then maps privately.
 *
 * A forked child needs no page tables of file mappings: they are filled when pages are used. After
 * this a fork, and the end of a child, cost a fraction, and an idle child next to nothing. Whoever
 * writes to a page gets a copy, as before. From then on Linux itself tells changed pages
 * (anonymous) from unchanged ones (of the file).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "guest/maps.h"

/* Before anything is allocated that is to be moved. A large block of malloc(3) would otherwise be a
 * mapping of its own, which realloc(3) enlarges with mremap(2), beyond the end of the file it lies
 * in by then. */
void rebase_prepare(void);

/* After the last import, before the first fork, in a process with one thread. */
int rebase_memory(struct error *err);

/* An address that lies in the file now; false if nothing was moved. */
bool rebase_first(uintptr_t *ret_start);

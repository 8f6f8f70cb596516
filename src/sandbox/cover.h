/* Places inside of granted directories that a program must not see. */
#pragma once

#include "base/error.h"
#include "wire/message.h"

/* In the sandbox's mount namespace, with the grants attached at their paths: puts an empty
 * directory, or an empty file, over each of spec->hidden. What is not there, or cannot be reached,
 * stays as it is. */
int cover_places(const struct wire_spawn *spec, struct error *err);

/* Covers the FIFOs in directories granted `:ro` and `:rw` with an empty device: a read-only mount
 * lets programs write to a FIFO, and a process of the host may read it. Landlock stops that, except
 * below the places where a program may write, such as /tmp. In a copy-on-write grant a FIFO is not
 * the host's. Fails when not all of a directory can be looked at. */
int cover_fifos(const struct wire_spawn *spec, struct error *err);

/* Places inside of granted directories that a program must not see. */
#pragma once

#include "base/error.h"
#include "wire/message.h"

/* In the sandbox's mount namespace, with the grants attached at their paths: puts an empty
 * directory, or an empty file, over each of spec->hidden. What is not there, or cannot be reached,
 * stays as it is. */
int cover_places(const struct wire_spawn *spec, struct error *err);

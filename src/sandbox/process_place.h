/* The directory of all sandboxes at the level `process`: one for each supervisor, in /tmp, and no
 * one else's. It is removed when the last user closes it, and by a janitor if the supervisor is
 * killed.
 */
#pragma once

#include "base/error.h"
#include "sandbox/ns.h"

/* Opens it, made for the first of `ids`; *ret_directory is valid until the last close. */
int process_place_open(const struct ns_ids *ids, const char **ret_directory, struct error *err);

/* Every sandbox in it has ended. */
void process_place_close(void);

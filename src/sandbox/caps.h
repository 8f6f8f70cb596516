/* Privileges of the calling process: all gone, for good. */
#pragma once

#include "base/error.h"

/* Empties the bounding, ambient, inheritable, permitted and effective sets and locks the
 * securebits. */
int caps_drop_all(struct error *err);

/* PR_SET_NO_NEW_PRIVS. */
int caps_no_new_privs(struct error *err);

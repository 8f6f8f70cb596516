/* Privileges of the calling process: all gone, for good. */
#pragma once

#include "base/error.h"

/* Empties the bounding, ambient, inheritable, permitted and effective sets and locks the
 * securebits. */
int caps_drop_all(struct error *err);

/* All but the bounding set and the securebits, which only matter to a program that is executed
 * later. Every process may. */
int caps_clear(struct error *err);

/* A program that is executed has all that this process may, although it is not root. */
int caps_keep_on_exec(struct error *err);

/* PR_SET_NO_NEW_PRIVS. */
int caps_no_new_privs(struct error *err);

/* Jupyter's kernels, for its clients as they are: `/jupyter` is the address of the server that they
 * are given. A kernel is a session of Belljar; its id is the session's. */
#pragma once

#include "base/error.h"

struct api;
struct jupyter;

int jupyter_new(struct jupyter **ret_jupyter, struct error *err);

/* When no session is left. Accepts NULL. */
void jupyter_free(struct jupyter *jupyter);

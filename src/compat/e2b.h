/* Data that the server keeps for clients of E2B: their sandboxes, with names, tokens and end, and
 * the programs that were started in them. */
#pragma once

#include "base/error.h"
#include "base/loop.h"

struct e2b;

int e2b_new(struct loop *loop, struct e2b **ret_e2b, struct error *err);

/* After the sessions. */
void e2b_free(struct e2b *e2b);

/* Data that the server keeps for clients of E2B: their sandboxes, with names, tokens and end, and
 * the programs that were started in them. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct api;
struct e2b;

int e2b_new(struct loop *loop, struct e2b **ret_e2b, struct error *err);

/* `is_beyond`: other machines reach the server. Where the settings ask for E2B's debug mode, opens
 * the ports that its clients know then, on loopback addresses, and one sandbox behind them that
 * needs no token; beyond this machine that is refused. */
int e2b_open(struct api *api, bool is_beyond, struct error *err);

/* After the sessions. */
void e2b_free(struct e2b *e2b);

/* The virtual machine of a server: starts belljar-machine when the first run wants it, holds what
 * waits until it is ready, and gives each run a connection to the engine inside. When the machine
 * ends, connections end with it; the next run starts another.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/config.h"
#include "base/loop.h"

struct keeper;

/* Somebody who waits for a connection; embedded in its owner. */
struct keeper_guest {
    TAILQ_ENTRY(keeper_guest) link;
    bool is_waiting;
    /* `fd` is the guest's from here on; -1: there is none, and `err` says why. Called from the
     * loop, not from keeper_ask(). */
    void (*on_connection)(struct keeper_guest *guest, int fd, const struct error *err);
};

/* Checks what is needed, so that a server does not start in vain. E_UNSUPPORTED: something is
 * missing, and the hint says what to do. */
int keeper_new(struct loop *loop, const struct config *config, struct keeper **ret_keeper,
               struct error *err);

/* Starts the machine, although nobody waits for it. */
void keeper_start(struct keeper *keeper);

/* Ends the machine. Nobody waits any more. Accepts NULL. */
void keeper_free(struct keeper *keeper);

void keeper_ask(struct keeper *keeper, struct keeper_guest *guest);

/* It answers; what was in an earlier one is gone. */
bool keeper_is_up(const struct keeper *keeper);

/* Called whenever a machine has ended, before those who wait for a connection are refused. */
void keeper_on_end(struct keeper *keeper, void (*fn)(void *user), void *user);

/* It does not wait any more. */
void keeper_leave(struct keeper *keeper, struct keeper_guest *guest);

/* The machine does not do as it should: it ends, with all connections. */
void keeper_end(struct keeper *keeper);

/* Runs belljar-machine, which says whether this host can have machines. 0, or E_UNSUPPORTED. */
int keeper_check(bool is_emulated, struct error *err);

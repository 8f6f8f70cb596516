/* The virtual machine of a server: starts belljar-machine when the first run wants it, holds what
 * waits until it is ready, and gives each run a connection to the engine inside. When the machine
 * ends, connections end with it; the next run starts another. If one does not start, runs are
 * refused (E_UNSUPPORTED) until the next attempt may be made.
 */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/loop.h"
#include "base/run.h"

struct keeper;
struct cgroup_host; /* sandbox/cgroup.h */

/* Somebody who waits for a connection; embedded in its owner. */
struct keeper_guest {
    TAILQ_ENTRY(keeper_guest) link;
    bool is_waiting;
    uint64_t number; /* the keeper's own */
    /* `fd` is the guest's from here on; -1: there is none, and `err` says why. Called from the
     * loop, not from keeper_ask(). */
    void (*on_connection)(struct keeper_guest *guest, int fd, const struct error *err);
};

/* Checks what is needed, so that a server does not start in vain. E_UNSUPPORTED: something is
 * missing, and the hint says what to do. `cgroups` outlive it; NULL: the machine has no limits but
 * its size. */
int keeper_new(struct loop *loop, const struct config *config, struct cgroup_host *cgroups,
               struct keeper **ret_keeper, struct error *err);

/* Starts the machine, although nobody waits for it. */
void keeper_start(struct keeper *keeper);

/* Ends the machine. Nobody waits any more. Accepts NULL. */
void keeper_free(struct keeper *keeper);

void keeper_ask(struct keeper *keeper, struct keeper_guest *guest);

/* E_UNSUPPORTED: the machine does not show a directory that the run is granted. */
int keeper_check_grants(const struct keeper *keeper, const struct run_terms *terms,
                        struct error *err);

/* It answers; what was in an earlier one is gone. */
bool keeper_is_up(const struct keeper *keeper);

/* Called whenever a machine has ended, before those who wait for a connection are refused. */
void keeper_on_end(struct keeper *keeper, void (*fn)(void *user), void *user);

/* It does not wait any more. */
void keeper_leave(struct keeper *keeper, struct keeper_guest *guest);

/* The machine does not do as it should: it ends, with all connections. */
void keeper_end(struct keeper *keeper);

/* An operator ends it: the next run starts another one. False: there was none. */
bool keeper_stop(struct keeper *keeper);

enum keeper_state { KEEPER_DOWN, KEEPER_BOOTING, KEEPER_UP };

struct keeper_facts {
    enum keeper_state state;
    bool is_emulated;
    int64_t memory_mb, cpus; /* of the settings */
    pid_t pid;               /* of belljar-machine; 0: there is no machine */
    uint64_t up_ns, boot_ns; /* since when, and how long its start took; 0: it is not up */
    uint64_t retry_ns;       /* the next start is not before; 0: at once */
    uint64_t n_runs, n_starts;
    const struct error *failure; /* the last one, or NULL; borrowed */
    uint64_t failure_ns;
};

void keeper_facts(const struct keeper *keeper, struct keeper_facts *ret_facts);

/* The last bytes that the machine, and those before it, have written, in printable characters. */
int keeper_log(const struct keeper *keeper, struct buf *out, struct error *err);

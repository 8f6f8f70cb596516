/* The three machines of the demo: their files in one temporary directory, their processes.
 *
 * Every process dies with this one (parent-death signal). A cleaner, a process of its own, removes
 * the directory when this one is gone, however it ended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "http/client.h"

#define DEMO_MACHINES 3

enum demo_process { DEMO_SERVER, DEMO_ENGINE, DEMO_ROLES, DEMO_PROCESSES };

struct demo_machine {
    char name[8];
    uint16_t port, route_port, http_port;
    pid_t pids[DEMO_PROCESSES]; /* 0: it does not run */
    struct client gateway;
};

struct demo {
    char dir[64];
    pid_t cleaner;
    int lifeline; /* the cleaner waits for its end */
    char *belljar, *nats_server;
    struct demo_machine machines[DEMO_MACHINES];
};

/* Makes the directory, the cleaner and the files of all machines. */
int demo_make(struct demo *demo, struct error *err);

/* Starts one process of a machine. */
int demo_start(struct demo *demo, size_t machine, enum demo_process which, struct error *err);

/* Kills it, as `kill -9` does, and waits for its end. */
void demo_kill(struct demo *demo, size_t machine, enum demo_process which);

/* Kept where the path of the settings of a machine is needed: "…/a1/cluster.toml". */
void demo_config(const struct demo *demo, size_t machine, char *path, size_t size);

/* Stops everything, and waits until the directory is gone. False: it is not. */
bool demo_end(struct demo *demo);

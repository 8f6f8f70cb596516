/* The operator's side of the bus: a connection that lives as long as one command, and what it
 * hears. These commands wait where they must; the roles have cluster/bus.h instead.
 */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"
#include "cluster/join_ca.h"

/* Directories and names of the files that `belljar cluster join` makes. */
#define OPERATOR_DIR "/etc/belljar/cluster"

/* What a connection needs; texts in PEM, not paths. */
struct operator_options {
    const char *const *servers; /* NULL at the end */
    const char *ca;             /* NULL: no TLS */
    const char *cert, *key;
};

struct operator_bus;

/* Tries the servers in turn. Errors name the server and what to do about it. */
int operator_connect(const struct operator_options *options, struct operator_bus **ret_bus,
                     struct error *err);

/* The settings of this machine, as far as they matter here. */
#define OPERATOR_SERVERS_MAX 64
struct operator_settings {
    json_t *tree; /* of cluster.toml; the servers point into it */
    const char *name;
    const char *servers[OPERATOR_SERVERS_MAX + 1];
    struct buf ca;
    struct join_pair pair;
    struct operator_options options; /* points to those above */
};

/* Reads cluster.toml, and operator.pem and operator.key beside it. The caller ends it with
 * operator_settings_done(), also after a failure. */
int operator_settings_load(const char *config, struct operator_settings *ret_settings,
                           struct error *err);
void operator_settings_done(struct operator_settings *settings);

/* Connects as the settings say. */
int operator_open(const char *config, struct operator_bus **ret_bus, struct error *err);
void operator_close(struct operator_bus *bus); /* accepts NULL */

static inline void operator_close_p(struct operator_bus **bus)
{
    operator_close(*bus);
}

/* Starts to listen to heartbeats. */
int operator_listen(struct operator_bus *bus, struct error *err);

/* Takes what comes within `wait_ms`. Adds each heartbeat to *beats, an object with a member for
 * each role and name ("node a1"), an object with `beat` (as it was sent), `heard_at_ms` (of the
 * wall clock), `is_twice` where two processes use the name. */
int operator_hear(struct operator_bus *bus, unsigned wait_ms, json_t *beats, struct error *err);

/* Sends an order to a node and waits for its answer. */
int operator_order(struct operator_bus *bus, const char *node, const char *order, char *answer,
                   size_t size, struct error *err);

/* The server to which it is connected, or "". */
const char *operator_server(const struct operator_bus *bus);

/* libnats's own handle. */
struct __natsConnection *operator_connection(struct operator_bus *bus);

/* "belljar: …" and "hint: …" on stderr; returns the exit code, and empties the error. */
int operator_fail(struct error *err);

/* As getopt_long(), but options are written in full: a beginning is unknown. `letters` begins with
 * a colon. */
int operator_getopt(int argc, char **argv, const char *letters, const struct option *options);

/* Of operator_getopt(): says which option is wrong. Returns the exit code. */
int operator_bad_option(const char *command, int answer, char **argv, const struct option *options);

/* One argument, and no other. NULL: *err says what is expected. */
const char *operator_argument(int argc, char **argv, const char *command, const char *what,
                              struct error *err);

/* The settings of belljar-cluster: a TOML file, whose keys cluster/README.md lists. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* How a role shows the bus who it is. */
struct bus_identity {
    char *cert, *key;           /* PEM files, or NULL */
    char *user, *password_file; /* or NULL */
};

struct settings {
    char *name;
    char *log_level, *log_format;
    char **servers; /* NULL at the end */
    char *ca;
    int64_t replicas; /* of what JetStream keeps */

    bool has_gateway;
    char **listen;
    char *tls_cert, *tls_key;
    int64_t connections;
    struct bus_identity gateway;

    bool has_node;
    char *socket;
    char *tokens;         /* the engine's file of tokens, which is to hold the cluster's; or NULL */
    char *jobs_key;       /* seals the copies of durable jobs on the bus; NULL: there are none */
    int64_t jobs_after_s; /* a machine that was lost for so long loses its jobs to the others */
    char **labels;
    char **profiles, **environments; /* that it serves; NULL: any */
    struct bus_identity node;
};

/* E_INVALID says file, line, what was expected and the nearest known key. */
int settings_load(const char *path, struct settings *ret_settings, struct error *err);
void settings_done(struct settings *settings);

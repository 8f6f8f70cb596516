/* The files of one machine of a cluster, and what stands in them.
 *
 *   nats-server.conf  for nats-server: mutual TLS, the routes to the other servers (read by `nats`)
 *   jobs.key          seals what the bus keeps of durable jobs (read by `belljar`)
 *   machines.conf     who may do what on the bus, which nats-server.conf includes; no secrets, and
 * the same on all machines cluster.toml      for `belljar cluster run` ca.pem, and NAME.pem and
 * NAME.key for server (`nats`), node, gateway (`belljar`), operator (root) ca/               on the
 * machine that made the cluster: what it takes to add others (root)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"
#include "cluster/join_ca.h"

#define JOIN_ADDRESS_SIZE   256
#define JOIN_PASSWORD_SIZE  33
#define JOIN_TEXT_BYTES     ((size_t)1 << 20)
#define JOIN_MACHINES_BYTES ((size_t)1 << 20)

enum { JOIN_SERVER, JOIN_NODE, JOIN_GATEWAY, JOIN_OPERATOR, JOIN_ROLES };

extern const char *const join_roles[JOIN_ROLES]; /* "server", … */

/* A machine: its name, its address and its ports, and who else is in the cluster. */
struct join_machine {
    char name[ID_NODE_MAX + 1];
    char address[JOIN_ADDRESS_SIZE];
    uint16_t port;       /* of the bus, for nodes and gateways */
    uint16_t route_port; /* for the other servers */
};

struct join_plan {
    struct join_machine self;
    struct join_machine *others;
    size_t other_count;
    char password[JOIN_PASSWORD_SIZE]; /* of the routes */
    const char *dir;                   /* absolute: the place of the files */
    const char *store;                 /* absolute: where the server keeps what is to last */
    const char *listen;                /* of the gateway, "127.0.0.1:8322" */
    const char *socket;                /* of the engine */
};

void join_plan_done(struct join_plan *plan);

/* The password of the routes. */
int join_make_password(char password[static JOIN_PASSWORD_SIZE], struct error *err);

/* The certificates of a machine, each with the subject that the bus knows its role by. */
int join_sign(const struct join_pair *ca, const struct join_machine *machine,
              struct join_pair pairs[static JOIN_ROLES], struct error *err);

/* The texts. */
int join_write_nats(const struct join_plan *plan, struct buf *text, struct error *err);
int join_write_machines(const struct join_plan *plan, struct buf *text, struct error *err);
int join_write_toml(const struct join_plan *plan, struct buf *text, struct error *err);

/* Writes all of them, and the certificates, with the rights they need. Directories are made. */
int join_write_files(const struct join_plan *plan, const char *ca_cert,
                     const struct join_pair pairs[static JOIN_ROLES], struct error *err);

/* Writes one file of the directory; `owner` is a user of this machine whose group may read it, ""
 * for root alone, NULL for everybody. */
int join_write_file(const char *dir, const char *name, const struct buf *text, const char *owner,
                    struct error *err);

/* The list of all machines, as in the authority's machines.json and in join files. */
json_t *join_machine_to_json(const struct join_machine *machine);
int join_machine_from_json(const json_t *value, struct join_machine *ret_machine,
                           struct error *err);

/* HOST:PORT, with brackets where they are needed. */
void join_place(const struct join_machine *machine, bool is_route,
                char text[static JOIN_ADDRESS_SIZE + 10]);

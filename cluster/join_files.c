#include "cluster/join_files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/rand.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/sha256.h"
#include "cluster/cluster.h"
#include "cluster/job_bus.h"
#include "cluster/job_table.h"
#include "cluster/keep.h"
#include "cluster/store_link.h"
#include "cluster/token_list.h"
#include "cluster/trail_ship.h"

/* A server that is asked to go (SIGUSR2) sends its clients away one after the other, for so long:
 * the least that nats-server takes. */
#define LAME_DUCK_SECONDS 30

/* One of three may be away. */
#define REPLICAS 3

const char *const join_roles[JOIN_ROLES] = {"server", "node", "gateway", "operator"};

/* The group that may read each role's key: the user that the role runs as. */
static const char *const owners[JOIN_ROLES] = {"nats", "belljar", "belljar", ""};

void join_plan_done(struct join_plan *plan)
{
    explicit_bzero(plan->password, sizeof(plan->password));
    free(take_ptr(plan->others));
    plan->other_count = 0;
}

void join_place(const struct join_machine *machine, bool is_route,
                char text[static JOIN_ADDRESS_SIZE + 10])
{
    bool has_colons = strchr(machine->address, ':') != NULL;

    (void)snprintf(text, JOIN_ADDRESS_SIZE + 10, "%s%s%s:%d", has_colons ? "[" : "",
                   machine->address, has_colons ? "]" : "",
                   is_route ? machine->route_port : machine->port);
}

int join_make_password(char password[static JOIN_PASSWORD_SIZE], struct error *err)
{
    unsigned char bytes[(JOIN_PASSWORD_SIZE - 1) / 2];

    if (RAND_bytes(bytes, sizeof(bytes)) != 1)
        return error_set(err, E_SYSTEM, "no random bytes");
    hex_write(bytes, sizeof(bytes), password);
    explicit_bzero(bytes, sizeof(bytes));
    return 0;
}

int join_sign(const struct join_pair *ca, const struct join_machine *machine,
              struct join_pair pairs[static JOIN_ROLES], struct error *err)
{
    for (size_t i = 0; i < JOIN_ROLES; i++) {
        char name[64];

        if (i == JOIN_OPERATOR)
            (void)snprintf(name, sizeof(name), "operator");
        else if (i == JOIN_SERVER)
            (void)snprintf(name, sizeof(name), "%s", machine->name);
        else
            (void)snprintf(name, sizeof(name), "%s.%s", join_roles[i], machine->name);
        if (join_ca_sign(ca, name, i == JOIN_SERVER ? machine->address : NULL, &pairs[i], err) < 0)
            return -1;
    }
    return 0;
}

/* --- the texts --- */

static int write_tls(const struct join_plan *plan, const char *more, struct buf *text,
                     struct error *err)
{
    return buf_printf(text, err,
                      "tls {\n"
                      "    cert_file: \"%s/server.pem\"\n"
                      "    key_file: \"%s/server.key\"\n"
                      "    ca_file: \"%s/ca.pem\"\n"
                      "    %s: true\n"
                      "    timeout: 5\n"
                      "}\n",
                      plan->dir, plan->dir, plan->dir, more);
}

static int write_routes(const struct join_plan *plan, struct buf *text, struct error *err)
{
    char place[JOIN_ADDRESS_SIZE + 10];

    join_place(&plan->self, true, place);
    if (buf_printf(text, err,
                   "\n# The other servers. A certificate alone does not make a server: nodes have "
                   "one, too.\n"
                   "cluster {\n"
                   "name: belljar\n"
                   "listen: \"%s\"\n"
                   "authorization { user: server, password: \"%s\", timeout: 5 }\n",
                   place, plan->password) < 0 ||
        write_tls(plan, "verify", text, err) < 0 || buf_add_str(text, "routes = [\n", err) < 0)
        return -1;
    for (size_t i = 0; i < plan->other_count; i++) {
        join_place(&plan->others[i], true, place);
        if (buf_printf(text, err, "    \"nats-route://server:%s@%s\"\n", plan->password, place) < 0)
            return -1;
    }
    return buf_add_str(text, "]\n}\n", err);
}

int join_write_nats(const struct join_plan *plan, struct buf *text, struct error *err)
{
    char place[JOIN_ADDRESS_SIZE + 10];

    join_place(&plan->self, false, place);
    if (buf_printf(text, err,
                   "# The bus of a Belljar cluster on machine %s, made by `belljar cluster join`.\n"
                   "# It holds the password of the routes: only nats-server may read it.\n"
                   "server_name: %s\n"
                   "listen: \"%s\"\n"
                   "ping_interval: \"20s\"\n"
                   "ping_max: 2\n"
                   "write_deadline: \"5s\"\n"
                   "lame_duck_duration: \"%ds\"\n"
                   "lame_duck_grace_period: \"1s\"\n\n"
                   "# Copies of jobs, heads of trails, and skills with states reserve 512 MB "
                   "each.\n"
                   "jetstream {\n"
                   "    store_dir: \"%s\"\n"
                   "    max_memory_store: 64MB\n"
                   "    max_file_store: 2GB\n"
                   "}\n\n"
                   "# Who may do what: by the subject of the certificate.\n"
                   "include \"machines.conf\"\n",
                   plan->self.name, plan->self.name, place, LAME_DUCK_SECONDS, plan->store) < 0 ||
        write_tls(plan, "verify_and_map", text, err) < 0)
        return -1;
    return write_routes(plan, text, err);
}

/* What a gateway asks of JetStream for one bucket. */
#define BUCKET(name)                                                                               \
    "            \"$KV." name ".>\",\n"                                                            \
    "            \"$JS.API.STREAM.INFO.KV_" name "\",\n"                                           \
    "            \"$JS.API.STREAM.CREATE.KV_" name "\",\n"                                         \
    "            \"$JS.API.STREAM.UPDATE.KV_" name "\",\n"                                         \
    "            \"$JS.API.STREAM.MSG.GET.KV_" name "\""

/* The permissions are those of cluster/cluster.h. */
static int write_gateway(const char *name, struct buf *text, struct error *err)
{
    static const char own[] = CLUSTER_SUBJECTS;

    return buf_printf(text, err,
                      "    { user: \"CN=gateway.%s\", permissions: {\n"
                      "        publish: { allow: [\"%s.node.*.%s\", \"%s.alive.gate.%s\",\n"
                      "            \"$JS.API.INFO\",\n" BUCKET(KEEP_NAMES_BUCKET) ",\n" BUCKET(
                          KEEP_KEYS_BUCKET) "] }\n"
                                            "        subscribe: { allow: [\"%s.gate.%s.*\", "
                                            "\"%s.alive.node.*\",\n"
                                            "            \"" KEEP_SUBJECTS
                                            ">\", \"_INBOX.>\"] } } }\n",
                      name, own, name, own, name, own, name, own);
}

static int write_node(const char *name, struct buf *text, struct error *err)
{
    static const char own[] = CLUSTER_SUBJECTS;

    return buf_printf(text, err,
                      "    { user: \"CN=node.%s\", permissions: {\n"
                      "        publish: { allow: [\"%s.gate.*.%s\", \"%s.alive.node.%s\",\n"
                      "            \"" TOKEN_LIST_GET "\", \"" JOB_PUT "\",\n"
                      "            \"$JS.API.STREAM.INFO." JOB_STREAM "\",\n"
                      "            \"$JS.API.STREAM.CREATE." JOB_STREAM "\",\n"
                      "            \"$JS.API.STREAM.MSG.DELETE." JOB_STREAM "\",\n"
                      "            \"$JS.API.STREAM.MSG.GET." JOB_STREAM "\",\n"
                      "            \"" STORE_SUBJECTS ">\",\n"
                      "            \"$JS.API.STREAM.INFO." STORE_STREAM "\",\n"
                      "            \"$JS.API.STREAM.CREATE." STORE_STREAM "\",\n"
                      "            \"$JS.API.STREAM.MSG.DELETE." STORE_STREAM "\",\n"
                      "            \"$JS.API.STREAM.MSG.GET." STORE_STREAM "\",\n"
                      "            \"" TRAIL_SUBJECTS "%s\", \"" TRAIL_STREAM_CREATE "\"] }\n"
                      "        subscribe: { allow: [\"%s.node.%s.*\", \"%s.alive.*.*\",\n"
                      "            \"%s.order.%s\", \"" TOKEN_LIST_CHANGED "\",\n"
                      "            \"%s.tokens.node.%s\", \"" JOB_BUS_ANSWERS "%s.*\",\n"
                      "            \"%s.trails.node.%s\", \"" STORE_ANSWERS "%s.*\"] }\n"
                      "        allow_responses: { max: 1, expires: \"10s\" } } }\n",
                      name, own, name, own, name, name, own, name, own, own, name, own, name, name,
                      own, name, name);
}

static int write_users_of(const char *name, struct buf *text, struct error *err)
{
    return write_gateway(name, text, err) < 0 ? -1 : write_node(name, text, err);
}

int join_write_machines(const struct join_plan *plan, struct buf *text, struct error *err)
{
    if (buf_add_str(text,
                    "# Who may do what on the bus, made by `belljar cluster join`. The same file "
                    "serves all\n"
                    "# machines; after a change, nats-server reads it on SIGHUP.\n"
                    "authorization {\n"
                    "timeout: 5\n"
                    "users = [\n"
                    "    { user: \"CN=operator\", permissions: {\n"
                    "        publish: { allow: [\"" CLUSTER_SUBJECTS ".order.*\",\n"
                    "            \"" TOKEN_LIST_CHANGED "\", \"" TOKEN_LIST_SUBJECT "\",\n"
                    "            \"$JS.API.INFO\",\n"
                    "            \"$JS.API.STREAM.INFO." TOKEN_LIST_STREAM "\",\n"
                    "            \"$JS.API.STREAM.CREATE." TOKEN_LIST_STREAM "\",\n"
                    "            \"" TOKEN_LIST_GET "\", \"" TRAIL_STREAM_GET "\",\n"
                    "            \"$JS.API.STREAM.INFO." STORE_STREAM "\",\n"
                    "            \"$JS.API.STREAM.MSG.GET." STORE_STREAM "\",\n"
                    "            \"$JS.API.STREAM.MSG.DELETE." STORE_STREAM "\"] }\n"
                    "        subscribe: { allow: [\"" CLUSTER_SUBJECTS
                    ".alive.*.*\", \"_INBOX.>\"] } } }\n",
                    err) < 0 ||
        write_users_of(plan->self.name, text, err) < 0)
        return -1;
    for (size_t i = 0; i < plan->other_count; i++)
        if (write_users_of(plan->others[i].name, text, err) < 0)
            return -1;
    return buf_add_str(text, "]\n}\n", err);
}

int join_write_toml(const struct join_plan *plan, struct buf *text, struct error *err)
{
    const char *slash = strrchr(plan->socket, '/');
    char place[JOIN_ADDRESS_SIZE + 10];

    join_place(&plan->self, false, place);
    if (buf_printf(
            text, err,
            "# Settings of `belljar cluster` on machine %s, made by `belljar cluster join`.\n"
            "name = \"%s\"\n\n"
            "[bus]\n"
            "# This machine's own server first.\n"
            "servers = [\"tls://%s\"",
            plan->self.name, plan->self.name, place) < 0)
        return -1;
    for (size_t i = 0; i < plan->other_count; i++) {
        join_place(&plan->others[i], false, place);
        if (buf_printf(text, err, ", \"tls://%s\"", place) < 0)
            return -1;
    }
    return buf_printf(
        text, err,
        "]\n"
        "# Of what the servers keep: 3 where there are three or more.\n"
        "replicas = %d\n"
        "ca = \"%s/ca.pem\"\n\n"
        "[gateway]\n"
        "# Beyond loopback only with tls_cert and tls_key.\n"
        "listen = [\"%s\"]\n"
        "bus_cert = \"%s/gateway.pem\"\n"
        "bus_key = \"%s/gateway.key\"\n\n"
        "[node]\n"
        "# `cluster_socket` in the settings of the engine.\n"
        "socket = \"%s\"\n"
        "# The engine's `tokens_file`, for the tokens of the cluster (`belljar cluster "
        "token`).\n"
        "tokens = \"%.*stokens.toml\"\n"
        "# It seals the copies of durable jobs on the bus: the same on all machines.\n"
        "jobs_key = \"%s/jobs.key\"\n"
        "bus_cert = \"%s/node.pem\"\n"
        "bus_key = \"%s/node.key\"\n",
        plan->other_count >= REPLICAS - 1 ? REPLICAS : 1, plan->dir, plan->listen, plan->dir,
        plan->dir, plan->socket, slash ? (int)(slash + 1 - plan->socket) : 0, plan->socket,
        plan->dir, plan->dir, plan->dir);
}

/* --- the files --- */

/* Root hands what a role reads to the group of its user. Others keep all of it to themselves: their
 * servers are theirs. */
static int give(int fd, const char *owner, struct error *err)
{
    const struct group *group = NULL;

    if (!owner)
        return fchmod(fd, 0644) < 0 ? error_errno(err, "fchmod") : 0;
    if (!*owner || geteuid() != 0)
        return 0;
    group = getgrnam(owner);
    if (!group)
        return 0; /* the package that brings the user is missing: join_report() says so */
    if (fchown(fd, 0, group->gr_gid) < 0 || fchmod(fd, 0640) < 0)
        return error_errno(err, "give it to the group `%s`", owner);
    return 0;
}

int join_write_file(const char *dir, const char *name, const struct buf *text, const char *owner,
                    struct error *err)
{
    cleanup_free char *path = NULL, *made = NULL;
    cleanup_close int fd = -1;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        path = NULL;
    if (asprintf(&made, "%s/.%s.new", dir, name) < 0)
        made = NULL;
    if (!path || !made)
        return error_memory(err);
    if (unlink(made) < 0 && errno != ENOENT)
        return error_errno(err, "`%s`", made);
    fd = open(made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "`%s`", made);
    /* The old file stays until the new one is complete. */
    if (file_write_all(fd, buf_str(text), text->len) < 0 || fsync(fd) < 0)
        (void)error_errno(err, "write `%s`", made);
    else if (give(fd, owner, err) < 0)
        (void)error_wrap(err, "`%s`", path);
    else if (rename(made, path) < 0)
        (void)error_errno(err, "`%s`", path);
    else
        return 0;
    (void)unlink(made);
    return -1;
}

static int write_pairs(const struct join_plan *plan, const struct join_pair pairs[JOIN_ROLES],
                       struct error *err)
{
    char name[32];

    for (size_t i = 0; i < JOIN_ROLES; i++) {
        (void)snprintf(name, sizeof(name), "%s.pem", join_roles[i]);
        if (join_write_file(plan->dir, name, &pairs[i].cert, NULL, err) < 0)
            return -1;
        (void)snprintf(name, sizeof(name), "%s.key", join_roles[i]);
        if (join_write_file(plan->dir, name, &pairs[i].key, owners[i], err) < 0)
            return -1;
    }
    return 0;
}

/* All machines have the password of the routes, and make the same key of it. */
static int write_jobs_key(const struct join_plan *plan, struct error *err)
{
    cleanup(buf_wipe) struct buf text = BUF_OF(256);
    uint8_t hash[SHA256_BYTES];
    char digits[2 * SHA256_BYTES + 1];
    int r = buf_printf(&text, err, "belljar-cluster-jobs 1\n%s", plan->password);

    if (r >= 0) {
        sha256(buf_str(&text), text.len, hash);
        hex_write(hash, sizeof(hash), digits);
        buf_wipe(&text);
        buf_clear(&text);
        r = buf_printf(&text, err, "%s\n", digits);
    }
    if (r >= 0)
        r = join_write_file(plan->dir, "jobs.key", &text, owners[JOIN_NODE], err);
    explicit_bzero(hash, sizeof(hash));
    explicit_bzero(digits, sizeof(digits));
    return r < 0 ? -1 : 0;
}

int join_write_files(const struct join_plan *plan, const char *ca_cert,
                     const struct join_pair pairs[static JOIN_ROLES], struct error *err)
{
    cleanup(buf_done) struct buf ca = BUF_OF(JOIN_PEM_BYTES), nats = BUF_OF(JOIN_TEXT_BYTES),
                                 machines = BUF_OF(JOIN_TEXT_BYTES), toml = BUF_OF(JOIN_TEXT_BYTES);

    if (mkdir(plan->dir, 0755) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", plan->dir);
    if (buf_add_str(&ca, ca_cert, err) < 0 || join_write_nats(plan, &nats, err) < 0 ||
        join_write_machines(plan, &machines, err) < 0 || join_write_toml(plan, &toml, err) < 0 ||
        join_write_file(plan->dir, "ca.pem", &ca, NULL, err) < 0 ||
        write_pairs(plan, pairs, err) < 0 ||
        join_write_file(plan->dir, "machines.conf", &machines, NULL, err) < 0 ||
        join_write_file(plan->dir, "nats-server.conf", &nats, owners[JOIN_SERVER], err) < 0 ||
        write_jobs_key(plan, err) < 0 ||
        join_write_file(plan->dir, "cluster.toml", &toml, NULL, err) < 0)
        return -1;
    return 0;
}

/* --- machines as JSON --- */

json_t *join_machine_to_json(const struct join_machine *machine)
{
    return json_pack("{s:s, s:s, s:i, s:i}", "name", machine->name, "address", machine->address,
                     "port", (int)machine->port, "route_port", (int)machine->route_port);
}

static int port_of(const json_t *value, const char *key, uint16_t *ret_port, struct error *err)
{
    json_int_t port = json_integer_value(json_object_get(value, key));

    if (port < 1 || port > 65535)
        return error_set(err, E_INVALID, "`%s` of a machine: expected a port", key);
    *ret_port = (uint16_t)port;
    return 0;
}

int join_machine_from_json(const json_t *value, struct join_machine *ret_machine, struct error *err)
{
    const char *name = json_get_text(value, "name"), *address = json_get_text(value, "address");
    struct host host;

    if (!id_is_node(name))
        return error_set(err, E_INVALID, "`%s`: invalid name of a machine", name);
    if (host_parse(address, strlen(address), false, &host))
        return error_set(err, E_INVALID, "`%s`: invalid address of machine %s", address, name);
    (void)snprintf(ret_machine->name, sizeof(ret_machine->name), "%s", name);
    (void)snprintf(ret_machine->address, sizeof(ret_machine->address), "%s", host.name);
    return port_of(value, "port", &ret_machine->port, err) < 0 ||
                   port_of(value, "route_port", &ret_machine->route_port, err) < 0
               ? -1
               : 0;
}

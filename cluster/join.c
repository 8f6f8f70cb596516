#include "cluster/join.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json.h"
#include "cluster/cluster.h"
#include "cluster/join_check.h"
#include "cluster/join_files.h"
#include "cluster/operator.h"

#define PORT       4222
#define ROUTE_PORT 6222
#define LISTEN     "127.0.0.1:8322"
#define SOCKET     "/var/lib/belljar/cluster.sock"

#define STORE "/var/lib/belljar-nats"

#define FORMAT "belljar-join/1"

struct options {
    bool is_first, is_check, is_again, is_offline, takes_any_version;
    const char *add, *name, *address, *dir, *output, *listen, *socket, *ca_cert, *ca_key, *store;
    const char *port, *route_port;
    const char *file; /* the argument */
};

static int help(void)
{
    (void)printf(
        "usage: belljar cluster join --first --name NAME --address ADDRESS [OPTION]…\n"
        "       belljar cluster join --add NAME --address ADDRESS [OPTION]…\n"
        "       belljar cluster join FILE [OPTION]…\n"
        "       belljar cluster join --check\n\n"
        "Make a cluster, add a machine to it, join it on that machine with the file that\n"
        "--add has made, or check this machine.\n\n"
        "      --first            this is the first machine: make the authority\n"
        "      --add NAME         on the first machine: make NAME.join for another one\n"
        "      --check            ask all servers of the bus, compare clocks and versions\n"
        "      --name NAME        of this machine: up to 12 lowercase letters and digits;\n"
        "                         `node` in the settings of its engine is the same\n"
        "      --address ADDRESS  by which the other machines reach it\n"
        "      --port N           of the bus (4222)\n"
        "      --route-port N     between the servers of the bus (6222)\n"
        "      --listen ADDRESS   of the gateway (" LISTEN ")\n"
        "      --socket PATH      of the engine (" SOCKET ")\n"
        "      --dir DIR          of the files (" OPERATOR_DIR ")\n"
        "      --store DIR        where the server keeps names (" STORE ")\n"
        "      --output FILE      of --add, instead of NAME.join\n"
        "      --ca-cert FILE     with --first: an authority that you have, and\n"
        "      --ca-key FILE      its key\n"
        "      --again            replace a machine or its files that exist\n"
        "      --offline          join without asking the others\n"
        "      --any-version      join others of another version, during an upgrade\n\n"
        "example: belljar cluster join --first --name a1 --address 10.0.0.1\n");
    return 0;
}

/* --- options --- */

enum { OPTION_FIRST = 256 };

static const struct option long_options[] = {
    {"first", no_argument, NULL, OPTION_FIRST},
    {"check", no_argument, NULL, OPTION_FIRST + 1},
    {"again", no_argument, NULL, OPTION_FIRST + 2},
    {"offline", no_argument, NULL, OPTION_FIRST + 3},
    {"any-version", no_argument, NULL, OPTION_FIRST + 4},
    {"add", required_argument, NULL, OPTION_FIRST + 5},
    {"name", required_argument, NULL, OPTION_FIRST + 6},
    {"address", required_argument, NULL, OPTION_FIRST + 7},
    {"dir", required_argument, NULL, OPTION_FIRST + 8},
    {"output", required_argument, NULL, OPTION_FIRST + 9},
    {"listen", required_argument, NULL, OPTION_FIRST + 10},
    {"socket", required_argument, NULL, OPTION_FIRST + 11},
    {"ca-cert", required_argument, NULL, OPTION_FIRST + 12},
    {"ca-key", required_argument, NULL, OPTION_FIRST + 13},
    {"port", required_argument, NULL, OPTION_FIRST + 14},
    {"route-port", required_argument, NULL, OPTION_FIRST + 15},
    {"store", required_argument, NULL, OPTION_FIRST + 16},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Returns 0, or the exit code + 1. */
static int read_options(int argc, char **argv, struct options *o)
{
    bool *const flags[] = {&o->is_first, &o->is_check, &o->is_again, &o->is_offline,
                           &o->takes_any_version};
    const char **const words[] = {&o->add,    &o->name,   &o->address,    &o->dir,
                                  &o->output, &o->listen, &o->socket,     &o->ca_cert,
                                  &o->ca_key, &o->port,   &o->route_port, &o->store};
    int answer;

    opterr = 0;
    optind = 1;
    while ((answer = operator_getopt(argc, argv, ":h", long_options)) != -1) {
        size_t at = (size_t)(answer - OPTION_FIRST);

        if (answer == 'h')
            return help() + 1;
        if (answer < OPTION_FIRST)
            return operator_bad_option("cluster join", answer, argv, long_options) + 1;
        if (at < ARRAY_SIZE(flags))
            *flags[at] = true;
        else
            *words[at - ARRAY_SIZE(flags)] = optarg;
    }
    if (optind < argc)
        o->file = argv[optind++];
    return 0;
}

/* It stands in the files of other programs, between quotes. */
static int check_path(const char *path, const char *option, struct error *err)
{
    for (const char *c = path ? path : "/"; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ')
            return error_set(err, E_INVALID, "%s: quotes and control characters are not possible",
                             option);
    return !path || *path == '/'
               ? 0
               : error_set(err, E_INVALID, "%s: expected an absolute path", option);
}

static int check_words(int argc, const struct options *o, struct error *err)
{
    int ways = o->is_first + o->is_check + (o->add != NULL) + (o->file != NULL);

    if (optind < argc || ways != 1) {
        error_set(err, E_INVALID,
                  "cluster join: expected one of --first, --add NAME, --check and a "
                  "join file");
        return error_hint(err, "on the first machine: belljar cluster join --first --name a1 "
                               "--address 10.0.0.1");
    }
    if (o->is_first && (!o->name || !o->address))
        return error_set(err, E_INVALID, "--first needs --name and --address");
    if (o->add && !o->address)
        return error_set(err, E_INVALID, "--add needs --address, by which the others reach `%s`",
                         o->add);
    if (!o->ca_cert != !o->ca_key)
        return error_set(err, E_INVALID, "--ca-cert and --ca-key belong together");
    return check_path(o->dir, "--dir", err) < 0 || check_path(o->store, "--store", err) < 0 ? -1
                                                                                            : 0;
}

static int read_port(const char *text, const char *option, uint16_t *ret_port, struct error *err)
{
    char *end = NULL;
    long port = 0;

    if (!text)
        return 0;
    port = strtol(text, &end, 10);
    if (*end || port < 1 || port > 65535)
        return error_set(err, E_INVALID, "%s: expected a port, got `%s`", option, text);
    *ret_port = (uint16_t)port;
    return 0;
}

static int read_machine(const struct options *o, const char *name, struct join_machine *ret_machine,
                        struct error *err)
{
    struct host host;
    const char *wrong = host_parse(o->address, strlen(o->address), false, &host);

    /* The server's certificate would be taken for an operator's. */
    if (strcmp(name, join_roles[JOIN_OPERATOR]) == 0)
        return error_set(err, E_INVALID, "`%s` cannot name a machine: it is reserved", name);
    if (!id_is_node(name)) {
        error_set(err, E_INVALID, "`%s`: invalid name of a machine", name);
        return error_hint(err, "up to 12 lowercase letters and digits, a letter first, as `a1`");
    }
    if (wrong)
        return error_set(err, E_INVALID, "--address `%s`: %s", o->address, wrong);
    if (host.is_address && address_is_nobody(&host.address))
        return error_set(err, E_INVALID, "--address `%s`: the others cannot reach that",
                         o->address);
    *ret_machine = (struct join_machine){.port = PORT, .route_port = ROUTE_PORT};
    (void)snprintf(ret_machine->name, sizeof(ret_machine->name), "%s", name);
    (void)snprintf(ret_machine->address, sizeof(ret_machine->address), "%s", host.name);
    return read_port(o->port, "--port", &ret_machine->port, err) < 0 ||
                   read_port(o->route_port, "--route-port", &ret_machine->route_port, err) < 0
               ? -1
               : 0;
}

/* --- what the authority keeps: DIR/ca --- */

struct authority {
    char *dir;
    struct join_pair ca;
    json_t *machines; /* array; the first is the machine of the authority */
    json_t *self;     /* `store`, `listen` and `socket` of that machine */
    char password[JOIN_PASSWORD_SIZE];
};

static void done_authority(struct authority *a)
{
    free(a->dir);
    join_pair_done(&a->ca);
    json_decref(a->machines);
    json_decref(a->self);
    explicit_bzero(a->password, sizeof(a->password));
}

static int read_text(const char *path, struct buf *text, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return error_set(err, E_NOT_FOUND, "`%s`: no such file", path);
    if (fd < 0)
        return error_errno(err, "`%s`", path);
    return buf_read_fd(text, fd, err) < 0 ? error_wrap(err, "`%s`", path) : 0;
}

static int read_of(const char *dir, const char *name, struct buf *text, struct error *err)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return error_memory(err);
    return read_text(path, text, err);
}

static int store_authority(const struct authority *a, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(JOIN_MACHINES_BYTES);
    cleanup_json json_t *tree = json_pack("{s:s, s:s, s:O, s:O*}", "format", FORMAT, "routes",
                                          a->password, "machines", a->machines, "self", a->self);
    int r = tree ? json_text_dump(tree, JSON_TEXT_PRETTY, &text, err) : error_memory(err);

    if (r == 0)
        r = join_write_file(a->dir, "machines.json", &text, "", err);
    buf_wipe(&text);
    return r;
}

/* Of a tree that this program wrote, and that may have been damaged since. */
static int take_tree(const json_t *tree, json_t **ret_machines,
                     char password[static JOIN_PASSWORD_SIZE], struct error *err)
{
    const char *routes = json_get_text(tree, "routes");
    json_t *machines = json_object_get(tree, "machines"), *value = NULL;
    struct join_machine machine;
    size_t i = 0;

    if (strcmp(json_get_text(tree, "format"), FORMAT) != 0 || !json_is_array(machines) ||
        json_array_size(machines) < 1 || strlen(routes) != JOIN_PASSWORD_SIZE - 1 ||
        strspn(routes, "0123456789abcdef") != JOIN_PASSWORD_SIZE - 1)
        return error_set(err, E_INVALID, "not a file of `belljar cluster join`, or damaged");
    if (json_array_size(machines) > CLUSTER_NAMES_MAX)
        return error_set(err, E_TOO_LARGE, "more than %d machines", CLUSTER_NAMES_MAX);
    json_array_foreach(machines, i,
                       value) if (join_machine_from_json(value, &machine, err) < 0) return -1;
    (void)snprintf(password, JOIN_PASSWORD_SIZE, "%s", routes);
    *ret_machines = json_incref(machines);
    return 0;
}

static const struct json_text_limits limits = {.bytes = JOIN_MACHINES_BYTES, .depth = 4};

static int load_authority(const struct options *o, struct authority *a, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(JOIN_MACHINES_BYTES);
    cleanup_json json_t *tree = NULL;

    if (asprintf(&a->dir, "%s/ca", o->dir) < 0)
        return error_memory(err);
    if (access(a->dir, R_OK | X_OK) < 0) {
        error_errno(err, "`%s`", a->dir);
        return error_hint(err, "--add works on the machine that made the cluster, as the user that "
                               "made it (root, with sudo)");
    }
    if (read_of(a->dir, "ca.pem", &a->ca.cert, err) < 0 ||
        read_of(a->dir, "ca.key", &a->ca.key, err) < 0 ||
        read_of(a->dir, "machines.json", &text, err) < 0 ||
        json_text_load(buf_str(&text), text.len, &limits, &tree, err) < 0 ||
        take_tree(tree, &a->machines, a->password, err) < 0)
        return error_wrap(err, "the authority in `%s`", a->dir);
    a->self = json_incref(json_object_get(tree, "self"));
    return join_ca_check(&a->ca, err);
}

static int make_authority(const struct options *o, const struct join_machine *self,
                          struct authority *a, struct error *err)
{
    if (asprintf(&a->dir, "%s/ca", o->dir) < 0)
        return error_memory(err);
    if (o->ca_cert) {
        if (read_text(o->ca_cert, &a->ca.cert, err) < 0 ||
            read_text(o->ca_key, &a->ca.key, err) < 0 || join_ca_check(&a->ca, err) < 0)
            return -1;
    } else if (join_ca_make(&a->ca, err) < 0) {
        return -1;
    }
    if (join_make_password(a->password, err) < 0)
        return -1;
    a->machines = json_pack("[o]", join_machine_to_json(self));
    a->self = json_pack("{s:s*, s:s*, s:s*}", "store", o->store, "listen", o->listen, "socket",
                        o->socket);
    return a->machines && a->self ? 0 : error_memory(err);
}

/* --- plans --- */

static int plan_for(const struct options *o, const json_t *machines, const char *name,
                    const char *password, struct join_plan *plan, struct error *err)
{
    json_t *value = NULL;
    size_t i = 0;
    bool is_found = false;

    plan->dir = o->dir;
    plan->store = o->store ? o->store : STORE;
    plan->listen = o->listen ? o->listen : LISTEN;
    plan->socket = o->socket ? o->socket : SOCKET;
    (void)snprintf(plan->password, sizeof(plan->password), "%s", password);
    plan->others = calloc(json_array_size(machines), sizeof(*plan->others));
    if (!plan->others)
        return error_memory(err);
    json_array_foreach(machines, i, value)
    {
        struct join_machine machine;

        if (join_machine_from_json(value, &machine, err) < 0)
            return -1;
        if (strcmp(machine.name, name) == 0) {
            plan->self = machine;
            is_found = true;
        } else {
            plan->others[plan->other_count++] = machine;
        }
    }
    return is_found ? 0 : error_set(err, E_INVALID, "machine `%s` is not in the list", name);
}

static void done_pairs(struct join_pair (*pairs)[JOIN_ROLES])
{
    for (size_t i = 0; i < JOIN_ROLES; i++)
        join_pair_done(&(*pairs)[i]);
}

static void init_pairs(struct join_pair pairs[static JOIN_ROLES])
{
    for (size_t i = 0; i < JOIN_ROLES; i++)
        pairs[i] = (struct join_pair)JOIN_PAIR;
}

static int check_place(const struct options *o, struct error *err)
{
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%s/cluster.toml", o->dir) < 0)
        return error_memory(err);
    if (o->is_again || access(path, F_OK) < 0)
        return 0;
    error_set(err, E_INVALID, "this machine is in a cluster already: `%s` exists", path);
    return error_hint(err, "--again replaces its files; sessions of a running node end with it");
}

/* --- reports --- */

static bool has_group(const char *name)
{
    return getgrnam(name) != NULL;
}

static void say_next(const struct join_plan *plan)
{
    (void)printf("wrote %s: certificates, nats-server.conf, cluster.toml\n\n"
                 "Now, on this machine:\n\n"
                 "  1. Add to the settings of the engine (/etc/belljar/config.toml):\n\n"
                 "         node = \"%s\"\n"
                 "         cluster_socket = \"%s\"\n\n",
                 plan->dir, plan->self.name, plan->socket);
    if (strcmp(plan->dir, OPERATOR_DIR) == 0)
        (void)printf(
            "  2. Start all of it:\n\n"
            "         systemctl restart belljar.service\n"
            "         systemctl enable --now belljar-nats belljar-node belljar-gateway\n\n");
    else
        (void)printf("  2. Start all of it:\n\n"
                     "         nats-server -c %s/nats-server.conf\n"
                     "         belljar serve\n"
                     "         belljar cluster run --config %s/cluster.toml\n\n",
                     plan->dir, plan->dir);
    (void)printf("  3. Look: belljar cluster status\n");
    if (geteuid() == 0 && strcmp(plan->dir, OPERATOR_DIR) == 0 &&
        (!has_group("nats") || !has_group("belljar")))
        (void)printf(
            "\nThe user `%s` is missing, so that its programs cannot read their keys: install "
            "%s and join with --again.\n",
            has_group("nats") ? "belljar" : "nats",
            has_group("nats") ? "belljar's package" : "nats-server");
}

/* --- the ways --- */

static int first(const struct options *o, struct error *err)
{
    cleanup(done_authority) struct authority a = {.ca = JOIN_PAIR};
    cleanup(join_plan_done) struct join_plan plan = {0};
    cleanup(done_pairs) struct join_pair pairs[JOIN_ROLES];
    struct join_machine self;

    init_pairs(pairs);
    if (read_machine(o, o->name, &self, err) < 0 || join_check_address(self.address, err) < 0 ||
        check_place(o, err) < 0 || make_authority(o, &self, &a, err) < 0 ||
        plan_for(o, a.machines, self.name, a.password, &plan, err) < 0 ||
        join_sign(&a.ca, &self, pairs, err) < 0 ||
        join_write_files(&plan, buf_str(&a.ca.cert), pairs, err) < 0)
        return -1;
    if (mkdir(a.dir, 0700) < 0 && errno != EEXIST)
        return error_errno(err, "make `%s`", a.dir);
    if (join_write_file(a.dir, "ca.pem", &a.ca.cert, "", err) < 0 ||
        join_write_file(a.dir, "ca.key", &a.ca.key, "", err) < 0 || store_authority(&a, err) < 0)
        return -1;
    say_next(&plan);
    (void)printf(
        "\nFor each other machine, here: belljar cluster join --add a2 --address 10.0.0.2\n"
        "%s/ca is the authority: whoever has it can add machines. Keep a copy elsewhere.\n",
        o->dir);
    return 0;
}

static int add_to_list(const struct options *o, const struct join_machine *machine,
                       json_t *machines, struct error *err)
{
    json_t *value = NULL;
    size_t i = 0, at = json_array_size(machines);

    json_array_foreach(machines, i, value)
    {
        const char *name = json_get_text(value, "name");
        bool is_same = strcmp(name, machine->name) == 0;

        if (is_same && i == 0)
            return error_set(err, E_INVALID, "`%s` is this machine", name);
        if (is_same && !o->is_again) {
            error_set(err, E_INVALID, "the name `%s` is taken, by the machine at %s", name,
                      json_get_text(value, "address"));
            return error_hint(err, "choose another name, or --again to make its file once more");
        }
        if (is_same)
            at = i;
        else if (strcmp(json_get_text(value, "address"), machine->address) == 0 &&
                 json_integer_value(json_object_get(value, "port")) == machine->port)
            return error_set(err, E_INVALID, "the address %s is that of machine `%s`",
                             machine->address, name);
    }
    if (at >= CLUSTER_NAMES_MAX)
        return error_set(err, E_TOO_LARGE, "a cluster has up to %d machines", CLUSTER_NAMES_MAX);
    if (at < json_array_size(machines))
        return json_array_set_new(machines, at, join_machine_to_json(machine)) < 0
                   ? error_memory(err)
                   : 0;
    return json_array_append_new(machines, join_machine_to_json(machine)) < 0 ? error_memory(err)
                                                                              : 0;
}

static int write_join_file(const struct options *o, const struct authority *a,
                           const struct join_machine *machine, const char *path, struct error *err)
{
    cleanup(done_pairs) struct join_pair pairs[JOIN_ROLES];
    cleanup(buf_done) struct buf text = BUF_OF(JOIN_MACHINES_BYTES);
    cleanup_json json_t *tree = json_pack(
        "{s:s, s:s, s:s, s:s, s:O, s:s}", "format", FORMAT, "version", BELLJAR_VERSION, "name",
        machine->name, "routes", a->password, "machines", a->machines, "ca", buf_str(&a->ca.cert));
    cleanup_close int fd = -1;
    int r = 0;

    init_pairs(pairs);
    if (join_sign(&a->ca, machine, pairs, err) < 0)
        return -1;
    for (size_t i = 0; i < JOIN_ROLES && tree; i++)
        json_set(tree, join_roles[i],
                 json_pack("{s:s, s:s}", "cert", buf_str(&pairs[i].cert), "key",
                           buf_str(&pairs[i].key)));
    r = tree ? json_text_dump(tree, JSON_TEXT_PRETTY, &text, err) : error_memory(err);
    if (r < 0)
        return -1;
    if (o->is_again && unlink(path) < 0 && errno != ENOENT)
        return error_errno(err, "`%s`", path);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || file_write_all(fd, buf_str(&text), text.len) < 0)
        r = error_errno(err, "write `%s`", path);
    buf_wipe(&text);
    return r;
}

/* Whether the file has that text, so that nobody has edited it. */
static bool is_as_made(const char *dir, const char *name, const struct buf *text)
{
    cleanup(buf_done) struct buf found = BUF_OF(JOIN_TEXT_BYTES);

    return read_of(dir, name, &found, NULL) == 0 && found.len == text->len &&
           memcmp(buf_str(&found), buf_str(text), text->len) == 0;
}

/* Of the machine with the authority: what was said when it was made holds still. */
static int plan_for_self(const struct options *o, const struct authority *a, struct join_plan *plan,
                         struct error *err)
{
    struct options own = *o;

    own.store = json_string_value(json_object_get(a->self, "store"));
    own.listen = json_string_value(json_object_get(a->self, "listen"));
    own.socket = json_string_value(json_object_get(a->self, "socket"));
    return plan_for(&own, a->machines, json_get_text(json_array_get(a->machines, 0), "name"),
                    a->password, plan, err);
}

/* Makes the files of the machine with the authority name the new machine, too. */
static int update_self(const struct options *o, const struct authority *a,
                       const struct buf *toml_before, struct error *err)
{
    cleanup(join_plan_done) struct join_plan plan = {0};
    cleanup(buf_done) struct buf machines = BUF_OF(JOIN_TEXT_BYTES), nats = BUF_OF(JOIN_TEXT_BYTES),
                                 toml = BUF_OF(JOIN_TEXT_BYTES);

    if (plan_for_self(o, a, &plan, err) < 0 || join_write_machines(&plan, &machines, err) < 0 ||
        join_write_nats(&plan, &nats, err) < 0 || join_write_toml(&plan, &toml, err) < 0 ||
        join_write_file(o->dir, "machines.conf", &machines, NULL, err) < 0 ||
        join_write_file(o->dir, "nats-server.conf", &nats, "nats", err) < 0)
        return -1;
    if (is_as_made(o->dir, "cluster.toml", toml_before))
        return join_write_file(o->dir, "cluster.toml", &toml, NULL, err);
    (void)printf("%s/cluster.toml was edited and stays as it is: add the new server to `servers`\n",
                 o->dir);
    return 0;
}

static int add(const struct options *o, struct error *err)
{
    cleanup(done_authority) struct authority a = {.ca = JOIN_PAIR};
    cleanup(join_plan_done) struct join_plan before = {0};
    cleanup(buf_done) struct buf toml = BUF_OF(JOIN_TEXT_BYTES);
    cleanup_free char *path = NULL;
    struct join_machine machine;

    if (asprintf(&path, o->output ? "%s" : "%s.join", o->output ? o->output : o->add) < 0)
        return error_memory(err);
    if (read_machine(o, o->add, &machine, err) < 0 || load_authority(o, &a, err) < 0 ||
        plan_for_self(o, &a, &before, err) < 0 || join_write_toml(&before, &toml, err) < 0 ||
        add_to_list(o, &machine, a.machines, err) < 0 ||
        write_join_file(o, &a, &machine, path, err) < 0 || store_authority(&a, err) < 0 ||
        update_self(o, &a, &toml, err) < 0)
        return -1;
    (void)printf("wrote %s, which is a secret until it has been used\n\n"
                 "What to type, here and then on `%s`:\n\n"
                 "    systemctl reload belljar-nats\n"
                 "    scp %s root@%s:\n"
                 "    rm %s\n\n"
                 "    belljar cluster join %s.join && rm %s.join\n",
                 path, machine.name, path, machine.address, path, machine.name, machine.name);
    if (json_array_size(a.machines) > 2)
        (void)printf(
            "\nSo that `%s` may also use the servers of the other machines while its own is "
            "away, copy\n%s/machines.conf to each of them, and type there:\n\n"
            "    systemctl reload belljar-nats\n\n"
            "With three machines or more, `replicas` in the cluster.toml of each is 3.\n",
            machine.name, o->dir);
    return 0;
}

/* The pairs of a join file. Each must be of the authority in it, and valid now. */
static int take_pairs(const json_t *tree, const char *ca, struct join_pair pairs[static JOIN_ROLES],
                      struct error *err)
{
    int days = 0;

    for (size_t i = 0; i < JOIN_ROLES; i++) {
        const json_t *pair = json_object_get(tree, join_roles[i]);

        if (buf_add_str(&pairs[i].cert, json_get_text(pair, "cert"), err) < 0 ||
            buf_add_str(&pairs[i].key, json_get_text(pair, "key"), err) < 0)
            return -1;
        if (join_ca_verify(ca, &pairs[i], &days, err) < 0) {
            (void)error_wrap(err, "the certificate of the %s", join_roles[i]);
            return error_hint(err,
                              "check the clock of this machine with `date`, and whether the file "
                              "is whole");
        }
    }
    return 0;
}

static int check_version(const struct options *o, const json_t *tree, struct error *err)
{
    const char *version = json_get_text(tree, "version");

    if (strcmp(version, BELLJAR_VERSION) == 0 || o->takes_any_version)
        return 0;
    error_set(err, E_INVALID, "the file was made by version `%s`, this is %s", version,
              BELLJAR_VERSION);
    return error_hint(err, "install the same version on all machines, or --any-version during an "
                           "upgrade");
}

static void free_places(char ***places)
{
    for (size_t i = 0; *places && (*places)[i]; i++)
        free((*places)[i]);
    free(*places);
}

static int ask_others(const struct options *o, const struct join_plan *plan, const char *ca,
                      const struct join_pair *pair, struct error *err)
{
    cleanup(free_places) char **servers = calloc(plan->other_count + 1, sizeof(*servers));
    const struct operator_options options = {.servers = (const char *const *)servers,
                                             .ca = ca,
                                             .cert = buf_str(&pair->cert),
                                             .key = buf_str(&pair->key)};
    const struct join_check check = {.options = &options,
                                     .name = plan->self.name,
                                     .is_new = true,
                                     .takes_any_version = o->takes_any_version};
    char place[JOIN_ADDRESS_SIZE + 10];

    if (!servers)
        return error_memory(err);
    for (size_t i = 0; i < plan->other_count; i++) {
        join_place(&plan->others[i], false, place);
        if (asprintf(&servers[i], "tls://%s", place) < 0) {
            servers[i] = NULL;
            return error_memory(err);
        }
    }
    (void)printf("asking the other machines:\n");
    if (join_check(&check, err) == 0)
        return 0;
    (void)printf("nothing was written; --offline joins without asking\n\n");
    (void)fflush(stdout);
    return -1;
}

static int join(const struct options *o, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(JOIN_MACHINES_BYTES);
    cleanup(done_pairs) struct join_pair pairs[JOIN_ROLES];
    cleanup(join_plan_done) struct join_plan plan = {0};
    cleanup_json json_t *tree = NULL, *machines = NULL;
    char password[JOIN_PASSWORD_SIZE];
    const char *ca = NULL;
    int r = 0;

    init_pairs(pairs);
    if (read_text(o->file, &text, err) < 0)
        return -1;
    r = json_text_load(buf_str(&text), text.len, &limits, &tree, err);
    buf_wipe(&text);
    if (r < 0 || take_tree(tree, &machines, password, err) < 0)
        return error_wrap(err, "`%s`", o->file);
    ca = json_get_text(tree, "ca");
    if (check_version(o, tree, err) < 0 || take_pairs(tree, ca, pairs, err) < 0 ||
        plan_for(o, machines, json_get_text(tree, "name"), password, &plan, err) < 0 ||
        join_check_address(plan.self.address, err) < 0 || check_place(o, err) < 0)
        return error_wrap(err, "`%s`", o->file);
    if (!o->is_offline && ask_others(o, &plan, ca, &pairs[JOIN_OPERATOR], err) < 0)
        return -1;
    if (join_write_files(&plan, ca, pairs, err) < 0)
        return -1;
    say_next(&plan);
    return 0;
}

static int check(const struct options *o, struct error *err)
{
    cleanup(operator_settings_done) struct operator_settings settings = {0};
    cleanup_free char *config = NULL;
    int days = 0;

    if (asprintf(&config, "%s/cluster.toml", o->dir) < 0)
        return error_memory(err);
    if (operator_settings_load(config, &settings, err) < 0)
        return -1;
    if (settings.options.ca) {
        if (join_ca_verify(settings.options.ca, &settings.pair, &days, err) < 0)
            return error_wrap(err, "the certificate of the operator");
        (void)printf("  certificates: valid for %d days\n", days);
    }
    return join_check(&(struct join_check){.options = &settings.options, .name = settings.name},
                      err);
}

int cluster_join(int argc, char **argv)
{
    cleanup_error struct error err = {0};
    struct options o = {.dir = OPERATOR_DIR};
    int r = read_options(argc, argv, &o);

    if (r != 0)
        return r - 1;
    if (check_words(argc, &o, &err) < 0)
        return operator_fail(&err);
    r = o.is_first ? first(&o, &err)
        : o.add    ? add(&o, &err)
        : o.file   ? join(&o, &err)
                   : check(&o, &err);
    return r < 0 ? operator_fail(&err) : 0;
}

/* belljar-cluster: the bus between machines.
 *
 * Theory of operation. One process, started by `belljar cluster`, with one or both of two roles. A
 * gateway (gateway.c) takes clients' HTTP by way of belljar-listener, as `belljar serve` does, and
 * each request becomes an exchange (exchange.c) with a node. A node (node.c) makes of each exchange
 * a request on the Unix socket of the machine's engine (relay.c). Between them are numbered frames
 * (stream.c, frame.c) over NATS (bus.c), whose library has threads and is kept behind a queue: all
 * of ours runs on one event loop. The process has no rights of its own: it needs a network, the
 * engine's socket and its certificates. It holds no token: the engine checks those that clients
 * send.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/service.h"
#include "cluster/demo.h"
#include "cluster/gateway.h"
#include "cluster/join.h"
#include "cluster/node.h"
#include "cluster/operator.h"
#include "cluster/status.h"
#include "cluster/token_command.h"
#include "cluster/trail_command.h"

/* From the first signal to the end, whatever is still under way. */
#define STOP_MS 20000

#define DRAIN_TICK_MS 100

struct process {
    struct loop *loop;
    struct settings settings;
    struct gateway *gateway;
    struct node *node;
    struct loop_watch *signals[2], *stop, *drained;
    int n_signals;
    bool is_gateway_idle;
};

static int fail(struct error *err)
{
    int code = error_code_exit(err->code);

    (void)fprintf(stderr, "belljar-cluster: %s\n", err->message ? err->message : "out of memory");
    if (err->hint)
        (void)fprintf(stderr, "hint: %s\n", err->hint);
    error_done(err);
    return code;
}

static int help(void)
{
    (void)printf("usage: belljar cluster gateway|node|run --config FILE\n"
                 "       belljar cluster join|status|drain|undrain|token|trails|demo [OPTION]…\n\n"
                 "Connect engines of several machines over NATS.\n\n"
                 "  gateway  take requests of clients and send them to nodes\n"
                 "  node     serve this machine's engine to the cluster\n"
                 "  run      both, as the file has them\n"
                 "  join     make a cluster, add a machine to it, check it\n"
                 "  status   list nodes and gateways\n"
                 "  drain    have a node take no new work; undrain takes it back\n"
                 "  token    add, list and remove tokens of all machines\n"
                 "  trails   list the signed heads of the nodes' audit trails\n"
                 "  demo     show a cluster of three machines on this one\n\n"
                 "  --config FILE  the settings, in TOML\n\n"
                 "`belljar cluster join --help` and such have more.\n\n"
                 "example: belljar cluster node --config /etc/belljar/cluster/cluster.toml\n");
    return 0;
}

/* --- stopping --- */

static void stop_if_idle(struct process *p)
{
    if ((!p->gateway || p->is_gateway_idle) && (!p->node || node_is_idle(p->node)))
        loop_stop(p->loop);
}

static void on_gateway_idle(void *user)
{
    struct process *p = user;

    p->is_gateway_idle = true;
    stop_if_idle(p);
}

static void on_drain_tick(void *arg)
{
    struct process *p = arg;

    stop_if_idle(p);
    loop_timer_start(p->drained, DRAIN_TICK_MS);
}

static void on_grace(void *arg)
{
    const struct process *p = arg;

    loop_stop(p->loop);
}

/* What is under way may end; the second signal does not wait. */
static void on_signal(void *arg)
{
    struct process *p = arg;

    if (p->n_signals++) {
        loop_stop(p->loop);
        return;
    }
    service_notify("STOPPING=1");
    if (p->node)
        node_drain(p->node, true);
    if (p->gateway)
        gateway_stop(p->gateway, on_gateway_idle, p);
    loop_timer_start(p->stop, STOP_MS);
    loop_timer_start(p->drained, 0);
}

/* --- starting --- */

static int open_loop(struct process *p, struct error *err)
{
    p->loop = loop_new(err);
    if (!p->loop)
        return -1;
    p->signals[0] = loop_watch_signal(p->loop, SIGTERM, on_signal, p);
    p->signals[1] = loop_watch_signal(p->loop, SIGINT, on_signal, p);
    p->stop = loop_timer(p->loop, on_grace, p);
    p->drained = loop_timer(p->loop, on_drain_tick, p);
    if (!p->signals[0] || !p->signals[1] || !p->stop || !p->drained)
        return error_memory(err);
    return 0;
}

static int run(struct process *p, bool is_gateway, bool is_node, struct error *err)
{
    if (open_loop(p, err) < 0)
        return -1;
    if (is_node && node_new(p->loop, &p->settings, &p->node, err) < 0)
        return -1;
    if (is_gateway && gateway_new(p->loop, &p->settings, &p->gateway, err) < 0)
        return -1;
    service_notify("READY=1");
    if (loop_run(p->loop, err) < 0)
        return -1;
    if (!node_is_refused(p->node) && !gateway_is_refused(p->gateway))
        return 0;
    error_set(err, E_DENIED, "the servers of the bus have closed the connection for good");
    return error_hint(err, "their machines.conf does not name this machine any more: `belljar "
                           "cluster join --check` says more");
}

static int close_all(struct process *p)
{
    gateway_close(p->gateway);
    node_close(p->node);
    for (size_t i = 0; i < ARRAY_SIZE(p->signals); i++)
        loop_watch_free(p->signals[i]);
    loop_watch_free(p->stop);
    loop_watch_free(p->drained);
    loop_free(p->loop);
    settings_done(&p->settings);
    return 0;
}

static int check_roles(const struct settings *settings, bool *is_gateway, bool *is_node,
                       const char *role, const char *path, struct error *err)
{
    bool is_all = strcmp(role, "run") == 0;

    *is_gateway = strcmp(role, "gateway") == 0 || (is_all && settings->has_gateway);
    *is_node = strcmp(role, "node") == 0 || (is_all && settings->has_node);
    if ((*is_gateway && !settings->has_gateway) || (*is_node && !settings->has_node) ||
        (!*is_gateway && !*is_node))
        return error_set(err, E_INVALID, "%s: there is no section for the role `%s`", path, role);
    return 0;
}

static int start(const char *role, const char *path)
{
    static struct process process; /* threads of libnats may outlive main() */
    struct process *p = &process;
    struct error err = {0};
    bool is_gateway, is_node;
    int r;

    if (settings_load(path, &p->settings, &err) < 0 ||
        check_roles(&p->settings, &is_gateway, &is_node, role, path, &err) < 0)
        return fail(&err);
    log_open(STDERR_FILENO,
             p->settings.log_format && strcmp(p->settings.log_format, "json") == 0 ? LOG_JSON
                                                                                   : LOG_TEXT,
             log_level_of(p->settings.log_level ? p->settings.log_level : "info"));
    r = run(p, is_gateway, is_node, &err);
    (void)close_all(p);
    return r < 0 ? fail(&err) : 0;
}

/* Commands of the operator: they end soon, and start programs of this machine. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"demo", cluster_demo},       {"drain", cluster_drain}, {"join", cluster_join},
    {"status", cluster_status},   {"token", cluster_token}, {"trails", cluster_trails},
    {"undrain", cluster_undrain},
};

static int check(int argc, char **argv, const char *path, struct error *err)
{
    const char *role = optind < argc ? argv[optind] : NULL;

    if (!role)
        return error_set(err, E_INVALID, "expected an action, such as status, or a role");
    if (strcmp(role, "gateway") != 0 && strcmp(role, "node") != 0 && strcmp(role, "run") != 0)
        return error_set(err, E_INVALID, "unknown action `%s`", role);
    if (optind + 1 < argc)
        return error_set(err, E_INVALID, "%s takes no argument `%s`", role, argv[optind + 1]);
    if (!path)
        return error_set(err, E_INVALID, "%s needs `--config FILE`", role);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"help", no_argument, NULL, 'h'}, {"config", required_argument, NULL, 'c'}, {0}};
    const char *path = NULL;
    struct error err = {0};
    int answer;

    for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    service_open();
    opterr = 0;
    while ((answer = operator_getopt(argc, argv, ":h", options)) >= 0) {
        if (answer == 'h')
            return help();
        if (answer != 'c')
            return operator_bad_option("cluster", answer, argv, options);
        path = optarg;
    }
    if (check(argc, argv, path, &err) < 0) {
        error_hint(&err, "`belljar cluster --help` shows the usage");
        return fail(&err);
    }
    return start(argv[optind], path);
}

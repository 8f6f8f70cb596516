#include "cluster/demo.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/file.h"
#include "base/json.h"
#include "cluster/demo_machine.h"
#include "cluster/operator.h"
#include "cluster/status.h"

/* Everything is up within a few seconds; a busy machine gets more. */
#define READY_MS 90000

/* Clients that run programs while something is killed, and how long before and after. */
#define CLIENTS   4
#define BEFORE_MS 1000
#define AFTER_MS  4000

/* Until every machine has a session: chance decides where one begins. */
#define SESSIONS_MAX 48

/* Between two tries: a heartbeat may tell that there is as much room elsewhere. */
#define SPREAD_MS 100

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

static void pause_ms(long ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    (void)nanosleep(&pause, NULL);
}

static int check_interrupt(struct error *err)
{
    return is_interrupted ? error_set(err, E_SYSTEM, "interrupted") : 0;
}

/* --- words --- */

static bool has_colour(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

static void title(const char *text)
{
    (void)printf(has_colour() ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

/* "…-a2" */
static const char *node_of(const char *id)
{
    const char *dash = strrchr(id, '-');

    return dash ? dash + 1 : "?";
}

static size_t index_of(const struct demo *demo, const char *node)
{
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        if (strcmp(demo->machines[i].name, node) == 0)
            return i;
    return DEMO_MACHINES;
}

/* --- requests --- */

static int run(const struct client *gateway, const char *path, const char *code,
               json_t **ret_answer, struct error *err)
{
    cleanup_json json_t *body = json_pack("{s:s}", "code", code);

    return body ? client_call(gateway, "POST", path, body, ret_answer, err) : error_memory(err);
}

/* --- readiness --- */

static size_t count_ready(const json_t *beats, const char *role)
{
    const char *who = NULL;
    json_t *entry = NULL;
    size_t count = 0;

    json_object_foreach((json_t *)beats, who, entry)
    {
        const json_t *beat = json_object_get(entry, "beat");
        bool is_fresh =
            date_now_ms() - json_integer_value(json_object_get(entry, "heard_at_ms")) < 1000;

        count +=
            strncmp(who, role, strlen(role)) == 0 && is_fresh &&
            !json_is_false(json_object_get(beat, "engine")) &&
            (strcmp(role, "gate ") == 0 || json_integer_value(json_object_get(beat, "room")) > 0);
    }
    return count;
}

/* Tries again while the server starts. */
static int listen_at(const struct demo *demo, size_t at, int64_t end, struct operator_bus **ret_bus,
                     struct error *err)
{
    char config[600];

    demo_config(demo, at, config, sizeof(config));
    for (;;) {
        error_done(err);
        if (check_interrupt(err) < 0)
            return -1;
        if (operator_open(config, ret_bus, err) == 0)
            return operator_listen(*ret_bus, err);
        if (date_now_ms() > end)
            return -1;
        pause_ms(100);
    }
}

/* Until so many nodes and gateways say that they are ready. */
static int wait_ready(const struct demo *demo, size_t at, size_t count, struct error *err)
{
    int64_t end = date_now_ms() + READY_MS;
    cleanup(operator_close_p) struct operator_bus *bus = NULL;
    cleanup_json json_t *beats = json_object();

    if (!beats)
        return error_memory(err);
    if (listen_at(demo, at, end, &bus, err) < 0)
        return -1;
    while (count_ready(beats, "node ") < count || count_ready(beats, "gate ") < count) {
        if (date_now_ms() > end) {
            error_set(err, E_SYSTEM, "%zu of %zu nodes and %zu gateways are ready after %d s",
                      count_ready(beats, "node "), count, count_ready(beats, "gate "),
                      READY_MS / 1000);
            return error_hint(err, "run with --keep and read the logs in %s", demo->dir);
        }
        if (check_interrupt(err) < 0 || operator_hear(bus, 200, beats, err) < 0)
            return -1;
    }
    return 0;
}

static int start_machine(struct demo *demo, size_t at, struct error *err)
{
    for (int which = 0; which < DEMO_PROCESSES; which++)
        if (demo->machines[at].pids[which] == 0 &&
            demo_start(demo, at, (enum demo_process)which, err) < 0)
            return -1;
    return 0;
}

static int open_gateways(struct demo *demo, struct error *err)
{
    char path[600], token[256], url[64];

    (void)snprintf(path, sizeof(path), "%s/token", demo->dir);
    if (file_read(-1, path, token, sizeof(token)) <= 0)
        return error_errno(err, "read `%s`", path);
    for (size_t i = 0; i < DEMO_MACHINES; i++) {
        (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", demo->machines[i].http_port);
        if (client_init(&demo->machines[i].gateway, url, NULL, token, err) < 0)
            return -1;
    }
    return 0;
}

static int start(struct demo *demo, struct error *err)
{
    int64_t began = date_now_ms();
    char path[600];

    title("Three machines, each with a server of the bus, an engine, a node and a gateway");
    for (size_t i = 0; i < DEMO_MACHINES; i++) {
        (void)printf("  %s   bus 127.0.0.1:%u   gateway http://127.0.0.1:%u\n",
                     demo->machines[i].name, demo->machines[i].port, demo->machines[i].http_port);
        if (start_machine(demo, i, err) < 0)
            return -1;
        /* The first engine makes the token, which the others find. */
        (void)snprintf(path, sizeof(path), "%s/token", demo->dir);
        for (int tries = 0; access(path, F_OK) < 0 && tries < READY_MS / 100; tries++) {
            if (check_interrupt(err) < 0)
                return -1;
            pause_ms(100);
        }
    }
    (void)fflush(stdout);
    if (wait_ready(demo, 0, DEMO_MACHINES, err) < 0 || open_gateways(demo, err) < 0)
        return -1;
    (void)printf("  ready after %.1f s; mutual TLS on the bus, a certificate for each role\n",
                 (double)(date_now_ms() - began) / 1000);
    return 0;
}

/* --- clients that never stop --- */

struct load {
    const struct demo *demo;
    atomic_bool is_over;
    atomic_uint_fast64_t answered, lost, refused, slowest_ms;
    atomic_uint_fast64_t by_node[DEMO_MACHINES + 1];
    size_t gateway; /* that all of them ask */
    pthread_mutex_t lock;
    char last_error[256];
    pthread_t threads[CLIENTS];
};

static void note_answer(struct load *load, const json_t *answer, const struct error *err,
                        int64_t taken)
{
    uint_fast64_t known = atomic_load(&load->slowest_ms);

    while ((uint_fast64_t)taken > known &&
           !atomic_compare_exchange_weak(&load->slowest_ms, &known, (uint_fast64_t)taken))
        ;
    if (answer && strcmp(json_get_text(answer, "status"), "success") == 0) {
        (void)atomic_fetch_add(&load->answered, 1);
        (void)atomic_fetch_add(
            &load->by_node[index_of(load->demo, node_of(json_get_text(answer, "id")))], 1);
        return;
    }
    (void)atomic_fetch_add(err->code == E_BUSY ? &load->refused : &load->lost, 1);
    if (err->code == E_BUSY)
        return;
    (void)pthread_mutex_lock(&load->lock);
    (void)snprintf(load->last_error, sizeof(load->last_error), "%s",
                   err->message ? err->message : "no answer");
    (void)pthread_mutex_unlock(&load->lock);
}

static void *ask_again(void *arg)
{
    struct load *load = arg;

    while (!atomic_load(&load->is_over) && !is_interrupted) {
        cleanup_json json_t *answer = NULL;
        cleanup_error struct error err = {0};
        int64_t began = date_now_ms();

        (void)run(&load->demo->machines[load->gateway].gateway, "/v1/run", "print(6 * 7)", &answer,
                  &err);
        note_answer(load, answer, &err, date_now_ms() - began);
        if (err.code == E_BUSY)
            pause_ms(50);
    }
    return NULL;
}

/* Runs programs, has `kill` happen in the middle, and tells what the clients saw. */
static int under_load(struct demo *demo, size_t gateway, void (*kill_it)(struct demo *demo),
                      struct error *err)
{
    struct load load = {.demo = demo, .gateway = gateway, .lock = PTHREAD_MUTEX_INITIALIZER};
    size_t count = 0;

    while (count < CLIENTS && pthread_create(&load.threads[count], NULL, ask_again, &load) == 0)
        count++;
    pause_ms(BEFORE_MS);
    if (!is_interrupted)
        kill_it(demo);
    for (int i = 0; i < AFTER_MS / 100 && !is_interrupted; i++)
        pause_ms(100);
    atomic_store(&load.is_over, true);
    while (count)
        (void)pthread_join(load.threads[--count], NULL);
    (void)printf("  %llu programs answered", (unsigned long long)load.answered);
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        (void)printf("%s %llu on %s", i ? "," : ":", (unsigned long long)load.by_node[i],
                     demo->machines[i].name);
    (void)printf("\n  slowest %.1f s; %llu told to retry later; %llu failed\n",
                 (double)load.slowest_ms / 1000, (unsigned long long)load.refused,
                 (unsigned long long)load.lost);
    if (load.lost)
        (void)printf("  the last failure: %s\n", load.last_error);
    return check_interrupt(err);
}

/* --- the acts --- */

static int show_status(const struct demo *demo, size_t at, struct error *err)
{
    char config[600];
    char *argv[] = {(char *)"status", (char *)"--config", config, NULL};

    demo_config(demo, at, config, sizeof(config));
    (void)printf("$ belljar cluster status\n");
    (void)fflush(stdout);
    return cluster_status(3, argv) == 0 ? 0 : error_set(err, E_SYSTEM, "no status");
}

static int run_some(const struct demo *demo, struct error *err)
{
    title("Programs run where there is room, whichever gateway is asked");
    for (size_t i = 0; i < 6; i++) {
        cleanup_json json_t *answer = NULL;
        const struct demo_machine *machine = &demo->machines[i % DEMO_MACHINES];
        char code[64];

        (void)snprintf(code, sizeof(code), "print(sum(range(%zu)))", (i + 1) * 1000);
        if (check_interrupt(err) < 0 || run(&machine->gateway, "/v1/run", code, &answer, err) < 0)
            return -1;
        (void)printf("  gateway %s, node %s: %-24s %s", machine->name,
                     node_of(json_get_text(answer, "id")), code, json_get_text(answer, "stdout"));
    }
    return 0;
}

/* One session on each node. */
static int open_sessions(const struct demo *demo, char ids[DEMO_MACHINES][64], struct error *err)
{
    size_t found = 0;

    title("A session lives on one node; every gateway finds it by its id");
    for (size_t i = 0; i < SESSIONS_MAX && found < DEMO_MACHINES; i++) {
        cleanup_json json_t *answer = NULL, *body = json_object();
        const char *id = NULL;
        size_t at = 0;

        if (check_interrupt(err) < 0 ||
            client_call(&demo->machines[0].gateway, "POST", "/v1/sessions", body, &answer, err) < 0)
            return -1;
        id = json_get_text(answer, "session_id");
        at = index_of(demo, node_of(id));
        if (at == DEMO_MACHINES)
            return error_set(err, E_PROTOCOL, "the session `%s` names no node", id);
        if (*ids[at]) {
            cleanup_free char *path = client_path("/v1/sessions/", id, "");

            cleanup_json json_t *ended = NULL;

            if (!path ||
                client_call(&demo->machines[0].gateway, "DELETE", path, NULL, &ended, err) < 0)
                return -1;
            pause_ms(SPREAD_MS);
            continue;
        }
        (void)snprintf(ids[at], 64, "%s", id);
        found++;
    }
    if (found < DEMO_MACHINES)
        return error_set(err, E_SYSTEM, "%d sessions all began on %zu nodes", SESSIONS_MAX, found);
    return 0;
}

static int cell(const struct demo *demo, size_t gateway, const char *session, const char *code,
                json_t **ret_answer, struct error *err)
{
    cleanup_free char *path = client_path("/v1/sessions/", session, "/execute");

    return path ? run(&demo->machines[gateway].gateway, path, code, ret_answer, err)
                : error_memory(err);
}

static int fill_sessions(const struct demo *demo, char ids[DEMO_MACHINES][64], struct error *err)
{
    for (size_t i = 0; i < DEMO_MACHINES; i++) {
        cleanup_json json_t *answer = NULL;
        char code[64];

        (void)snprintf(code, sizeof(code), "x = %zu", (i + 1) * 111);
        if (cell(demo, (i + 1) % DEMO_MACHINES, ids[i], code, &answer, err) < 0)
            return -1;
        (void)printf("  %s   through gateway %s: %s\n", ids[i],
                     demo->machines[(i + 1) % DEMO_MACHINES].name, code);
    }
    return 0;
}

/* Sessions of a machine that lives have their variable; that of a dead one is told to be lost. */
static int ask_sessions(const struct demo *demo, char ids[DEMO_MACHINES][64], size_t gateway,
                        struct error *err)
{
    for (size_t i = 0; i < DEMO_MACHINES; i++) {
        cleanup_json json_t *answer = NULL;
        cleanup_error struct error lost = {0};
        bool is_dead = demo->machines[i].pids[DEMO_ENGINE] == 0;
        char expected[16];

        if (check_interrupt(err) < 0)
            return -1;
        (void)snprintf(expected, sizeof(expected), "%zu\n", (i + 1) * 111);
        if (cell(demo, gateway, ids[i], "print(x)", &answer, &lost) < 0) {
            (void)printf("  %s   %s\n", ids[i], lost.message);
            if (!is_dead)
                return error_set(err, E_INTERNAL, "a session of a running node was lost");
            continue;
        }
        (void)printf("  %s   x is %s", ids[i], json_get_text(answer, "stdout"));
        if (strcmp(json_get_text(answer, "stdout"), expected) != 0)
            return error_set(err, E_INTERNAL, "session `%s` has a wrong value of x", ids[i]);
    }
    return 0;
}

static void kill_machine(struct demo *demo)
{
    (void)printf("  kill -9: engine, node and gateway of a2\n");
    demo_kill(demo, 1, DEMO_ENGINE);
    demo_kill(demo, 1, DEMO_ROLES);
}

static void kill_server(struct demo *demo)
{
    (void)printf("  kill -9: the server of the bus of a1\n");
    demo_kill(demo, 0, DEMO_SERVER);
}

static int play(struct demo *demo, struct error *err)
{
    char ids[DEMO_MACHINES][64] = {"", "", ""};

    if (start(demo, err) < 0 || show_status(demo, 0, err) < 0 || run_some(demo, err) < 0 ||
        open_sessions(demo, ids, err) < 0 || fill_sessions(demo, ids, err) < 0)
        return -1;
    title("A machine dies while four clients run programs");
    if (under_load(demo, 0, kill_machine, err) < 0)
        return -1;
    title("Its own session is lost, and its client is told; the others notice nothing");
    if (ask_sessions(demo, ids, 0, err) < 0)
        return -1;
    title("A server of the bus dies: its gateway and node go to another one");
    if (under_load(demo, 0, kill_server, err) < 0 || ask_sessions(demo, ids, 0, err) < 0)
        return -1;
    title("Both are started again");
    for (size_t i = 0; i < DEMO_MACHINES; i++)
        if (start_machine(demo, i, err) < 0)
            return -1;
    return wait_ready(demo, 2, DEMO_MACHINES, err) < 0 || show_status(demo, 2, err) < 0 ? -1 : 0;
}

/* --- the command --- */

static int help(void)
{
    (void)printf(
        "usage: belljar cluster demo [--keep]\n\n"
        "Show a cluster of three machines on this one, in about half a minute: programs and\n"
        "sessions run, a machine and a server of the bus are killed, and what was lost is\n"
        "said. Only loopback is used; everything is removed at the end, or on Ctrl-C.\n\n"
        "      --keep   leave it running at the end, until Enter or Ctrl-C: the ports, the\n"
        "               token and the settings are printed, and its logs can be read\n\n"
        "needs: nats-server\n");
    return 0;
}

static void keep(const struct demo *demo)
{
    char byte;

    title("It runs until Enter or Ctrl-C");
    (void)printf(
        "  settings, certificates and logs: %s\n"
        "  belljar cluster status --watch --config %s/a1/cluster.toml\n"
        "  belljar run --server http://127.0.0.1:%u --token-file %s/token -c 'print(6 * 7)'\n",
        demo->dir, demo->dir, demo->machines[0].http_port, demo->dir);
    (void)fflush(stdout);
    if (!is_interrupted)
        (void)!read(STDIN_FILENO, &byte, 1);
}

static int read_options(int argc, char **argv, bool *ret_keeps)
{
    static const struct option options[] = {
        {"keep", no_argument, NULL, 'k'}, {"help", no_argument, NULL, 'h'}, {0}};
    cleanup_error struct error err = {0};
    int answer;

    opterr = 0;
    optind = 1;
    while ((answer = operator_getopt(argc, argv, ":h", options)) != -1) {
        if (answer == 'h')
            return help() + 1;
        if (answer != 'k')
            return operator_bad_option("cluster demo", answer, argv, options) + 1;
        *ret_keeps = true;
    }
    if (optind == argc)
        return 0;
    error_set(&err, E_INVALID, "cluster demo takes no argument `%s`", argv[optind]);
    return operator_fail(&err) + 1;
}

int cluster_demo(int argc, char **argv)
{
    cleanup_error struct error err = {0};
    const struct sigaction action = {.sa_handler = interrupt}; /* without SA_RESTART */
    struct demo demo = {.lifeline = -1};
    bool keeps = false, is_gone = false;
    int r = read_options(argc, argv, &keeps);

    if (r != 0)
        return r - 1;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    r = demo_make(&demo, &err);
    if (r == 0)
        r = play(&demo, &err);
    if (keeps && !is_interrupted) {
        if (r < 0)
            (void)printf("\nfailed: %s\n", err.message);
        keep(&demo);
    }
    title("Cleaning up");
    is_gone = demo_end(&demo);
    (void)printf("  %s\n", is_gone ? "all processes have ended, the directory is removed"
                                   : "the directory could not be removed");
    (void)fflush(stdout);
    if (is_interrupted)
        return 128 + SIGINT;
    return r < 0 ? operator_fail(&err) : is_gone ? 0 : 71;
}

#include "cluster/status.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "cluster/cluster.h"
#include "cluster/operator.h"

/* Three heartbeats: one may be late. */
#define LISTEN_MS 1000

/* One that was heard, and then not for so long, is not listed any longer by --watch. */
#define FORGET_MS 60000

#define CLOCK_NOTE_MS 1000

/* SIGINT ends --watch as it ends `watch`: without a word. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* --- one machine --- */

static json_int_t number_of(const json_t *entry, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(entry, "beat"), key));
}

static json_int_t silent_ms(const json_t *entry)
{
    return date_now_ms() - json_integer_value(json_object_get(entry, "heard_at_ms"));
}

/* A positive number: its clock is ahead of this one. */
static json_int_t clock_off_ms(const json_t *entry)
{
    const json_t *told = json_object_get(json_object_get(entry, "beat"), "clock_ms");

    return json_is_integer(told) ? json_integer_value(told) -
                                       json_integer_value(json_object_get(entry, "heard_at_ms"))
                                 : 0;
}

static const char *state_of(const json_t *entry, bool is_node)
{
    const json_t *beat = json_object_get(entry, "beat");

    if (json_is_true(json_object_get(beat, "is_garbage")))
        return "garbage";
    if (json_is_true(json_object_get(entry, "is_twice")))
        return "twice";
    if (silent_ms(entry) > CLUSTER_LOST_MS)
        return "lost";
    if (is_node && json_is_false(json_object_get(beat, "engine")))
        return "no engine";
    if (json_is_true(json_object_get(beat, "draining")))
        return "draining";
    return is_node && number_of(entry, "room") <= 0 ? "full" : "ready";
}

static void visible(const char *text, struct buf *out)
{
    (void)terminal_line(text, strlen(text), out, NULL);
}

static void print_row(const char *name, const json_t *entry, bool is_node)
{
    static const char *const columns[] = {"room", "running", "waiting", "sessions", "relays"};
    cleanup(buf_done) struct buf shown = BUF_OF(KIB), version = BUF_OF(KIB);
    json_int_t off = clock_off_ms(entry);

    visible(name, &shown);
    visible(json_get_text(json_object_get(entry, "beat"), "version"), &version);
    (void)printf("%-12.12s  %-9s", buf_str(&shown), state_of(entry, is_node));
    for (size_t i = 0; is_node && i < ARRAY_SIZE(columns); i++)
        (void)printf("  %8lld", (long long)number_of(entry, columns[i]));
    (void)printf("  %-10.20s  %4.1f s", buf_str(&version), (double)silent_ms(entry) / 1000);
    if (llabs(off) >= CLOCK_NOTE_MS)
        (void)printf("  clock %+.1f s", (double)off / 1000);
    (void)printf("\n");
}

/* --- all of them --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The keys of the object in order. Nodes are "node NAME", gateways "gate NAME". */
static const char **sorted(const json_t *beats)
{
    const char **names = calloc(json_object_size(beats) + 1, sizeof(*names));
    const char *who = NULL;
    json_t *entry = NULL;
    size_t count = 0;

    if (!names)
        return NULL;
    json_object_foreach((json_t *)beats, who, entry) names[count++] = who;
    qsort(names, count, sizeof(*names), compare_names);
    return names;
}

static void print_role(const json_t *beats, const char **names, const char *role, const char *title)
{
    bool is_node = strcmp(role, "node ") == 0, has_title = false;

    for (size_t i = 0; names[i]; i++) {
        if (strncmp(names[i], role, strlen(role)) != 0)
            continue;
        if (!has_title)
            (void)printf("%s%-12s  %-9s%s  %-10s  %6s\n", is_node ? "" : "\n", title, "STATE",
                         is_node ? "      FREE   RUNNING   WAITING  SESSIONS  REQUESTS" : "",
                         "VERSION", "HEARD");
        has_title = true;
        print_row(names[i] + strlen(role), json_object_get(beats, names[i]), is_node);
    }
}

static void print_sum(const json_t *beats)
{
    json_int_t room = 0, running = 0, sessions = 0;
    size_t nodes = 0, ready = 0;
    const char *who = NULL;
    json_t *entry = NULL;

    json_object_foreach((json_t *)beats, who, entry)
    {
        const char *state = state_of(entry, true);

        if (strncmp(who, "node ", 5) != 0)
            continue;
        nodes++;
        if (strcmp(state, "lost") == 0 || strcmp(state, "garbage") == 0)
            continue;
        ready += strcmp(state, "ready") == 0;
        if (strcmp(state, "ready") == 0)
            room += number_of(entry, "room");
        running += number_of(entry, "running");
        sessions += number_of(entry, "sessions");
    }
    (void)printf("\n%zu of %zu nodes take work; %lld runs could begin, %lld run, %lld sessions are "
                 "open\n",
                 ready, nodes, (long long)room, (long long)running, (long long)sessions);
}

static json_t *row_json(const char *who, const json_t *entry)
{
    bool is_node = strncmp(who, "node ", 5) == 0;
    json_t *row = json_object_get(json_object_get(entry, "beat"), "is_garbage")
                      ? json_object()
                      : json_deep_copy(json_object_get(entry, "beat"));

    json_set(row, "role", json_string(is_node ? "node" : "gateway"));
    json_set(row, "name", json_string_or_null(strchr(who, ' ') + 1));
    json_set(row, "state", json_string(state_of(entry, is_node)));
    json_set(row, "silent_ms", json_integer(silent_ms(entry)));
    json_set(row, "clock_off_ms", json_integer(clock_off_ms(entry)));
    return row;
}

static int print_json(const struct operator_bus *bus, const json_t *beats, const char **names,
                      bool is_line, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(16 * MIB);
    cleanup_json json_t *list = json_array(), *tree = NULL;

    for (size_t i = 0; list && names[i]; i++)
        (void)json_array_append_new(list, row_json(names[i], json_object_get(beats, names[i])));
    tree = json_pack("{s:s, s:O}", "server", operator_server(bus), "machines", list);
    if (!tree)
        return error_memory(err);
    if (json_text_dump(tree, is_line ? JSON_TEXT_COMPACT : JSON_TEXT_PRETTY, &text, err) < 0)
        return -1;
    (void)printf("%s%s", buf_str(&text), is_line ? "\n" : "");
    return 0;
}

static void forget_old(json_t *beats)
{
    const char *who = NULL;
    json_t *entry = NULL;
    void *next = NULL;

    json_object_foreach_safe(beats, next, who, entry) if (silent_ms(entry) > FORGET_MS)(void)
        json_object_del(beats, who);
}

struct look {
    const char *config;
    bool is_watch, is_json;
};

static int show(const struct look *look, struct operator_bus *bus, json_t *beats, struct error *err)
{
    cleanup_free const char **names = sorted(beats);

    if (!names)
        return error_memory(err);
    if (look->is_json)
        return print_json(bus, beats, names, look->is_watch, err);
    if (look->is_watch && isatty(STDOUT_FILENO))
        (void)printf("\033[H\033[2J");
    print_role(beats, names, "node ", "NODE");
    print_role(beats, names, "gate ", "GATEWAY");
    print_sum(beats);
    if (look->is_watch && !isatty(STDOUT_FILENO))
        (void)printf("\n");
    return 0;
}

static int watch(const struct look *look, struct operator_bus *bus, json_t *beats,
                 struct error *err)
{
    do {
        if (operator_hear(bus, LISTEN_MS, beats, err) < 0)
            return -1;
        forget_old(beats);
        if (is_interrupted || (!look->is_watch && !look->is_json && !json_object_size(beats)) ||
            show(look, bus, beats, err) < 0)
            break;
        if (fflush(stdout) < 0)
            return error_errno(err, "write the answer");
    } while (look->is_watch);
    return err->code == E_NONE ? 0 : -1;
}

static int status(const struct look *look, struct error *err)
{
    cleanup(operator_close_p) struct operator_bus *bus = NULL;
    cleanup_json json_t *beats = json_object();

    if (!beats)
        return error_memory(err);
    if (operator_open(look->config, &bus, err) < 0 || operator_listen(bus, err) < 0 ||
        watch(look, bus, beats, err) < 0)
        return -1;
    if (look->is_watch || look->is_json || json_object_size(beats))
        return 0;
    error_set(err, E_NOT_FOUND, "no heartbeat of a node or gateway came from %s",
              operator_server(bus));
    return error_hint(err, "start them: systemctl start belljar-node belljar-gateway");
}

/* --- options --- */

static const struct option status_options[] = {
    {"config", required_argument, NULL, 'c'}, {"watch", no_argument, NULL, 'w'},
    {"json", no_argument, NULL, 'j'},         {"help", no_argument, NULL, 'h'},
    {"wait", required_argument, NULL, 'W'},   {0},
};

#define CONFIG_HELP                                                                                \
    "      --config FILE  settings of this machine (" OPERATOR_DIR "/cluster.toml)\n"

static int status_help(void)
{
    (void)printf("usage: belljar cluster status [OPTION]…\n\n"
                 "List the nodes and gateways of the cluster, as their heartbeats describe them:\n"
                 "room for more runs, what runs and waits, open sessions, requests under way.\n\n"
                 "  -w, --watch        again every second\n"
                 "      --json         for programs\n" CONFIG_HELP
                 "\nStates: ready, full, draining (takes no new runs and sessions), no engine\n"
                 "(`belljar serve` does not answer there), lost (silent for more than a second),\n"
                 "twice (two processes use the name: stop one), garbage (unreadable).\n\n"
                 "example: belljar cluster status --watch\n");
    return 0;
}

int cluster_status(int argc, char **argv)
{
    cleanup_error struct error err = {0};
    struct look look = {.config = OPERATOR_DIR "/cluster.toml"};
    const struct sigaction action = {.sa_handler = interrupt};
    int answer;

    opterr = 0;
    optind = 1;
    while ((answer = operator_getopt(argc, argv, ":wh", status_options)) != -1) {
        if (answer == 'h')
            return status_help();
        if (answer == 'w')
            look.is_watch = true;
        else if (answer == 'j')
            look.is_json = true;
        else if (answer == 'c')
            look.config = optarg;
        else
            return operator_bad_option("cluster status", answer, argv, status_options);
    }
    if (optind < argc) {
        error_set(&err, E_INVALID, "cluster status takes no argument `%s`", argv[optind]);
        return operator_fail(&err);
    }
    if (look.is_watch)
        (void)sigaction(SIGINT, &action, NULL);
    return status(&look, &err) < 0 ? operator_fail(&err) : 0;
}

/* --- drain --- */

static int drain_help(const char *order)
{
    if (strcmp(order, "drain") == 0)
        (void)printf(
            "usage: belljar cluster drain NODE [OPTION]…\n\n"
            "Have a node take no new runs and sessions. What runs goes on, and its sessions\n"
            "stay usable until they end. `belljar cluster undrain NODE` takes it back, and so\n"
            "does a restart of the node.\n\n"
            "      --wait S       wait until nothing runs there, at most S seconds\n" CONFIG_HELP
            "\nexample: belljar cluster drain a2 --wait 600\n");
    else
        (void)printf("usage: belljar cluster undrain NODE [OPTION]…\n\n"
                     "Have a node that was drained take work again.\n\n" CONFIG_HELP
                     "\nexample: belljar cluster undrain a2\n");
    return 0;
}

/* Until the node has nothing under way; sessions are counted, because they end with their engine.
 */
static int wait_idle(struct operator_bus *bus, const char *node, unsigned seconds,
                     struct error *err)
{
    cleanup_json json_t *beats = json_object();
    int64_t end = date_now_ms() + (int64_t)seconds * 1000;
    json_int_t running = 0, sessions = 0;
    char who[64];

    (void)snprintf(who, sizeof(who), "node %s", node);
    if (!beats)
        return error_memory(err);
    if (operator_listen(bus, err) < 0)
        return -1;
    do {
        const json_t *entry = NULL;

        if (operator_hear(bus, LISTEN_MS, beats, err) < 0)
            return -1;
        entry = json_object_get(beats, who);
        if (!entry || silent_ms(entry) > CLUSTER_LOST_MS)
            return error_set(err, E_NOT_FOUND, "node `%s` sends no heartbeats", node);
        running = number_of(entry, "running") + number_of(entry, "waiting");
        sessions = number_of(entry, "sessions");
        if (running == 0 && number_of(entry, "relays") == 0) {
            (void)printf("%s: nothing runs, %lld sessions are open\n", node, (long long)sessions);
            return 0;
        }
    } while (date_now_ms() < end);
    error_set(err, E_BUSY, "node `%s`: %lld runs and %lld sessions are left after %u s", node,
              (long long)running, (long long)sessions, seconds);
    return error_hint(err, "it stays drained; wait longer, or stop it: what is left is lost then");
}

static int give_order(const char *config, const char *node, const char *order, unsigned wait_s,
                      struct error *err)
{
    cleanup(operator_close_p) struct operator_bus *bus = NULL;
    cleanup(buf_done) struct buf shown = BUF_OF(4 * KIB);
    char answer[512] = "";

    if (!id_is_node(node)) {
        error_set(err, E_INVALID, "`%s`: invalid name of a node", node);
        return error_hint(err, "`belljar cluster status` lists the nodes");
    }
    if (operator_open(config, &bus, err) < 0 ||
        operator_order(bus, node, order, answer, sizeof(answer), err) < 0)
        return -1;
    visible(answer, &shown);
    if (strcmp(answer, "ok") != 0)
        return error_set(err, E_UNSUPPORTED, "node `%s` answered: %s", node, buf_str(&shown));
    (void)printf("%s: %s\n", node,
                 strcmp(order, "drain") == 0 ? "takes no new runs and sessions"
                                             : "takes work again");
    return wait_s ? wait_idle(bus, node, wait_s, err) : 0;
}

static int read_seconds(const char *text, unsigned *ret_seconds, struct error *err)
{
    char *end = NULL;
    long seconds = strtol(text, &end, 10);

    if (*end || seconds < 1 || seconds > 86400)
        return error_set(err, E_INVALID, "--wait: expected seconds, 1 to 86400, got `%s`", text);
    *ret_seconds = (unsigned)seconds;
    return 0;
}

static int order(int argc, char **argv, const char *command, const char *word)
{
    cleanup_error struct error err = {0};
    const char *config = OPERATOR_DIR "/cluster.toml", *node = NULL;
    bool is_drain = strcmp(word, "drain") == 0;
    unsigned wait_s = 0;
    int answer;

    opterr = 0;
    optind = 1;
    while ((answer = operator_getopt(argc, argv, ":h", status_options)) != -1) {
        if (answer == 'h')
            return drain_help(word);
        if (answer == 'c')
            config = optarg;
        else if (answer != 'W' || !is_drain)
            return operator_bad_option(command, answer, argv, status_options);
        else if (read_seconds(optarg, &wait_s, &err) < 0)
            return operator_fail(&err);
    }
    node = operator_argument(argc, argv, command, "the name of a node", &err);
    if (!node || give_order(config, node, word, wait_s, &err) < 0)
        return operator_fail(&err);
    return 0;
}

int cluster_drain(int argc, char **argv)
{
    return order(argc, argv, "cluster drain", "drain");
}

int cluster_undrain(int argc, char **argv)
{
    return order(argc, argv, "cluster undrain", "resume");
}

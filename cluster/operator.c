#include "cluster/operator.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <nats/nats.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/toml.h"
#include "cluster/beat.h"
#include "cluster/bus_probe.h"
#include "cluster/cluster.h"
#include "cluster/join_ca.h"

#define CONNECT_MS 3000
#define ORDER_MS   3000

/* A heartbeat is small; one that is not comes from nobody of ours. */
static const struct json_text_limits beat_limits = {.bytes = 64 * KIB, .depth = 8};

struct operator_bus {
    natsConnection *connection;
    natsSubscription *beats;
    char server[256];
};

/* --- connecting --- */

static natsStatus set_options(natsOptions *o, const struct operator_options *options,
                              const char *server)
{
    natsStatus s = natsOptions_SetURL(o, server);

    if (s == NATS_OK)
        s = natsOptions_SetTimeout(o, CONNECT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetName(o, "belljar operator");
    if (s == NATS_OK)
        s = natsOptions_SetAllowReconnect(o, false);
    if (s == NATS_OK)
        s = natsOptions_SetIgnoreDiscoveredServers(o, true);
    if (s == NATS_OK && options->ca)
        s = natsOptions_SetSecure(o, true);
    if (s == NATS_OK && options->ca)
        s = natsOptions_SetCATrustedCertificates(o, options->ca);
    if (s == NATS_OK && options->cert)
        s = natsOptions_SetCertificatesChain(o, options->cert, options->key);
    return s;
}

static natsStatus connect_to(const struct operator_options *options, const char *server,
                             natsConnection **ret_connection)
{
    natsOptions *o = NULL;
    natsStatus s = natsOptions_Create(&o);

    if (s == NATS_OK)
        s = set_options(o, options, server);
    if (s == NATS_OK)
        s = natsConnection_Connect(ret_connection, o);
    natsOptions_Destroy(o);
    return s;
}

int operator_connect(const struct operator_options *options, struct operator_bus **ret_bus,
                     struct error *err)
{
    cleanup_error struct error first = {0};
    struct operator_bus *bus = calloc(1, sizeof(*bus));

    if (!bus)
        return error_memory(err);
    for (size_t i = 0; options->servers[i]; i++) {
        natsStatus s = connect_to(options, options->servers[i], &bus->connection);

        if (s == NATS_OK) {
            (void)snprintf(bus->server, sizeof(bus->server), "%s", options->servers[i]);
            *ret_bus = bus;
            return 0;
        }
        /* What is wrong with the first is told: mostly it is this machine's own. */
        if (first.code == E_NONE)
            bus_probe_explain((int)s, options->servers[i], &first);
    }
    free(bus);
    if (first.code == E_NONE)
        return error_set(err, E_INVALID, "there is no server to connect to");
    error_move(err, &first);
    return -1;
}

void operator_close(struct operator_bus *bus)
{
    if (!bus)
        return;
    natsSubscription_Destroy(bus->beats);
    natsConnection_Destroy(bus->connection);
    free(bus);
}

const char *operator_server(const struct operator_bus *bus)
{
    return bus->server;
}

natsConnection *operator_connection(struct operator_bus *bus)
{
    return bus->connection;
}

/* --- settings --- */

static int read_pem(const char *path, struct buf *text, struct error *err)
{
    cleanup_fclose FILE *file = fopen(path, "re");
    int r = 0;

    if (!file && errno == EACCES) {
        error_set(err, E_DENIED, "`%s`: permission denied", path);
        return error_hint(err, "the operator's key belongs to root: use sudo");
    }
    if (!file)
        return error_errno(err, "`%s`", path);
    r = buf_read_fd(text, fileno(file), err);
    return r < 0 ? error_wrap(err, "`%s`", path) : 0;
}

static int read_beside(const char *config, const char *name, struct buf *text, struct error *err)
{
    const char *slash = strrchr(config, '/');
    cleanup_free char *path = NULL;

    if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - config) : 0, config, name) < 0)
        return error_memory(err);
    return read_pem(path, text, err);
}

static int read_servers(const char *config, struct operator_settings *settings, struct error *err)
{
    const json_t *list = json_object_get(json_object_get(settings->tree, "bus"), "servers");
    const json_t *value = NULL;
    size_t i = 0;

    json_array_foreach(list, i, value)
    {
        if (!json_is_string(value) || i >= OPERATOR_SERVERS_MAX)
            return error_set(err, E_INVALID,
                             "`%s`: `servers` of [bus]: expected up to %d addresses", config,
                             OPERATOR_SERVERS_MAX);
        settings->servers[i] = json_string_value(value);
    }
    if (i == 0)
        return error_set(err, E_INVALID, "`%s`: `servers` of [bus] is missing", config);
    return 0;
}

int operator_settings_load(const char *config, struct operator_settings *ret_settings,
                           struct error *err)
{
    struct operator_settings *s = ret_settings;
    const char *ca = NULL;

    *s = (struct operator_settings){.ca = BUF_OF(JOIN_PEM_BYTES), .pair = JOIN_PAIR};
    if (toml_load(config, &s->tree, err) < 0) {
        if (err && err->code == E_NOT_FOUND)
            (void)error_hint(err, "`belljar cluster join` makes it; --config names another file");
        return -1;
    }
    s->name = json_get_text(s->tree, "name");
    s->options.servers = s->servers;
    if (read_servers(config, s, err) < 0)
        return -1;
    ca = json_string_value(json_object_get(json_object_get(s->tree, "bus"), "ca"));
    if (!ca)
        return 0;
    if (read_pem(ca, &s->ca, err) < 0 ||
        read_beside(config, "operator.pem", &s->pair.cert, err) < 0 ||
        read_beside(config, "operator.key", &s->pair.key, err) < 0)
        return -1;
    s->options.ca = buf_str(&s->ca);
    s->options.cert = buf_str(&s->pair.cert);
    s->options.key = buf_str(&s->pair.key);
    return 0;
}

void operator_settings_done(struct operator_settings *settings)
{
    json_decref(take_ptr(settings->tree));
    buf_done(&settings->ca);
    join_pair_done(&settings->pair);
}

int operator_open(const char *config, struct operator_bus **ret_bus, struct error *err)
{
    cleanup(operator_settings_done) struct operator_settings settings;

    return operator_settings_load(config, &settings, err) < 0
               ? -1
               : operator_connect(&settings.options, ret_bus, err);
}

/* --- heartbeats --- */

static int fail(const char *what, natsStatus s, struct error *err)
{
    return error_set(err, E_SYSTEM, "%s: %s", what, natsStatus_GetText(s));
}

int operator_listen(struct operator_bus *bus, struct error *err)
{
    natsStatus s =
        natsConnection_SubscribeSync(&bus->beats, bus->connection, CLUSTER_SUBJECTS ".alive.*.*");

    if (s == NATS_OK)
        s = natsConnection_FlushTimeout(bus->connection, CONNECT_MS);
    return s == NATS_OK ? 0 : fail("listen to heartbeats", s, err);
}

/* Two that say they are the same node have different instances, and take turns. */
static bool is_another(const json_t *known, const json_t *beat)
{
    const json_t *was = json_object_get(json_object_get(known, "beat"), "instance");

    return was && !json_equal(was, json_object_get(beat, "instance"));
}

static void note(json_t *beats, const char *who, json_t *beat)
{
    json_t *known = json_object_get(beats, who);
    bool is_twice = json_is_true(json_object_get(known, "is_twice"));
    json_t *entry = NULL;

    /* One that was started again is another from then on; two that live take turns. */
    if (is_another(known, beat)) {
        const json_t *before = json_object_get(known, "before");

        is_twice = is_twice || (before && json_equal(before, json_object_get(beat, "instance")));
        entry = json_pack("{s:o, s:I, s:b, s:O?}", "beat", beat, "heard_at_ms",
                          (json_int_t)date_now_ms(), "is_twice", is_twice, "before",
                          json_object_get(json_object_get(known, "beat"), "instance"));
    } else {
        entry = json_pack("{s:o, s:I, s:b, s:O*}", "beat", beat, "heard_at_ms",
                          (json_int_t)date_now_ms(), "is_twice", is_twice, "before",
                          json_object_get(known, "before"));
    }
    json_set(beats, who, entry);
}

/* "belljar.v1.alive.node.a1" becomes "node a1": the server lets nobody else publish there, so this
 * is who it is, whatever the heartbeat says. */
static void take(natsMsg *msg, json_t *beats)
{
    static const char begin[] = CLUSTER_SUBJECTS ".alive.";
    const char *subject = natsMsg_GetSubject(msg);
    cleanup_error struct error err = {0};
    json_t *beat = NULL;
    char who[64];
    char *dot = NULL;

    if (strncmp(subject, begin, sizeof(begin) - 1) != 0)
        return;
    (void)snprintf(who, sizeof(who), "%s", subject + sizeof(begin) - 1);
    dot = strchr(who, '.');
    if (!dot)
        return;
    *dot = ' ';
    if (json_object_size(beats) >= (size_t)4 * CLUSTER_NAMES_MAX && !json_object_get(beats, who))
        return;
    if (json_text_load(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &beat_limits,
                       &beat, &err) < 0 ||
        !json_is_object(beat) || !beat_is_in_range(beat)) {
        json_decref(beat);
        beat = json_pack("{s:b}", "is_garbage", 1);
    }
    note(beats, who, beat);
}

int operator_hear(struct operator_bus *bus, unsigned wait_ms, json_t *beats, struct error *err)
{
    int64_t end = nats_Now() + wait_ms, left = 0;

    while ((left = end - nats_Now()) > 0) {
        natsMsg *msg = NULL;
        natsStatus s = natsSubscription_NextMsg(&msg, bus->beats, left);

        if (s == NATS_TIMEOUT)
            break;
        if (s != NATS_OK)
            return fail("the connection to the bus is lost", s, err);
        take(msg, beats);
        natsMsg_Destroy(msg);
    }
    return 0;
}

int operator_order(struct operator_bus *bus, const char *node, const char *order, char *answer,
                   size_t size, struct error *err)
{
    char subject[CLUSTER_SUBJECT_MAX];
    natsMsg *msg = NULL;
    natsStatus s;

    (void)snprintf(subject, sizeof(subject), CLUSTER_SUBJECTS ".order.%s", node);
    s = natsConnection_RequestString(&msg, bus->connection, subject, order, ORDER_MS);
    if (s == NATS_NO_RESPONDERS) {
        error_set(err, E_NOT_FOUND, "no node `%s` is connected to the bus", node);
        return error_hint(err, "`belljar cluster status` lists the nodes");
    }
    if (s == NATS_TIMEOUT) {
        error_set(err, E_SYSTEM, "node `%s` does not answer", node);
        return error_hint(err, "the order may have been carried out: `belljar cluster status`");
    }
    if (s != NATS_OK)
        return fail("send the order", s, err);
    (void)snprintf(answer, size, "%.*s", natsMsg_GetDataLength(msg), natsMsg_GetData(msg));
    natsMsg_Destroy(msg);
    return 0;
}

/* --- words --- */

int operator_fail(struct error *err)
{
    int code = error_code_exit(err->code);

    (void)fprintf(stderr, "belljar: %s\n",
                  err->message ? err->message : error_code_name(err->code));
    if (err->hint)
        (void)fprintf(stderr, "hint: %s\n", err->hint);
    error_done(err);
    return code;
}

/* Whether the word is the option as it is written in full, with or without "=VALUE". */
static bool is_spelled(const char *word, const struct option *option)
{
    size_t len = strcspn(word, "=");

    return strncmp(word, "--", 2) != 0 ||
           (strlen(option->name) == len - 2 && memcmp(option->name, word + 2, len - 2) == 0);
}

int operator_getopt(int argc, char **argv, const char *letters, const struct option *options)
{
    int index = -1; /* set for a long option only */
    int answer = getopt_long(argc, argv, letters, options, &index);
    const char *word;

    if (answer < 0 || index < 0)
        return answer;
    word = argv[optind - 1];
    if (optarg == word)
        word = argv[optind - 2];
    if (is_spelled(word, &options[index]))
        return answer;
    if (optarg == argv[optind - 1])
        optind--; /* operator_bad_option() looks at the word before optind */
    return '?';
}

int operator_bad_option(const char *command, int answer, char **argv, const struct option *options)
{
    cleanup_error struct error err = {0};
    const char *word = argv[optind - 1];
    bool is_known = strncmp(word, "--", 2) != 0 && answer == ':';

    for (const struct option *o = options; o->name; o++)
        is_known |= strncmp(word, "--", 2) == 0 && is_spelled(word, o);
    error_set(&err, E_INVALID, "%s: %s `%.*s`%s", command, is_known ? "option" : "unknown option",
              (int)strcspn(word, "="), word,
              !is_known       ? ""
              : answer == ':' ? " needs a value"
                              : " takes no value");
    (void)error_hint(&err, "`belljar %s --help` lists the options", command);
    return operator_fail(&err);
}

const char *operator_argument(int argc, char **argv, const char *command, const char *what,
                              struct error *err)
{
    if (optind == argc - 1)
        return argv[optind];
    if (optind == argc)
        error_set(err, E_INVALID, "%s: %s is missing", command, what);
    else
        error_set(err, E_INVALID, "%s takes no argument `%s`", command, argv[optind + 1]);
    return NULL;
}

#include "cluster/trail_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <nats/nats.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/terminal_text.h"
#include "cluster/operator.h"
#include "cluster/trail_ship.h"

/* One answer. While servers choose a leader there is none for seconds. */
#define WAIT_MS 5000

#define ANSWER_BYTES (64 * KIB)
#define OUT_BYTES    (1024 * MIB)

static int help(void)
{
    (void)printf("usage: belljar cluster trails [OPTION]…\n\n"
                 "List the signed heads of the audit trails that the nodes have sent to the bus.\n"
                 "`belljar audit verify --cluster` compares them with the trails.\n\n"
                 "  --json         print all heads that are kept, as JSON\n"
                 "  --config FILE  the settings of this machine (default " OPERATOR_DIR
                 "/cluster.toml)\n\n"
                 "example: belljar cluster trails\n");
    return 0;
}

/* --- the stream --- */

static int fail(natsStatus s, struct error *err)
{
    if (s != NATS_NO_RESPONDERS && s != NATS_TIMEOUT)
        return error_set(err, E_SYSTEM, "read the heads of the trails: %s", natsStatus_GetText(s));
    error_set(err, E_SYSTEM, "the servers of the bus keep nothing now (JetStream)");
    return error_hint(err, "most of the servers have to run, and machines.conf of each has to be "
                           "that of the machine that made the cluster");
}

/* The first at that number or behind it. NULL: an error, or *ret_end. */
static json_t *ask(struct operator_bus *bus, json_int_t from, bool *ret_end, struct error *err)
{
    static const struct json_text_limits limits = {.bytes = ANSWER_BYTES, .depth = 8};
    char question[160];
    json_t *answer = NULL;
    natsMsg *msg = NULL;
    json_int_t code;
    natsStatus s;
    int r;

    (void)snprintf(question, sizeof(question),
                   "{\"seq\":%lld,\"next_by_subj\":\"" TRAIL_SUBJECTS "*\"}", (long long)from);
    s = natsConnection_RequestString(&msg, operator_connection(bus), TRAIL_STREAM_GET, question,
                                     WAIT_MS);
    if (s != NATS_OK) {
        (void)fail(s, err);
        return NULL;
    }
    r = json_text_load(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg), &limits, &answer,
                       err);
    natsMsg_Destroy(msg);
    if (r < 0)
        return NULL;
    code = json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));
    *ret_end = code == 404; /* also where nobody has made the stream */
    if (code == 0)
        return answer;
    if (code != 404)
        error_set(err, E_SYSTEM, "read the heads of the trails: %s",
                  json_get_text(json_object_get(answer, "error"), "description"));
    json_decref(answer);
    return NULL;
}

/* {"node", "received_at", "head"}: the head as the node has written it, which may be anything. */
static int add(const json_t *message, json_t *list, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(TRAIL_HEAD_BYTES);
    const char *data = json_get_text(message, "data");
    const char *subject = json_get_text(message, "subject");
    json_t *head;

    if (strncmp(subject, TRAIL_SUBJECTS, strlen(TRAIL_SUBJECTS)) != 0 ||
        !id_is_node(subject + strlen(TRAIL_SUBJECTS)))
        return 0;
    head = base64_decode(&text, data, strlen(data), NULL) == 0
               ? json_stringn(buf_str(&text), text.len)
               : NULL;
    if (json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "node", subject + strlen(TRAIL_SUBJECTS),
                                        "received_at", json_get_text(message, "time"), "head",
                                        head ? head : json_string(""))) < 0)
        return error_memory(err);
    return 0;
}

static int read_all(struct operator_bus *bus, json_t *list, struct error *err)
{
    json_int_t from = 1;
    bool is_end = false;

    for (;;) {
        cleanup_json json_t *answer = ask(bus, from, &is_end, err);
        const json_t *message = json_object_get(answer, "message");
        json_int_t seq = json_integer_value(json_object_get(message, "seq"));

        if (!answer)
            return is_end ? 0 : -1;
        if (seq < from)
            return error_set(err, E_PROTOCOL, "the server sent its messages out of order");
        if (add(message, list, err) < 0)
            return -1;
        from = seq + 1;
    }
}

/* --- output --- */

static int print_json(json_t *list, struct error *err)
{
    cleanup(buf_done) struct buf out = BUF_OF(OUT_BYTES);
    cleanup_json json_t *all = json_pack("{s:O}", "trails", list);

    if (!all || json_text_dump(all, JSON_TEXT_COMPACT, &out, err) < 0 ||
        buf_add_str(&out, "\n", err) < 0)
        return -1;
    return file_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? error_errno(err, "write")
                                                                     : 0;
}

/* The newest of each node. */
static int print_table(json_t *list, struct error *err)
{
    cleanup_json json_t *newest = json_object(), *counts = json_object();
    cleanup(buf_done) struct buf out = BUF_OF(OUT_BYTES);
    const char *node;
    json_t *entry;
    size_t i;

    json_array_foreach(list, i, entry)
    {
        node = json_get_text(entry, "node");
        json_set(newest, node, json_incref(entry));
        json_set(counts, node, json_integer(json_integer_value(json_object_get(counts, node)) + 1));
    }
    if (buf_printf(&out, err, "%-13s %8s %10s  %-32s %s\n", "NODE", "HEADS", "RECORDS", "RECEIVED",
                   "KEY") < 0)
        return -1;
    json_object_foreach(newest, node, entry)
    {
        const char *text = json_get_text(entry, "head");
        cleanup_json json_t *head = json_text_own(text, strlen(text));
        char line[256];

        (void)snprintf(line, sizeof(line), "%-13s %8lld %10lld  %-32s %.16s", node,
                       (long long)json_integer_value(json_object_get(counts, node)),
                       (long long)json_integer_value(json_object_get(head, "seq")),
                       json_get_text(entry, "received_at"), json_get_text(head, "key"));
        if (terminal_line(line, strlen(line), &out, err) < 0 || buf_add_str(&out, "\n", err) < 0)
            return -1;
    }
    return file_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? error_errno(err, "write")
                                                                     : 0;
}

static int run(const char *config, bool is_json, struct error *err)
{
    cleanup(operator_close_p) struct operator_bus *bus = NULL;
    cleanup_json json_t *list = json_array();

    if (operator_open(config, &bus, err) < 0 || read_all(bus, list, err) < 0)
        return -1;
    return is_json ? print_json(list, err) : print_table(list, err);
}

int cluster_trails(int argc, char **argv)
{
    static const struct option options[] = {{"help", no_argument, NULL, 'h'},
                                            {"config", required_argument, NULL, 'c'},
                                            {"json", no_argument, NULL, 'j'},
                                            {0}};
    const char *config = OPERATOR_DIR "/cluster.toml";
    cleanup_error struct error err = {0};
    bool is_json = false;
    int answer;

    opterr = 0;
    optind = 1;
    while ((answer = operator_getopt(argc, argv, ":h", options)) != -1) {
        if (answer == 'h')
            return help();
        if (answer == '?' || answer == ':')
            return operator_bad_option("cluster trails", answer, argv, options);
        if (answer == 'c')
            config = optarg;
        else
            is_json = true;
    }
    if (optind < argc)
        error_set(&err, E_INVALID, "cluster trails takes no argument `%s`", argv[optind]);
    if (err.code != E_NONE || run(config, is_json, &err) < 0)
        return operator_fail(&err);
    return 0;
}

/* belljar audit verify --cluster: the trails of all machines of a cluster, against the signed heads
 * that each has sent to the bus, and against what was seen here before.
 *
 * Heads come from `belljar cluster trails`, records from each machine through a gateway, and are
 * verified here. A machine is believed nothing but what the key of its trail has signed: which key
 * that is was written down when it was seen first.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/key.h"
#include "audit/signed_head.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "cli/audit/audit.h"

#define GATEWAY      "http://127.0.0.1:8322"
#define HEADS_BYTES  (1024 * MIB)
#define SEEN_NAME    "cluster-trails.json"
#define SEEN_BYTES   (4 * MIB)
#define FINDINGS_MAX 20 /* of one machine; more are counted */

struct machine {
    const char *name;
    const json_t *heads; /* of the bus, in their order: {"received_at", "head"}; or NULL */
    const json_t *seen;  /* {"key", "pem", "seq", "hash", "time"} of the last time, or NULL */
    char key_name[2 * SHA256_BYTES + 1];
    struct key_public key;
    bool has_key;
    struct record_mark *marks; /* signed by that key, in the order of their numbers */
    size_t n_marks, next_mark;
    struct signed_head last; /* of them */
    char last_received[40];
    size_t n_findings, n_problems;
};

/* --- words --- */

__attribute__((format(printf, 3, 4))) static void say(struct machine *m, bool is_problem,
                                                      const char *fmt, ...)
{
    va_list args;

    m->n_problems += is_problem;
    if (m->n_findings++ >= FINDINGS_MAX)
        return;
    (void)printf("%s: %s: ", m->name, is_problem ? "PROBLEM" : "note");
    va_start(args, fmt);
    (void)vprintf(fmt, args);
    va_end(args);
    (void)printf("\n");
}

static void on_finding(void *user, bool is_problem, const char *text)
{
    say(user, is_problem, "%s", text);
}

/* --- the heads --- */

extern char **environ;

static int start(char **argv, int out, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int r;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    r = posix_spawn(ret_pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* Runs `belljar cluster trails`, which says on stderr why it fails. */
static int run_trails(const struct audit *audit, struct buf *text, struct error *err)
{
    cleanup_free char *program = paths_program("belljar-cluster", err);
    char *argv[] = {program, "trails", "--json", NULL, NULL, NULL};
    cleanup_close int in = -1, out = -1;
    int fds[2], status = 0, r;
    pid_t pid;

    if (!program)
        return -1;
    if (audit->cluster.config) {
        argv[3] = "--config";
        argv[4] = (char *)audit->cluster.config;
    }
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_errno(err, "make a pipe");
    in = fds[0];
    out = fds[1];
    r = start(argv, out, &pid);
    if (r == ENOENT) {
        error_set(err, E_UNSUPPORTED, "this Belljar was built without `belljar cluster`");
        return error_hint(err, "install the package with belljar-cluster");
    }
    if (r != 0) {
        errno = r;
        return error_errno(err, "start `%s`", program);
    }
    close_fd(&out);
    r = buf_read_fd(text, in, err);
    close_fd(&in);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r == 0 && status != 0)
        return error_set(err, E_SYSTEM, "the heads of the trails cannot be read from the bus");
    return r;
}

/* {"a1": [{"received_at", "head"}…]}. NULL: *err. */
static json_t *read_heads(const struct audit *audit, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(HEADS_BYTES);
    cleanup_json json_t *all = NULL;
    json_t *by_node = json_object(), *entry;
    size_t i;

    if (run_trails(audit, &text, err) < 0) {
        json_decref(by_node);
        return NULL;
    }
    all = json_text_own(buf_str(&text), text.len);
    json_array_foreach(json_object_get(all, "trails"), i, entry)
    {
        const char *node = json_get_text(entry, "node");

        if (!id_is_node(node))
            continue;
        if (!json_object_get(by_node, node))
            json_set(by_node, node, json_array());
        (void)json_array_append(json_object_get(by_node, node), entry);
    }
    return by_node;
}

static int parse_head(const json_t *entry, struct signed_head *ret_head)
{
    cleanup_error struct error err = {0};
    const char *text = json_get_text(entry, "head");

    return signed_head_parse(text, strlen(text), ret_head, &err);
}

/* The key that was seen first: here, or else on the bus. */
static void choose_key(struct machine *m)
{
    struct signed_head head;
    json_t *entry;
    size_t i;

    (void)snprintf(m->key_name, sizeof(m->key_name), "%s", json_get_text(m->seen, "key"));
    json_array_foreach(m->heads, i, entry)
    {
        if (!*m->key_name && parse_head(entry, &head) == 0)
            (void)snprintf(m->key_name, sizeof(m->key_name), "%s", head.key);
    }
}

/* `pem`: what says that it is the key. Only its name decides. */
static bool take_key(struct machine *m, const char *pem)
{
    cleanup_error struct error err = {0};
    struct key_public key;

    if (m->has_key || key_public_read(pem, strlen(pem), &key, &err) < 0 ||
        (*m->key_name && strcmp(key.name, m->key_name) != 0))
        return m->has_key;
    m->key = key;
    memcpy(m->key_name, key.name, sizeof(m->key_name));
    m->has_key = true;
    return true;
}

static int by_seq(const void *a, const void *b)
{
    const struct record_mark *x = a, *y = b;

    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void add_mark(struct machine *m, const struct record_mark *mark)
{
    m->marks[m->n_marks++] = *mark;
}

static void take_head(struct machine *m, const json_t *entry, size_t *n_foreign)
{
    const char *received = json_get_text(entry, "received_at");
    cleanup_error struct error err = {0};
    struct signed_head head;

    if (parse_head(entry, &head) < 0 || strcmp(head.key, m->key_name) != 0 ||
        signed_head_check(&head, &m->key, &err) < 0) {
        if ((*n_foreign)++ == 0)
            say(m, true, "what the bus received at %.40s is not signed by its key %.16s…", received,
                m->key_name);
        return;
    }
    add_mark(m, &head.mark);
    if (head.mark.seq < m->last.mark.seq)
        return;
    m->last = head;
    (void)snprintf(m->last_received, sizeof(m->last_received), "%s", received);
}

static int take_heads(struct machine *m, struct error *err)
{
    size_t i, n_foreign = 0;
    json_t *entry;
    struct record_mark mark = {0};

    m->marks = calloc(json_array_size(m->heads) + 1, sizeof(*m->marks));
    if (!m->marks)
        return error_memory(err);
    json_array_foreach(m->heads, i, entry)
    {
        take_head(m, entry, &n_foreign);
    }
    if (n_foreign > 1)
        say(m, true, "%zu more heads are not signed by its key", n_foreign - 1);
    mark.seq = (uint64_t)json_integer_value(json_object_get(m->seen, "seq"));
    (void)snprintf(mark.time, sizeof(mark.time), "%s", json_get_text(m->seen, "time"));
    if (mark.seq && sha256_from_hex(json_get_text(m->seen, "hash"), mark.hash) == 0)
        add_mark(m, &mark);
    qsort(m->marks, m->n_marks, sizeof(*m->marks), by_seq);
    return 0;
}

/* --- the records --- */

/* Against all that was signed about that record. */
static void compare(struct machine *m, const struct record_mark *mark)
{
    for (; m->next_mark < m->n_marks && m->marks[m->next_mark].seq <= mark->seq; m->next_mark++) {
        const struct record_mark *known = &m->marks[m->next_mark];

        if (known->seq == mark->seq && memcmp(known->hash, mark->hash, SHA256_BYTES) != 0)
            say(m, true,
                "record %" PRIu64 " is not the one that was known at %s: the trail was rewritten",
                known->seq, known->time);
    }
}

/* Returns the number of the last line, or 0 if there was none. */
static uint64_t take_lines(struct machine *m, const json_t *lines, struct verify *v,
                           struct record_mark *last)
{
    uint64_t before = last->seq;
    json_t *item;
    size_t i;

    json_array_foreach(lines, i, item)
    {
        const char *line = json_string_value(item);
        size_t len = json_string_length(item);
        struct record_head head;

        verify_line(v, line ? line : "", len);
        if (!line || !record_read(line, len, &head))
            continue;
        compare(m, &head.mark);
        *last = head.mark;
    }
    return last->seq > before ? last->seq : 0;
}

static json_t *ask(const struct client *client, const struct machine *m, uint64_t after,
                   struct error *err)
{
    json_t *answer = NULL;
    char path[96];

    (void)snprintf(path, sizeof(path), "/v1/audit/lines?after=%" PRIu64 "&node=%s", after, m->name);
    return client_call(client, "GET", path, NULL, &answer, err) < 0 ? NULL : answer;
}

static void conclude(struct machine *m, struct verify *v, const struct record_mark *last)
{
    struct verify_result result = {0};

    verify_lines_end(v, &result);
    if (m->marks[m->n_marks - 1].seq > last->seq && m->last.mark.seq <= last->seq)
        say(m, true, "record %" PRIu64 " was seen here before, and the last one now is %" PRIu64,
            m->marks[m->n_marks - 1].seq, last->seq);
    if (m->n_findings > FINDINGS_MAX)
        (void)printf("%s: … and %zu more\n", m->name, m->n_findings - FINDINGS_MAX);
    if (m->n_problems)
        (void)printf("%s: NOT VALID: %zu problem%s in %" PRIu64 " records\n", m->name,
                     m->n_problems, m->n_problems == 1 ? "" : "s", result.records);
    else
        (void)printf("%s: valid: %" PRIu64 " records, %zu heads, the last received at %s\n",
                     m->name, result.records, json_array_size(m->heads), m->last_received);
    if (!m->n_problems && result.n_unsigned)
        (void)printf("%s: the newest %" PRIu64 " are not on the bus yet\n", m->name,
                     result.n_unsigned);
}

/* -1: it cannot be asked. *ret_last: where the trail ends. */
static int read_trail(struct machine *m, const struct client *client, json_t *answer,
                      struct record_mark *ret_last, struct error *err)
{
    const struct verify_options options = {
        .keys = &m->key, .n_keys = 1, .on_finding = on_finding, .user = m};
    struct verify *v = verify_lines_new(&options, &m->last);
    cleanup_json json_t *page = json_incref(answer);
    struct record_mark last = {0};
    uint64_t after;

    if (!v)
        return error_memory(err);
    while (page && (after = take_lines(m, json_object_get(page, "lines"), v, &last)) > 0) {
        json_decref(page);
        page = ask(client, m, after, err);
    }
    conclude(m, v, &last);
    *ret_last = last;
    return page ? 0 : -1;
}

static int fail(struct machine *m, const struct error *err)
{
    say(m, true, "cannot be verified: %s", err->message ? err->message : "out of memory");
    if (m->last.mark.seq)
        say(m, false, "%" PRIu64 " records were signed for at %s", m->last.mark.seq,
            m->last.mark.time);
    return -1;
}

/* 0: it is valid, and *ret_last is where it ends. */
static int verify(struct machine *m, const struct client *client, struct record_mark *ret_last)
{
    cleanup_error struct error err = {0};
    cleanup_json json_t *answer = NULL;

    choose_key(m);
    (void)take_key(m, json_get_text(m->seen, "pem"));
    answer = ask(client, m, 0, &err);
    if (answer && !take_key(m, json_get_text(answer, "pem"))) {
        say(m, true, "it answers with another key than %.16s…: its trail was lost or replaced",
            m->key_name);
        return -1;
    }
    if (m->has_key && take_heads(m, &err) < 0)
        return fail(m, &err);
    if (!answer)
        return fail(m, &err);
    if (!m->last.mark.seq) {
        say(m, true, "no head on the bus is signed by its key: nothing shows what it had");
        return -1;
    }
    if (read_trail(m, client, answer, ret_last, &err) < 0)
        return fail(m, &err);
    return m->n_problems ? -1 : 0;
}

/* --- what was seen --- */

static json_t *seen_json(const struct machine *m, const struct record_mark *last)
{
    cleanup(buf_done) struct buf pem = BUF_OF(KIB);
    cleanup_error struct error err = {0};
    char hash[2 * SHA256_BYTES + 1];

    if (key_public_pem(&m->key, &pem, &err) < 0)
        return NULL;
    sha256_to_hex(last->hash, hash);
    return json_pack("{s:s, s:s, s:I, s:s, s:s}", "key", m->key_name, "pem", buf_str(&pem), "seq",
                     (json_int_t)last->seq, "hash", hash, "time", last->time);
}

static int save_seen(const char *path, const json_t *seen, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_OF(SEEN_BYTES);

    if (json_text_dump(seen, JSON_TEXT_PRETTY, &text, err) < 0)
        return -1;
    return file_replace(path, buf_str(&text), text.len, err);
}

/* A file that is damaged is not overwritten: it may be what shows a theft. */
static json_t *load_seen(const char *path, struct error *err)
{
    json_t *seen = json_text_own_file(path);

    if (!seen && access(path, F_OK) < 0)
        return json_object();
    if (json_is_object(seen))
        return seen;
    json_decref(seen);
    error_set(err, E_INVALID, "`%s` is damaged", path);
    error_hint(err, "it has what was seen of the cluster's trails; remove it to begin again");
    return NULL;
}

/* --- all of them --- */

/* True: it is valid. */
static bool verify_one(const char *name, const json_t *heads, json_t *seen,
                       const struct client *client)
{
    struct machine m = {
        .name = name, .heads = json_object_get(heads, name), .seen = json_object_get(seen, name)};
    struct record_mark last = {0};
    bool is_valid = verify(&m, client, &last) == 0;

    if (is_valid)
        json_set(seen, name, seen_json(&m, &last));
    free(m.marks);
    (void)fflush(stdout);
    return is_valid;
}

static int verify_all(const json_t *heads, json_t *seen, const struct client *client,
                      struct error *err)
{
    cleanup_json json_t *all = json_copy((json_t *)heads);
    size_t n_bad = 0, count;
    const char *name;
    json_t *unused;

    (void)json_object_update_missing(all, seen);
    count = json_object_size(all);
    if (!count) {
        error_set(err, E_NOT_FOUND, "no machine has sent a head of its trail to the bus");
        return error_hint(err, "machines do so by themselves, some seconds after the first run");
    }
    json_object_foreach(all, name, unused)
    {
        n_bad += !verify_one(name, heads, seen, client);
    }
    if (n_bad)
        (void)printf("NOT VALID: %zu of %zu machines\n", n_bad, count);
    else
        (void)printf("valid: %zu machine%s\n", count, count == 1 ? "" : "s");
    return n_bad ? 1 : 0;
}

int audit_verify_cluster(struct audit *audit, struct error *err)
{
    cleanup_free char *path = paths_state(SEEN_NAME, err);
    cleanup_json json_t *heads = NULL, *seen = NULL;
    cleanup(client_done) struct client client = {0};
    struct server_place place = audit->cluster.place;
    int r;

    if (!place.url && !server_of_environment())
        place.url = GATEWAY;
    if (!path || server_open(&place, audit->config, &client, err) < 0)
        return -1;
    seen = load_seen(path, err);
    heads = seen ? read_heads(audit, err) : NULL;
    if (!heads)
        return -1;
    r = verify_all(heads, seen, &client, err);
    if (r >= 0 && save_seen(path, seen, err) < 0)
        return -1;
    return r;
}

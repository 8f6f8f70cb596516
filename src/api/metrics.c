#include "api/metrics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "admit/spent.h"
#include "api/api.h"
#include "api/durable.h"
#include "api/trail_reader.h"
#include "audit/signed_head.h"
#include "base/cleanup.h"
#include "base/file.h"

static const double bounds[METRICS_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300};

void metrics_observe(struct metrics_histogram *h, double seconds)
{
    size_t i = 0;

    while (i < METRICS_BUCKETS && seconds > bounds[i])
        i++;
    h->counts[i]++;
    h->count++;
    h->sum += seconds;
}

void metrics_add_run(struct metrics *m, const struct run *run, double queue_s, double total_s)
{
    metrics_observe(&m->queue_s, queue_s);
    metrics_observe(&m->total_s, total_s);
    if (run->result.error.code != E_NONE) {
        m->failures++;
        return;
    }
    m->runs[run->result.status]++;
    m->cpu_s += run->result.usage.cpu_ms / 1000;
    m->server_cpu_s += (double)run->result.server_cpu_ns / 1e9;
    m->output_bytes += run->result.out.total + run->result.err.total;
    m->masked += run->result.masked.count;
    m->masked_runs += run->result.masked.count > 0;
    if (run->result.handed_ns) { /* it has run */
        metrics_observe(&m->start_s, run->result.usage.start_ms / 1000);
        metrics_observe(&m->run_s, run->result.usage.wall_ms / 1000);
    }
}

void metrics_add_turn(void *arg, uint64_t cpu_ns, uint64_t wall_ns)
{
    struct metrics *m = arg;
    double cpu_s = (double)cpu_ns / 1e9;

    metrics_observe(&m->turn_cpu_s, cpu_s);
    metrics_observe(&m->turn_wall_s, (double)wall_ns / 1e9);
    if (cpu_s > m->turn_cpu_max_s)
        m->turn_cpu_max_s = cpu_s;
}

/* --- as Prometheus reads it --- */

static int head(struct buf *out, const char *name, const char *type, const char *help,
                struct error *err)
{
    return buf_printf(out, err, "# HELP belljar_%s %s\n# TYPE belljar_%s %s\n", name, help, name,
                      type);
}

static int add(struct buf *out, const char *name, const char *type, const char *help, double value,
               struct error *err)
{
    if (head(out, name, type, help, err) < 0)
        return -1;
    return buf_printf(out, err, "belljar_%s %.15g\n", name, value);
}

static int add_histogram(struct buf *out, const char *name, const char *help,
                         const struct metrics_histogram *h, struct error *err)
{
    uint64_t below = 0;
    int r = head(out, name, "histogram", help, err);

    for (size_t i = 0; r == 0 && i < METRICS_BUCKETS; i++) {
        below += h->counts[i];
        r = buf_printf(out, err, "belljar_%s_bucket{le=\"%.15g\"} %" PRIu64 "\n", name, bounds[i],
                       below);
    }
    if (r < 0)
        return r;
    return buf_printf(out, err,
                      "belljar_%s_bucket{le=\"+Inf\"} %" PRIu64 "\nbelljar_%s_sum %.9g\n"
                      "belljar_%s_count %" PRIu64 "\n",
                      name, h->count, name, h->sum, name, h->count);
}

static int add_runs(struct buf *out, const struct metrics *m, struct error *err)
{
    int r = head(out, "runs_total", "counter", "Finished runs and cells, by status.", err);

    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(m->runs); i++)
        r = buf_printf(out, err, "belljar_runs_total{status=\"%s\"} %" PRIu64 "\n",
                       run_status_name((enum run_status)i), m->runs[i]);
    if (r < 0)
        return r;
    return buf_printf(out, err, "belljar_runs_total{status=\"failed\"} %" PRIu64 "\n", m->failures);
}

static int add_refusals(struct buf *out, const struct api *api, struct error *err)
{
    static const char *const labels[] = {
#define X(refusal, label) label,
        METRICS_REFUSALS(X)
#undef X
    };
    struct queue_level queue;
    int r = head(out, "refusals_total", "counter", "Refused requests, by reason.", err);

    queue_level(api->queue, &queue);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(labels); i++)
        r = buf_printf(out, err, "belljar_refusals_total{reason=\"%s\"} %" PRIu64 "\n", labels[i],
                       api->metrics->refusals[i]);
    if (r < 0)
        return r;
    return buf_printf(out, err,
                      "belljar_refusals_total{reason=\"displaced\"} %" PRIu64 "\n"
                      "belljar_refusals_total{reason=\"waited_too_long\"} %" PRIu64 "\n",
                      queue.displaced, queue.expired);
}

static size_t count_sessions(const struct api *api)
{
    size_t count = 0;

    for (struct session *s = sessions_next(api->sessions, NULL); s;
         s = sessions_next(api->sessions, s))
        count++;
    return count;
}

static double resident_bytes(void)
{
    char text[128];
    long total = 0, resident = 0;

    if (file_read(-1, "/proc/self/statm", text, sizeof(text)) < 0 ||
        sscanf(text, "%ld %ld", &total, &resident) != 2) /* NOLINT(cert-err34-c): the kernel's */
        return 0;
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int add_levels(struct buf *out, const struct api *api, struct error *err)
{
    struct pool_level pool;
    struct queue_level queue;
    struct job_counts durable;
    struct jobs_level jobs;
    struct http_level http;

    durable_count(api->durable, &durable);
    pool_level(api->pool, &pool);
    queue_level(api->queue, &queue);
    jobs_level(api->jobs, &jobs);
    http_level(api->http, &http);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"runs_running", "gauge", "Runs in the pool.", (double)queue.running},
        {"queue_waiting", "gauge", "Runs that wait for their turn.", (double)queue.waiting},
        {"pool_idle", "gauge", "Finished sandboxes that wait for a run.", (double)pool.idle},
        {"pool_wanted", "gauge", "How many there should be.", (double)pool.wanted},
        {"pool_making", "gauge", "Sandboxes being made.", (double)pool.making},
        {"sandboxes_made_total", "counter", "Sandboxes created so far.", (double)pool.made},
        {"sessions", "gauge", "Open sessions.", (double)count_sessions(api)},
        {"answers_kept", "gauge", "Answers kept for repeated requests.", (double)jobs.kept},
        {"answers_kept_bytes", "gauge", "Their bytes.", (double)jobs.kept_bytes},
        {"jobs_waiting", "gauge", "Durable jobs that wait for an attempt.",
         (double)durable.by_state[JOB_WAITING]},
        {"jobs_running", "gauge", "Durable jobs of which an attempt is under way.",
         (double)durable.by_state[JOB_RUNNING]},
        {"jobs_kept", "gauge", "Durable jobs that are over.",
         (double)(durable.by_state[JOB_DONE] + durable.by_state[JOB_FAILED] +
                  durable.by_state[JOB_LOST] + durable.by_state[JOB_CANCELLED])},
        {"http_connections", "gauge", "Open connections.", (double)http.connections},
        {"http_requests_total", "counter", "Requests answered.", (double)http.served},
        {"cpu_seconds_total", "counter", "CPU time of all runs.", api->metrics->cpu_s},
        {"server_cpu_seconds_total", "counter",
         "CPU time of the server for runs: masking, files, the trail.", api->metrics->server_cpu_s},
        {"loop_turn_cpu_max_seconds", "gauge",
         "The longest turn of the event loop so far, in CPU time.", api->metrics->turn_cpu_max_s},
        {"output_bytes_total", "counter", "Output of all runs.",
         (double)api->metrics->output_bytes},
        {"masked_total", "counter", "Secrets that were masked.", (double)api->metrics->masked},
        {"masked_runs_total", "counter", "Runs whose output contained secrets.",
         (double)api->metrics->masked_runs},
        {"resident_memory_bytes", "gauge", "Memory of the server's own process.", resident_bytes()},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (add(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value, err) < 0)
            return -1;
    return 0;
}

int metrics_write(const struct api *api, struct buf *out, struct error *err)
{
    const struct metrics *m = api->metrics;

    if (add_histogram(out, "loop_turn_seconds",
                      "Wall-clock time of event loop turns, during which all clients wait.",
                      &m->turn_wall_s, err) < 0 ||
        add_histogram(out, "loop_turn_cpu_seconds",
                      "The same in CPU time, which other load on the host does not change.",
                      &m->turn_cpu_s, err) < 0)
        return -1;
    if (add_runs(out, m, err) < 0 || add_refusals(out, api, err) < 0 ||
        add_levels(out, api, err) < 0 ||
        add_histogram(out, "queue_seconds", "Waiting for a turn.", &m->queue_s, err) < 0 ||
        add_histogram(out, "start_seconds", "From the turn to the hand-over of the code.",
                      &m->start_s, err) < 0 ||
        add_histogram(out, "run_seconds", "From the hand-over to the end.", &m->run_s, err) < 0)
        return -1;
    return add_histogram(out, "total_seconds", "From the request to its answer.", &m->total_s, err);
}

/* --- handlers --- */

static void show_metrics(struct request *request)
{
    cleanup(buf_done) struct buf text;
    struct error err = {0};

    buf_init(&text, MIB);
    if (metrics_write(request->api, &text, &err) < 0) {
        request_answer_error(request, &err);
        return;
    }
    request_begin(request, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, text.len);
    (void)request_write(request, buf_str(&text), text.len);
    request_end(request);
}

static json_t *caller_json(const struct caller *c)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "name", c->name, "running",
                     (json_int_t)c->n_running, "waiting", (json_int_t)c->n_waiting, "done",
                     (json_int_t)c->n_done, "refused", (json_int_t)c->n_refused);
}

static json_t *runs_json(const struct metrics *m)
{
    json_t *runs = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(m->runs); i++)
        (void)json_object_set_new(runs, run_status_name((enum run_status)i),
                                  json_integer((json_int_t)m->runs[i]));
    (void)json_object_set_new(runs, "failed", json_integer((json_int_t)m->failures));
    return runs;
}

static json_t *server_json(const struct api *api)
{
    struct pool_level pool;
    struct queue_level queue;
    struct http_level http;
    json_t *callers = json_array();

    pool_level(api->pool, &pool);
    queue_level(api->queue, &queue);
    http_level(api->http, &http);
    for (const struct caller *c = auth_next(api->auth, NULL); c; c = auth_next(api->auth, c))
        if (c->is_known)
            (void)json_array_append_new(callers, caller_json(c));
    return json_pack("{s:o, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:I, s:I, s:f, s:I, s:o}",
                     "runs", runs_json(api->metrics), "queue", "running", (json_int_t)queue.running,
                     "waiting", (json_int_t)queue.waiting, "max_running",
                     (json_int_t)queue.max_running, "max_waiting", (json_int_t)queue.max_waiting,
                     "pool", "idle", (json_int_t)pool.idle, "wanted", (json_int_t)pool.wanted,
                     "made", (json_int_t)pool.made, "sessions", (json_int_t)count_sessions(api),
                     "connections", (json_int_t)http.connections, "cpu_s", api->metrics->cpu_s,
                     "resident_bytes", (json_int_t)resident_bytes(), "tokens", callers);
}

static void show_stats(struct request *request)
{
    const struct api *api = request->api;
    json_t *stats = json_pack("{s:o}", "you", caller_json(request->caller));

    if (request->caller->rights.is_operator)
        (void)json_object_set_new(stats, "server", server_json(api));
    request_answer_json(request, 200, stats);
}

/* The signed head of the trail, or null. */
static json_t *head_json(const struct api *api)
{
    cleanup(trail_wish_done) struct trail_wish wish = {0};
    cleanup_error struct error err = {0};
    cleanup_close int dir = -1;
    char text[SIGNED_HEAD_TEXT_SIZE];
    struct signed_head head;

    if (trail_wish_open(api, &wish, &err) < 0)
        return json_null();
    dir = open(wish.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || signed_head_read(dir, &head, &err) < 0)
        return json_null();
    signed_head_text(&head, text);
    return json_string(text);
}

/* For the node of a cluster, which asks several times a second. It has no token: the socket by
 * which it comes is the credential, and it passes no request for this path on. */
static void answer_room(struct request *request)
{
    const struct api *api = request->api;
    struct queue_level queue;
    struct error err = {0};
    size_t running, waiting;
    json_int_t room;

    if (!request->is_cluster) {
        error_set(&err, E_NOT_FOUND, "there is nothing at this path");
        request_answer_error(request, &err);
        return;
    }
    queue_level(api->queue, &queue);
    /* Also cells and commands of sessions, for which the queue has no place. */
    jobs_count_live(api->jobs, NULL, &running, &waiting);
    room = (json_int_t)queue.max_running - (json_int_t)queue.running - (json_int_t)queue.waiting;
    request_answer_json(request, 200,
                        json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I}", "node", api->config->node,
                                  "head", head_json(api), "spent",
                                  spent_json(api->auth, api->started_at), "room", room, "running",
                                  (json_int_t)running, "waiting", (json_int_t)waiting, "sessions",
                                  (json_int_t)count_sessions(api)));
}

/* Like answer_room(), but first adds what other machines have counted for tokens. */
static void take_spent(struct request *request)
{
    const struct api *api = request->api;

    if (request->is_cluster && api->spent)
        spent_take(api->spent, api->auth, json_object_get(request->json, "nodes"), loop_now_ns());
    answer_room(request);
}

static const struct schema_field spent_fields[] = {
    {"nodes", SCHEMA_OBJECT, .is_required = true,
     .help = "what each of the other machines has counted for tokens"},
    {0},
};

/* A gateway answers it by itself (cluster/fan_nodes.c). */
static void show_nodes(struct request *request)
{
    struct error err = {0};

    error_set(&err, E_NOT_FOUND, "this server is not a gateway of a cluster");
    error_hint(&err, "ask a gateway: `belljar cluster gateway`");
    request_answer_error(request, &err);
}

/* clang-format off */
const struct route metrics_routes[] = {
    {"GET", "/metrics", show_metrics, .access = ROUTE_OPERATOR, .type = "text/plain", .status = 200, .tag = "meta",
     .summary = "metrics of the server in Prometheus format; for operators"},
    {"GET", "/v1/cluster/room", answer_room, .access = ROUTE_PUBLIC, .status = 200, .is_unlisted = true,
     .summary = "places for runs, for the node of a cluster"},
    {"POST", "/v1/cluster/room", take_spent, .body = spent_fields, .max_body = MIB, .access = ROUTE_PUBLIC, .status = 200, .is_unlisted = true,
     .summary = "the same, and what other machines have counted for tokens"},
    {"GET", "/v1/cluster/nodes", show_nodes, .access = ROUTE_OPERATOR, .answers = "ClusterNodes", .status = 200, .tag = "meta",
     .summary = "the machines of a cluster, at a gateway: state, room, load, versions; for operators"},
    {"GET", "/v1/stats", show_stats, .answers = "Stats", .status = 200, .tag = "meta",
     .summary = "the caller's running and waiting programs; for operators also metrics of the whole server"},
    {0},
};
/* clang-format on */

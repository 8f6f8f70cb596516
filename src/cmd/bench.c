/* belljar bench: what a fresh sandbox costs on this host, with the supervisor in the path.
 *
 * Every figure is measured from the submission of a run to its answer. Latency from the stock is taken with a full stock
 * (beyond its refill rate a stock gives the latency without one, which is measured too). No figure is a promise: machines are
 * noisy, and what counts are ratios to other programs on the same machine, which tests/bench makes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/stream.h"
#include "cmd/cmd.h"
#include "cmd/engine.h"
#include "front/json.h"
#include "pool/box.h"
#include "sandbox/monitor.h"

#define CODE_PRINT  "print(1)"
#define CODE_PANDAS "import numpy, pandas; print(pandas.DataFrame({'a':[1,2,3]}).sum().a)"

/* A stock that is not full after this is not going to be. */
#define FILL_PATIENCE_NS UINT64_C(60000000000)

struct bench {
    struct config *config;
    struct profile *profile;
    struct engine engine;
    const char *code;
    const char *expect; /* its output, checked every time */
    size_t wanted;      /* runs still to start */
    size_t under_way;
    size_t n_done, n_failed;
    double *ms; /* one per finished run */
    size_t size;
    uint64_t until_ns; /* closed loop: start no more after this */
    bool one_by_one;   /* wait for a full stock before each */
    struct loop_watch *poll;
    uint64_t wait_since_ns;
    json_t *report;
};

static void start_more(struct bench *b);

static void on_done(struct run *run)
{
    struct bench *b = run->user;
    double ms = (double)(loop_now_ns() - run->started_ns) / 1e6;

    if (run->error.code != E_NONE || run->status != RUN_SUCCESS ||
        (b->expect && strcmp(buf_str(&run->out.head), b->expect) != 0))
        b->n_failed++;
    if (b->n_done < b->size)
        b->ms[b->n_done] = ms;
    b->n_done++;
    b->under_way--;
    run_free(run);
    start_more(b);
}

static int submit(struct bench *b, struct error *err)
{
    struct run *run = run_new();

    if (!run || buf_add_str(&run->code, b->code, err) < 0) {
        run_free(run);
        return error_set(err, E_SYSTEM, "out of memory");
    }
    if (engine_admit(run, b->config, b->profile, err) < 0) {
        run_free(run);
        return -1;
    }
    run->user = b;
    run->on_done = on_done;
    b->under_way++;
    pool_submit(b->engine.pool, run);
    return 0;
}

/* Full, and nothing under way that would take the other core. */
static bool is_quiet(const struct bench *b)
{
    struct pool_level level;

    pool_level(b->engine.pool, &level);
    return level.idle >= level.wanted && level.making == 0 && level.active == 0 &&
           zygote_client_is_ready(pool_zygote(b->engine.pool));
}

static void start_more(struct bench *b)
{
    struct error err = {0};

    if (b->until_ns && loop_now_ns() >= b->until_ns)
        b->wanted = 0;
    if (b->wanted == 0) {
        if (b->under_way == 0)
            loop_stop(b->engine.loop);
        return;
    }
    if (b->one_by_one) {
        b->wait_since_ns = loop_now_ns();
        loop_timer_start(b->poll, 0);
        return;
    }
    b->wanted--;
    if (submit(b, &err) < 0) {
        (void)cmd_fail(&err);
        b->n_failed++;
        b->wanted = 0;
        loop_stop(b->engine.loop);
    }
}

static void on_poll(void *arg)
{
    struct bench *b = arg;
    struct error err = {0};

    if (!is_quiet(b) && loop_now_ns() - b->wait_since_ns < FILL_PATIENCE_NS) {
        loop_timer_start(b->poll, 2);
        return;
    }
    if (!b->code) { /* only waiting for the stock */
        loop_stop(b->engine.loop);
        return;
    }
    b->wanted--;
    if (submit(b, &err) < 0) {
        (void)cmd_fail(&err);
        loop_stop(b->engine.loop);
    }
}

static int open_bench(struct bench *b, const struct engine_stock *stock, struct error *err)
{
    struct run_limits limits = {0};

    config_limits(b->config, CONFIG_DEFAULT, &limits);
    profile_apply_limits(b->profile, &limits);
    if (engine_open(&b->engine, b->config, stock, &limits, err) < 0)
        return -1;
    b->poll = loop_timer(b->engine.loop, on_poll, b);
    return b->poll ? 0 : error_set(err, E_SYSTEM, "out of memory");
}

static void close_bench(struct bench *b)
{
    loop_watch_free(b->poll);
    b->poll = NULL;
    engine_close(&b->engine);
}

/* Runs the loop until the stock is full and quiet. */
static int fill(struct bench *b, struct error *err)
{
    b->code = NULL;
    b->wait_since_ns = loop_now_ns();
    loop_timer_start(b->poll, 0);
    if (loop_run(b->engine.loop, err) < 0)
        return -1;
    if (!is_quiet(b))
        return error_set(err, E_SYSTEM, "the stock does not fill");
    return 0;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double percentile(const struct bench *b, double p)
{
    size_t n = b->n_done < b->size ? b->n_done : b->size;

    return n ? b->ms[(size_t)((double)(n - 1) * p)] : NAN;
}

static int run_all(struct bench *b, const char *code, const char *expect, size_t runs, size_t clients,
                   bool one_by_one, struct error *err)
{
    free(b->ms);
    b->ms = calloc(runs ? runs : 1, sizeof(*b->ms));
    if (!b->ms)
        return error_set(err, E_SYSTEM, "out of memory");
    b->size = b->wanted = runs;
    b->n_done = b->n_failed = b->under_way = 0;
    b->code = code;
    b->expect = expect;
    b->one_by_one = one_by_one;
    for (size_t i = 0; i < (one_by_one ? 1 : clients); i++)
        start_more(b);
    if ((b->under_way || one_by_one) && loop_run(b->engine.loop, err) < 0)
        return -1;
    if (b->n_done < b->size)
        b->size = b->n_done;
    qsort(b->ms, b->size, sizeof(*b->ms), compare_doubles);
    return 0;
}

/* --- the measurements --- */

static int add(struct bench *b, const char *name, json_t *value, const char *human)
{
    (void)fprintf(stderr, "  %-34s %s\n", name, human);
    return json_object_set_new(b->report, name, value);
}

static int latency(struct bench *b, const char *name, const char *code, const char *expect, size_t runs,
                   struct error *err)
{
    char human[128];

    if (run_all(b, code, expect, runs, 1, true, err) < 0)
        return -1;
    (void)snprintf(human, sizeof(human), "p50 %.3f ms  p90 %.3f  p99 %.3f  max %.3f%s",
                   percentile(b, 0.5), percentile(b, 0.9), percentile(b, 0.99), percentile(b, 1),
                   b->n_failed ? "  FAILED RUNS" : "");
    return add(b, name,
               json_pack("{s:f,s:f,s:f,s:f,s:I,s:I}", "p50_ms", percentile(b, 0.5), "p90_ms",
                         percentile(b, 0.9), "p99_ms", percentile(b, 0.99), "max_ms", percentile(b, 1),
                         "runs", (json_int_t)b->n_done, "failed", (json_int_t)b->n_failed),
               human);
}

static int throughput(struct bench *b, const char *name, const char *code, const char *expect,
                      size_t clients, double seconds, struct error *err)
{
    uint64_t begin = loop_now_ns();
    char human[64];
    double rate;

    b->until_ns = begin + (uint64_t)(seconds * 1e9);
    if (run_all(b, code, expect, 1000000, clients, false, err) < 0)
        return -1;
    b->until_ns = 0;
    rate = (double)b->n_done / ((double)(loop_now_ns() - begin) / 1e9);
    (void)snprintf(human, sizeof(human), "%.0f runs/s%s", rate, b->n_failed ? "  FAILED RUNS" : "");
    return add(b, name,
               json_pack("{s:f,s:I,s:I,s:f}", "per_second", rate, "runs", (json_int_t)b->n_done, "failed",
                         (json_int_t)b->n_failed, "p99_ms", percentile(b, 0.99)),
               human);
}

static uint64_t available_kb(void)
{
    char text[512];
    const char *line;
    uint64_t kb = 0;

    if (file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) > 0 &&
        (line = strstr(text, "MemAvailable:")))
        (void)sscanf(line, "MemAvailable: %" SCNu64, &kb);
    return kb;
}

struct weight {
    uint64_t bytes;
    size_t count;
};

static void weigh(void *user, const struct box *box)
{
    struct weight *w = user;
    struct monitor_usage usage;

    monitor_read(box_pid(box), &usage);
    w->bytes += usage.memory_bytes;
    w->count++;
}

static int idle(struct bench *b, size_t count, struct error *err)
{
    struct weight w = {0};
    uint64_t before, begin, after;
    char name[48], human[128];
    double seconds, pss, all;
    int r;

    if (open_bench(b, &(struct engine_stock){.size = 1, .warm = true}, err) < 0 || fill(b, err) < 0)
        return -1;
    close_bench(b); /* the page cache is warm now; what follows is the sandboxes alone */

    before = available_kb();
    begin = loop_now_ns();
    if (open_bench(b, &(struct engine_stock){.size = count, .warm = true}, err) < 0 || fill(b, err) < 0)
        return -1;
    seconds = (double)(loop_now_ns() - begin) / 1e9;
    after = available_kb();
    pool_each_idle(b->engine.pool, weigh, &w);
    pss = (double)w.bytes / (double)(w.count ? w.count : 1) / 1e6;
    all = before > after ? (double)(before - after) / 1024 : 0;
    (void)snprintf(name, sizeof(name), "idle_%zu", count);
    (void)snprintf(human, sizeof(human), "%.2f MB each (PSS), %.0f MB of the host in all, filled in %.1f s",
                   pss, all, seconds);
    r = add(b, name,
            json_pack("{s:I,s:f,s:f,s:f}", "count", (json_int_t)w.count, "pss_mb", pss, "host_mb", all,
                      "fill_s", seconds),
            human);
    if (r == 0) {
        (void)snprintf(name, sizeof(name), "print_with_%zu_alive", count);
        r = latency(b, name, CODE_PRINT, "1\n", 50, err);
    }
    close_bench(b);
    return r;
}

static int measure_stock(struct bench *b, size_t runs, double seconds, struct error *err)
{
    static const struct engine_stock stock = {.size = POOL_AUTO, .hot = POOL_AUTO, .warm = true};
    int r = -1;

    if (open_bench(b, &stock, err) == 0 && fill(b, err) == 0 &&
        latency(b, "pool_print", CODE_PRINT, "1\n", runs, err) == 0 &&
        latency(b, "pool_pandas", CODE_PANDAS, "6\n", runs, err) == 0 &&
        throughput(b, "throughput_print_4", CODE_PRINT, "1\n", 4, seconds, err) == 0 &&
        throughput(b, "throughput_print_16", CODE_PRINT, "1\n", 16, seconds, err) == 0 &&
        throughput(b, "throughput_pandas_4", CODE_PANDAS, "6\n", 4, seconds, err) == 0 &&
        throughput(b, "throughput_pandas_16", CODE_PANDAS, "6\n", 16, seconds, err) == 0)
        r = fill(b, err);
    if (r == 0)
        r = latency(b, "pool_print_after_all_these", CODE_PRINT, "1\n", runs, err);
    close_bench(b);
    return r;
}

static int measure_warm(struct bench *b, size_t runs, struct error *err)
{
    int r = -1;

    if (open_bench(b, &(struct engine_stock){.warm = true}, err) == 0 && fill(b, err) == 0 &&
        latency(b, "warm_print", CODE_PRINT, "1\n", runs, err) == 0)
        r = latency(b, "warm_pandas", CODE_PANDAS, "6\n", runs, err);
    close_bench(b);
    return r;
}

static int help(void)
{
    (void)printf("usage: belljar bench [--runs N] [--seconds S] [--idle N[,N]…] [--json]\n\n"
                 "Measure fresh sandboxes on this host, with the supervisor in the path: latency from the\n"
                 "stock and without one, throughput, and the memory of sandboxes that wait.\n\n"
                 "  --runs N       samples per latency (default 200)\n"
                 "  --seconds S    length of a throughput window (default 3)\n"
                 "  --idle N,…     how many waiting sandboxes to weigh (default 10,100)\n"
                 "  --only WHAT    stock, warm or idle\n"
                 "  --json         the figures for machines, on standard output\n\n"
                 "example:\n"
                 "  belljar bench --runs 50 --idle 10,100,1000\n");
    return 0;
}

struct plan {
    size_t runs;
    double seconds;
    const char *idle;
    const char *only;
    bool is_json;
};

static bool wants(const struct plan *plan, const char *what)
{
    return !plan->only || strcmp(plan->only, what) == 0;
}

static int measure(struct bench *b, const struct plan *plan, struct error *err)
{
    const char *at = plan->idle;

    if (wants(plan, "stock") && measure_stock(b, plan->runs, plan->seconds, err) < 0)
        return -1;
    if (wants(plan, "warm") && measure_warm(b, plan->runs, err) < 0)
        return -1;
    while (wants(plan, "idle") && *at) {
        char *end;
        unsigned long count = strtoul(at, &end, 10);

        if (end == at || count == 0 || count > LIMIT_SANDBOXES)
            return error_set(err, E_INVALID, "--idle takes numbers from 1 to %d", LIMIT_SANDBOXES);
        if (idle(b, count, err) < 0)
            return -1;
        at = *end == ',' ? end + 1 : end;
    }
    return 0;
}

static int parse(struct plan *plan, int argc, char **argv)
{
    static const struct option options[] = {
        {"runs",    required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"idle",    required_argument, NULL, 'i'},
        {"only",    required_argument, NULL, 'o'},
        {"json",    no_argument,       NULL, 'j'},
        {"help",    no_argument,       NULL, 'h'},
        {0},
    };
    int answer;

    opterr = 0;
    while ((answer = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
        switch (answer) {
        case 'r':
            plan->runs = strtoul(optarg, NULL, 10);
            break;
        case 's':
            plan->seconds = strtod(optarg, NULL);
            break;
        case 'i':
            plan->idle = optarg;
            break;
        case 'o':
            plan->only = optarg;
            break;
        case 'j':
            plan->is_json = true;
            break;
        case 'h':
            return help() + 1;
        default:
            return cmd_bad_option("bench", answer, argv, options) + 1;
        }
    }
    if (optind < argc)
        return cmd_bad_argument("bench", argv[optind]) + 1;
    return 0;
}

int cmd_bench(int argc, char **argv)
{
    struct plan plan = {.runs = 200, .seconds = 3, .idle = "10,100"};
    cleanup_error struct error err = {0};
    cleanup(buf_done) struct buf text = {0};
    struct bench b = {.config = config_new(), .report = json_object()};
    int r = parse(&plan, argc, argv);

    if (r > 0)
        return r - 1;
    r = -1;
    if (b.config && b.report && config_load(b.config, NULL, &err) == 0 &&
        engine_profile(b.config, &b.profile, &err) == 0)
        r = measure(&b, &plan, &err);
    close_bench(&b);
    buf_init(&text, MIB);
    if (r == 0 && plan.is_json && json_text_dump(b.report, JSON_TEXT_PRETTY, &text, &err) == 0)
        (void)fputs(buf_str(&text), stdout);
    profile_free(b.profile);
    config_free(b.config);
    json_decref(b.report);
    free(b.ms);
    return r < 0 ? cmd_fail(&err) : 0;
}

/* belljar bench: what a fresh sandbox costs on this host, with the supervisor in the path.
 * Sessions are in bench_session.c.
 *
 * Every figure is measured from the submission of a run to its answer. Latency from the stock is
 * taken with a full stock (beyond its refill rate a stock gives the latency without one, which is
 * measured too). No figure is a promise: machines are noisy, and what counts are ratios to other
 * programs on the same machine, which tests/bench makes.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admit/admit.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/meminfo.h"
#include "cli/bench/bench.h"
#include "cli/cmd.h"
#include "engine/box.h"
#include "sandbox/monitor.h"

static const struct program print_line = {"print(1)", "1\n"};
static const struct program pandas_line = {
    "import numpy, pandas; print(pandas.DataFrame({'a':[1,2,3]}).sum().a)",
    "6\n",
};

#define CLOSED_LOOP_MAX 1000000

/* Windows are seconds; an hour of one figure is a slip. */
#define SECONDS_MAX 3600

/* As typed. */
struct arguments {
    const char *runs;
    const char *seconds;
    const char *idle;
    const char *only;
    bool is_json;
    bool has_samples;
};

/* --- figures --- */

int bench_add(struct bench *b, const char *name, json_t *value, const char *human)
{
    (void)fprintf(stderr, "  %-34s %s%s\n", name, human, b->drive.n_failed ? "  FAILED RUNS" : "");
    return json_object_set_new(b->report, name, value);
}

static json_t *sample_list(const double *values, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_real(values[i]));
    return list;
}

int bench_add_times(struct bench *b, const char *name, const double *values, size_t count)
{
    double p50 = drive_percentile(values, count, 0.5), p90 = drive_percentile(values, count, 0.9),
           p99 = drive_percentile(values, count, 0.99), most = drive_percentile(values, count, 1);
    json_t *object;
    char human[128];

    if (count == 0)
        return -1;
    (void)snprintf(human, sizeof(human), "p50 %.3f ms  p90 %.3f  p99 %.3f  max %.3f", p50, p90, p99,
                   most);
    object =
        json_pack("{s:f,s:f,s:f,s:f,s:I,s:I,s:I}", "p50_ms", p50, "p90_ms", p90, "p99_ms", p99,
                  "max_ms", most, "runs", (json_int_t)b->drive.n_done, "failed",
                  (json_int_t)b->drive.n_failed, "from_stock", (json_int_t)b->drive.n_from_stock);
    if (b->plan.has_samples)
        (void)json_object_set_new(object, "ms", sample_list(values, count));
    return bench_add(b, name, object, human);
}

static int latency(struct bench *b, const char *name, struct program program, size_t runs,
                   struct error *err)
{
    if (drive_one_by_one(&b->drive, program, runs, false, err) < 0)
        return -1;
    return bench_add_times(b, name, b->drive.ms, b->drive.size);
}

static int closed_loop(struct bench *b, const char *name, struct program program, size_t clients,
                       size_t runs, double seconds, struct error *err)
{
    uint64_t begin = loop_now_ns();
    struct drive *d = &b->drive;
    char human[64];
    double rate, p99;

    if (drive_closed_loop(d, program, clients, runs, seconds, err) < 0)
        return -1;
    rate = (double)d->n_done / ((double)(loop_now_ns() - begin) / 1e9);
    p99 = drive_percentile(d->ms, d->size, 0.99);
    (void)snprintf(human, sizeof(human), "%.0f runs/s  p99 %.1f ms", rate, p99);
    return bench_add(b, name,
                     json_pack("{s:f,s:I,s:I,s:f}", "per_second", rate, "runs",
                               (json_int_t)d->n_done, "failed", (json_int_t)d->n_failed, "p99_ms",
                               p99),
                     human);
}

/* --- from a stock --- */

/* As the settings have it; -1 of theirs is POOL_AUTO. */
struct engine_stock bench_full_stock(const struct bench *b)
{
    return (struct engine_stock){
        .size = (size_t)b->drive.config->pool_size,
        .hot = (size_t)b->drive.config->pool_hot,
        .warm = true,
    };
}

const struct engine_stock bench_no_stock = {.warm = true};

static int measure_stock(struct bench *b, struct error *err)
{
    if (drive_open(&b->drive, bench_full_stock(b), err) < 0 ||
        latency(b, "pool_print", print_line, b->plan.runs, err) < 0)
        return -1;
    return latency(b, "pool_pandas", pandas_line, b->plan.runs, err);
}

static int measure_throughput(struct bench *b, struct error *err)
{
    static const struct {
        const char *name;
        const struct program *program;
        size_t clients;
    } windows[] = {
        {"throughput_print_4", &print_line, 4},
        {"throughput_print_16", &print_line, 16},
        {"throughput_pandas_4", &pandas_line, 4},
        {"throughput_pandas_16", &pandas_line, 16},
    };

    if (drive_open(&b->drive, bench_full_stock(b), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(windows); i++)
        if (closed_loop(b, windows[i].name, *windows[i].program, windows[i].clients,
                        CLOSED_LOOP_MAX, b->plan.seconds, err) < 0 ||
            drive_settle(&b->drive, err) < 0)
            return -1;
    return 0;
}

/* The cost of a run after 10, 100 and 1,000 others. */
static int measure_growth(struct bench *b, struct error *err)
{
    static const size_t counts[] = {10, 100, 1000};
    size_t before = 0;
    char name[48];

    if (drive_open(&b->drive, bench_full_stock(b), err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(counts); before = counts[i++]) {
        (void)snprintf(name, sizeof(name), "rate_up_to_%zu_runs", counts[i]);
        if (closed_loop(b, name, print_line, 4, counts[i] - before, 0, err) < 0 ||
            drive_settle(&b->drive, err) < 0)
            return -1;
        (void)snprintf(name, sizeof(name), "print_after_%zu_runs", counts[i]);
        if (latency(b, name, print_line, b->plan.runs, err) < 0)
            return -1;
    }
    return 0;
}

/* --- without a stock --- */

static int measure_warm(struct bench *b, struct error *err)
{
    if (drive_open(&b->drive, bench_no_stock, err) < 0 ||
        latency(b, "warm_print", print_line, b->plan.runs, err) < 0)
        return -1;
    return latency(b, "warm_pandas", pandas_line, b->plan.runs, err);
}

static int measure_teardown(struct bench *b, struct error *err)
{
    struct drive *d = &b->drive;

    if (drive_open(d, bench_no_stock, err) < 0 ||
        drive_one_by_one(d, print_line, b->plan.runs, true, err) < 0 ||
        bench_add_times(b, "teardown_print", d->end_ms, d->n_end) < 0 ||
        drive_one_by_one(d, pandas_line, b->plan.runs, true, err) < 0)
        return -1;
    return bench_add_times(b, "teardown_pandas", d->end_ms, d->n_end);
}

/* --- waiting sandboxes --- */

uint64_t bench_available_bytes(void)
{
    struct meminfo m;

    return meminfo_read(&m) ? m.available_bytes : 0;
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
    struct drive *d = &b->drive;
    struct weight w = {0};
    uint64_t before, begin, after;
    char name[48], human[128];
    double seconds, pss, all;

    if (drive_open(d, (struct engine_stock){.size = 1, .warm = true}, err) < 0)
        return -1;
    drive_close(
        d); /* the page cache is warm now; what follows is the sandboxes and their zygote alone */

    before = bench_available_bytes();
    begin = loop_now_ns();
    if (drive_open(d, (struct engine_stock){.size = count, .warm = true}, err) < 0)
        return -1;
    seconds = (double)(loop_now_ns() - begin) / 1e9;
    after = bench_available_bytes();
    pool_each_idle(d->engine.pool, weigh, &w);
    pss = (double)w.bytes / (double)(w.count ? w.count : 1) / 1e6;
    all = before > after ? (double)(before - after) / MIB : 0;
    (void)snprintf(name, sizeof(name), "idle_%zu", count);
    (void)snprintf(human, sizeof(human),
                   "%.2f MB each (PSS), %.0f MB of the host in all, filled in %.1f s", pss, all,
                   seconds);
    if (bench_add(b, name,
                  json_pack("{s:I,s:f,s:f,s:f}", "count", (json_int_t)w.count, "pss_mb", pss,
                            "host_mb", all, "fill_s", seconds),
                  human) < 0)
        return -1;
    (void)snprintf(name, sizeof(name), "print_with_%zu_alive", count);
    return latency(b, name, print_line, b->plan.runs < 50 ? b->plan.runs : 50, err);
}

static int measure_idle(struct bench *b, struct error *err)
{
    for (size_t i = 0; i < b->plan.n_idle; i++) {
        int r = idle(b, b->plan.idle[i], err);

        drive_close(&b->drive);
        if (r < 0)
            return -1;
    }
    return 0;
}

/* --- the command --- */

static const struct part {
    const char *name;
    int (*measure)(struct bench *b, struct error *err);
} parts[] = {
    {"stock", measure_stock}, {"throughput", measure_throughput}, {"growth", measure_growth},
    {"warm", measure_warm},   {"teardown", measure_teardown},     {"idle", measure_idle},
    {"cell", bench_cells},    {"sessions", bench_sessions},       {"fork", bench_forks},
};

/* Is the name one of the comma-separated list? */
static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += len)
        if ((at == list || at[-1] == ',') && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static int check_only(const char *only, struct error *err)
{
    char word[16];
    size_t len;

    for (const char *at = only; at; at = at[len] ? at + len + 1 : NULL) {
        bool is_known = false;

        len = strcspn(at, ",");
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, at);
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
            is_known |= strcmp(parts[i].name, word) == 0;
        if (!is_known) {
            error_set(err, E_INVALID, "--only: unknown measurement `%.*s`", (int)len, at);
            return error_hint(err,
                              "it takes stock, throughput, growth, warm, teardown, idle, cell, "
                              "sessions, fork");
        }
    }
    return 0;
}

/* A whole number from 1 to `most` that ends at the end of the text or at a comma. */
static int parse_count(const char *option, const char *text, size_t most, size_t *ret_count,
                       const char **ret_rest, struct error *err)
{
    char *end = NULL;
    unsigned long count = 0;

    if (*text >= '0' && *text <= '9') /* strtoul() itself takes signs and spaces */
        count = strtoul(text, &end, 10);
    if (end && (*end == '\0' || (*end == ',' && ret_rest)) && count >= 1 && count <= most) {
        *ret_count = count;
        if (ret_rest)
            *ret_rest = end;
        return 0;
    }
    error_set(err, E_INVALID, "%s: read `%s`, expected a number from 1 to %zu", option, text, most);
    return error_hint(err, ret_rest ? "such as `%s 10,100`" : "such as `%s 50`", option);
}

static int parse_seconds(const char *text, double *ret_seconds, struct error *err)
{
    char *end;
    double seconds = strtod(text, &end);

    if (end != text && *end == '\0' && seconds > 0 && seconds <= SECONDS_MAX) {
        *ret_seconds = seconds;
        return 0;
    }
    error_set(err, E_INVALID, "--seconds: read `%s`, expected a number above 0, at most %d", text,
              SECONDS_MAX);
    return error_hint(err, "such as `--seconds 3`");
}

static int make_plan(const struct arguments *request, struct plan *plan, struct error *err)
{
    const char *at = request->idle;

    plan->only = request->only;
    plan->has_samples = request->has_samples;
    if (parse_count("--runs", request->runs, CLOSED_LOOP_MAX, &plan->runs, NULL, err) < 0 ||
        parse_seconds(request->seconds, &plan->seconds, err) < 0 ||
        check_only(request->only, err) < 0)
        return -1;
    for (bool has_more = true; has_more; has_more = *at++ == ',') {
        if (plan->n_idle == BENCH_IDLE_MAX) {
            error_set(err, E_INVALID, "--idle takes at most %d numbers", BENCH_IDLE_MAX);
            return error_hint(err, "measure the rest in a second call");
        }
        if (parse_count("--idle", at, LIMIT_SANDBOXES, &plan->idle[plan->n_idle++], &at, err) < 0)
            return -1;
    }
    return 0;
}

static int measure(struct bench *b, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        int r;

        if (b->plan.only && !is_listed(b->plan.only, parts[i].name))
            continue;
        r = parts[i].measure(b, err);
        drive_close(&b->drive);
        if (r < 0)
            return err->code == E_NONE
                       ? error_set(err, E_INTERNAL, "%s: nothing was measured", parts[i].name)
                       : -1;
    }
    return 0;
}

static int help(void)
{
    (void)printf("usage: belljar bench [OPTION]…\n\n"
                 "Measure sandboxes and sessions on this host, supervisor included: latency with\n"
                 "and without a pool, throughput, teardown and memory of sandboxes; cells,\n"
                 "opening, memory and copies of sessions.\n\n"
                 "  --runs N       samples per latency (default 200)\n"
                 "  --seconds S    length of a throughput window (default 3)\n"
                 "  --idle N,…     numbers of idle sandboxes or sessions (default 10,100)\n"
                 "  --only WHAT,…  measure only these: stock, throughput, growth, warm,\n"
                 "                 teardown, idle, cell, sessions, fork\n"
                 "  --json         print the figures as JSON\n"
                 "  --samples      with --json: also each single time\n\n"
                 "example:\n"
                 "  belljar bench --runs 50 --only stock,idle --idle 10,100,1000\n");
    return 0;
}

static int parse(struct arguments *request, int argc, char **argv)
{
    /* clang-format off */
    static const struct option options[] = {
        {"runs",    required_argument, NULL, 'r'},
        {"seconds", required_argument, NULL, 's'},
        {"idle",    required_argument, NULL, 'i'},
        {"only",    required_argument, NULL, 'o'},
        {"json",    no_argument,       NULL, 'j'},
        {"samples", no_argument,       NULL, 'a'},
        {"help",    no_argument,       NULL, 'h'},
        {0},
    };
    /* clang-format on */
    const struct cmd_place places[] = {
        {'r', .word = &request->runs},    {'s', .word = &request->seconds},
        {'i', .word = &request->idle},    {'o', .word = &request->only},
        {'j', .flag = &request->is_json}, {'a', .flag = &request->has_samples},
    };
    int r = cmd_read_options(argc, argv, options, places, ARRAY_SIZE(places), help);

    if (r > 0)
        return r;
    if (optind < argc)
        return cmd_bad_argument("bench", argv[optind]) + 1;
    return 0;
}

int cmd_bench(int argc, char **argv)
{
    struct arguments request = {.runs = "200", .seconds = "3", .idle = "10,100"};
    struct bench b = {0};
    cleanup_error struct error err = {0};
    struct config *config;
    struct profile *profile = NULL;
    int r = parse(&request, argc, argv);

    if (r > 0)
        return r - 1;
    r = -1;
    config = config_new();
    b.report = json_object();
    if (!config || !b.report) {
        error_memory(&err);
    } else if (make_plan(&request, &b.plan, &err) == 0 && config_load(config, NULL, &err) == 0 &&
               admit_load_profile(config, &profile, &err) == 0) {
        b.drive.config = config;
        b.drive.profile = profile;
        r = measure(&b, &err);
    }
    if (r == 0 && request.is_json)
        r = cmd_print_json(b.report, &err);
    profile_free(profile);
    config_free(config);
    json_decref(b.report);
    return r < 0 ? cmd_fail(&err) : 0;
}

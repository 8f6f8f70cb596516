/* Figures of a sandbox's use. They are read when somebody asks for them and the last few answers
 * are kept, so that a sandbox that nobody watches costs nothing. */
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "compat/e2b_internal.h"

/* Two requests within so long a time share an entry, which has the later one's figures. */
#define STEP_MS 1000

static struct e2b_metric *metric_at(struct e2b_metrics *m, size_t i)
{
    return &m->ring[(m->first + i) % E2B_METRICS_MAX];
}

/* The one that the figures of the CPU count from: the entry before, or the sandbox's beginning. */
static struct e2b_metric base_of(const struct e2b_sandbox *s, struct e2b_metrics *m)
{
    if (m->count)
        return *metric_at(m, m->count - 1);
    return (struct e2b_metric){.at_ms = s->started_ms};
}

static double cpus_of(const struct session_info *info)
{
    double cpus = run_limit_get(info->limits, &run_limit_table[RUN_LIMIT_ROW_cpus]);

    return cpus >= 1 ? (double)(json_int_t)cpus : 1;
}

static void take(struct e2b_sandbox *s, struct e2b_metrics *m, const struct session_info *info)
{
    struct e2b_metric now = {.at_ms = (uint64_t)date_now_ms()}, base;
    struct box_usage usage;

    if (m->count && now.at_ms - metric_at(m, m->count - 1)->at_ms < STEP_MS)
        m->count--;
    base = base_of(s, m);
    session_usage(s->session, &usage);
    now.memory_bytes = usage.memory_bytes;
    now.files_bytes = usage.files_bytes;
    now.cpu_ns = usage.cpu_ns;
    if (now.at_ms > base.at_ms && now.cpu_ns > base.cpu_ns)
        now.cpu_percent = (double)(now.cpu_ns - base.cpu_ns) /
                          ((double)(now.at_ms - base.at_ms) * 1e4) / cpus_of(info);
    if (now.cpu_percent > 100) /* before its beginning, while it waited in the stock */
        now.cpu_percent = 100;
    if (m->count == E2B_METRICS_MAX) {
        m->first = (m->first + 1) % E2B_METRICS_MAX;
        m->count--;
    }
    *metric_at(m, m->count++) = now;
}

static json_t *metric_json(const struct e2b_metric *metric, const struct session_info *info)
{
    const struct timespec at = {.tv_sec = (time_t)(metric->at_ms / 1000),
                                .tv_nsec = (long)(metric->at_ms % 1000) * 1000000};
    char date[DATE_SIZE];

    date_millis(&at, date);
    return json_pack("{s:s, s:I, s:I, s:f, s:I, s:I, s:I, s:I, s:I}", "timestamp", date,
                     "timestampUnix", (json_int_t)(metric->at_ms / 1000), "cpuCount",
                     (json_int_t)cpus_of(info), "cpuUsedPct", metric->cpu_percent, "memUsed",
                     (json_int_t)metric->memory_bytes, "memTotal",
                     (json_int_t)info->limits->memory_bytes, "memCache",
                     (json_int_t)metric->files_bytes, "diskUsed", (json_int_t)metric->files_bytes,
                     "diskTotal", (json_int_t)info->limits->disk_bytes);
}

/* Files are memory: they count as both. */
void e2b_show_metrics(struct request *request)
{
    struct e2b_sandbox *s = e2b_sandbox_in_path(request);
    const json_t *start, *end;
    struct session_info info;
    struct error err = {0};
    json_t *list;

    if (!s)
        return;
    start = json_object_get(request->query, "start");
    end = json_object_get(request->query, "end");
    if (!s->metrics)
        s->metrics = calloc(1, sizeof(*s->metrics));
    if (!s->metrics) {
        error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    session_info(s->session, &info);
    take(s, s->metrics, &info);
    list = json_array();
    for (size_t i = 0; i < s->metrics->count; i++) {
        const struct e2b_metric *metric = metric_at(s->metrics, i);
        json_int_t second = (json_int_t)(metric->at_ms / 1000);

        if ((!start || second >= json_integer_value(start)) &&
            (!end || second <= json_integer_value(end)))
            (void)json_array_append_new(list, metric_json(metric, &info));
    }
    request_answer_json(request, 200, list);
}

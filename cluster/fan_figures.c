/* Figures of all nodes, and of the gateway itself: /metrics and /v1/stats. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/fan_internal.h"
#include "cluster/metrics_merge.h"

bool fan_is_refused(struct fan *fan)
{
    const struct part *refused = NULL;

    for (const struct part *p = fan->parts; p < fan->parts + fan->n_parts; p++) {
        if (!p->is_lost && p->status == 200)
            return false;
        if (!p->is_lost && p->status >= 400 && p->status < 500 && !refused)
            refused = p;
    }
    if (refused)
        fan_answer_refused(fan, refused);
    else
        request_answer_json(fan_take_request(fan), 503,
                            json_pack("{s:{s:s, s:s, s:s}}", "error", "code", "unavailable",
                                      "message", "no node has answered", "hint",
                                      "try again in a moment"));
    return true;
}

/* --- /metrics --- */

static int add_head(struct buf *out, const char *name, const char *type, const char *help)
{
    return buf_printf(out, NULL, "# HELP belljar_%s %s\n# TYPE belljar_%s %s\n", name, help, name,
                      type);
}

static int add_own(const struct gateway *gateway, struct buf *out)
{
    const char *name = gateway->settings->name;
    struct http_level http;

    http_level(gateway->http, &http);
    const struct {
        const char *name, *type, *help;
        double value;
    } rows[] = {
        {"gateway_connections", "gauge", "Open connections of clients.", (double)http.connections},
        {"gateway_requests", "gauge", "Requests that are being answered.", (double)http.requests},
        {"gateway_requests_total", "counter", "Requests answered.", (double)http.served},
        {"gateway_exchanges_total", "counter", "Requests that were sent to a node.",
         (double)gateway->last_exchange},
        {"gateway_nodes", "gauge", "Nodes that are heard.", (double)gateway->nodes.count},
        {"gateway_nodes_lost_total", "counter", "Times that a node fell silent.",
         (double)gateway->n_lost},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (add_head(out, rows[i].name, rows[i].type, rows[i].help) < 0 ||
            buf_printf(out, NULL, "belljar_%s{gateway=\"%s\"} %.15g\n", rows[i].name, name,
                       rows[i].value) < 0)
            return -1;
    return 0;
}

/* What heartbeats say, and whether the node has answered now. */
static int add_nodes(const struct fan *fan, const bool *has_figures, struct buf *out)
{
    const struct gateway *gateway = fan->x->gateway;
    static const struct {
        const char *name, *help;
    } rows[] = {
        {"cluster_node_up", "Whether the node has sent its metrics for this answer."},
        {"cluster_node_ready", "Whether the node takes new work."},
        {"cluster_node_room", "Runs that could begin on the node at once."},
        {"cluster_node_silent_seconds", "Since the last heartbeat of the node."},
    };
    uint64_t now = loop_now_ns();

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (add_head(out, rows[i].name, "gauge", rows[i].help) < 0)
            return -1;
        for (size_t n = 0; n < fan->n_parts; n++) {
            const char *node = fan->parts[n].node;
            const struct member *m = members_find(&gateway->nodes, node);
            const double values[] = {
                has_figures[n],
                m && m->beat.has_engine && !m->beat.is_draining,
                m ? (double)m->beat.room : 0,
                m ? (double)(now - m->heard_ns) / 1e9 : CLUSTER_LOST_MS / 1e3,
            };

            if (buf_printf(out, NULL, "belljar_%s{node=\"%s\"} %.15g\n", rows[i].name, node,
                           values[i]) < 0)
                return -1;
        }
    }
    return 0;
}

static int write_metrics(const struct fan *fan, struct buf *out)
{
    struct metrics_merge *m = metrics_merge_new();
    bool has_figures[CLUSTER_NAMES_MAX] = {0};
    int r = m ? 0 : -1;

    for (size_t i = 0; m && i < fan->n_parts; i++) {
        const struct part *p = &fan->parts[i];
        struct span text = {buf_str(&p->body), p->body.len};
        cleanup_error struct error err = {0};

        if (p->is_lost || p->status != 200)
            continue;
        has_figures[i] = metrics_merge_add(m, p->node, text, &err) == 0;
        if (!has_figures[i])
            LOG_EVENT(LOG_WARNING, "metrics",
                      {"message", err.message ? err.message : "out of memory"});
    }
    if (m && (add_own(fan->x->gateway, out) < 0 || add_nodes(fan, has_figures, out) < 0 ||
              metrics_merge_write(m, out, NULL) < 0))
        r = -1;
    metrics_merge_free(m);
    return r;
}

void fan_answer_metrics(struct fan *fan)
{
    cleanup(buf_done) struct buf text = BUF_OF(METRICS_ALL_BYTES);
    struct request *request;

    if (fan_is_refused(fan))
        return;
    if (write_metrics(fan, &text) < 0) {
        cleanup_error struct error err = {0};

        error_memory(&err);
        request_answer_error(fan_take_request(fan), &err);
        return;
    }
    request = fan_take_request(fan);
    request_begin(request, 200, "text/plain; version=0.0.4; charset=utf-8", NULL, text.len);
    (void)request_write(request, buf_str(&text), text.len);
    request_end(request);
}

/* --- /v1/stats --- */

void fan_answer_stats(struct fan *fan)
{
    json_t *all = json_object(), *nodes = json_array();
    cleanup_json json_t *lost = json_array();

    if (fan_is_refused(fan)) {
        json_decref(all);
        json_decref(nodes);
        return;
    }
    for (const struct part *p = fan->parts; p < fan->parts + fan->n_parts; p++) {
        json_t *answer = fan_part_json(p);

        if (!json_is_object(answer)) {
            (void)json_array_append_new(lost, json_string(p->node));
            json_decref(answer);
            continue;
        }
        figures_add(all, answer);
        json_set(answer, "node", json_string(p->node));
        (void)json_array_append_new(nodes, answer);
    }
    json_set(all, "nodes", nodes);
    if (json_array_size(lost))
        json_set(all, "nodes_missing", json_incref(lost));
    request_answer_json(fan_take_request(fan), 200, all);
}

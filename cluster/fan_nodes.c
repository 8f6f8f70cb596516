/* The nodes as this gateway knows them, and what their engines say: GET /v1/cluster/nodes. Only for
 * those to whom engines show the figures of their servers. */
#include <string.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "cluster/fan_internal.h"

static const char *state_of(const struct member *m)
{
    if (!m->beat.has_engine)
        return "no_engine";
    return m->beat.is_draining ? "draining" : "ready";
}

static json_t *list_or_null(json_t *list)
{
    return list ? json_incref(list) : json_null();
}

/* `server`: figures of its engine, or NULL. */
static json_t *node_json(const struct member *m, const json_t *server, uint64_t now)
{
    const struct beat *beat = &m->beat;
    json_int_t off = (json_int_t)(beat->clock_ms - date_now_ms());
    json_t *node =
        json_pack("{s:s, s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "node",
                  beat->name, "state", state_of(m), "version", beat->version, "silent_s",
                  (double)(now - m->heard_ns) / 1e9, "clock_off_ms", off, "room",
                  (json_int_t)beat->room, "running", (json_int_t)beat->running, "waiting",
                  (json_int_t)beat->waiting, "sessions", (json_int_t)beat->sessions, "requests",
                  (json_int_t)beat->relays, "labels", list_or_null(beat->labels), "profiles",
                  list_or_null(beat->profiles), "environments", list_or_null(beat->environments));
    static const char *const figures[] = {"runs", "queue", "pool", "cpu_s", "resident_bytes"};

    for (size_t i = 0; node && i < ARRAY_SIZE(figures); i++) {
        json_t *value = json_object_get(server, figures[i]);

        json_set(node, figures[i], value ? json_incref(value) : json_null());
    }
    return node;
}

static json_t *lost_json(const struct roster_entry *entry, uint64_t now)
{
    return json_pack("{s:s, s:s, s:s, s:f}", "node", entry->name, "state", "lost", "version",
                     entry->version, "silent_s", (double)(now - entry->lost_ns) / 1e9);
}

static json_t *nodes_json(const struct fan *fan, json_t *servers)
{
    struct gateway *gateway = fan->x->gateway;
    uint64_t now = loop_now_ns();
    json_t *nodes = json_array();
    const struct member *m;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        (void)json_array_append_new(nodes,
                                    node_json(m, json_object_get(servers, m->beat.name), now));
    }
    roster_tidy(&gateway->lost, now);
    for (size_t i = 0; i < gateway->lost.count; i++)
        (void)json_array_append_new(nodes, lost_json(&gateway->lost.list[i], now));
    return json_pack("{s:s, s:s, s:o}", "gateway", gateway->settings->name, "version",
                     BELLJAR_VERSION, "nodes", nodes);
}

void fan_answer_nodes(struct fan *fan)
{
    cleanup_json json_t *servers = json_object();

    if (fan_is_refused(fan))
        return;
    for (const struct part *p = fan->parts; p < fan->parts + fan->n_parts; p++) {
        cleanup_json json_t *answer = fan_part_json(p);
        json_t *server = json_object_get(answer, "server");

        if (server)
            json_set(servers, p->node, json_incref(server));
    }
    if (json_object_size(servers))
        request_answer_json(fan_take_request(fan), 200, nodes_json(fan, servers));
    else
        request_answer_json(fan_take_request(fan), 403,
                            json_pack("{s:{s:s, s:s, s:s}}", "error", "code", "denied", "message",
                                      "this token is not an operator's", "hint",
                                      "`belljar cluster token add --operator` makes one that is"));
}

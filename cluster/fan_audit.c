/* Records of the audit trails of all nodes, the newest first: GET /v1/audit/records. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cluster/fan_internal.h"

/* By the clocks of their nodes. */
static int by_time(const void *a, const void *b)
{
    return strcmp(json_get_text(*(json_t *const *)b, "time"),
                  json_get_text(*(json_t *const *)a, "time"));
}

static void add_records(json_t *all, json_t *records, const char *node)
{
    json_t *record;
    size_t i;

    json_array_foreach(records, i, record)
    {
        if (json_is_object(record) && json_object_set_new(record, "node", json_string(node)) == 0)
            (void)json_array_append(all, record);
    }
}

/* No page follows by a number, since each node has its own: `until` the last one's time does. */
static json_t *make_list(const struct fan *fan, json_t *all, json_t *lost)
{
    size_t n = json_array_size(all),
           limit = list_merge_limit(fan->x->head->query, fan->x->target.limit);
    json_t **sorted = calloc(n ? n : 1, sizeof(json_t *)), *records = json_array();

    for (size_t i = 0; sorted && i < n; i++)
        sorted[i] = json_array_get(all, i);
    if (sorted)
        qsort(sorted, n, sizeof(json_t *), by_time);
    for (size_t i = 0; sorted && i < n && i < limit; i++)
        (void)json_array_append(records, sorted[i]);
    free(sorted);
    return json_pack("{s:o, s:n, s:n, s:O*}", "records", records, "next", "newest", "nodes_missing",
                     json_array_size(lost) ? lost : NULL);
}

void fan_answer_records(struct fan *fan)
{
    cleanup_json json_t *all = json_array(), *lost = json_array();

    for (const struct part *p = fan->parts; p < fan->parts + fan->n_parts; p++) {
        cleanup_json json_t *answer = fan_part_json(p);

        if (!p->is_lost && p->status >= 400 && p->status < 500) {
            fan_answer_refused(fan, p);
            return;
        }
        if (answer)
            add_records(all, json_object_get(answer, "records"), p->node);
        else
            (void)json_array_append_new(lost, json_string(p->node));
    }
    request_answer_json(fan_take_request(fan), 200, make_list(fan, all, lost));
}

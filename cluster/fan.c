/* One request to all nodes, and one answer made of theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/fan_internal.h"

struct gateway *fan_gateway(const struct fan *fan)
{
    return fan->x->gateway;
}

/* --- merging --- */

/* NULL: a node has refused it, or there is no memory. */
static json_t *merge(const struct fan *fan, const struct part **ret_refused)
{
    cleanup(list_merge_done) struct list_merge all = {0};

    if (list_merge_init(&all, fan->x->target.list) < 0)
        return NULL;
    for (const struct part *p = fan->parts; p < fan->parts + fan->n_parts; p++) {
        if (p->status >= 400 && p->status < 500) {
            *ret_refused = p;
            return NULL;
        }
        if (p->is_lost || p->status != 200)
            list_merge_lose(&all, p->node);
        else
            list_merge_add(&all, p->node, buf_str(&p->body), p->body.len);
    }
    return list_merge_end(&all, list_merge_limit(fan->x->head->query, fan->x->target.limit));
}

json_t *fan_part_json(const struct part *part)
{
    static const struct json_text_limits limits = {.bytes = LIST_ANSWER_BYTES, .depth = 32};
    json_t *answer = NULL;

    if (part->is_lost || part->status != 200 ||
        json_text_load(buf_str(&part->body), part->body.len, &limits, &answer, NULL) < 0)
        return NULL;
    return answer;
}

struct request *fan_take_request(struct fan *fan)
{
    struct request *request = fan->x->request;

    request->on_gone = NULL;
    request->on_drained = NULL;
    fan->x->request = NULL;
    return request;
}

void fan_answer_refused(struct fan *fan, const struct part *refused)
{
    request_answer_text(fan_take_request(fan), refused->status, buf_str(&refused->body),
                        refused->body.len);
}

static void answer_merged(struct fan *fan)
{
    const struct part *refused = NULL;
    json_t *merged = merge(fan, &refused);

    if (refused)
        fan_answer_refused(fan, refused);
    else
        request_answer_json(fan_take_request(fan), 200, merged);
}

static void answer_list(struct fan *fan)
{
    struct exchange *x = fan->x;

    switch (x->target.who) {
    case ROUTE_METRICS:
        fan_answer_metrics(fan);
        break;
    case ROUTE_NODES:
        fan_answer_nodes(fan);
        break;
    case ROUTE_RECORDS:
        fan_answer_records(fan);
        break;
    case ROUTE_STATS:
        fan_answer_stats(fan);
        break;
    default:
        answer_merged(fan);
    }
    exchange_free(x);
}

/* It may have what is looked for, and has not said so. A node that is gone has nothing, nor has one
 * that says that its engine is. */
static bool is_unsure(const struct fan *fan, const struct part *p)
{
    const struct member *m = members_find(&fan->x->gateway->nodes, p->node);

    if (!m || (p->has_no_engine && !m->beat.has_engine))
        return false;
    return p->status == 0 || p->status == 429 || p->status >= 500;
}

static void answer_find(struct fan *fan)
{
    struct exchange *x = fan->x;
    char node[13] = "";
    bool unsure = false;

    for (size_t i = 0; i < fan->n_parts; i++)
        unsure |= is_unsure(fan, &fan->parts[i]);
    for (size_t i = 0; i < fan->n_parts && !*node; i++)
        if (fan->parts[i].status == 200)
            (void)snprintf(node, sizeof(node), "%s", fan->parts[i].node);
    x->fan = NULL;
    fan_free(fan);
    if (unsure && !*node)
        exchange_refuse_unsure(x);
    else
        exchange_found(x, *node ? node : NULL);
}

static void finish(struct fan *fan)
{
    if (fan->is_beginning || fan->n_over < fan->n_parts)
        return;
    if (fan->is_find)
        answer_find(fan);
    else
        answer_list(fan);
}

/* --- the parts --- */

static struct part *find(struct fan *fan, const struct exchange *x)
{
    for (size_t i = 0; i < fan->n_parts; i++)
        if (strcmp(fan->parts[i].node, x->node) == 0)
            return &fan->parts[i];
    return NULL;
}

void fan_take_head(struct exchange *x, int status)
{
    struct part *part = find(x->fan, x);

    part->status = status;
    if (x->fan->follow)
        follow_take_head(x->fan, part, x);
    else if (x->fan->spread)
        spread_take_head(x->fan, part, x);
}

bool fan_take_data(struct exchange *x, const void *data, size_t len)
{
    struct part *part = find(x->fan, x);

    if (x->fan->follow)
        return follow_take_data(x->fan, part, data, len);
    if (x->fan->spread)
        return spread_take_data(x->fan, part, data, len);
    if (!x->fan->is_find && buf_add(&part->body, data, len, NULL) < 0)
        part->is_lost = true;
    return true;
}

bool fan_lasts(const struct exchange *x)
{
    return (x->fan->follow && x->has_answer) || x->fan->spread;
}

void fan_tick(struct fan *fan, uint64_t now_ns)
{
    if (fan->follow)
        follow_tick(fan, now_ns);
    else if (fan->spread)
        spread_tick(fan, now_ns);
}

void fan_drained(struct fan *fan)
{
    if (fan->follow)
        follow_drained(fan);
    else if (fan->spread)
        spread_drained(fan);
}

void fan_note_no_engine(struct exchange *x)
{
    find(x->fan, x)->has_no_engine = true;
}

void fan_end_part(struct exchange *x, bool is_lost)
{
    struct fan *fan = x->fan;
    struct part *part = find(fan, x);

    part->is_lost |= is_lost;
    fan->n_over += !part->is_over;
    part->is_over = true;
    exchange_free(x);
    if (fan->follow)
        follow_end_part(fan, part);
    else if (fan->spread)
        spread_end_part(fan, part);
    else
        finish(fan);
}

struct fan *fan_make(struct exchange *x)
{
    struct fan *fan = calloc(1, sizeof(*fan));

    if (!fan) {
        exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
        return NULL;
    }
    fan->x = x;
    x->fan = fan;
    fan->head = *x->head;
    fan->is_beginning = true;
    return fan;
}

static void begin(struct fan *fan)
{
    struct gateway *gateway = fan->x->gateway;
    struct member *m;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        struct part *part = &fan->parts[fan->n_parts++];

        (void)snprintf(part->node, sizeof(part->node), "%s", m->beat.name);
        buf_init(&part->body, LIST_ANSWER_BYTES);
    }
    for (size_t i = 0; i < fan->n_parts; i++)
        if (exchange_begin_part(fan, &fan->head, fan->parts[i].node, (struct span){0}) < 0 &&
            !fan->parts[i].is_over) {
            fan->parts[i].is_over = fan->parts[i].is_lost = true;
            fan->n_over++;
        }
    fan->is_beginning = false;
}

int fan_list(struct exchange *x)
{
    struct fan *fan;

    if (!x->gateway->nodes.count) {
        exchange_refuse(x, 503, "unavailable", "no node is available", "try again in a moment");
        return -1;
    }
    fan = fan_make(x);
    if (!fan)
        return -1;
    if (x->target.who == ROUTE_NODES)
        fan->head.target = (struct span){"/v1/stats", strlen("/v1/stats")};
    begin(fan);
    if (fan->n_over < fan->n_parts)
        return 0;
    answer_list(fan);
    return -1;
}

void fan_find(struct exchange *x, const char *target)
{
    struct fan *fan = fan_make(x);
    struct http_head *head = fan ? &fan->head : NULL;
    size_t n = 0;

    if (!head)
        return;
    fan->is_find = true;
    (void)snprintf(fan->target, sizeof(fan->target), "%s", target);
    head->method = (struct span){"GET", 3};
    head->target = (struct span){fan->target, strlen(fan->target)};
    head->framing = HTTP_NO_BODY;
    for (size_t i = 0; i < head->n_headers; i++) {
        struct span h = head->headers[i].name;

        if (span_is_nocase(h, "host") || span_is_nocase(h, "authorization") ||
            span_is_nocase(h, "x-api-key"))
            head->headers[n++] = head->headers[i];
    }
    head->n_headers = n;
    begin(fan);
    finish(fan);
}

void fan_free(struct fan *fan)
{
    struct exchange *next;
    struct gateway *gateway = fan->x->gateway;

    for (struct exchange *x = TAILQ_FIRST(&gateway->exchanges); x; x = next) {
        next = TAILQ_NEXT(x, of_gateway);
        if (x->is_part && x->fan == fan) {
            stream_say_word(&x->stream, FRAME_RESET, RESET_CANCELLED);
            exchange_free(x);
        }
    }
    for (size_t i = 0; i < fan->n_parts; i++)
        buf_done(&fan->parts[i].body);
    follow_free(fan->follow);
    spread_free(fan->spread);
    free(fan);
}

/* One request to all nodes, and one answer made of theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/gateway_internal.h"
#include "cluster/list_merge.h"

struct part {
    char node[13];
    int status; /* 0: none has come */
    struct buf body;
    bool is_over, is_lost;
    bool has_no_engine;
};

struct fan {
    struct exchange *x; /* who began it */
    bool is_find;
    struct http_head head;
    char target[1024];
    struct part parts[CLUSTER_NAMES_MAX];
    size_t n_parts, n_over;
    bool is_beginning; /* not all have been asked */
};

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
    return list_merge_end(&all, list_merge_limit(fan->x->head->query));
}

static void answer_list(struct fan *fan)
{
    struct exchange *x = fan->x;
    struct request *request = x->request;
    const struct part *refused = NULL;
    json_t *merged = merge(fan, &refused);

    request->on_gone = NULL;
    x->request = NULL;
    if (refused)
        request_answer_text(request, refused->status, buf_str(&refused->body), refused->body.len);
    else
        request_answer_json(request, 200, merged);
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
    find(x->fan, x)->status = status;
}

void fan_take_data(struct exchange *x, const void *data, size_t len)
{
    struct part *part = find(x->fan, x);

    if (!x->fan->is_find && buf_add(&part->body, data, len, NULL) < 0)
        part->is_lost = true;
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
    finish(fan);
}

static struct fan *make(struct exchange *x)
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
        if (exchange_begin_part(fan, &fan->head, fan->parts[i].node) < 0 &&
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
        exchange_refuse(x, 503, "unavailable", "no node is there", "try again in a moment");
        return -1;
    }
    fan = make(x);
    if (!fan)
        return -1;
    begin(fan);
    if (fan->n_over < fan->n_parts)
        return 0;
    answer_list(fan);
    return -1;
}

void fan_find(struct exchange *x, const char *target)
{
    struct fan *fan = make(x);
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
    free(fan);
}

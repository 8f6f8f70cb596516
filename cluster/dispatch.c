/* Who answers a request, and offering it to them. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/span.h"
#include "cluster/gateway_internal.h"

#define MS UINT64_C(1000000)

/* A body that is read for the profile in it; work with a longer one goes to any node. */
#define PLACED_BYTES MIB

/* Of an idempotency key (docs/guide/http.md); a longer one is refused by the engine. */
#define KEY_MAX 255

/* "/v1/jobs/key:" and a key in which every byte is encoded. */
#define FIND_MAX (3 * KEY_MAX + 32)

/* In which the jobs of a lost machine are taken by others (cluster/job_keep.h). */
#define MOVING_NS (30000 * MS)

/* --- the request's head, as the node gets it --- */

static bool is_ours(struct span name)
{
    static const char *const names[] = {
        "connection",        "keep-alive", "expect",           "content-length",
        "transfer-encoding", "te",         "proxy-connection", "upgrade"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (span_is_nocase(name, names[i]))
            return true;
    return false;
}

static bool wants_upgrade(const struct http_head *head)
{
    return http_head_lists(head, "connection", (struct span){"upgrade", 7}) &&
           http_head_get(head, "upgrade").data && head->framing == HTTP_NO_BODY;
}

static int write_head(const struct http_head *head, struct buf *out)
{
    int r = buf_printf(out, NULL, "%.*s %.*s HTTP/1.1\r\n", (int)head->method.len,
                       head->method.data, (int)head->target.len, head->target.data);

    for (size_t i = 0; r >= 0 && i < head->n_headers; i++) {
        const struct http_header *h = &head->headers[i];

        if (!is_ours(h->name))
            r = buf_printf(out, NULL, "%.*s: %.*s\r\n", (int)h->name.len, h->name.data,
                           (int)h->value.len, h->value.data);
    }
    if (r >= 0 && wants_upgrade(head)) {
        struct span to = http_head_get(head, "upgrade");

        r = buf_printf(out, NULL, "Connection: Upgrade\r\nUpgrade: %.*s\r\n", (int)to.len, to.data);
    }
    if (r >= 0 && head->framing == HTTP_LENGTH)
        r = buf_printf(out, NULL, "Content-Length: %llu\r\n", (unsigned long long)head->length);
    if (r >= 0 && head->framing == HTTP_CHUNKED)
        r = buf_add_str(out, "Transfer-Encoding: chunked\r\n", NULL);
    return r < 0 ? r : buf_add_str(out, "\r\n", NULL);
}

/* --- offering it to a node --- */

static void subjects(struct exchange *x, uint64_t number, char subject[CLUSTER_SUBJECT_MAX],
                     char reply[CLUSTER_SUBJECT_MAX])
{
    const char *name = x->gateway->settings->name;

    (void)snprintf(subject, CLUSTER_SUBJECT_MAX, CLUSTER_SUBJECTS ".node.%s.%s", x->node, name);
    (void)snprintf(reply, CLUSTER_SUBJECT_MAX, CLUSTER_SUBJECTS ".gate.%s.%llu", name,
                   (unsigned long long)number);
}

static int open_stream(struct exchange *x)
{
    cleanup(buf_done) struct buf head = BUF_OF(CLUSTER_PAYLOAD_MAX - 4);
    struct gateway *gateway = x->gateway;
    char subject[CLUSTER_SUBJECT_MAX], reply[CLUSTER_SUBJECT_MAX];
    uint64_t number = ++gateway->last_exchange;
    bool is_whole;

    x->wants_upgrade = wants_upgrade(x->head);
    is_whole = x->head->framing == HTTP_NO_BODY && !x->wants_upgrade;
    if (write_head(x->head, &head) < 0)
        return -1;
    subjects(x, number, subject, reply);
    stream_init(&x->stream, gateway->bus, subject, gateway->beat.instance, number);
    (void)snprintf(x->stream.reply, sizeof(x->stream.reply), "%s", reply);
    x->has_stream = true;
    exchange_enter(x, number);
    stream_send_open(&x->stream, is_whole && !x->is_fresh ? FRAME_END : 0,
                     x->is_fresh ? OPEN_FRESH : 0, head.data, head.len);
    return 0;
}

/* To x->node, which may be the second one. -1: it was refused, and x is gone. */
static int offer(struct exchange *x)
{
    char subject[CLUSTER_SUBJECT_MAX], reply[CLUSTER_SUBJECT_MAX];

    x->offered_ns = loop_now_ns();
    x->phase = x->is_fresh ? EXCHANGE_OFFERED : EXCHANGE_RUNS;
    if (x->has_stream) {
        uint64_t number = ++x->gateway->last_exchange;

        LIST_REMOVE(x, of_bucket);
        exchange_enter(x, number);
        subjects(x, number, subject, reply);
        stream_move(&x->stream, subject, reply, number);
    } else if (open_stream(x) < 0) {
        exchange_refuse(x, 431, "too_large", "the head is too long for the cluster",
                        "send shorter headers");
        return -1;
    }
    exchange_pump(x);
    return 0;
}

static int refuse_all(struct exchange *x)
{
    if (!bus_is_up(x->gateway->bus))
        exchange_refuse(x, 503, "unavailable", "the gateway has no connection to its cluster",
                        "try again in a moment");
    else if (x->was_busy)
        exchange_refuse(x, 429, "busy", "no node has room now", "try again in a moment");
    else
        exchange_refuse(x, 503, "unavailable", "no node is ready for this",
                        "try again in a moment");
    return -1;
}

int exchange_offer_next(struct exchange *x)
{
    struct member *m = x->n_tried < TRIES_MAX ? gateway_choose(x->gateway, x) : NULL;

    if (!m || !bus_is_up(x->gateway->bus))
        return refuse_all(x);
    (void)snprintf(x->node, sizeof(x->node), "%s", m->beat.name);
    (void)snprintf(x->tried[x->n_tried++], sizeof(x->tried[0]), "%s", m->beat.name);
    m->sent++;
    LOG_EVENT(LOG_DEBUG, "offer", {"node", x->node}, {"try", .number = (double)x->n_tried});
    return offer(x);
}

/* It has not been on the bus for long enough to know who is there. */
static bool is_new(const struct gateway *gateway)
{
    return loop_now_ns() < gateway->up_ns + CLUSTER_LOST_MS * MS;
}

int exchange_find_job(struct exchange *x)
{
    if (!bus_is_up(x->gateway->bus))
        return refuse_all(x);
    x->asked_all = true;
    x->phase = EXCHANGE_READS;
    fan_find(x, x->target.probe);
    return 0;
}

/* To x->node and no other. */
static int offer_to_one(struct exchange *x)
{
    struct gateway *gateway = x->gateway;

    if (!bus_is_up(gateway->bus))
        return refuse_all(x);
    x->is_fresh = false;
    if (gateway_knows(gateway, x->node) || is_new(gateway))
        return offer(x);
    if (gateway_is_deaf(gateway))
        return refuse_all(x);
    if (x->target.is_job && !x->asked_all)
        return exchange_find_job(x);
    exchange_refuse_lost(x);
    return -1;
}

static void set_node(struct exchange *x, const char *node)
{
    (void)snprintf(x->node, sizeof(x->node), "%s", node);
}

/* --- sessions by their names --- */

static void on_kept(void *user, const struct keep_answer *answer);

static int ask(struct exchange *x, enum keep_question question, const char *node, uint64_t revision)
{
    x->phase = EXCHANGE_READS;
    x->epoch = names_epoch(x->gateway->names);
    x->has_claimed = question == KEEP_CLAIM || question == KEEP_TAKE;
    x->asking = keep_ask(x->gateway->keep, x->has_key ? KEEP_KEYS : KEEP_NAMES, question, x->key,
                         node, revision, on_kept, x);
    if (x->asking)
        return 0;
    exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
    return -1;
}

/* A new durable job under a key. */
static bool is_keyed_job(const struct exchange *x)
{
    return x->has_key && span_is(x->head->path, "/v1/jobs");
}

/* The machine that had the key is lost, and nobody has the job. For a while it may still be on its
 * way to another machine; then it was never accepted, and is new. */
static bool may_appear(const struct exchange *x)
{
    const struct gateway *gateway = x->gateway;
    uint64_t since = gateway->lost_ns > gateway->up_ns ? gateway->lost_ns : gateway->up_ns;

    return loop_now_ns() < since + MOVING_NS;
}

/* A new session: where there is no bucket, all gateways choose the same node for a name. */
static int open_new(struct exchange *x)
{
    struct member *m =
        x->has_no_bucket ? gateway_home(x->gateway, x) : gateway_choose(x->gateway, x);

    if (!m) {
        return refuse_all(x);
    }
    if (!x->has_no_bucket) {
        return ask(x, KEEP_CLAIM, m->beat.name, 0);
    }
    set_node(x, m->beat.name);
    return offer_to_one(x);
}

/* It is to the node that has the name. */
static void go_to(struct exchange *x, const char *node)
{
    set_node(x, node);
    if (*x->key && !x->has_key)
        names_learn(x->gateway->names, x->epoch, x->key, node);
    (void)offer_to_one(x);
}

/* Who opens a name has written its entry just before, also if it names that node already: so nobody
 * else finds that the name is free before the node has the request. */
void exchange_found(struct exchange *x, const char *node)
{
    if (node && x->target.who == ROUTE_OPENS && !x->has_no_bucket) {
        (void)ask(x, KEEP_CLAIM, node, 0);
    } else if (node) {
        go_to(x, node);
    } else if (is_new(x->gateway)) { /* there may be nodes that it has not heard */
        exchange_refuse_unsure(x);
    } else if (is_keyed_job(x) && may_appear(x)) {
        exchange_refuse(x, 503, "unavailable",
                        "a machine was lost that may have this Idempotency-Key",
                        "ask again in a moment: another machine may take its jobs");
    } else if (is_keyed_job(x) && gateway_knows(x->gateway, x->node)) {
        (void)offer_to_one(x); /* who had the key first, and may just be taking the job */
    } else if (x->target.who == ROUTE_OPENS || is_keyed_job(x)) {
        (void)open_new(x);
    } else if (x->target.is_job && !gateway_knows(x->gateway, x->target.node)) {
        exchange_refuse(x, 503, "unavailable", "the machine of this job cannot be reached",
                        "ask again in a moment: where the bus has a copy of the job, another "
                        "machine takes it");
    } else { /* any node says in the words of the API that there is none */
        *x->key = '\0';
        (void)exchange_offer_next(x);
    }
}

/* The word is the client's, from a header, a body or decoded: it is encoded again. */
static void find_word(struct exchange *x, const char *before, struct span word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    char target[FIND_MAX];
    size_t len = (size_t)snprintf(target, sizeof(target), "%s", before);

    for (size_t i = 0; i < word.len; i++)
        len += (size_t)snprintf(target + len, sizeof(target) - len,
                                strchr(plain, word.data[i]) ? "%c" : "%%%02X",
                                (unsigned char)word.data[i]);
    fan_find(x, target);
}

/* Its key was used before. Whoever had it first may have lost the job to another machine, and would
 * take the key for a new one. */
static void find_keyed_job(struct exchange *x, const char *first)
{
    x->asked_all = true;
    set_node(x, first);
    find_word(x, "/v1/jobs/key:", http_head_get(x->head, "idempotency-key"));
}

/* The node is in the bucket, and gone. Its session is lost; who opens it again gets a new one. */
static void on_lost_name(struct exchange *x, const struct keep_answer *answer)
{
    bool is_new_work = x->has_key || x->target.who == ROUTE_OPENS;
    struct member *m = is_new_work ? gateway_choose(x->gateway, x) : NULL;

    set_node(x, answer->node);
    if (!is_new_work)
        exchange_refuse_lost(x);
    else if (m)
        (void)ask(x, KEEP_TAKE, m->beat.name, answer->revision);
    else
        (void)refuse_all(x);
}

static void on_kept(void *user, const struct keep_answer *answer)
{
    struct exchange *x = user;

    x->asking = NULL;
    switch (answer->result) {
    case KEEP_FOUND:
        if (is_keyed_job(x) && !answer->is_new && !x->asked_all) {
            find_keyed_job(x, answer->node);
            return;
        }
        if (!gateway_knows(x->gateway, answer->node) && !is_new(x->gateway)) {
            on_lost_name(x, answer);
            return;
        }
        if (x->target.who == ROUTE_OPENS && !x->has_claimed)
            (void)ask(x, KEEP_TAKE, answer->node, answer->revision);
        else
            go_to(x, answer->node);
        return;
    case KEEP_AWAY:
        exchange_refuse_unsure(x);
        return;
    case KEEP_NOT_HAD:
        x->has_no_bucket = true;
        break;
    default: /* sessions that were opened without a gateway are in no bucket */
        break;
    }
    if (x->has_key)
        (void)open_new(x);
    else
        find_word(x, "/v1/sessions/", (struct span){x->target.name, strlen(x->target.name)});
}

static int dispatch_name(struct exchange *x)
{
    const char *node;

    x->target.is_session = true;
    names_key(x->head, x->target.name, x->key);
    node = x->target.who == ROUTE_OPENS ? NULL : names_find(x->gateway->names, x->key);
    if (!bus_is_up(x->gateway->bus))
        return refuse_all(x);
    if (!node || !gateway_knows(x->gateway, node))
        return ask(x, KEEP_GET, NULL, 0);
    set_node(x, node);
    return offer_to_one(x);
}

/* Work under an idempotency key: whoever has begun it knows its answer. No other node gets it while
 * that one lives, however busy it is. */
static int dispatch_key(struct exchange *x, struct span key)
{
    char word[300];
    const char *node;

    (void)snprintf(word, sizeof(word), "%.*s", (int)key.len, key.data);
    names_key(x->head, word, x->key);
    x->has_key = true;
    node = is_keyed_job(x) ? NULL : names_find(x->gateway->names, x->key);
    if (!bus_is_up(x->gateway->bus))
        return refuse_all(x);
    if (node && gateway_knows(x->gateway, node)) {
        set_node(x, node);
        return offer_to_one(x);
    }
    x->phase = EXCHANGE_READS;
    return open_new(x);
}

/* --- who answers --- */

/* What it needs of a node. Returns the member that says who answers, or "". */
static const char *read_body(struct exchange *x, const json_t *body)
{
    (void)snprintf(x->profile, sizeof(x->profile), "%s", json_get_text(body, "profile"));
    (void)snprintf(x->environment, sizeof(x->environment), "%s",
                   json_get_text(body, "environment"));
    return x->target.field ? json_get_text(body, x->target.field) : "";
}

/* The body is there: a name in it, or an id, says who answers. */
int exchange_dispatch_body(struct exchange *x)
{
    static const struct json_text_limits text = {.bytes = COLLECT_BYTES, .depth = 32};
    size_t len = evbuffer_get_length(x->pending);
    struct span key = http_head_get(x->head, "idempotency-key");
    cleanup_json json_t *body = NULL;
    const char *word = "";

    if (len &&
        json_text_load((const char *)evbuffer_pullup(x->pending, -1), len, &text, &body, NULL) == 0)
        word = read_body(x, body);
    if (x->target.who == ROUTE_FIND) {
        fan_find(x, x->target.probe);
        return 0;
    }
    if (x->target.who == ROUTE_FRESH && key.data && key.len <= KEY_MAX)
        return dispatch_key(x, key);
    if (x->target.who == ROUTE_BATCH && body && spread_batch(x, body))
        return 0;
    if (x->target.who == ROUTE_UNSURE &&
        route_node_of((struct span){word, strlen(word)}, x->target.node)) {
        x->target.is_session = true;
        set_node(x, x->target.node);
        return offer_to_one(x);
    }
    if (x->target.who == ROUTE_OPENS && *word && strlen(word) < sizeof(x->target.name)) {
        (void)snprintf(x->target.name, sizeof(x->target.name), "%s", word);
        return dispatch_name(x);
    }
    x->is_fresh = true;
    return exchange_offer_next(x);
}

/* A short one is cut and spread over nodes. All of one with a key goes to one node, which knows
 * then what has run under it. */
static bool is_to_be_cut(const struct http_head *head)
{
    return head->framing == HTTP_LENGTH && head->length <= COLLECT_BYTES &&
           !http_head_get(head, "idempotency-key").data &&
           !http_head_get(head, "belljar-batch-part").data;
}

/* Of records: `before` or `after`. Lists of jobs go on behind an id, which all nodes can compare.
 */
static bool has_number(struct span query)
{
    while (query.len) {
        size_t n = span_until(query, "&");
        size_t word = span_starts_with(query, "before=")  ? strlen("before=")
                      : span_starts_with(query, "after=") ? strlen("after=")
                                                          : n;

        if (word < n && isdigit((unsigned char)query.data[word]))
            return true;
        n += n < query.len;
        query.data += n;
        query.len -= n;
    }
    return false;
}

/* -1: it was refused, and x is gone. */
int exchange_dispatch(struct exchange *x)
{
    struct span key;

    switch (x->target.who) {
    case ROUTE_NODE:
        set_node(x, x->target.node);
        return offer_to_one(x);
    case ROUTE_ALL:
    case ROUTE_RECORDS:
        if (has_number(x->head->query)) {
            exchange_refuse(x, 400, "invalid", "each machine numbers its own records",
                            "use `since` and `until`, or name one machine with `node`");
            return -1;
        }
        return bus_is_up(x->gateway->bus) ? fan_list(x) : refuse_all(x);
    case ROUTE_OF:
        exchange_refuse(x, 400, "invalid", "each machine has an audit trail of its own",
                        "name one with `node`; `belljar audit verify --cluster` verifies all");
        return -1;
    case ROUTE_METRICS:
    case ROUTE_NODES:
    case ROUTE_STATS:
        return bus_is_up(x->gateway->bus) ? fan_list(x) : refuse_all(x);
    case ROUTE_EVENTS:
        return bus_is_up(x->gateway->bus) ? follow_events(x) : refuse_all(x);
    case ROUTE_NAME:
        return dispatch_name(x);
    case ROUTE_FIND:
        if (!bus_is_up(x->gateway->bus))
            return refuse_all(x);
        x->phase = EXCHANGE_READS;
        x->collects = true; /* found when all of it is there, which is at once */
        return 0;
    case ROUTE_OPENS:
    case ROUTE_UNSURE:
        x->phase = EXCHANGE_READS;
        x->collects = true;
        return 0;
    case ROUTE_LOCAL:
        exchange_refuse(x, 501, "unsupported", "a gateway does not change what each node keeps",
                        "send it to the engine of each node");
        return -1;
    case ROUTE_BATCH:
        if (is_to_be_cut(x->head)) {
            x->phase = EXCHANGE_READS;
            x->collects = true;
            return 0;
        }
        x->target.who = ROUTE_FRESH;
        /* fallthrough */
    case ROUTE_FRESH:
        x->is_fresh = true;
        key = http_head_get(x->head, "idempotency-key");
        if (gateway_places(x->gateway) && x->head->framing == HTTP_LENGTH &&
            x->head->length <= PLACED_BYTES) {
            x->collects = true;
            x->phase = EXCHANGE_READS;
            return 0;
        }
        return key.data && key.len <= KEY_MAX ? dispatch_key(x, key) : exchange_offer_next(x);
    default:
        return exchange_offer_next(x);
    }
}

int exchange_begin_part(struct fan *fan, const struct http_head *head, const char *node,
                        struct span body)
{
    struct exchange *x = exchange_make(fan_gateway(fan), NULL);

    if (!x)
        return -1;
    x->fan = fan;
    x->is_part = true;
    x->head = head;
    x->is_body_over = true;
    set_node(x, node);
    if (body.len && evbuffer_add_reference(x->pending, body.data, body.len, NULL, NULL) < 0) {
        exchange_free(x);
        return -1;
    }
    return offer(x);
}

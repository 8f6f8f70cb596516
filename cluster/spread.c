/* POST /v1/batch at a gateway: cut into shares for several nodes, whose answers are one.
 *
 * Every node gets the whole batch, and a header that says which of its runs are its share
 * (api/batch_part.h): so each refuses what one machine would refuse, and numbers runs alike. About
 * half of the runs are given out at once, by the room that nodes have; a node that is done gets
 * more, so that a slow one does not keep the others waiting. What a node has not answered when it
 * is lost goes to others (cluster/batch_plan.h).
 *
 * The client's pace is that of all nodes: what it does not read is not acknowledged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/batch_line.h"
#include "cluster/batch_plan.h"
#include "cluster/fan_internal.h"

#define MS UINT64_C(1000000)

/* Nodes that have shares of one batch: each reads all of it. */
#define NODES_MAX 8

/* Fewer runs are not worth a share. */
#define SHARE_MIN 4

/* A longer batch is sent to each node once. */
#define CUT_AGAIN_BYTES (256 * KIB)

#define VERDICTS_MAX 16

/* Of a request; engines take 64, and two are added. */
#define HEADERS_MOST 62

#define IDLE_NS    (10000 * MS) /* runs wait, and no node is ready */
#define END_NS     (1000 * MS)  /* all are answered, and a node does not end its answer */
#define COMMENT_NS (15000 * MS)

enum form { FORM_JSON, FORM_LINES, FORM_EVENTS };

/* Beside the part of the same place in fan->parts. */
struct seat {
    bool is_open;       /* it has a share, and its answer is not over */
    struct exchange *x; /* which brings the answer, once that has begun; or NULL */
    bool is_unsettled;  /* the answer is over, and may not have been passed on yet */
    bool is_broken;     /* what it sends is no answer to a batch */
    bool is_out;        /* it gets no more of this batch */
    size_t scanned;     /* bytes of its answer without the end of a line */
};

struct spread {
    struct batch_plan plan;
    struct buf body;
    enum form form;
    size_t at_once;    /* on each node; 0: no limit */
    size_t nodes_most; /* that have a share at a time */
    struct seat seats[CLUSTER_NAMES_MAX];
    const struct part *refused;
    json_t *verdicts;
    uint64_t begun_ns, written_ns, moved_ns;
    uint64_t idle_ns; /* since when runs wait and no node has a share; 0: some has */
    bool has_begun;
    bool is_held; /* the client is behind */
    bool is_busy; /* in go_on() */
    char share[2048];
};

static struct seat *seat_of(struct fan *fan, const struct part *part)
{
    return &fan->spread->seats[part - fan->parts];
}

static uint16_t owner_of(const struct fan *fan, const struct part *part)
{
    return (uint16_t)(part - fan->parts);
}

/* --- to the client --- */

static void put(struct fan *fan, const char *text, size_t len)
{
    fan->spread->is_held = !request_write(fan->x->request, text, len);
    fan->spread->written_ns = loop_now_ns();
}

static void begin(struct fan *fan)
{
    static const char *const types[] = {
        [FORM_JSON] = "application/json",
        [FORM_LINES] = "application/x-ndjson",
        [FORM_EVENTS] = "text/event-stream",
    };
    struct spread *s = fan->spread;

    s->has_begun = true;
    request_begin(fan->x->request, 200, types[s->form], NULL, REQUEST_UNKNOWN_LENGTH);
    if (s->form == FORM_JSON)
        put(fan, "{\"runs\":[", 9);
}

/* One answer to a run, the first of which has `n_answered` 1. False: out of memory. */
static bool put_run(struct fan *fan, struct span line)
{
    cleanup(buf_done) struct buf out = BUF_OF(BATCH_LINE_BYTES + KIB);
    const struct spread *s = fan->spread;
    const char *before = s->form == FORM_EVENTS                           ? "event: run\ndata: "
                         : s->form == FORM_JSON && s->plan.n_answered > 1 ? ",\n"
                                                                          : "";
    const char *after = s->form == FORM_EVENTS ? "\n\n" : s->form == FORM_LINES ? "\n" : "";

    if (buf_add_str(&out, before, NULL) < 0 || buf_add(&out, line.data, line.len, NULL) < 0 ||
        buf_add_str(&out, after, NULL) < 0)
        return false;
    put(fan, buf_str(&out), out.len);
    return true;
}

static void count(struct spread *s, const char *verdict)
{
    json_int_t before = json_integer_value(json_object_get(s->verdicts, verdict));

    json_set(s->verdicts, verdict, json_integer(before + 1));
    s->moved_ns = loop_now_ns();
}

/* A run that no node has answered. */
static void put_failure(struct fan *fan, size_t run, json_t *error)
{
    static const struct json_text_limits limits = {.bytes = BATCH_LINE_BYTES, .depth = 32};
    cleanup(buf_done) struct buf text = BUF_OF(LIST_ANSWER_BYTES);
    cleanup_json json_t *body = NULL;
    json_t *id, *answer;

    (void)json_text_load(buf_str(&fan->spread->body), fan->spread->body.len, &limits, &body, NULL);
    id = json_object_get(json_array_get(json_object_get(body, "runs"), run), "id");
    answer = json_pack("{s:I, s:O, s:s, s:O}", "index", (json_int_t)run, "id",
                       id ? id : json_null(), "verdict", "failed", "error", error);
    if (answer && json_text_dump(answer, JSON_TEXT_COMPACT, &text, NULL) == 0)
        (void)put_run(fan, (struct span){buf_str(&text), text.len});
    json_decref(answer);
    count(fan->spread, "failed");
}

static void give_up(struct fan *fan, bool is_all)
{
    cleanup_json json_t *error =
        is_all ? json_pack("{s:s, s:s, s:s}", "code", "unavailable", "message",
                           "no node is ready for this run", "hint", "send it again in a moment")
               : json_pack("{s:s, s:s, s:s}", "code", "node_lost", "message",
                           "the nodes that had this run were lost, or had no room for it", "hint",
                           "it may have run in part; check what it does before you send it again");
    size_t run;

    while (batch_plan_give_up(&fan->spread->plan, is_all, &run))
        put_failure(fan, run, error);
}

static void put_summary(struct fan *fan)
{
    cleanup(buf_done) struct buf text = BUF_OF(LIST_ANSWER_BYTES);
    cleanup(buf_done) struct buf out = BUF_OF(LIST_ANSWER_BYTES);
    struct spread *s = fan->spread;
    cleanup_json json_t *summary =
        json_pack("{s:I, s:O, s:f}", "total", (json_int_t)s->plan.count, "verdicts", s->verdicts,
                  "wall_ms", (double)((loop_now_ns() - s->begun_ns) / 1000) / 1000);
    static const struct {
        const char *before, *after;
    } forms[] = {
        [FORM_JSON] = {"],\"summary\":", "}\n"},
        [FORM_LINES] = {"{\"summary\":", "}\n"},
        [FORM_EVENTS] = {"event: summary\ndata: ", "\n\n"},
    };

    if (summary && json_text_dump(summary, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        buf_printf(&out, NULL, "%s%s%s", forms[s->form].before, buf_str(&text),
                   forms[s->form].after) == 0)
        put(fan, buf_str(&out), out.len);
}

/* --- what a node answers --- */

/* False: it is no answer to its share. */
static bool take_line(struct fan *fan, const struct part *part, struct span line)
{
    struct spread *s = fan->spread;
    char verdict[BATCH_VERDICT_MAX];
    size_t run;

    switch (batch_line_read(line, &run, verdict)) {
    case BATCH_LINE_NOTHING:
        return true;
    case BATCH_LINE_WRONG:
        return false;
    default:
        break;
    }
    if (!json_object_get(s->verdicts, verdict) && json_object_size(s->verdicts) == VERDICTS_MAX)
        return false;
    if (!batch_plan_answer(&s->plan, owner_of(fan, part), run))
        return false;
    count(s, verdict);
    return put_run(fan, span_trim(line));
}

/* Passes on what has come of that node. */
static void pump(struct fan *fan, struct part *part)
{
    struct seat *seat = seat_of(fan, part);
    size_t used = 0;

    while (!fan->spread->is_held && !seat->is_broken) {
        const char *from = buf_str(&part->body) + used;
        size_t left = part->body.len - used;
        const char *end =
            left > seat->scanned ? memchr(from + seat->scanned, '\n', left - seat->scanned) : NULL;

        if (!end) {
            seat->scanned = left;
            break;
        }
        seat->scanned = 0;
        seat->is_broken = !take_line(fan, part, (struct span){from, (size_t)(end - from)});
        used += (size_t)(end - from) + 1;
    }
    buf_consume(&part->body, used);
}

/* --- shares --- */

static void set_head(struct fan *fan)
{
    static const char *const ours[] = {"accept", "accept-encoding", "belljar-batch-part"};
    struct spread *s = fan->spread;
    struct http_head *head = &fan->head;
    size_t n = 0;

    *head = *fan->x->head;
    for (size_t i = 0; i < head->n_headers; i++) {
        bool is_ours = false;

        for (size_t k = 0; k < ARRAY_SIZE(ours); k++)
            is_ours |= span_is_nocase(head->headers[i].name, ours[k]);
        if (!is_ours)
            head->headers[n++] = head->headers[i];
    }
    head->headers[n++] =
        (struct http_header){{"Accept", strlen("Accept")}, {"application/x-ndjson", 20}};
    head->headers[n++] = (struct http_header){{"Belljar-Batch-Part", strlen("Belljar-Batch-Part")},
                                              {s->share, strlen(s->share)}};
    head->n_headers = n;
    head->framing = HTTP_LENGTH;
    head->length = s->body.len;
}

static void give(struct fan *fan, struct part *part, size_t wanted)
{
    struct spread *s = fan->spread;
    struct seat *seat = seat_of(fan, part);
    struct span body = {buf_str(&s->body), s->body.len};
    size_t len;

    if (!batch_plan_give(&s->plan, owner_of(fan, part), wanted, s->share,
                         sizeof(s->share) - strlen(";at_once=1000;checked")))
        return;
    len = strlen(s->share);
    if (s->at_once)
        len += (size_t)snprintf(s->share + len, sizeof(s->share) - len, ";at_once=%zu", s->at_once);
    if (s->has_begun)
        (void)snprintf(s->share + len, sizeof(s->share) - len, ";checked");
    buf_clear(&part->body);
    part->status = 0;
    part->is_over = part->is_lost = false;
    *seat = (struct seat){.is_open = true};
    set_head(fan);
    if (exchange_begin_part(fan, &fan->head, part->node, body) < 0 && !part->is_over) {
        part->is_over = part->is_lost = true;
        spread_end_part(fan, part);
    }
}

/* The node's part of what waits, by its room and that of all nodes. Of more than it has room for
 * it gets half now. */
static size_t share_of(const struct spread *s, size_t room, size_t all)
{
    size_t fair = (s->plan.n_waiting * room + all - 1) / all;

    fair = fair > SHARE_MIN ? fair : SHARE_MIN;
    if (fair <= room || s->body.len > CUT_AGAIN_BYTES)
        return fair;
    return fair / 2 > room ? fair / 2 : room;
}

/* Of a node that is gone, and whose share has gone to others. */
static struct part *unused_part(struct fan *fan)
{
    for (struct part *part = fan->parts; part < fan->parts + fan->n_parts; part++) {
        const struct seat *seat = seat_of(fan, part);

        if (!seat->is_open && !seat->is_unsettled && !gateway_knows(fan->x->gateway, part->node))
            return part;
    }
    return NULL;
}

/* NULL: as many nodes as may have a share have one. */
static struct part *part_of(struct fan *fan, const struct member *m)
{
    struct part *part;

    for (part = fan->parts; part < fan->parts + fan->n_parts; part++)
        if (strcmp(part->node, m->beat.name) == 0)
            return part;
    if (fan->n_parts < fan->spread->nodes_most) {
        part = &fan->parts[fan->n_parts++];
        buf_init(&part->body, BATCH_LINE_BYTES);
    } else {
        part = unused_part(fan);
    }
    if (part) {
        (void)snprintf(part->node, sizeof(part->node), "%s", m->beat.name);
        *seat_of(fan, part) = (struct seat){0};
    }
    return part;
}

/* Nodes that are ready and have nothing of this batch get a share. */
static void give_shares(struct fan *fan)
{
    struct gateway *gateway = fan->x->gateway;
    struct part *parts[NODES_MAX];
    size_t rooms[NODES_MAX], all = 0;
    struct spread *s = fan->spread;
    struct member *m;
    size_t n = 0;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        bool is_ready = n < NODES_MAX && gateway_is_ready(gateway, fan->x, m);
        struct part *part = is_ready ? part_of(fan, m) : NULL;
        struct seat *seat = part ? seat_of(fan, part) : NULL;

        if (!seat)
            continue;
        rooms[n] = gateway_room(m) > 0 ? (size_t)gateway_room(m) : 1;
        all += rooms[n]; /* a node that works has its part of what is left, too */
        if (!seat->is_open && !seat->is_unsettled && !seat->is_out)
            parts[n++] = part;
    }
    for (size_t i = 0; i < n && s->plan.n_waiting; i++)
        give(fan, parts[i], share_of(s, rooms[i], all));
}

/* --- going on --- */

static void refuse(struct fan *fan, const struct part *refused)
{
    struct exchange *x = fan->x;

    fan_answer_refused(fan, refused);
    exchange_free(x);
}

/* The answer of that node is over: what it has not said goes to others. */
static void settle(struct fan *fan, struct part *part)
{
    struct spread *s = fan->spread;
    struct seat *seat = seat_of(fan, part);

    if (part->status == 200)
        pump(fan, part);
    if (s->is_held && !seat->is_broken)
        return;
    seat->is_unsettled = false;
    batch_plan_lose(&s->plan, owner_of(fan, part));
    seat->is_out = seat->is_broken || (!part->is_lost && part->status != 200);
    if (!part->is_lost && part->status >= 400)
        s->refused = part;
}

static bool has_open(const struct fan *fan)
{
    for (size_t i = 0; i < fan->n_parts; i++)
        if (fan->spread->seats[i].is_open || fan->spread->seats[i].is_unsettled)
            return true;
    return false;
}

static void end(struct fan *fan)
{
    struct exchange *x = fan->x;
    struct request *request;

    put_summary(fan);
    request = fan_take_request(fan);
    exchange_free(x);
    request_end(request);
}

/* Nothing of it has run, and no node will have it. */
static void end_unbegun(struct fan *fan)
{
    const struct part *refused = fan->spread->refused;

    if (refused)
        refuse(fan, refused);
    else
        exchange_refuse(fan->x, 503, "unavailable", "no node is ready for this",
                        "try again in a moment");
}

/* Refused for what it says: other nodes would say the same. */
static bool is_refused(const struct spread *s)
{
    return !s->has_begun && s->refused && s->refused->status < 500 && s->refused->status != 429;
}

/* It may be gone afterwards, with its exchange. */
static void go_on(struct fan *fan)
{
    struct spread *s = fan->spread;

    if (s->is_busy)
        return;
    s->is_busy = true;
    for (size_t i = 0; i < fan->n_parts; i++)
        if (s->seats[i].is_unsettled)
            settle(fan, &fan->parts[i]);
    if (s->has_begun)
        give_up(fan, s->idle_ns && loop_now_ns() > s->idle_ns + IDLE_NS);
    if (!s->is_held && !is_refused(s))
        give_shares(fan);
    if (s->is_held || has_open(fan))
        s->idle_ns = 0;
    else if (!s->idle_ns)
        s->idle_ns = loop_now_ns();
    s->is_busy = false;
    if (!s->has_begun && (is_refused(s) || !has_open(fan)))
        end_unbegun(fan);
    else if (s->plan.n_answered == s->plan.count && !s->is_held &&
             (!has_open(fan) || loop_now_ns() > s->moved_ns + END_NS))
        end(fan);
}

/* --- what the exchanges of the parts bring --- */

void spread_take_head(struct fan *fan, const struct part *part, struct exchange *x)
{
    seat_of(fan, part)->x = x;
    if (part->status == 200 && !fan->spread->has_begun)
        begin(fan);
}

bool spread_take_data(struct fan *fan, struct part *part, const void *data, size_t len)
{
    struct seat *seat = seat_of(fan, part);

    if (buf_add(&part->body, data, len, NULL) < 0)
        seat->is_broken = true;
    if (part->status != 200)
        return true; /* a refusal, for the client */
    pump(fan, part);
    return !fan->spread->is_held;
}

void spread_end_part(struct fan *fan, struct part *part)
{
    struct seat *seat = seat_of(fan, part);

    seat->x = NULL;
    seat->is_open = false;
    seat->is_unsettled = true;
    go_on(fan);
}

static void close_broken(struct fan *fan, size_t i)
{
    struct seat *seat = &fan->spread->seats[i];

    stream_say_word(&seat->x->stream, FRAME_RESET, RESET_CANCELLED);
    exchange_free(seat->x);
    seat->x = NULL;
    seat->is_open = false;
    seat->is_unsettled = true;
    fan->parts[i].is_over = true;
}

void spread_tick(struct fan *fan, uint64_t now)
{
    struct spread *s = fan->spread;

    for (size_t i = 0; i < fan->n_parts; i++)
        if (s->seats[i].is_broken && s->seats[i].x)
            close_broken(fan, i);
    if (s->has_begun && !s->is_held && now > s->written_ns + COMMENT_NS)
        put(fan, s->form == FORM_EVENTS ? ":\n\n" : "\n", s->form == FORM_EVENTS ? 3 : 1);
    go_on(fan);
}

void spread_drained(struct fan *fan)
{
    struct spread *s = fan->spread;

    s->is_held = false;
    for (size_t i = 0; i < fan->n_parts; i++) {
        struct exchange *x = s->seats[i].x;

        if (x && x->has_answer)
            pump(fan, &fan->parts[i]);
        if (x && x->has_answer && !s->is_held)
            stream_used(&x->stream, false);
    }
    if (s->has_begun)
        go_on(fan);
}

void spread_free(struct spread *s)
{
    if (!s)
        return;
    json_decref(s->verdicts);
    buf_done(&s->body);
    free(s);
}

/* --- beginning --- */

/* As engines read it (api/router.c). */
static bool wants(const struct http_head *head, const char *type)
{
    struct span accept = http_head_get(head, "accept");

    return accept.data && span_contains(accept, type);
}

static enum form form_of(const struct http_head *head)
{
    if (wants(head, "text/event-stream"))
        return FORM_EVENTS;
    return wants(head, "application/x-ndjson") || wants(head, "application/jsonl") ? FORM_LINES
                                                                                   : FORM_JSON;
}

static size_t nodes_with_room(const struct gateway *gateway, const struct exchange *x)
{
    const struct member *m;
    size_t n = 0;

    TAILQ_FOREACH(m, &gateway->nodes.list, link)
        n += gateway_is_ready(gateway, x, m) && gateway_room(m) > 0;
    return n;
}

/* Of all nodes together not more than `at_once` run at a time. */
static void limit(struct spread *s, size_t nodes, size_t at_once)
{
    s->nodes_most = NODES_MAX;
    if (!at_once)
        return;
    s->nodes_most = nodes < NODES_MAX ? nodes : NODES_MAX;
    if (at_once < s->nodes_most)
        s->nodes_most = at_once;
    s->at_once = at_once / s->nodes_most;
}

/* The body that was collected. -1: out of memory. */
static int take_body(struct spread *s, struct evbuffer *pending)
{
    size_t len = evbuffer_get_length(pending);

    buf_init(&s->body, COLLECT_BYTES);
    if (buf_add(&s->body, evbuffer_pullup(pending, -1), len, NULL) < 0)
        return -1;
    (void)evbuffer_drain(pending, len);
    return 0;
}

bool spread_batch(struct exchange *x, const json_t *body)
{
    size_t count = json_array_size(json_object_get(body, "runs"));
    const json_t *at_once = json_object_get(body, "at_once");
    size_t nodes = nodes_with_room(x->gateway, x);
    struct fan *fan;

    /* One node says what it thinks of a wrong one. */
    if (count == 0 || count > BATCH_RUNS_MAX || nodes == 0 || x->head->n_headers > HEADERS_MOST ||
        (at_once &&
         (json_integer_value(at_once) < 1 || json_integer_value(at_once) > BATCH_RUNS_MAX)))
        return false;
    fan = fan_make(x);
    if (!fan)
        return true;
    fan->is_beginning = false;
    fan->spread = calloc(1, sizeof(*fan->spread));
    if (fan->spread)
        fan->spread->verdicts = json_object();
    if (!fan->spread || !fan->spread->verdicts || take_body(fan->spread, x->pending) < 0) {
        exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
        return true;
    }
    batch_plan_init(&fan->spread->plan, count);
    limit(fan->spread, nodes, (size_t)json_integer_value(at_once));
    fan->spread->form = form_of(x->head);
    fan->spread->begun_ns = fan->spread->moved_ns = fan->spread->written_ns = loop_now_ns();
    go_on(fan);
    return true;
}

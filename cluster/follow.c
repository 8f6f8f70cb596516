/* GET /v1/events at a gateway: the streams of all nodes as one.
 *
 * Each client has a stream at each node, under its own token, so engines decide what it sees and
 * how many may listen. The gateway keeps no events: what a client does not read is not
 * acknowledged, so the node stops reading, and the ring of the engine says what was lost
 * (api/events.h). So a slow client holds back nobody, and costs a window (CLUSTER_WINDOW) for each
 * node.
 *
 * A node that is lost ends nothing: the client is told, and told when it is back, and its stream
 * goes on behind the last event that was passed on, or with a `gap`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/date.h"
#include "base/json.h"
#include "base/span.h"
#include "cluster/event_text.h"
#include "cluster/fan_internal.h"
#include "cluster/metrics_merge.h"

#define MS UINT64_C(1000000)

/* What a node may send before it has to wait, and the event before that. */
#define BODY_BYTES (CLUSTER_WINDOW + 2 * CLUSTER_PAYLOAD_MAX + EVENT_TEXT_MAX)

/* Before the first answer: nodes that have not said hello until then come later. */
#define HELLO_NS (CLUSTER_LOST_MS * MS)

#define AGAIN_NS     (1000 * MS) /* after a node was lost */
#define ENDED_NS     (200 * MS)
#define REFUSED_NS   (5000 * MS) /* after it has refused, or sent what is no stream */
#define COMMENT_NS   (15000 * MS)
#define PLACE_MAX_US UINT64_C(3600000000)
#define DATA_LIMITS                                                                                \
    {                                                                                              \
        .bytes = EVENT_TEXT_MAX, .depth = 8                                                        \
    }
#define EVENT_OUT_MAX (EVENT_TEXT_MAX + 16 * KIB)

/* Beside the part of the same place in fan->parts. */
struct feed {
    struct exchange *x; /* which brings the stream; NULL: none does now */
    json_t *hello;      /* until the answer begins */
    uint64_t over_ns;   /* since when there is no stream; 0: there is one */
    bool is_open;       /* it has said hello */
    bool was_open;
    bool is_told_lost;
    bool is_broken; /* what it sends is no stream */
};

struct follow {
    struct feed feeds[CLUSTER_NAMES_MAX];
    struct event_places places;
    char last_id[24]; /* that a node gets */
    bool is_resumed;
    bool has_begun;
    bool is_held; /* the client is behind */
    size_t turn;  /* whose events are passed on first */
    uint64_t written_ns;
};

static struct feed *feed_of(struct fan *fan, const struct part *part)
{
    return &fan->follow->feeds[part - fan->parts];
}

/* --- to the client --- */

static void write_out(struct fan *fan, const struct buf *text)
{
    struct follow *f = fan->follow;

    f->is_held = !request_write(fan->x->request, buf_str(text), text->len);
    f->written_ns = loop_now_ns();
}

static uint64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static int add_id(const struct follow *f, struct buf *out)
{
    if (!f->places.count)
        return 0;
    if (buf_add_str(out, "id: ", NULL) < 0 || event_places_write(&f->places, out, NULL) < 0)
        return -1;
    return buf_add_str(out, "\n", NULL);
}

/* Takes `data` over. */
static void tell(struct fan *fan, const char *name, bool has_id, json_t *data)
{
    cleanup(buf_done) struct buf out = BUF_OF(LIST_ANSWER_BYTES);
    cleanup(buf_done) struct buf text = BUF_OF(LIST_ANSWER_BYTES);

    if (data && (!has_id || add_id(fan->follow, &out) == 0) &&
        json_text_dump(data, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        buf_printf(&out, NULL, "event: %s\ndata: %s\n\n", name, buf_str(&text)) == 0)
        write_out(fan, &out);
    json_decref(data);
}

/* "node_lost", "node_back" and "node_joined". */
static void tell_node(struct fan *fan, const char *name, const char *node)
{
    char time[DATE_SIZE];

    date_millis_now(time);
    tell(fan, name, false, json_pack("{s:s, s:s}", "node", node, "time", time));
}

static json_t *load(struct span data)
{
    static const struct json_text_limits limits = DATA_LIMITS;
    json_t *value = NULL;

    return json_text_load(data.data, data.len, &limits, &value, NULL) < 0 ? NULL : value;
}

/* --- events of nodes --- */

/* Its stream begins: before the answer has begun that is kept. */
static void take_hello(struct fan *fan, struct part *part, const struct event_text *event)
{
    struct feed *feed = feed_of(fan, part);
    json_t *hello = load(event->data);

    if (feed->is_open || !json_is_object(hello)) {
        feed->is_broken = true;
        json_decref(hello);
        return;
    }
    feed->is_open = true;
    if (!fan->follow->has_begun)
        feed->hello = json_incref(hello);
    else if (feed->is_told_lost)
        tell_node(fan, "node_back", part->node);
    else if (!feed->was_open)
        tell_node(fan, "node_joined", part->node);
    feed->was_open = true;
    feed->is_told_lost = false;
    json_decref(hello);
}

/* Without memory its stream is broken off, and begins again with this event. */
static void pass_on(struct fan *fan, struct part *part, const struct event_text *event)
{
    cleanup(buf_done) struct buf out = BUF_OF(EVENT_OUT_MAX);

    if ((!event->has_id || add_id(fan->follow, &out) == 0) &&
        buf_printf(&out, NULL, "event: %.*s\ndata: %.*s\n\n", (int)event->name.len,
                   event->name.data, (int)event->data.len, event->data.data) == 0) {
        write_out(fan, &out);
        return;
    }
    feed_of(fan, part)->is_broken = true;
    if (event->has_id && event->id)
        event_places_set(&fan->follow->places, part->node, event->id - 1);
}

static void take_gap(struct fan *fan, const struct part *part, const struct event_text *event)
{
    json_t *data = load(event->data);

    if (json_is_object(data))
        json_set(data, "node", json_string(part->node));
    tell(fan, "gap", true, data);
}

static void take_event(struct fan *fan, struct part *part, const struct event_text *event)
{
    struct feed *feed = feed_of(fan, part);

    if (event->has_id)
        event_places_set(&fan->follow->places, part->node, event->id);
    if (event->name.len == 0)
        return;
    if (span_is(event->name, "hello"))
        take_hello(fan, part, event);
    else if (!feed->is_open || span_starts_with(event->name, "node_"))
        feed->is_broken = true; /* those are the gateway's */
    else if (span_is(event->name, "gap"))
        take_gap(fan, part, event);
    else
        pass_on(fan, part, event);
}

/* Passes on what has come of that node. Before the answer begins that is its hello alone. */
static void pump(struct fan *fan, struct part *part)
{
    struct follow *f = fan->follow;
    struct feed *feed = feed_of(fan, part);
    size_t used = 0, n;

    while (!f->is_held && !feed->is_broken && (f->has_begun || !feed->is_open)) {
        struct span rest = {buf_str(&part->body) + used, part->body.len - used};
        struct event_text event;
        int r = event_text_next(rest, &event, &n);

        if (r == 0)
            break;
        feed->is_broken = r < 0;
        if (r < 0)
            break;
        take_event(fan, part, &event);
        used += n;
    }
    buf_consume(&part->body, used);
}

static bool may_send_more(const struct fan *fan)
{
    return fan->follow->has_begun && !fan->follow->is_held;
}

static void pump_all(struct fan *fan)
{
    struct follow *f = fan->follow;

    f->turn++;
    for (size_t i = 0; i < fan->n_parts; i++) {
        size_t at = (i + f->turn) % fan->n_parts;
        struct exchange *x = f->feeds[at].x;

        pump(fan, &fan->parts[at]);
        if (x && x->has_answer && may_send_more(fan))
            stream_used(&x->stream, false);
    }
}

/* --- streams of nodes --- */

/* The head that the next node gets, with the place in its stream. */
static void set_last_id(struct fan *fan, const char *node)
{
    struct follow *f = fan->follow;
    const struct event_place *place = event_places_find(&f->places, node);
    struct http_head *head = &fan->head;
    size_t n = 0;

    for (size_t i = 0; i < head->n_headers; i++)
        if (!span_is_nocase(head->headers[i].name, "last-event-id"))
            head->headers[n++] = head->headers[i];
    head->n_headers = n;
    if (place)
        (void)snprintf(f->last_id, sizeof(f->last_id), "%llu", (unsigned long long)place->id);
    else if (f->is_resumed && !f->has_begun) /* it knows of no such event, and says so: a gap */
        (void)snprintf(f->last_id, sizeof(f->last_id), "0");
    else
        return;
    if (n < ARRAY_SIZE(head->headers))
        head->headers[head->n_headers++] = (struct http_header){
            {"Last-Event-ID", strlen("Last-Event-ID")}, {f->last_id, strlen(f->last_id)}};
}

static void open_feed(struct fan *fan, struct part *part)
{
    struct feed *feed = feed_of(fan, part);

    buf_clear(&part->body);
    part->status = 0;
    part->is_over = part->is_lost = false;
    feed->over_ns = 0;
    feed->is_open = feed->is_broken = false;
    set_last_id(fan, part->node);
    if (exchange_begin_part(fan, &fan->head, part->node, (struct span){0}) == 0 || part->is_over)
        return;
    part->is_over = part->is_lost = true;
    feed->over_ns = loop_now_ns();
}

static void open_new(struct fan *fan)
{
    struct member *m;

    TAILQ_FOREACH(m, &fan->x->gateway->nodes.list, link) {
        struct part *part = fan->parts;

        while (part < fan->parts + fan->n_parts && strcmp(part->node, m->beat.name) != 0)
            part++;
        if (part < fan->parts + fan->n_parts || fan->n_parts == ARRAY_SIZE(fan->parts))
            continue;
        (void)snprintf(part->node, sizeof(part->node), "%s", m->beat.name);
        buf_init(&part->body, BODY_BYTES);
        fan->n_parts++;
        open_feed(fan, part);
    }
}

static bool has_refused(const struct part *part)
{
    return part->is_over && !part->is_lost && part->status >= 400 && part->status < 500;
}

static void reopen(struct fan *fan, struct part *part, uint64_t now)
{
    struct gateway *gateway = fan->x->gateway;
    const struct member *m = members_find(&gateway->nodes, part->node);
    struct feed *feed = feed_of(fan, part);
    uint64_t pause = has_refused(part) || feed->is_broken ? REFUSED_NS
                     : part->is_lost                      ? AGAIN_NS
                                                          : ENDED_NS;
    /* A client that does not read is told when it does, if the node is still away. */
    bool may_tell = feed->was_open && !feed->is_told_lost && !fan->follow->is_held;

    /* A stream that ended in order is begun again before anybody is told: an engine that has ended
     * does not answer. */
    if (may_tell && (part->is_lost || part->status != 200 || feed->is_broken)) {
        feed->is_told_lost = true;
        tell_node(fan, "node_lost", part->node);
    }
    if (m && m->beat.has_engine && bus_is_up(gateway->bus) && now >= feed->over_ns + pause)
        open_feed(fan, part);
}

/* What a node sends is no stream: it is asked again later. */
static void close_broken(struct fan *fan, struct part *part)
{
    struct feed *feed = feed_of(fan, part);

    stream_say_word(&feed->x->stream, FRAME_RESET, RESET_CANCELLED);
    exchange_free(feed->x);
    feed->x = NULL;
    part->is_over = part->is_lost = true;
    feed->over_ns = loop_now_ns();
    buf_clear(&part->body);
}

/* --- what the exchanges of the parts bring --- */

void follow_take_head(struct fan *fan, struct part *part, struct exchange *x)
{
    feed_of(fan, part)->x = x;
}

bool follow_take_data(struct fan *fan, struct part *part, const void *data, size_t len)
{
    struct feed *feed = feed_of(fan, part);

    if (buf_add(&part->body, data, len, NULL) < 0)
        feed->is_broken = true;
    if (part->status != 200)
        return true; /* a refusal, for the client */
    pump(fan, part);
    return may_send_more(fan);
}

void follow_end_part(struct fan *fan, struct part *part)
{
    struct feed *feed = feed_of(fan, part);

    feed->x = NULL;
    feed->is_open = false;
    feed->over_ns = loop_now_ns();
}

/* --- the answer --- */

/* Of the engine that began last: a client that knows another one reads its lists again. */
static void take_latest(json_t *hello, const json_t *other, const char *name)
{
    if (strcmp(json_get_text(other, name), json_get_text(hello, name)) > 0)
        json_set(hello, name, json_string(json_get_text(other, name)));
}

static json_t *merge_hellos(struct fan *fan)
{
    json_t *hello = json_object(), *live = json_object(), *nodes = json_array(),
           *missing = json_array();

    for (size_t i = 0; i < fan->n_parts; i++) {
        struct feed *feed = &fan->follow->feeds[i];

        (void)json_array_append_new(feed->hello ? nodes : missing, json_string(fan->parts[i].node));
        feed->is_told_lost = !feed->hello;
        if (!feed->hello)
            continue;
        take_latest(hello, feed->hello, "time");
        take_latest(hello, feed->hello, "server_started_at");
        take_latest(hello, feed->hello, "version");
        figures_add(live, json_object_get(feed->hello, "live"));
        json_decref(feed->hello);
        feed->hello = NULL;
    }
    json_set(hello, "live", live);
    json_set(hello, "nodes", nodes);
    json_set(hello, "nodes_missing", missing);
    return hello;
}

static void begin(struct fan *fan)
{
    struct follow *f = fan->follow;

    f->has_begun = true;
    request_begin(fan->x->request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
    tell(fan, "hello", !f->is_resumed, merge_hellos(fan));
    pump_all(fan);
}

/* Whether it has answered, or there is one that should begin. */
static void decide(struct fan *fan, uint64_t now)
{
    size_t n_waiting = 0, n_open = 0;
    struct exchange *x = fan->x;
    const struct part *refused = NULL;

    for (size_t i = 0; i < fan->n_parts; i++) {
        n_open += fan->follow->feeds[i].is_open;
        n_waiting += !fan->follow->feeds[i].is_open && !fan->parts[i].is_over;
        refused = has_refused(&fan->parts[i]) ? &fan->parts[i] : refused;
    }
    if (n_open && (!n_waiting || now > x->asked_ns + HELLO_NS)) {
        begin(fan);
        return;
    }
    if (n_open || n_waiting)
        return;
    if (!refused) {
        exchange_refuse(x, 503, "unavailable", "no node has answered", "try again in a moment");
        return;
    }
    fan_answer_refused(fan, refused);
    exchange_free(x);
}

/* Its token has gone, say: every node that is there refuses. */
static bool is_over(const struct fan *fan)
{
    size_t n_refused = 0;

    for (size_t i = 0; i < fan->n_parts; i++) {
        const struct part *part = &fan->parts[i];

        if (!part->is_over)
            return false;
        n_refused += has_refused(part) && (part->status == 401 || part->status == 403);
    }
    return n_refused > 0;
}

static void end(struct fan *fan)
{
    struct exchange *x = fan->x;
    struct request *request = fan_take_request(fan);

    exchange_free(x);
    request_end(request);
}

static void look_at(struct fan *fan, struct part *part, uint64_t now)
{
    struct feed *feed = feed_of(fan, part);

    if (feed->is_broken && feed->x)
        close_broken(fan, part);
    if (fan->follow->has_begun && part->is_over)
        reopen(fan, part, now);
}

void follow_tick(struct fan *fan, uint64_t now)
{
    static const struct buf comment = {.data = (char *)":\n\n", .len = 3};
    struct follow *f = fan->follow;

    for (size_t i = 0; i < fan->n_parts; i++)
        look_at(fan, &fan->parts[i], now);
    if (!f->has_begun) {
        decide(fan, now);
        return;
    }
    if (is_over(fan)) {
        end(fan);
        return;
    }
    open_new(fan);
    if (!f->is_held && now > f->written_ns + COMMENT_NS)
        write_out(fan, &comment);
}

void follow_drained(struct fan *fan)
{
    fan->follow->is_held = false;
    if (fan->follow->has_begun)
        pump_all(fan);
}

void follow_free(struct follow *f)
{
    for (size_t i = 0; f && i < ARRAY_SIZE(f->feeds); i++)
        json_decref(f->feeds[i].hello);
    free(f);
}

/* Nodes may be gone for good: their places go from ids after an hour, of which engines keep no
 * events. Ids are microseconds of the node's clock. */
static void forget_old(struct fan *fan)
{
    struct event_places *places = &fan->follow->places;
    uint64_t now = now_us();

    for (size_t i = places->count; i-- > 0;) {
        const struct event_place place = places->list[i];

        if (place.id + PLACE_MAX_US < now && !gateway_knows(fan->x->gateway, place.node))
            event_places_remove(places, place.node);
    }
}

int follow_events(struct exchange *x)
{
    struct span last = http_head_get(x->head, "last-event-id");
    struct fan *fan;

    if (!x->gateway->nodes.count) {
        exchange_refuse(x, 503, "unavailable", "no node is available", "try again in a moment");
        return -1;
    }
    fan = fan_make(x);
    if (!fan)
        return -1;
    fan->follow = calloc(1, sizeof(*fan->follow));
    if (!fan->follow) {
        exchange_refuse(x, 500, "system", "out of memory", "try again in a moment");
        return -1;
    }
    fan->follow->is_resumed = last.data != NULL;
    if (last.data)
        (void)event_places_read(last, &fan->follow->places);
    forget_old(fan);
    open_new(fan);
    return 0;
}

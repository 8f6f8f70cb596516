#include "cluster/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "cluster/identity.h"
#include "cluster/job_table.h"
#include "cluster/node_internal.h"
#include "cluster/token_list.h"

/* A gateway that is silent for longer is gone, and its clients with it. Longer than what makes a
 * node lost: a request that is cancelled for nothing is worse than one that runs on. */
#define GATE_LOST_MS 3000

/* For the bus to take the end of a durable job. Less than gateways wait for a part of a list. */
#define KEPT_NS UINT64_C(3000000000)

/* From the promise of a place to GO. */
#define PROMISE_NS UINT64_C(2000000000)

/* --- relays --- */

static size_t bucket_of(const struct frame *frame)
{
    return (size_t)((frame->exchange ^ frame->instance) % RELAY_BUCKETS);
}

static struct relay *find(struct node *node, const char *gate, const struct frame *frame)
{
    struct relay *relay;

    LIST_FOREACH(relay, &node->buckets[bucket_of(frame)], of_bucket) {
        if (relay->stream.exchange == frame->exchange &&
            relay->stream.instance == frame->instance && strcmp(relay->gate, gate) == 0)
            return relay;
    }
    return NULL;
}

void relay_free(struct relay *relay)
{
    struct node *node = relay->node;

    LIST_REMOVE(relay, of_bucket);
    TAILQ_REMOVE(&node->relays, relay, of_node);
    node->n_relays--;
    node->n_fresh -= relay->is_fresh;
    relay_close(relay);
    job_hook_free(relay->hook);
    stream_done(&relay->stream);
    evbuffer_free(relay->request);
    free(relay);
}

void relay_reset(struct relay *relay, enum frame_reason reason)
{
    stream_say_word(&relay->stream, FRAME_RESET, reason);
    relay_free(relay);
}

static void gate_subject(const struct node *node, const char *gate, char text[CLUSTER_SUBJECT_MAX])
{
    (void)snprintf(text, CLUSTER_SUBJECT_MAX, CLUSTER_SUBJECTS ".gate.%s.%s", gate,
                   node->settings->name);
}

static struct relay *make(struct node *node, const char *gate, const struct frame *frame)
{
    struct relay *relay = node->n_relays < RELAYS_MAX ? calloc(1, sizeof(*relay)) : NULL;
    char subject[CLUSTER_SUBJECT_MAX];

    if (relay)
        relay->request = evbuffer_new();
    if (!relay || !relay->request) {
        free(relay);
        return NULL;
    }
    relay->node = node;
    relay->opened_ns = loop_now_ns();
    (void)snprintf(relay->gate, sizeof(relay->gate), "%s", gate);
    gate_subject(node, gate, subject);
    stream_init(&relay->stream, node->bus, subject, frame->instance, frame->exchange);
    LIST_INSERT_HEAD(&node->buckets[bucket_of(frame)], relay, of_bucket);
    TAILQ_INSERT_TAIL(&node->relays, relay, of_node);
    node->n_relays++;
    return relay;
}

/* --- frames --- */

static struct span job_path(const struct relay *relay)
{
    return (struct span){relay->job_path, strlen(relay->job_path)};
}

static void begin(struct relay *relay)
{
    relay->has_begun = true;
    if (*relay->job_path && job_keep_is_elsewhere(relay->node->jobs, job_path(relay))) {
        relay_reset(relay, RESET_ELSEWHERE);
        return;
    }
    if (relay_connect(relay) < 0)
        relay_reset(relay, RESET_NOT_BEGUN);
}

/* What the engine said when it was asked, less what was accepted since. */
static int64_t room_now(const struct node *node)
{
    int64_t room = node->beat.room + node->fresh_then - (int64_t)node->n_fresh;

    return room < 0 ? 0 : room < VERDICT_ROOM_MAX ? room : VERDICT_ROOM_MAX;
}

static enum frame_verdict judge(const struct node *node)
{
    if (node->is_draining)
        return VERDICT_DRAINING;
    if (!node->beat.has_engine)
        return VERDICT_NO_ENGINE;
    return room_now(node) > 0 ? VERDICT_ACCEPTED : VERDICT_BUSY;
}

/* --- what was held up on the way ---
 *
 * A gateway gives up on a node that it does not hear for a second, and says so to its client, who
 * may go on elsewhere. If frames arrive after that, as TCP sends them again when a network is back,
 * or when this process was stopped, the request would be carried out behind the client's back, and
 * after later ones. So where heartbeats of the gateway were missing, it is asked first. */
static bool has_to_ask(const struct relay *relay)
{
    const struct node *node = relay->node;

    return !relay->is_sure && relay->stream.next_out == 0 &&
           member_is_late(members_find(&node->gates, relay->gate), loop_now_ns());
}

/* Answered by ACK, or by RESET if nobody waits. */
static void ask(struct relay *relay)
{
    if (!relay->is_asking)
        stream_ask(&relay->stream);
    relay->is_asking = true;
}

static void open_relay(struct relay *relay, const struct frame *frame)
{
    struct node *node = relay->node;
    enum frame_verdict verdict = VERDICT_ACCEPTED;
    int64_t room;
    uint32_t flags;
    struct span head;

    if (!frame_read_open(frame, &flags, &head) || relay_take_head(relay, head) < 0) {
        relay_reset(relay, RESET_REFUSED);
        return;
    }
    relay->is_request_over = frame->flags & FRAME_END;
    if (flags & OPEN_FRESH) {
        verdict = judge(node);
        /* It waits in the engine, as on one machine. */
        if (verdict == VERDICT_BUSY && relay->is_job)
            verdict = VERDICT_ACCEPTED;
        room = room_now(node) - (verdict == VERDICT_ACCEPTED && room_now(node) > 0);
        stream_say_word(&relay->stream, FRAME_VERDICT,
                        verdict | (uint32_t)room << VERDICT_ROOM_SHIFT);
        if (verdict != VERDICT_ACCEPTED) {
            relay_free(relay);
            return;
        }
        relay->is_fresh = true;
        node->n_fresh++;
        return;
    }
    if (has_to_ask(relay))
        ask(relay);
    else
        begin(relay);
}

static void take_data(struct relay *relay, const struct frame *frame)
{
    if (relay_take_body(relay, &frame->payload, frame->flags & FRAME_END) < 0) {
        relay_reset(relay, RESET_BROKEN);
        return;
    }
    /* Until it has begun nothing is acknowledged: the gateway may have to ask another node. */
    if (relay->socket && evbuffer_get_length(bufferevent_get_output(relay->socket)) < RELAY_HIGH)
        stream_used(&relay->stream, false);
}

/* Most bodies are there before it. */
static void go(struct relay *relay, const struct frame *frame)
{
    static const struct span nothing = {"", 0};

    if ((frame->flags & FRAME_END) && relay_take_body(relay, &nothing, true) < 0)
        relay_reset(relay, RESET_BROKEN);
    else
        begin(relay);
}

static void take_numbered(struct relay *relay, const struct frame *frame)
{
    bool is_first = frame->number == 0;

    if (is_first != (frame->type == FRAME_OPEN) ||
        (frame->type == FRAME_GO && (relay->has_begun || !relay->is_fresh)))
        relay_reset(relay, RESET_BROKEN);
    else if (is_first)
        open_relay(relay, frame);
    else if (frame->type == FRAME_GO)
        go(relay, frame);
    else if (!relay->is_over)
        take_data(relay, frame);
    else
        stream_used(&relay->stream, false);
}

/* All of the answer has arrived. */
static bool is_done(const struct relay *relay)
{
    return relay->is_over && TAILQ_EMPTY(&relay->stream.kept);
}

/* Of what makes the engine act: true if it is left out. It is sent again when the gateway sees that
 * it is not acknowledged. */
static bool leaves_out(struct relay *relay, const struct frame *frame)
{
    bool acts = relay->has_begun ? frame_is_numbered(frame) : frame->type == FRAME_GO;

    if (!acts || !has_to_ask(relay))
        return false;
    ask(relay);
    return true;
}

/* The gateway waits for it. */
static void go_on(struct relay *relay)
{
    relay->is_asking = false;
    relay->is_sure = true;
    if (!relay->has_begun && !relay->is_fresh)
        begin(relay);
}

static void handle(struct relay *relay, const struct frame *frame)
{
    if (leaves_out(relay, frame))
        return;
    if (relay->is_asking && frame->type == FRAME_ACK) {
        go_on(relay); /* it may be gone */
        return;
    }
    switch (stream_take(&relay->stream, frame)) {
    case STREAM_TAKE:
        take_numbered(relay, frame);
        return;
    case STREAM_OTHER: /* RESET: a gateway sends no verdicts */
        relay_free(relay);
        return;
    case STREAM_BROKEN:
        relay_reset(relay, RESET_BROKEN);
        return;
    case STREAM_ROOM:
        relay_go_on(relay);
        return;
    default:
        if (is_done(relay))
            relay_free(relay);
        return;
    }
}

static void on_frame(struct node *node, const char *gate, const struct frame *frame)
{
    char subject[CLUSTER_SUBJECT_MAX];
    struct relay *relay = find(node, gate, frame);
    bool is_new = !relay && frame->type == FRAME_OPEN;

    if (is_new)
        relay = make(node, gate, frame);
    if (relay) {
        handle(relay, frame);
        return;
    }
    /* An acknowledgement may cross the end. */
    if (frame->type == FRAME_ACK)
        return;
    gate_subject(node, gate, subject);
    stream_refuse(node->bus, subject, frame, is_new ? RESET_FULL : RESET_UNKNOWN);
}

static void on_frames(struct node *node, const char *gate, const struct bus_message *message)
{
    struct frame frame;
    ssize_t n;

    if (node->beat.is_twice) /* the other one hears it, too */
        return;
    for (size_t at = 0; at < message->len; at += (size_t)n) {
        n = frame_read(message->data + at, message->len - at, FRAME_GATEWAY, &frame);
        if (n < 0)
            return;
        on_frame(node, gate, &frame);
    }
}

/* --- gateways --- */

/* `instance` 0: all of that gateway, else those of its other processes. */
static void forget_gate(struct node *node, const char *gate, uint64_t instance)
{
    struct relay *next;

    for (struct relay *relay = TAILQ_FIRST(&node->relays); relay; relay = next) {
        next = TAILQ_NEXT(relay, of_node);
        if (strcmp(relay->gate, gate) == 0 && relay->stream.instance != instance)
            relay_free(relay);
    }
}

static void on_gate(struct node *node, const char *gate, const struct bus_message *message)
{
    struct beat beat;
    struct member *member;
    bool is_new;

    if (beat_read(message->data, message->len, &beat, NULL) < 0)
        return;
    if (strcmp(beat.name, gate) != 0) {
        beat_done(&beat);
        return;
    }
    member = members_hear(&node->gates, &beat, loop_now_ns(), &is_new);
    if (member && is_new)
        forget_gate(node, gate, member->beat.instance);
}

/* --- another process under the same name ---
 *
 * Both hear all frames, and would both do what they say. So the one that was started later waits,
 * and says so, until the other is silent. */

static void give_way(struct node *node)
{
    node->beat.is_twice = true;
    LOG_EVENT(LOG_ERROR, "node", {"node", node->settings->name},
              {"message", "another process serves a node of this name: this one waits"},
              {"hint", "stop one of them, or give this machine another name"});
    while (!TAILQ_EMPTY(&node->relays))
        relay_reset(TAILQ_FIRST(&node->relays), RESET_STOPPED);
    node_send_beat(node);
}

static void on_own_name(struct node *node, const struct bus_message *message)
{
    struct beat beat;

    if (beat_read(message->data, message->len, &beat, NULL) < 0)
        return;
    if (strcmp(beat.name, node->settings->name) == 0 && beat.instance != node->instance &&
        !beat.is_twice && beat_goes_first(&beat, &node->beat)) {
        node->twin_ns = loop_now_ns();
        if (!node->beat.is_twice)
            give_way(node);
    }
    beat_done(&beat);
}

/* The engine has to know what tokens have used there. */
static void on_other_node(struct node *node, const char *name, const struct bus_message *message)
{
    struct beat beat;

    if (beat_read(message->data, message->len, &beat, NULL) < 0)
        return;
    if (strcmp(beat.name, name) == 0 && !beat.is_twice)
        engine_watch_hear(node->engine, name, beat.spent);
    beat_done(&beat);
}

static void look_for_twin(struct node *node, uint64_t now)
{
    if (!node->beat.is_twice || now < node->twin_ns + CLUSTER_LOST_MS * UINT64_C(1000000))
        return;
    node->beat.is_twice = false;
    LOG_EVENT(LOG_INFO, "node", {"node", node->settings->name},
              {"message", "the other process is gone: this one serves the node"});
}

static void on_order(struct node *node, const struct bus_message *message)
{
    struct span word = {message->data, message->len};
    bool is_known = span_is(word, "drain") || span_is(word, "resume");

    if (is_known)
        node_drain(node, span_is(word, "drain"));
    if (*message->reply)
        bus_send_bytes(node->bus, message->reply, is_known ? "ok" : "unknown", is_known ? 2 : 7);
}

static void on_message(void *user, const struct bus_message *message)
{
    struct node *node = user;
    struct subject_names names;

    if (subject_read(message->subject, "alive.node", &names) &&
        strcmp(names.name, node->settings->name) == 0)
        on_own_name(node, message); /* and see below */
    else if (subject_read(message->subject, "alive.node", &names))
        on_other_node(node, names.name, message); /* the same */
    if (subject_read(message->subject, "node", &names))
        on_frames(node, names.sender, message);
    else if (subject_read(message->subject, "alive.gate", &names))
        on_gate(node, names.name, message);
    else if (subject_read(message->subject, "order", &names))
        on_order(node, message);
    else if (store_link_take(node->store, message) ||
             (node->jobs && job_keep_take(node->jobs, message)))
        return;
    else if (!trail_ship_take(node->trail, node->bus, message) && node->tokens)
        (void)token_sync_take(node->tokens, node->bus, message);
}

void node_tell_end(struct node *node, const char *job)
{
    struct relay *relay, *next;
    char id[ID_SIZE];

    for (relay = TAILQ_FIRST(&node->relays); relay; relay = next) {
        next = TAILQ_NEXT(relay, of_node);
        job_id_of_path(relay->job_path, strlen(relay->job_path), id);
        if (relay->waits_ns && strcmp(id, job) == 0) {
            relay->waits_ns = 0;
            relay_go_on(relay);
        }
    }
}

/* --- heartbeat --- */

void node_send_beat(struct node *node)
{
    cleanup(buf_done) struct buf text = BUF_OF(BEAT_BYTES);
    char subject[CLUSTER_SUBJECT_MAX];

    node->beat.is_draining = node->is_draining;
    node->beat.relays = (int64_t)node->n_relays;
    node->beat.clock_ms = identity_clock_ms();
    (void)snprintf(subject, sizeof(subject), CLUSTER_SUBJECTS ".alive.node.%s",
                   node->settings->name);
    if (beat_write(&node->beat, true, &text, NULL) == 0)
        bus_send_bytes(node->bus, subject, buf_str(&text), text.len);
}

static void look_at_relays(struct node *node, uint64_t now)
{
    struct relay *next;

    for (struct relay *relay = TAILQ_FIRST(&node->relays); relay; relay = next) {
        next = TAILQ_NEXT(relay, of_node);
        if (relay->stream.is_torn)
            relay_reset(relay, RESET_BROKEN);
        else if (relay->is_fresh && !relay->has_begun && now > relay->opened_ns + PROMISE_NS)
            relay_reset(relay, RESET_CANCELLED);
        else if (relay->waits_ns && now > relay->waits_ns + KEPT_NS)
            relay_reset(relay, RESET_NOT_KEPT);
        else
            stream_tick(&relay->stream, now);
    }
}

static void on_tick(void *arg)
{
    struct node *node = arg;
    uint64_t now = loop_now_ns();
    struct member *silent;

    look_for_twin(node, now);
    engine_watch_ask(node->engine);
    engine_pool_tick(node->pool, now);
    node_send_beat(node);
    while ((silent = members_silent(&node->gates, now, GATE_LOST_MS)) != NULL) {
        forget_gate(node, silent->beat.name, 0);
        member_forget(&node->gates, silent);
    }
    look_at_relays(node, now);
    if (!node->beat.is_twice)
        trail_ship_tick(node->trail, node->bus, now);
    if (node->tokens)
        token_sync_tick(node->tokens, node->bus);
    if (node->jobs && !node->beat.is_twice)
        job_keep_tick(node->jobs);
    store_link_tick(node->store);
    loop_timer_start(node->tick, CLUSTER_BEAT_MS);
}

static void on_state(void *user, bool is_up)
{
    struct node *node = user;

    if (!is_up)
        return;
    node_send_beat(node);
    if (node->tokens)
        token_sync_ask(node->tokens, node->bus);
    if (node->jobs)
        job_keep_up(node->jobs);
}

/* --- life --- */

void node_drain(struct node *node, bool is_draining)
{
    if (node->is_draining == is_draining)
        return;
    node->is_draining = is_draining;
    LOG_EVENT(LOG_INFO, "drain", {"message", is_draining ? "takes no new work" : "takes new work"});
    node_send_beat(node);
}

bool node_is_idle(const struct node *node)
{
    return TAILQ_EMPTY(&node->relays);
}

static int open_bus(struct node *node, struct error *err)
{
    const char *name = node->settings->name;
    struct bus_options options;
    size_t n = 3;

    (void)snprintf(node->own_subjects[0], CLUSTER_SUBJECT_MAX, CLUSTER_SUBJECTS ".node.%s.*", name);
    (void)snprintf(node->own_subjects[1], CLUSTER_SUBJECT_MAX, CLUSTER_SUBJECTS ".order.%s", name);
    node->subjects[0] = node->own_subjects[0];
    node->subjects[1] = CLUSTER_SUBJECTS ".alive.gate.*";
    node->subjects[2] = node->own_subjects[1];
    node->subjects[n++] = trail_ship_subject(node->trail);
    if (node->jobs) /* the next one is among them */
        job_keep_subjects(node->jobs, &node->subjects[n]);
    else
        node->subjects[n] = CLUSTER_SUBJECTS ".alive.node.*";
    n += node->jobs ? JOB_KEEP_SUBJECTS : 1;
    node->subjects[n++] = store_link_subject(node->store);
    if (node->tokens) {
        node->subjects[n++] = token_sync_subject(node->tokens);
        node->subjects[n++] = TOKEN_LIST_CHANGED;
    }
    if (identity_options(node->settings, &node->settings->node, &options, &node->password, err) < 0)
        return -1;
    options.name = "belljar node";
    options.subjects = node->subjects;
    options.on_message = on_message;
    options.on_state = on_state;
    options.user_data = node;
    return bus_new(node->loop, &options, &node->bus, err);
}

/* NULL: there is no such list. */
static json_t *list_json(char **list)
{
    json_t *value = list ? json_array() : NULL;

    for (; list && *list; list++)
        (void)json_array_append_new(value, json_string(*list));
    return value;
}

static int open_all(struct node *node, struct error *err)
{
    node->tick = loop_timer(node->loop, on_tick, node);
    if (!node->tick)
        return error_memory(err);
    if (identity_beat(node->settings, &node->beat, err) < 0)
        return -1;
    node->instance = node->beat.instance;
    node->beat.labels = list_json(node->settings->labels);
    node->beat.profiles = list_json(node->settings->profiles);
    node->beat.environments = list_json(node->settings->environments);
    node->trail = trail_ship_new(node->settings);
    node->pool = engine_pool_new();
    if (!node->trail || !node->pool)
        return error_memory(err);
    if (engine_watch_new(node, &node->engine, err) < 0)
        return -1;
    if (node->settings->tokens && token_sync_new(node->settings, &node->tokens, err) < 0)
        return -1;
    if (node->settings->jobs_key && job_keep_new(node, &node->jobs, err) < 0)
        return -1;
    if (store_link_new(node, &node->store, err) < 0)
        return -1;
    if (open_bus(node, err) < 0)
        return -1;
    if (node->jobs && bus_is_up(node->bus))
        job_keep_up(node->jobs);
    return 0;
}

int node_new(struct loop *loop, const struct settings *settings, struct node **ret_node,
             struct error *err)
{
    struct node *node = calloc(1, sizeof(*node));

    if (!node)
        return error_memory(err);
    node->loop = loop;
    node->settings = settings;
    TAILQ_INIT(&node->relays);
    members_init(&node->gates);
    if (open_all(node, err) < 0) {
        node_close(node);
        return -1;
    }
    loop_timer_start(node->tick, 0);
    if (node->tokens)
        token_sync_ask(node->tokens, node->bus);
    *ret_node = node;
    return 0;
}

void node_close(struct node *node)
{
    if (!node)
        return;
    while (!TAILQ_EMPTY(&node->relays))
        relay_reset(TAILQ_FIRST(&node->relays), RESET_STOPPED);
    bus_close(node->bus);
    job_keep_free(node->jobs);
    store_link_free(node->store);
    engine_watch_free(node->engine);
    engine_pool_free(node->pool);
    token_sync_free(node->tokens);
    trail_ship_free(node->trail);
    loop_watch_free(node->tick);
    members_done(&node->gates);
    beat_done(&node->beat);
    if (node->password)
        explicit_bzero(node->password, strlen(node->password));
    free(node->password);
    free(node);
}

bool node_is_refused(const struct node *node)
{
    return node && bus_is_refused(node->bus);
}

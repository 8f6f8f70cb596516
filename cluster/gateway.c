#include "cluster/gateway.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cluster/gateway_internal.h"
#include "cluster/identity.h"
#include "http/listen.h"
#include "http/tls.h"

/* More than a heartbeat: if nobody at all was heard for so long, it is perhaps this gateway that is
 * cut off. So much shorter than CLUSTER_LOST_MS that it is known before the first node counts as
 * lost, also where the last heartbeat of that node was late. */
#define DEAF_MS (CLUSTER_BEAT_MS + 50)

/* Offers that were not answered are looked at so often. */
#define TICK_MS 50

/* While the gateway has no server of the bus, or nodes are on their way back to one, their silence
 * says nothing of them. Shorter than nodes wait for a gateway (cluster/node.c). */
#define BUS_LOST_MS 2500

#define MS UINT64_C(1000000)

#define IDLE_MS       60000
#define BODIES_BYTES  ((uint64_t)256 * MIB)
#define ANSWERS_BYTES (256 * MIB)

/* --- choosing --- */

bool gateway_knows(const struct gateway *gateway, const char *node)
{
    return members_find(&gateway->nodes, node) != NULL;
}

bool gateway_is_deaf(const struct gateway *gateway)
{
    return loop_now_ns() - gateway->heard_ns > DEAF_MS * MS;
}

static bool was_tried(const struct exchange *x, const char *node)
{
    for (size_t i = 0; i < x->n_tried; i++)
        if (strcmp(x->tried[i], node) == 0)
            return true;
    return false;
}

bool gateway_places(const struct gateway *gateway)
{
    const struct member *m;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        if (m->beat.profiles || m->beat.environments)
            return true;
    }
    return false;
}

static bool serves(const json_t *list, const char *wanted)
{
    return !list || !*wanted || beat_lists(list, wanted);
}

bool gateway_is_ready(const struct gateway *gateway, const struct exchange *x,
                      const struct member *m)
{
    struct span label = http_head_get(x->head, "belljar-node-label");
    char word[64];

    (void)gateway;
    if (m->beat.is_draining || !m->beat.has_engine ||
        loop_now_ns() > m->heard_ns + CLUSTER_LOST_MS * MS || was_tried(x, m->beat.name))
        return false;
    if (!serves(m->beat.profiles, x->profile) || !serves(m->beat.environments, x->environment))
        return false;
    if (!label.data)
        return true;
    if (label.len >= sizeof(word))
        return false;
    (void)snprintf(word, sizeof(word), "%.*s", (int)label.len, label.data);
    return strcmp(word, m->beat.name) == 0 || beat_lists(m->beat.labels, word);
}

/* xorshift64*: which of two equals is asked is no secret. */
static uint64_t next_random(struct gateway *gateway)
{
    uint64_t r = gateway->random;

    r ^= r >> 12;
    r ^= r << 25;
    r ^= r >> 27;
    gateway->random = r;
    return r * UINT64_C(2685821657736338717);
}

void gateway_note_end(struct gateway *gateway, const char *node)
{
    struct member *m = members_find(&gateway->nodes, node);

    if (m)
        m->sent--;
}

int64_t gateway_room(const struct member *m)
{
    return m->beat.room - m->sent;
}

struct member *gateway_choose(struct gateway *gateway, const struct exchange *x)
{
    struct member *ready[CLUSTER_NAMES_MAX], *m, *first, *second;
    size_t n = 0, i, k;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        if (gateway_is_ready(gateway, x, m))
            ready[n++] = m;
    }
    if (n < 2)
        return n ? ready[0] : NULL;
    i = (size_t)(next_random(gateway) % n);
    k = (size_t)(next_random(gateway) % (n - 1));
    first = ready[i];
    second = ready[k + (k >= i)];
    return gateway_room(second) > gateway_room(first) ? second : first;
}

/* Rendezvous: the highest of the nodes' numbers for that name. */
struct member *gateway_home(struct gateway *gateway, const struct exchange *x)
{
    struct member *best = NULL, *m;
    uint64_t most = 0;

    TAILQ_FOREACH(m, &gateway->nodes.list, link) {
        uint64_t hash = UINT64_C(14695981039346656037);

        if (!gateway_is_ready(gateway, x, m))
            continue;
        for (const char *at = x->key; *at; at++)
            hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
        for (const char *at = m->beat.name; *at; at++)
            hash = (hash ^ (unsigned char)*at) * UINT64_C(1099511628211);
        hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
        if (!best || hash > most) {
            best = m;
            most = hash;
        }
    }
    return best;
}

/* --- what comes over the bus --- */

static struct exchange *find(struct gateway *gateway, uint64_t number)
{
    struct exchange *x;

    LIST_FOREACH(x, &gateway->buckets[number % EXCHANGE_BUCKETS], of_bucket) {
        if (x->stream.exchange == number)
            return x;
    }
    return NULL;
}

static void on_frame(struct gateway *gateway, const char *node, const struct frame *frame)
{
    char subject[CLUSTER_SUBJECT_MAX];
    struct exchange *x;

    if (frame->instance != gateway->beat.instance)
        return;
    x = find(gateway, frame->exchange);
    if (x && strcmp(x->node, node) == 0) {
        exchange_take(x, frame);
        return;
    }
    (void)snprintf(subject, sizeof(subject), CLUSTER_SUBJECTS ".node.%s.%s", node,
                   gateway->settings->name);
    if (frame->type == FRAME_STATE || frame_is_numbered(frame))
        stream_refuse(gateway->bus, subject, frame, RESET_UNKNOWN);
}

static void on_frames(struct gateway *gateway, const char *node, const struct bus_message *message)
{
    struct frame frame;
    ssize_t n;

    http_cork(gateway->http);
    for (size_t at = 0; at < message->len; at += (size_t)n) {
        n = frame_read(message->data + at, message->len - at, FRAME_NODE, &frame);
        if (n < 0)
            break;
        on_frame(gateway, node, &frame);
    }
    http_uncork(gateway->http);
}

static void lose_node(struct gateway *gateway, const char *node)
{
    struct exchange *x = TAILQ_FIRST(&gateway->exchanges), *next;

    gateway->lost_ns = loop_now_ns();
    names_forget_all(gateway->names);
    while (x) {
        uint64_t n_freed = gateway->n_freed;

        next = TAILQ_NEXT(x, of_gateway);
        if (x->has_stream && strcmp(x->node, node) == 0)
            exchange_lose(x); /* it is gone, or with another node */
        x = gateway->n_freed == n_freed ? next : TAILQ_FIRST(&gateway->exchanges);
    }
}

static void start_listening(struct gateway *gateway);

static void on_node(struct gateway *gateway, const char *node, const struct bus_message *message)
{
    struct beat beat;
    bool was_known = gateway_knows(gateway, node), is_new;
    struct member *m;

    if (beat_read(message->data, message->len, &beat, NULL) < 0)
        return;
    if (strcmp(beat.name, node) != 0 || beat.is_twice) {
        beat_done(&beat);
        return;
    }
    gateway->heard_ns = loop_now_ns();
    m = members_hear(&gateway->nodes, &beat, gateway->heard_ns, &is_new);
    /* Others lose a node that they do not hear for CLUSTER_LOST_MS, and give its names away, which
     * is told once. Where heartbeats are missing, that news may be missing as well. */
    if (!m || m->late_ns == gateway->heard_ns)
        names_forget_all(gateway->names);
    if (!m || !is_new)
        return;
    roster_remove(&gateway->lost, node);
    LOG_EVENT(LOG_INFO, "node", {"node", node},
              {"message", was_known ? "another process serves the node" : "the node is there"});
    if (was_known)
        lose_node(gateway, node);
    start_listening(gateway);
}

static void on_message(void *user, const struct bus_message *message)
{
    struct gateway *gateway = user;
    struct subject_names names;
    uint64_t number;

    if (message->has_no_responders) {
        struct exchange *x =
            subject_read_reply(message->subject, &number) ? find(gateway, number) : NULL;

        if (x)
            exchange_no_responders(x);
    } else if (subject_read(message->subject, "gate", &names)) {
        on_frames(gateway, names.sender, message);
    } else if (subject_read(message->subject, "alive.node", &names)) {
        on_node(gateway, names.name, message);
    } else if (strncmp(message->subject, KEEP_SUBJECTS, strlen(KEEP_SUBJECTS)) == 0) {
        /* Somebody writes it, or tries to: who has it is asked again. */
        names_forget(gateway->names, message->subject + strlen(KEEP_SUBJECTS));
    }
}

/* --- now and then --- */

static void send_beat(struct gateway *gateway)
{
    cleanup(buf_done) struct buf text = BUF_OF(BEAT_BYTES);
    char subject[CLUSTER_SUBJECT_MAX];

    gateway->beat.clock_ms = identity_clock_ms();
    (void)snprintf(subject, sizeof(subject), CLUSTER_SUBJECTS ".alive.gate.%s",
                   gateway->settings->name);
    if (beat_write(&gateway->beat, false, &text, NULL) == 0)
        bus_send_bytes(gateway->bus, subject, buf_str(&text), text.len);
}

static void on_beat(void *arg)
{
    struct gateway *gateway = arg;

    send_beat(gateway);
    loop_timer_start(gateway->beat_timer, CLUSTER_BEAT_MS);
}

static void forget_silent(struct gateway *gateway, uint64_t now)
{
    bool has_bus = bus_is_up(gateway->bus) && now > gateway->up_ns + CLUSTER_LOST_MS * MS;
    struct member *silent;

    while ((silent = members_silent(&gateway->nodes, now,
                                    has_bus ? CLUSTER_LOST_MS : BUS_LOST_MS)) != NULL) {
        char node[13];

        (void)snprintf(node, sizeof(node), "%s", silent->beat.name);
        LOG_EVENT(LOG_WARNING, "node", {"node", node}, {"message", "the node is lost"});
        roster_add(&gateway->lost, silent);
        member_forget(&gateway->nodes, silent);
        gateway->n_lost++;
        lose_node(gateway, node);
    }
}

static void on_tick(void *arg)
{
    struct gateway *gateway = arg;
    uint64_t now = loop_now_ns();
    struct exchange *x, *next;

    forget_silent(gateway, now);
    x = TAILQ_FIRST(&gateway->exchanges);
    while (x) {
        uint64_t n_freed = gateway->n_freed;

        next = TAILQ_NEXT(x, of_gateway);
        exchange_tick(x, now);
        x = gateway->n_freed == n_freed ? next : TAILQ_FIRST(&gateway->exchanges);
    }
    if (now > gateway->listen_by_ns)
        start_listening(gateway);
    loop_timer_start(gateway->tick, TICK_MS);
}

static void on_state(void *user, bool is_up)
{
    struct gateway *gateway = user;

    if (!is_up)
        return;
    names_forget_all(gateway->names);
    gateway->up_ns = loop_now_ns();
    send_beat(gateway);
}

/* --- clients --- */

static bool has_others(void *user)
{
    (void)user;
    return true;
}

static bool is_known(const struct request *request)
{
    (void)request;
    return true;
}

static int open_http(struct gateway *gateway, struct error *err)
{
    const struct settings *settings = gateway->settings;
    struct http_options options = {
        .max_connections = (size_t)settings->connections,
        .max_per_peer = (size_t)settings->connections,
        .idle_ms = IDLE_MS,
        .body_total = BODIES_BYTES,
        .answers_total = ANSWERS_BYTES,
        .on_head = exchange_on_head,
        .on_whole = exchange_on_whole,
        .is_known = is_known,
        .has_others = has_others,
        .user = gateway,
    };

    if (settings->tls_cert && tls_read_files(settings->tls_cert, settings->tls_key,
                                             &gateway->tls_cert, &gateway->tls_key, err) < 0)
        return -1;
    options.cert = (struct span){buf_str(&gateway->tls_cert), gateway->tls_cert.len};
    options.key = (struct span){buf_str(&gateway->tls_key), gateway->tls_key.len};
    return http_new(gateway->loop, &options, &gateway->http, err);
}

/* Tokens do not travel in clear beyond this machine. */
static int listen_on(struct gateway *gateway, const char *where, struct error *err)
{
    bool is_tls = gateway->settings->tls_cert != NULL;
    struct listen_address address;
    cleanup_close int fd = listen_tcp(where, err);
    char text[96];

    if (fd < 0 || listen_look(fd, &address, err) < 0)
        return -1;
    if (!address.is_loopback && !is_tls) {
        error_set(err, E_DENIED, "listening beyond this machine needs TLS");
        return error_hint(err, "set `tls_cert` and `tls_key`, or listen on 127.0.0.1");
    }
    (void)snprintf(text, sizeof(text), "listening on %s://%.*s:%d", is_tls ? "https" : "http",
                   (int)(strrchr(where, ':') - where), where, address.port);
    if (http_listen(gateway->http, take_fd(fd), is_tls ? HTTP_TLS : HTTP_PLAIN, err) < 0)
        return -1;
    (void)printf("belljar-cluster: %s\n", text);
    (void)fflush(stdout);
    return 0;
}

/* Not before it is known who is there, or that nobody is. */
static void start_listening(struct gateway *gateway)
{
    struct error err = {0};

    if (gateway->is_listening)
        return;
    gateway->is_listening = true;
    for (char **where = gateway->settings->listen; *where; where++) {
        if (listen_on(gateway, *where, &err) == 0)
            continue;
        LOG_EVENT(LOG_ERROR, "listen", {"message", err.message ? err.message : "out of memory"},
                  {"hint", err.hint, .is_left_out = !err.hint});
        error_done(&err);
        loop_stop(gateway->loop);
        return;
    }
}

/* --- life --- */

static int open_bus(struct gateway *gateway, struct error *err)
{
    struct bus_options options;

    (void)snprintf(gateway->own_subject, sizeof(gateway->own_subject),
                   CLUSTER_SUBJECTS ".gate.%s.*", gateway->settings->name);
    gateway->subjects[0] = gateway->own_subject;
    gateway->subjects[1] = CLUSTER_SUBJECTS ".alive.node.*";
    gateway->subjects[2] = KEEP_SUBJECTS ">";
    if (identity_options(gateway->settings, &gateway->settings->gateway, &options,
                         &gateway->password, err) < 0)
        return -1;
    options.name = "belljar gateway";
    options.subjects = gateway->subjects;
    options.on_message = on_message;
    options.on_state = on_state;
    options.user_data = gateway;
    if (bus_new(gateway->loop, &options, &gateway->bus, err) < 0)
        return -1;
    return keep_new(gateway->loop, gateway->bus, (int)gateway->settings->replicas, &gateway->keep,
                    err);
}

static int open_all(struct gateway *gateway, struct error *err)
{
    gateway->tick = loop_timer(gateway->loop, on_tick, gateway);
    gateway->beat_timer = loop_timer(gateway->loop, on_beat, gateway);
    if (!gateway->tick || !gateway->beat_timer)
        return error_memory(err);
    if (identity_beat(gateway->settings, &gateway->beat, err) < 0)
        return -1;
    gateway->names = names_new();
    if (!gateway->names)
        return error_memory(err);
    gateway->random = gateway->beat.instance | 1;
    gateway->up_ns = loop_now_ns();
    gateway->listen_by_ns = gateway->up_ns + CLUSTER_LOST_MS * MS;
    return open_http(gateway, err) < 0 ? -1 : open_bus(gateway, err);
}

int gateway_new(struct loop *loop, const struct settings *settings, struct gateway **ret_gateway,
                struct error *err)
{
    struct gateway *gateway = calloc(1, sizeof(*gateway));

    if (!gateway)
        return error_memory(err);
    gateway->loop = loop;
    gateway->settings = settings;
    TAILQ_INIT(&gateway->exchanges);
    members_init(&gateway->nodes);
    if (open_all(gateway, err) < 0) {
        gateway_close(gateway);
        return -1;
    }
    loop_timer_start(gateway->tick, TICK_MS);
    loop_timer_start(gateway->beat_timer, 0);
    *ret_gateway = gateway;
    return 0;
}

void gateway_stop(struct gateway *gateway, void (*on_idle)(void *user), void *user)
{
    gateway->is_listening = true;
    http_stop(gateway->http, on_idle, user);
}

void gateway_close(struct gateway *gateway)
{
    if (!gateway)
        return;
    http_free(gateway->http);
    keep_close(gateway->keep);
    bus_close(gateway->bus);
    loop_watch_free(gateway->tick);
    loop_watch_free(gateway->beat_timer);
    members_done(&gateway->nodes);
    beat_done(&gateway->beat);
    names_free(gateway->names);
    if (gateway->tls_key.data)
        explicit_bzero(gateway->tls_key.data, gateway->tls_key.len);
    buf_done(&gateway->tls_key);
    buf_done(&gateway->tls_cert);
    if (gateway->password)
        explicit_bzero(gateway->password, strlen(gateway->password));
    free(gateway->password);
    free(gateway);
}

bool gateway_is_refused(const struct gateway *gateway)
{
    return gateway && bus_is_refused(gateway->bus);
}

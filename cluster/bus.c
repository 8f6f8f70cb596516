#include "cluster/bus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <nats/nats.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/log.h"
#include "cluster/bus_probe.h"
#include "cluster/cluster.h"
#include "cluster/outbox.h"

/* Threads of libnats that hand messages over: a subscription stays with one, so its order stays. */
#define DELIVERY_THREADS 2

#define CONNECT_MS        2000
#define RECONNECT_MS      100
#define RECONNECT_JITTER  50
#define PING_MS           1000
#define PINGS_UNANSWERED  2
#define MOST_SUBSCRIBED   16
#define WRITE_DEADLINE_MS 2000

/* Messages that wait for the loop. Beyond it libnats keeps messages, up to its own limits, and
 * drops those that are still more: then a stream has a gap. */
#define IN_BYTES     (64 * MIB)
#define PENDING_MSGS 262144
#define PENDING_SIZE (128 * (int)MIB)

/* Messages that wait for the thread that writes. Streams have windows, so only a server that takes
 * nothing for long lets it grow; then it is as if the connection were down. */
#define OUT_BYTES (128 * MIB)

/* Until the same complaint is logged again. */
#define SAID_NS UINT64_C(30000000000)

/* Messages handled in one turn of the loop. */
#define AT_ONCE 256

struct arrival {
    STAILQ_ENTRY(arrival) link;
    natsMsg *msg; /* NULL: */
    enum { ARRIVAL_UP, ARRIVAL_DOWN, ARRIVAL_ERROR, ARRIVAL_CLOSED } event;
    char text[160]; /* of an error */
};

struct departure {
    STAILQ_ENTRY(departure) link;
    struct packet *packet;
    char subject[CLUSTER_SUBJECT_MAX], reply[CLUSTER_SUBJECT_MAX];
    bool has_after;
    uint64_t after;
};

STAILQ_HEAD(arrivals, arrival);
STAILQ_HEAD(departures, departure);

struct said {
    char text[160];
    uint64_t at_ns;
};

struct bus {
    struct loop *loop;
    struct bus_options options;
    natsConnection *connection;
    natsSubscription *subscriptions[MOST_SUBSCRIBED];
    bool is_up, is_refused;
    struct said said[8];

    pthread_mutex_t in_lock;
    pthread_cond_t in_room;
    struct arrivals in;
    size_t in_bytes;
    int event_fd;
    struct loop_watch *watch;
    struct loop_work work;
    struct arrivals taken; /* of the loop: what it has not handled */

    struct bus_probe *probe;
    struct outbox *outbox; /* of the loop: what leaves at the end of this turn */
    struct loop_work leaving;
    struct loop_watch *wait; /* for what can wait */
    bool is_waiting;

    pthread_mutex_t out_lock;
    pthread_cond_t out_filled;
    struct departures out;
    size_t out_bytes;
    pthread_t writer;
    bool has_writer;
    bool is_stopping; /* under both locks */
};

/* --- in: threads of libnats --- */

static void arrive(struct bus *bus, struct arrival *arrival, size_t bytes)
{
    const uint64_t one = 1;
    bool was_empty;

    (void)pthread_mutex_lock(&bus->in_lock);
    while (arrival->msg && bus->in_bytes > IN_BYTES && !bus->is_stopping)
        (void)pthread_cond_wait(&bus->in_room, &bus->in_lock);
    was_empty = STAILQ_EMPTY(&bus->in);
    STAILQ_INSERT_TAIL(&bus->in, arrival, link);
    bus->in_bytes += bytes;
    (void)pthread_mutex_unlock(&bus->in_lock);
    if (was_empty)
        (void)!write(bus->event_fd, &one, sizeof(one));
}

static size_t cost_of(natsMsg *msg)
{
    return (size_t)natsMsg_GetDataLength(msg) + 256;
}

/* Without memory the message is lost, and its stream has a gap. */
static void on_message(natsConnection *connection, natsSubscription *subscription, natsMsg *msg,
                       void *user)
{
    struct arrival *arrival = malloc(sizeof(*arrival));

    (void)connection;
    (void)subscription;
    if (!arrival) {
        natsMsg_Destroy(msg);
        return;
    }
    arrival->msg = msg;
    arrive(user, arrival, cost_of(msg));
}

static void say(struct bus *bus, int event, const char *text)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));

    if (!arrival)
        return;
    arrival->event = event;
    (void)snprintf(arrival->text, sizeof(arrival->text), "%s", text);
    arrive(bus, arrival, 0);
}

static void on_up(natsConnection *connection, void *user)
{
    (void)connection;
    say(user, ARRIVAL_UP, "");
}

static void on_down(natsConnection *connection, void *user)
{
    (void)connection;
    say(user, ARRIVAL_DOWN, "");
}

static void on_closed(natsConnection *connection, void *user)
{
    (void)connection;
    say(user, ARRIVAL_CLOSED, "");
}

static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                     void *user)
{
    const char *last = NULL;

    (void)subscription;
    (void)natsConnection_GetLastError(connection, &last);
    say(user, ARRIVAL_ERROR,
        status == NATS_SLOW_CONSUMER ? "messages were dropped: too many at once"
        : last && *last              ? last
                                     : natsStatus_GetText(status));
}

/* --- in: the loop --- */

/* Logs a repeated error only after a while: refused heartbeats come three times a second.
 */
static bool was_said(struct bus *bus, const char *text)
{
    uint64_t now = loop_now_ns();
    struct said *oldest = bus->said;

    for (struct said *s = bus->said; s < bus->said + ARRAY_SIZE(bus->said); s++) {
        if (strcmp(s->text, text) == 0 && now < s->at_ns + SAID_NS)
            return true;
        if (s->at_ns < oldest->at_ns)
            oldest = s;
    }
    (void)snprintf(oldest->text, sizeof(oldest->text), "%s", text);
    oldest->at_ns = now;
    return false;
}

static void handle_error(struct bus *bus, const char *text)
{
    bool is_right = strncmp(text, "Permissions Violation", strlen("Permissions Violation")) == 0;

    if (was_said(bus, text))
        return;
    LOG_EVENT(LOG_WARNING, "bus", {"connection", bus->options.name}, {"message", text},
              {"hint",
               "machines.conf of the server gives this certificate other rights: copy the present "
               "one from the machine that made the cluster, then `systemctl reload belljar-nats`",
               .is_left_out = !is_right});
}

/* libnats gives a server up that has refused it twice, and ends with the last one. Whoever watches
 * this process starts it again; it has nothing that is to be kept. */
static void handle_closed(struct bus *bus)
{
    bus->is_refused = true;
    LOG_EVENT(LOG_ERROR, "bus", {"connection", bus->options.name},
              {"message", "the servers of the bus do not know this certificate any more"});
    loop_stop(bus->loop);
}

static void handle_event(struct bus *bus, const struct arrival *arrival)
{
    if (arrival->event == ARRIVAL_ERROR) {
        handle_error(bus, arrival->text);
        return;
    }
    if (arrival->event == ARRIVAL_CLOSED) {
        handle_closed(bus);
        return;
    }
    if (bus->is_up == (arrival->event == ARRIVAL_UP))
        return;
    bus->is_up = arrival->event == ARRIVAL_UP;
    LOG_EVENT(bus->is_up ? LOG_INFO : LOG_WARNING, "bus", {"connection", bus->options.name},
              {"message", bus->is_up ? "connected" : "disconnected"});
    bus_probe_note(bus->probe, bus->is_up);
    bus->options.on_state(bus->options.user_data, bus->is_up);
}

static void handle_message(const struct bus *bus, natsMsg *msg)
{
    const char *reply = natsMsg_GetReply(msg);
    const struct bus_message message = {
        .subject = natsMsg_GetSubject(msg),
        .reply = reply ? reply : "",
        .data = natsMsg_GetData(msg),
        .len = (size_t)natsMsg_GetDataLength(msg),
        .has_no_responders = natsMsg_IsNoResponders(msg),
    };

    bus->options.on_message(bus->options.user_data, &message);
}

/* Takes over what has come since. */
static void take_all(struct bus *bus)
{
    (void)pthread_mutex_lock(&bus->in_lock);
    STAILQ_CONCAT(&bus->taken, &bus->in);
    bus->in_bytes = 0;
    (void)pthread_cond_broadcast(&bus->in_room);
    (void)pthread_mutex_unlock(&bus->in_lock);
}

static void go_on(void *arg)
{
    struct bus *bus = arg;

    for (size_t i = 0; i < AT_ONCE && !loop_is_late(bus->loop); i++) {
        struct arrival *arrival = STAILQ_FIRST(&bus->taken);

        if (!arrival)
            return;
        STAILQ_REMOVE_HEAD(&bus->taken, link);
        if (arrival->msg) {
            handle_message(bus, arrival->msg);
            natsMsg_Destroy(arrival->msg);
        } else {
            handle_event(bus, arrival);
        }
        free(arrival);
    }
    if (!STAILQ_EMPTY(&bus->taken))
        loop_work_post(bus->loop, &bus->work, go_on, bus);
}

static void on_readable(void *arg)
{
    struct bus *bus = arg;
    uint64_t count;

    if (bus->work.loop)
        return; /* it has not got through what came before: the rest waits where it is bounded */
    (void)!read(bus->event_fd, &count, sizeof(count));
    take_all(bus);
    go_on(bus);
}

/* --- out --- */

static void publish_after(struct bus *bus, const struct departure *d)
{
    natsMsg *msg = NULL;
    char number[24];

    (void)snprintf(number, sizeof(number), "%llu", (unsigned long long)d->after);
    if (natsMsg_Create(&msg, d->subject, d->reply, d->packet->data, (int)d->packet->len) ==
            NATS_OK &&
        natsMsgHeader_Set(msg, "Nats-Expected-Last-Subject-Sequence", number) == NATS_OK)
        (void)natsConnection_PublishMsg(bus->connection, msg);
    natsMsg_Destroy(msg);
}

/* Called without a lock: it may block. A failure is a gap, or the connection is down. */
static void publish(struct bus *bus, const struct departure *d)
{
    if (d->has_after)
        publish_after(bus, d);
    else if (*d->reply)
        (void)natsConnection_PublishRequest(bus->connection, d->subject, d->reply, d->packet->data,
                                            (int)d->packet->len);
    else
        (void)natsConnection_Publish(bus->connection, d->subject, d->packet->data,
                                     (int)d->packet->len);
}

static void publish_all(struct bus *bus, struct departures *list)
{
    struct departure *d;

    while ((d = STAILQ_FIRST(list)) != NULL) {
        STAILQ_REMOVE_HEAD(list, link);
        publish(bus, d);
        (void)pthread_mutex_lock(&bus->out_lock);
        bus->out_bytes -= d->packet->len;
        (void)pthread_mutex_unlock(&bus->out_lock);
        packet_unref(d->packet);
        free(d);
    }
}

static void *write_all(void *arg)
{
    struct bus *bus = arg;
    bool is_over = false;

    while (!is_over) {
        struct departures list = STAILQ_HEAD_INITIALIZER(list);

        (void)pthread_mutex_lock(&bus->out_lock);
        while (STAILQ_EMPTY(&bus->out) && !bus->is_stopping)
            (void)pthread_cond_wait(&bus->out_filled, &bus->out_lock);
        STAILQ_CONCAT(&list, &bus->out);
        is_over = bus->is_stopping;
        (void)pthread_mutex_unlock(&bus->out_lock);
        publish_all(bus, &list);
    }
    return NULL;
}

static void depart(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                   const uint64_t *after)
{
    struct departure *d = malloc(sizeof(*d));
    bool has_room;

    if (!d)
        return; /* a gap, which is noticed */
    (void)snprintf(d->subject, sizeof(d->subject), "%s", subject);
    (void)snprintf(d->reply, sizeof(d->reply), "%s", reply ? reply : "");
    d->packet = packet;
    d->has_after = after != NULL;
    d->after = after ? *after : 0;
    (void)pthread_mutex_lock(&bus->out_lock);
    has_room = bus->out_bytes + packet->len <= OUT_BYTES;
    if (has_room) {
        (void)atomic_fetch_add(&packet->refs, 1);
        STAILQ_INSERT_TAIL(&bus->out, d, link);
        bus->out_bytes += packet->len;
    }
    (void)pthread_mutex_unlock(&bus->out_lock);
    if (has_room)
        (void)pthread_cond_signal(&bus->out_filled);
    else
        free(d);
}

void bus_send(struct bus *bus, const char *subject, const char *reply, struct packet *packet)
{
    depart(bus, subject, reply, packet, NULL);
}

void bus_send_after(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    uint64_t sequence)
{
    depart(bus, subject, reply, packet, &sequence);
}

/* --- frames: several as one message --- */

static void send_message(void *user, const char *subject, const char *reply, struct packet *packet)
{
    bus_send(user, subject, reply, packet);
}

static void leave(void *arg)
{
    const struct bus *bus = arg;

    outbox_flush(bus->outbox, false);
}

static void end_wait(void *arg)
{
    struct bus *bus = arg;

    bus->is_waiting = false;
    outbox_flush(bus->outbox, true);
}

void bus_send_frame(struct bus *bus, const char *subject, const char *reply, struct packet *packet,
                    bool can_wait)
{
    outbox_add(bus->outbox, subject, reply, packet, can_wait);
    if (!can_wait) {
        loop_work_post(bus->loop, &bus->leaving, leave, bus);
    } else if (!bus->is_waiting) {
        bus->is_waiting = true;
        loop_timer_start(bus->wait, BUS_WAIT_MS);
    }
}

static int open_outbox(struct bus *bus, struct error *err)
{
    bus->outbox = outbox_new(send_message, bus);
    bus->wait = loop_timer(bus->loop, end_wait, bus);
    return bus->outbox && bus->wait ? 0 : error_memory(err);
}

/* Sends the remaining frames. */
static void close_outbox(struct bus *bus)
{
    if (bus->outbox)
        outbox_flush(bus->outbox, true);
    outbox_free(bus->outbox);
    bus->outbox = NULL;
    loop_work_cancel(&bus->leaving);
    loop_watch_free(bus->wait);
    bus->wait = NULL;
}

void bus_send_bytes(struct bus *bus, const char *subject, const void *data, size_t len)
{
    struct packet *packet = packet_copy(data, len);

    if (packet)
        bus_send(bus, subject, NULL, packet);
    packet_unref(packet);
}

bool bus_is_up(const struct bus *bus)
{
    return bus->is_up;
}

bool bus_is_refused(const struct bus *bus)
{
    return bus && bus->is_refused;
}

struct __natsConnection *bus_connection(struct bus *bus)
{
    return bus->connection;
}

/* --- life --- */

static natsStatus set_rules(natsOptions *o, const struct bus_options *options, struct bus *bus)
{
    size_t n = 0;

    while (options->servers[n])
        n++;
#define TRY(call)                                                                                  \
    do {                                                                                           \
        natsStatus s_ = (call);                                                                    \
        if (s_ != NATS_OK)                                                                         \
            return s_;                                                                             \
    } while (0)
    TRY(natsOptions_SetServers(o, (const char **)(uintptr_t)options->servers, (int)n));
    TRY(natsOptions_SetNoRandomize(o, true)); /* the first one is this machine's own */
    TRY(natsOptions_SetName(o, options->name));
    TRY(natsOptions_SetTimeout(o, CONNECT_MS));
    TRY(natsOptions_SetMaxReconnect(o, -1));
    TRY(natsOptions_SetReconnectWait(o, RECONNECT_MS));
    TRY(natsOptions_SetReconnectJitter(o, RECONNECT_JITTER, RECONNECT_JITTER));
    TRY(natsOptions_SetPingInterval(o, PING_MS));
    TRY(natsOptions_SetMaxPingsOut(o, PINGS_UNANSWERED));
    TRY(natsOptions_SetNoEcho(o, true));
    TRY(natsOptions_SetSendAsap(o, true));
    TRY(natsOptions_SetWriteDeadline(o, WRITE_DEADLINE_MS));
    TRY(natsOptions_UseGlobalMessageDelivery(o, true));
    TRY(natsOptions_SetRetryOnFailedConnect(o, true, on_up, bus));
    TRY(natsOptions_SetDisconnectedCB(o, on_down, bus));
    TRY(natsOptions_SetReconnectedCB(o, on_up, bus));
    TRY(natsOptions_SetErrorHandler(o, on_error, bus));
    TRY(natsOptions_SetClosedCB(o, on_closed, bus));
    return (natsStatus)bus_probe_identify(o, options);
}

static natsStatus subscribe_all(struct bus *bus)
{
    for (size_t i = 0; i < MOST_SUBSCRIBED && bus->options.subjects[i]; i++) {
        TRY(natsConnection_Subscribe(&bus->subscriptions[i], bus->connection,
                                     bus->options.subjects[i], on_message, bus));
        TRY(natsSubscription_SetPendingLimits(bus->subscriptions[i], PENDING_MSGS, PENDING_SIZE));
    }
    return NATS_OK;
}
#undef TRY

/* With TLS 1.3 the server refuses a certificate after the client has found all to be well. */
static int fail(const struct bus *bus, natsStatus status, struct error *err)
{
    if (status == NATS_CONNECTION_CLOSED || status == NATS_CONNECTION_AUTH_FAILED) {
        error_set(err, E_DENIED, "the bus: the server has closed the connection");
        return error_hint(err, "it may not know this certificate: `belljar cluster join --check` "
                               "says more");
    }
    bus_probe_explain((int)status, bus->options.servers[0], err);
    return -1;
}

/* In the threads that are made meanwhile no signal is handled. */
static int connect_bus(struct bus *bus, struct error *err)
{
    natsOptions *o = NULL;
    natsStatus s = nats_Open(-1);

    if (s == NATS_OK)
        s = nats_SetMessageDeliveryPoolSize(DELIVERY_THREADS);
    if (s == NATS_OK)
        s = natsOptions_Create(&o);
    if (s == NATS_OK)
        s = set_rules(o, &bus->options, bus);
    if (s == NATS_OK)
        s = natsConnection_Connect(&bus->connection, o);
    natsOptions_Destroy(o);
    bus->is_up = s == NATS_OK;
    if (s == NATS_NOT_YET_CONNECTED)
        s = NATS_OK;
    if (s == NATS_OK)
        s = subscribe_all(bus);
    if (s != NATS_OK)
        return fail(bus, s, err);
    if (pthread_create(&bus->writer, NULL, write_all, bus) != 0)
        return error_set(err, E_SYSTEM, "the bus: no thread can be made");
    bus->has_writer = true;
    return 0;
}

static int open_queue(struct bus *bus, struct error *err)
{
    bus->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bus->event_fd < 0)
        return error_errno(err, "eventfd");
    bus->watch = loop_watch_fd(bus->loop, bus->event_fd, LOOP_READ, on_readable, bus);
    return bus->watch ? 0 : error_memory(err);
}

int bus_new(struct loop *loop, const struct bus_options *options, struct bus **ret_bus,
            struct error *err)
{
    struct bus *bus = calloc(1, sizeof(*bus));
    sigset_t all, before;
    int r;

    if (!bus)
        return error_memory(err);
    bus->loop = loop;
    bus->options = *options;
    bus->event_fd = -1;
    STAILQ_INIT(&bus->in);
    STAILQ_INIT(&bus->taken);
    STAILQ_INIT(&bus->out);
    (void)pthread_mutex_init(&bus->in_lock, NULL);
    (void)pthread_cond_init(&bus->in_room, NULL);
    (void)pthread_mutex_init(&bus->out_lock, NULL);
    (void)pthread_cond_init(&bus->out_filled, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = open_queue(bus, err);
    if (r == 0)
        r = open_outbox(bus, err);
    if (r == 0)
        r = bus_probe_new(loop, &bus->options, &bus->probe, err);
    if (r == 0)
        r = connect_bus(bus, err);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r < 0) {
        bus_close(bus);
        return -1;
    }
    bus_probe_note(bus->probe, bus->is_up);
    *ret_bus = bus;
    return 0;
}

static void stop_threads(struct bus *bus)
{
    (void)pthread_mutex_lock(&bus->in_lock);
    (void)pthread_mutex_lock(&bus->out_lock);
    bus->is_stopping = true;
    (void)pthread_cond_broadcast(&bus->in_room);
    (void)pthread_cond_broadcast(&bus->out_filled);
    (void)pthread_mutex_unlock(&bus->out_lock);
    (void)pthread_mutex_unlock(&bus->in_lock);
    if (bus->has_writer)
        (void)pthread_join(bus->writer, NULL);
}

void bus_close(struct bus *bus)
{
    if (!bus)
        return;
    close_outbox(bus);
    bus_probe_free(bus->probe);
    bus->probe = NULL;
    stop_threads(bus);
    natsConnection_Close(bus->connection);
    loop_watch_free(bus->watch);
    bus->watch = NULL;
    loop_work_cancel(&bus->work);
}

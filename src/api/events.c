#include "api/events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "admit/caller.h"
#include "api/router.h"
#include "base/cleanup.h"
#include "base/date.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "calls/approval.h"
#include "engine/session.h"
#include "http/sse.h"

#define RING        4096
#define RING_BYTES  (4 * MIB)
#define EVENT_BYTES (16 * KIB) /* a longer one is left out */

#define BATCH_MS   100
#define COMMENT_MS 15000
#define LINGER_MS  60000 /* after the last client has gone */

#define CLIENTS_MAX 64
#define OWN_MAX     8 /* of one token */

/* To one client at a time, and in one turn. */
#define WRITE_BYTES (64 * KIB)
#define TURN_BYTES  (256 * KIB)

struct event {
    uint64_t id;
    unsigned kind;
    char owner[REQUEST_OWNER_MAX];
    char session[ID_SIZE];
    char begun[DATE_SIZE]; /* when what it is about came into being; "": not known */
    char *text;            /* from `event:` on, with the empty line at its end */
    size_t len;
};

struct client {
    TAILQ_ENTRY(client) link;
    struct events *events;
    struct request *request;
    struct caller *caller;
    unsigned kinds;
    bool is_of_all;
    char session[ID_SIZE];
    uint64_t next;  /* the number of the first event that it has not read */
    bool is_full;   /* until it has read */
    bool has_lost;  /* events that it has not been told of */
    bool is_served; /* since the last comment */
};

struct events {
    struct loop *loop;
    struct event ring[RING];
    uint64_t first, end; /* numbers of events: a place in the ring is the rest by RING */
    size_t bytes;
    uint64_t base_id, last_id; /* everything behind the former is in the ring */
    TAILQ_HEAD(clients, client) clients;
    size_t n_clients;
    struct loop_watch *batch, *comment, *linger;
    bool is_wanted, is_due, is_closed;
};

static uint64_t new_id(const struct events *events)
{
    struct timespec now;
    uint64_t id;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    id = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    return id > events->last_id ? id : events->last_id + 1;
}

/* --- the ring --- */

static struct event *at(struct events *events, uint64_t number)
{
    return &events->ring[number % RING];
}

static void drop_first(struct events *events)
{
    struct event *event = at(events, events->first++);

    events->base_id = event->id;
    events->bytes -= event->len;
    free(event->text);
    *event = (struct event){0};
}

static void forget_all(struct events *events)
{
    while (events->first < events->end)
        drop_first(events);
}

static void begin_to_write(struct events *events)
{
    loop_timer_stop(events->linger);
    if (events->is_wanted)
        return;
    forget_all(events);
    events->base_id = events->last_id = new_id(events);
    events->is_wanted = true;
}

static void on_linger(void *arg)
{
    struct events *events = arg;

    events->is_wanted = false;
    forget_all(events);
}

bool events_are_wanted(const struct events *events)
{
    return events && events->is_wanted && !events->is_closed;
}

static void make_due(struct events *events)
{
    if (events->is_due || TAILQ_EMPTY(&events->clients))
        return;
    events->is_due = true;
    loop_timer_start(events->batch, BATCH_MS);
}

static void append(struct events *events, const struct event *event)
{
    while (events->end - events->first == RING ||
           (events->end > events->first && events->bytes + event->len > RING_BYTES))
        drop_first(events);
    *at(events, events->end++) = *event;
    events->bytes += event->len;
    events->last_id = event->id;
    make_due(events);
}

/* NULL: out of memory, or too long. */
static char *format(const char *name, const json_t *data, size_t *ret_len)
{
    struct buf text = BUF_OF(EVENT_BYTES);

    if (sse_text_add(&text, name, data, NULL) < 0) {
        buf_done(&text);
        return NULL;
    }
    *ret_len = text.len;
    return take_ptr(text.data);
}

/* Of the run or the session, by its id. */
static void read_beginning(const json_t *data, char begun[DATE_SIZE])
{
    static const char *const names[] = {"id", "run_id", "session_id"};

    *begun = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(names) && !*begun; i++) {
        const char *id = json_string_value(json_object_get(data, names[i]));
        int64_t ms = id ? id_time_ms(id) : -1;
        const struct timespec at = {.tv_sec = (time_t)(ms / 1000),
                                    .tv_nsec = (long)(ms % 1000) * 1000000};

        if (ms >= 0)
            date_millis(&at, begun);
    }
}

void events_tell(struct events *events, enum event_kind kind, const char *name, const char *owner,
                 const char *session, json_t *data)
{
    struct event event = {.kind = kind};
    char time[DATE_SIZE];

    if (data && events_are_wanted(events)) {
        date_millis_now(time);
        json_set(data, "time", json_string(time));
        json_set(data, "owner", json_string(owner));
        event.id = new_id(events);
        (void)snprintf(event.owner, sizeof(event.owner), "%s", owner);
        (void)snprintf(event.session, sizeof(event.session), "%s", session ? session : "");
        read_beginning(data, event.begun);
        event.text = format(name, data, &event.len);
        if (event.text)
            append(events, &event);
    }
    json_decref(data);
}

/* --- what happens --- */

void events_tell_session(struct events *events, const struct session_event *event)
{
    static const struct {
        const char *event, *name, *key;
        enum event_kind kind;
    } names[] = {
        {"open", "session_opened", NULL, EVENT_SESSION},
        {"end", "session_ended", "why", EVENT_SESSION},
        {"paused", "session_paused", NULL, EVENT_SESSION},
        {"resumed", "session_resumed", NULL, EVENT_SESSION},
        {"fork", "session_forked", NULL, EVENT_SESSION},
        {"checkpoint", "session_checkpointed", "checkpoint", EVENT_SESSION},
        {"restore", "session_restored", "checkpoint", EVENT_SESSION},
        {"applied", "changes_applied", NULL, EVENT_CHANGE},
        {"discard", "changes_discarded", NULL, EVENT_CHANGE},
    };
    struct session_info info;
    json_t *data;

    for (size_t i = 0; events_are_wanted(events) && i < ARRAY_SIZE(names); i++) {
        if (strcmp(event->event, names[i].event) != 0)
            continue;
        session_info(event->session, &info);
        data = json_pack("{s:s, s:s, s:s}", "session_id", info.id, "name", info.name, "profile",
                         info.profile ? info.profile : "");
        if (data && strcmp(event->event, "open") == 0)
            json_set(data, "parent", json_string_or_null(info.parent));
        if (data && names[i].key)
            json_set(data, names[i].key, json_string_or_null(event->detail));
        events_tell(events, names[i].kind, names[i].name, info.owner, info.id, data);
    }
}

void events_tell_approval(struct events *events, const struct approval_change *change)
{
    const struct approval *a = change->approval;
    const struct run *run = a->run;
    json_t *data;

    if (!events_are_wanted(events))
        return;
    data = json_pack("{s:s, s:s, s:o, s:o}", "approval_id", a->id, "run_id", run->id, "session_id",
                     *run->origin.session ? json_string(run->origin.session) : json_null(), "call",
                     json_text_string(a->name, strlen(a->name)));
    if (data && change->answer)
        json_set(data, "answer", json_string(change->answer));
    else if (data)
        json_set(data, "expires_in_s", json_real(a->seconds));
    events_tell(events, EVENT_APPROVAL, change->answer ? "approval_answered" : "approval_asked",
                run->origin.owner ? run->origin.owner : "", run->origin.session, data);
}

void events_tell_undo(struct events *events, const char *owner, const char *run,
                      const json_t *answer)
{
    json_t *data;

    if (!events_are_wanted(events))
        return;
    data =
        json_pack("{s:s, s:O?, s:I, s:I}", "run_id", run, "undo", json_object_get(answer, "undo"),
                  "done", json_integer_value(json_object_get(answer, "n_done")), "conflicts",
                  json_integer_value(json_object_get(answer, "n_conflicts")));
    events_tell(events, EVENT_CHANGE, "run_undone", owner, NULL, data);
}

/* --- clients --- */

static void remove_client(struct client *client)
{
    struct events *events = client->events;

    TAILQ_REMOVE(&events->clients, client, link);
    events->n_clients--;
    client->caller->n_listeners--;
    free(client);
    if (!TAILQ_EMPTY(&events->clients))
        return;
    loop_timer_stop(events->comment);
    if (!events->is_closed)
        loop_timer_start(events->linger, LINGER_MS);
}

static void end_client(struct client *client)
{
    struct request *request = client->request;

    request->on_gone = NULL;
    request->on_drained = NULL;
    remove_client(client);
    request_end(request);
}

/* Runs and sessions that began before the token was known belong to an earlier one of its name. */
static bool is_own(const struct client *client, const struct event *event)
{
    const struct caller *caller = client->caller;

    return strcmp(event->owner, caller->name) == 0 &&
           (!*caller->known_since || strcmp(event->begun, caller->known_since) > 0);
}

static bool is_for(const struct client *client, const struct event *event)
{
    return (event->kind & client->kinds) && (client->is_of_all || is_own(client, event)) &&
           (!*client->session || strcmp(event->session, client->session) == 0);
}

/* Its token may have been removed, or have lost the right, since it began to listen. */
static bool may_listen(const struct client *client)
{
    return route_is_known(client->request) &&
           (!client->is_of_all || client->caller->rights.is_operator);
}

void events_end_unknown(struct events *events)
{
    struct client *client, *after;

    for (client = TAILQ_FIRST(&events->clients); client; client = after) {
        after = TAILQ_NEXT(client, link);
        if (!may_listen(client))
            end_client(client);
    }
}

static void add_gap(struct client *client, struct buf *out)
{
    struct events *events = client->events;
    uint64_t from = events->first < events->end ? at(events, events->first)->id : events->base_id;
    const struct timespec when = {.tv_sec = (time_t)(from / 1000000),
                                  .tv_nsec = (long)(from % 1000000) * 1000};
    char time[DATE_SIZE];

    date_millis(&when, time);
    (void)buf_printf(out, NULL, "id: %" PRIu64 "\nevent: gap\ndata: {\"from\":\"%s\"}\n\n",
                     events->base_id, time);
    client->has_lost = false;
}

/* As much as one write takes. */
static void collect(struct client *client, struct buf *out)
{
    struct events *events = client->events;

    if (client->next < events->first) {
        client->next = events->first;
        client->has_lost = true;
    }
    if (client->has_lost)
        add_gap(client, out);
    for (; client->next < events->end && out->len < WRITE_BYTES; client->next++) {
        const struct event *event = at(events, client->next);

        if (is_for(client, event) && (buf_printf(out, NULL, "id: %" PRIu64 "\n", event->id) < 0 ||
                                      buf_add(out, event->text, event->len, NULL) < 0))
            client->has_lost = true;
    }
}

/* Returns false if the turn is over. */
static bool serve(struct client *client)
{
    cleanup(buf_done) struct buf out = BUF_OF(2 * WRITE_BYTES);
    size_t written = 0;

    while (!client->is_full && written < TURN_BYTES &&
           (client->next < client->events->end || client->has_lost)) {
        buf_clear(&out);
        collect(client, &out);
        if (out.len)
            client->is_full = !request_write(client->request, buf_str(&out), out.len);
        client->is_served |= out.len > 0;
        written += out.len;
    }
    return !loop_is_late(client->events->loop);
}

/* A client that was served goes to the end of the line: the turn may end before all were. */
static void serve_all(struct events *events)
{
    size_t count = events->n_clients;
    struct client *client;

    while (count-- && (client = TAILQ_FIRST(&events->clients))) {
        if (!may_listen(client)) {
            end_client(client);
            continue;
        }
        TAILQ_REMOVE(&events->clients, client, link);
        TAILQ_INSERT_TAIL(&events->clients, client, link);
        if (!serve(client))
            break;
    }
}

static bool is_behind(const struct events *events)
{
    const struct client *client;

    TAILQ_FOREACH(client, &events->clients, link) {
        if (!client->is_full && (client->next < events->end || client->has_lost))
            return true;
    }
    return false;
}

static void on_batch(void *arg)
{
    struct events *events = arg;

    events->is_due = false;
    serve_all(events);
    if (is_behind(events))
        make_due(events);
}

static void on_comment(void *arg)
{
    struct events *events = arg;
    struct client *client, *after;

    for (client = TAILQ_FIRST(&events->clients); client; client = after) {
        after = TAILQ_NEXT(client, link);
        if (!may_listen(client)) {
            end_client(client);
            continue;
        }
        if (!client->is_served && !client->is_full)
            client->is_full = !request_write(client->request, ":\n\n", 3);
        client->is_served = false;
    }
    if (!TAILQ_EMPTY(&events->clients))
        loop_timer_start(events->comment, COMMENT_MS);
}

static void on_gone(struct request *request)
{
    remove_client(request->user);
}

static void on_drained(struct request *request)
{
    struct client *client = request->user;

    client->is_full = false;
    make_due(client->events);
}

/* --- beginning --- */

/* 0: there is none. UINT64_MAX: it is no id of ours. */
static uint64_t last_id_of(const struct request *request)
{
    struct span text = request_header(request, "last-event-id");
    uint64_t id = 0;

    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i >= 18)
            return UINT64_MAX;
        id = id * 10 + (uint64_t)(text.data[i] - '0');
    }
    return text.data ? id : 0;
}

/* Its place in the ring. */
static void find_place(struct client *client, uint64_t id)
{
    struct events *events = client->events;
    uint64_t low = events->first, high = events->end;

    client->next = events->end;
    if (!request_header(client->request, "last-event-id").data)
        return;
    client->has_lost = id < events->base_id || id > events->last_id;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (!client->has_lost && at(events, middle)->id <= id)
            low = middle + 1;
        else
            high = middle;
    }
    client->next = low;
}

static int check_room(const struct events *events, const struct caller *caller, struct error *err)
{
    if (events->is_closed)
        return error_set(err, E_BUSY, "the server is stopping");
    if (events->n_clients < CLIENTS_MAX && caller->n_listeners < OWN_MAX)
        return 0;
    error_set(err, E_BUSY, "too many event streams: at most %d, and %d per token", CLIENTS_MAX,
              OWN_MAX);
    return error_hint(err, "close another stream first");
}

/* A stream that is resumed keeps the id that the client sent as its last. */
static void say_hello(const struct client *client, const json_t *hello)
{
    cleanup(buf_done) struct buf text = BUF_OF(EVENT_BYTES);
    bool is_new = !request_header(client->request, "last-event-id").data;

    if (is_new)
        (void)buf_printf(&text, NULL, "id: %" PRIu64 "\n", client->events->last_id);
    if (sse_text_add(&text, "hello", hello, NULL) == 0)
        (void)request_write(client->request, buf_str(&text), text.len);
}

static void join(struct client *client)
{
    struct events *events = client->events;

    if (TAILQ_EMPTY(&events->clients))
        loop_timer_start(events->comment, COMMENT_MS);
    TAILQ_INSERT_TAIL(&events->clients, client, link);
    events->n_clients++;
    client->caller->n_listeners++;
}

int events_follow(struct events *events, struct request *request,
                  const struct events_filter *filter, json_t *hello, struct error *err)
{
    cleanup_json json_t *first = hello;
    uint64_t id = last_id_of(request);
    struct client *client;

    if (check_room(events, request->caller, err) < 0)
        return -1;
    client = calloc(1, sizeof(*client));
    if (!client)
        return error_memory(err);
    *client = (struct client){
        .events = events,
        .request = request,
        .caller = request->caller,
        .kinds = filter->kinds,
        .is_of_all = filter->is_of_all,
    };
    (void)snprintf(client->session, sizeof(client->session), "%s",
                   filter->session ? filter->session : "");
    begin_to_write(events);
    find_place(client, id);
    request->user = client;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    join(client);
    request_begin(request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
    say_hello(client, first);
    (void)serve(client);
    make_due(events);
    return 0;
}

/* --- life --- */

int events_new(struct loop *loop, struct events **ret_events, struct error *err)
{
    struct events *events = calloc(1, sizeof(*events));

    if (!events)
        return error_memory(err);
    events->loop = loop;
    TAILQ_INIT(&events->clients);
    events->batch = loop_timer(loop, on_batch, events);
    events->comment = loop_timer(loop, on_comment, events);
    events->linger = loop_timer(loop, on_linger, events);
    if (!events->batch || !events->comment || !events->linger) {
        events_free(events);
        return error_memory(err);
    }
    *ret_events = events;
    return 0;
}

void events_close(struct events *events)
{
    events->is_closed = true;
    while (!TAILQ_EMPTY(&events->clients))
        end_client(TAILQ_FIRST(&events->clients));
}

void events_free(struct events *events)
{
    if (!events)
        return;
    forget_all(events);
    loop_watch_free(events->batch);
    loop_watch_free(events->comment);
    loop_watch_free(events->linger);
    free(events);
}

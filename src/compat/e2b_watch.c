/* Watching directories: filesystem.Filesystem's WatchDir, a stream, and the watchers that other
 * clients ask from time to time, which keep a bounded list of what has happened. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "compat/e2b_connect.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"
#include "engine/session_watch.h"

/* Watchers of one sandbox that are asked, and events that each keeps. */
#define WATCHERS_MAX 8
#define EVENTS_MAX   1000

/* Of these events, about: names can be long. What an event has beside its texts, and beside the
 * metadata of a file. */
#define EVENTS_BYTES   ((size_t)256 * KIB)
#define EVENT_BYTES    ((size_t)256)
#define METADATA_BYTES ((size_t)4 * KIB)

#define MESSAGE_BYTES ((size_t)64 * KIB)
#define PING_S        90

static const char ping[] = "\0\0\0\0\x10{\"keepalive\":{}}";

/* The part that both kinds share: the directory, and the form of its events. */
struct place {
    struct e2b_sandbox *sandbox;
    struct session_watch *watch; /* NULL: it has ended */
    char top[PATH_MAX];
    bool has_entries; /* events have the entry that they are about */
};

/* --- events as JSON --- */

static const char *type_of(enum tree_event_kind kind)
{
    switch (kind) {
    case TREE_CREATED:
        return "EVENT_TYPE_CREATE";
    case TREE_REMOVED:
        return "EVENT_TYPE_REMOVE";
    case TREE_RENAMED:
        return "EVENT_TYPE_RENAME";
    case TREE_CHANGED:
        return "EVENT_TYPE_CHMOD";
    default:
        return "EVENT_TYPE_WRITE";
    }
}

/* NULL: it is gone again. */
static json_t *entry_of(const struct place *place, const char *path)
{
    const struct files *files = session_files(place->sandbox->session);
    struct files_entry entry;
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof(whole), "%s%s%s", place->top, *place->top ? "/" : "", path);

    if (!files || n >= PATH_MAX || files_stat(files, whole, &entry, NULL) < 0)
        return NULL;
    return e2b_entry_json(place->sandbox, &entry);
}

/* Clients know no event for what was lost: it is a change of the directory itself. */
static json_t *event_json(const struct place *place, const struct tree_event *event)
{
    cleanup(buf_done) struct buf name = BUF_OF((size_t)8 * PATH_MAX);
    bool is_lost = event->kind == TREE_LOST;
    bool has_entry =
        place->has_entries &&
        (event->kind == TREE_CREATED || event->kind == TREE_WRITTEN || event->kind == TREE_CHANGED);

    if (files_path_escape(is_lost ? "." : event->path, &name, NULL) < 0)
        return NULL;
    return json_pack("{s:o, s:s, s:o*}", "name", json_text_string(buf_str(&name), name.len), "type",
                     type_of(event->kind), "entry",
                     has_entry ? entry_of(place, event->path) : NULL);
}

/* --- files that clients write --- */

/* They come into being with all their bytes, and Linux reports no write. Programs wait for one. */
void e2b_watch_written(struct e2b_sandbox *sandbox, const char *path)
{
    char **place = &sandbox->written[sandbox->last_written++ % E2B_WRITTEN_MAX];

    free(*place);
    *place = strdup(path);
}

static bool was_written(const struct place *place, const char *path)
{
    size_t len = *place->top ? strlen(place->top) + 1 : 0;

    for (size_t i = 0; i < E2B_WRITTEN_MAX; i++) {
        const char *written = place->sandbox->written[i];

        if (written && strncmp(written, place->top, len ? len - 1 : 0) == 0 &&
            strlen(written) > len && (!len || written[len - 1] == '/') &&
            strcmp(written + len, path) == 0)
            return true;
    }
    return false;
}

/* Until it has its name, Linux calls such a file "#" and a number. */
static bool is_unnamed(const struct place *place, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct files_entry entry;
    char whole[PATH_MAX];
    int n = snprintf(whole, sizeof(whole), "%s%s%s", place->top, *place->top ? "/" : "", path);
    const struct files *files = session_files(place->sandbox->session);

    return *name == '#' && name[1] && name[1 + strspn(name + 1, "0123456789")] == '\0' &&
           n < PATH_MAX && files && files_stat(files, whole, &entry, NULL) < 0;
}

static void tell(void *user, const struct tree_event *event,
                 void (*fn)(void *user, const struct tree_event *event))
{
    const struct place *place = user;
    struct tree_event write = *event;

    if ((event->kind == TREE_CHANGED || event->kind == TREE_WRITTEN) &&
        is_unnamed(place, event->path))
        return;
    fn(user, event);
    write.kind = TREE_WRITTEN;
    if (event->kind == TREE_CREATED && !event->is_directory && was_written(place, event->path))
        fn(user, &write);
}

/* --- streams --- */

struct stream {
    struct place place; /* the first: what events are told to */
    struct e2b_stream out;
    struct loop_watch *deadline; /* or NULL */
};

static void free_stream(struct stream *s)
{
    session_watch_free(s->place.watch);
    loop_watch_free(s->deadline);
    e2b_stream_drop(&s->out);
    free(s);
}

static void write_message(struct stream *s, json_t *value)
{
    cleanup(buf_done) struct buf text = BUF_OF(MESSAGE_BYTES), envelope = BUF_OF(MESSAGE_BYTES);

    if (value && json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) == 0 &&
        e2b_envelope_add(&envelope, 0, buf_str(&text), text.len, NULL) == 0)
        e2b_stream_write(&s->out, buf_str(&envelope), envelope.len);
    json_decref(value);
    if (s->out.is_behind && s->place.watch)
        session_watch_hold(s->place.watch, true);
}

static void on_stream_ready(void *user)
{
    write_message(user, json_pack("{s:{}}", "start"));
}

static void tell_stream(void *user, const struct tree_event *event)
{
    struct stream *s = user;

    write_message(s, json_pack("{s:o}", "filesystem", event_json(&s->place, event)));
}

static void on_stream_event(void *user, const struct tree_event *event)
{
    tell(user, event, tell_stream);
}

static void end_stream(struct stream *s, const char *code, const char *why)
{
    cleanup(buf_done) struct buf end = BUF_OF(KIB);

    e2b_end_envelope(&end, code, why);
    e2b_stream_write(&s->out, buf_str(&end), end.len);
    e2b_stream_end(&s->out);
    free_stream(s);
}

/* The directory was removed, or the sandbox has ended: nothing more will happen there. */
static void on_stream_end(void *user, const char *why)
{
    struct stream *s = user;

    s->place.watch = NULL;
    end_stream(s, NULL, why);
}

static void on_deadline(void *arg)
{
    end_stream(arg, "deadline_exceeded", "context deadline exceeded");
}

static void on_stream_gone(struct request *request)
{
    free_stream(request->user);
}

static void on_stream_drained(struct request *request)
{
    struct stream *s = request->user;

    s->out.is_behind = false;
    session_watch_hold(s->place.watch, false);
}

/* --- what both begin with --- */

static int begin(struct place *place, const json_t *body, struct session_watch_options *options,
                 struct error *err)
{
    const json_t *path = json_object_get(body, "path");

    if (path && !json_is_string(path))
        return error_set(err, E_INVALID, "`path`: expected a text");
    if (e2b_path_read(json_get_text(body, "path"), place->top, err) < 0)
        return -1;
    place->has_entries = json_is_true(json_object_get(body, "includeEntry")) ||
                         json_is_true(json_object_get(body, "include_entry"));
    options->path = place->top;
    options->is_recursive = json_is_true(json_object_get(body, "recursive"));
    options->user = place;
    return session_watch_new(place->sandbox->session, options, &place->watch, err);
}

static void limit(struct stream *s, const struct request *request)
{
    uint64_t limit_ms = e2b_header_number(request, "connect-timeout-ms");

    if (limit_ms)
        s->deadline = loop_timer(s->out.e2b->loop, on_deadline, s);
    if (s->deadline)
        loop_timer_start(s->deadline, limit_ms);
}

void e2b_watch_dir(struct request *request)
{
    struct session_watch_options options = {
        .on_ready = on_stream_ready, .on_event = on_stream_event, .on_end = on_stream_end};
    json_t *body = e2b_body(request);
    struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    struct stream *s;
    struct error err = {0};
    uint64_t ping_s;

    if (!sandbox)
        return;
    s = calloc(1, sizeof(*s));
    if (s)
        s->place.sandbox = sandbox;
    if (!s || begin(&s->place, body, &options, &err) < 0) {
        if (!s)
            error_memory(&err);
        free(s);
        request_answer_error(request, &err);
        return;
    }
    ping_s = e2b_header_number(request, "keepalive-ping-interval");
    s->out.ping = (struct span){ping, sizeof(ping) - 1};
    s->out.ping_ms = (ping_s && ping_s < PING_S ? ping_s : PING_S) * 1000;
    e2b_stream_begin(&s->out, sandbox->e2b, request, "application/connect+json");
    request->user = s;
    request->on_gone = on_stream_gone;
    request->on_drained = on_stream_drained;
    limit(s, request);
}

/* --- watchers that are asked --- */

struct e2b_watcher {
    struct place place; /* the first: what events are told to */
    LIST_ENTRY(e2b_watcher) link;
    char id[E2B_ID_LEN + 1];
    json_t *events;
    size_t bytes;            /* of the events, about */
    struct request *waiting; /* for its beginning; NULL: it has been answered */
};

static void free_watcher(struct e2b_watcher *w)
{
    LIST_REMOVE(w, link);
    session_watch_free(w->place.watch);
    json_decref(w->events);
    free(w);
}

void e2b_watchers_done(struct e2b_sandbox *sandbox)
{
    while (!LIST_EMPTY(&sandbox->watchers))
        free_watcher(LIST_FIRST(&sandbox->watchers));
}

static void on_watcher_ready(void *user)
{
    struct e2b_watcher *w = user;
    struct request *request = take_ptr(w->waiting);

    if (!request)
        return;
    request->on_gone = NULL;
    request_answer_json(request, 200, json_pack("{s:s}", "watcherId", w->id));
}

static size_t weight_of(const json_t *event)
{
    const json_t *entry = json_object_get(event, "entry");

    return EVENT_BYTES + json_string_length(json_object_get(event, "name")) +
           json_string_length(json_object_get(entry, "name")) +
           json_string_length(json_object_get(entry, "path")) +
           (json_object_get(entry, "metadata") ? METADATA_BYTES : 0);
}

/* A full list holds the watch; what is lost meanwhile is told afterwards. */
static void tell_watcher(void *user, const struct tree_event *event)
{
    struct e2b_watcher *w = user;
    json_t *value = event_json(&w->place, event);

    w->bytes += weight_of(value);
    (void)json_array_append_new(w->events, value);
    if (json_array_size(w->events) >= EVENTS_MAX || w->bytes >= EVENTS_BYTES)
        session_watch_hold(w->place.watch, true);
}

static void on_watcher_event(void *user, const struct tree_event *event)
{
    tell(user, event, tell_watcher);
}

/* Its events can still be asked for. */
static void on_watcher_end(void *user, const char *why)
{
    struct e2b_watcher *w = user;
    struct request *request = take_ptr(w->waiting);
    struct error err = {0};

    w->place.watch = NULL;
    if (!request)
        return;
    request->on_gone = NULL;
    error_set(&err, E_NOT_FOUND, "%s", why);
    request_answer_error(request, &err);
    free_watcher(w);
}

static void on_maker_gone(struct request *request)
{
    free_watcher(request->user);
}

static struct e2b_watcher *new_watcher(struct e2b_sandbox *sandbox, struct error *err)
{
    struct e2b_watcher *w;
    size_t count = 0;

    LIST_FOREACH(w, &sandbox->watchers, link)
        count++;
    if (count >= WATCHERS_MAX) {
        error_set(err, E_BUSY, "the sandbox has %d watchers, which is the limit", WATCHERS_MAX);
        return NULL;
    }
    w = calloc(1, sizeof(*w));
    if (!w || !(w->events = json_array()) || e2b_make_id(w->id) < 0) {
        if (w)
            json_decref(w->events);
        free(w);
        error_memory(err);
        return NULL;
    }
    w->place.sandbox = sandbox;
    LIST_INSERT_HEAD(&sandbox->watchers, w, link);
    return w;
}

void e2b_make_watcher(struct request *request)
{
    struct session_watch_options options = {
        .on_ready = on_watcher_ready, .on_event = on_watcher_event, .on_end = on_watcher_end};
    json_t *body = e2b_body(request);
    struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    struct e2b_watcher *w;
    struct error err = {0};

    if (!sandbox)
        return;
    w = new_watcher(sandbox, &err);
    if (!w || begin(&w->place, body, &options, &err) < 0) {
        if (w)
            free_watcher(w);
        request_answer_error(request, &err);
        return;
    }
    w->waiting = request;
    request->user = w;
    request->on_gone = on_maker_gone;
}

/* NULL: the answer has been given. */
static struct e2b_watcher *find_watcher(struct request *request)
{
    json_t *body = e2b_body(request);
    const struct e2b_sandbox *sandbox = body ? e2b_sandbox_of(request) : NULL;
    const char *id = body ? e2b_text(body, "watcherId", "watcher_id") : "";
    struct e2b_watcher *w;
    struct error err = {0};

    if (!sandbox)
        return NULL;
    LIST_FOREACH(w, &sandbox->watchers, link)
        if (strcmp(w->id, id) == 0 && !w->waiting)
            return w;
    error_set(&err, E_NOT_FOUND, "watcher with id %.64s not found", id);
    request_answer_error(request, &err);
    return NULL;
}

void e2b_watcher_events(struct request *request)
{
    struct e2b_watcher *w = find_watcher(request);
    json_t *events;

    if (!w)
        return;
    events = w->events;
    w->events = json_array();
    w->bytes = 0;
    if (w->place.watch)
        session_watch_hold(w->place.watch, false);
    request_answer_json(request, 200, json_pack("{s:o}", "events", events));
}

void e2b_remove_watcher(struct request *request)
{
    struct e2b_watcher *w = find_watcher(request);

    if (!w)
        return;
    free_watcher(w);
    request_answer_json(request, 200, json_object());
}

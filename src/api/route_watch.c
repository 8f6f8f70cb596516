/* Watching a directory of a session, as events: `start`, then one for each change, `lost` where
 * some were missed, and `end` with the reason. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "engine/session_watch.h"
#include "http/sse.h"

/* Proxies close what is silent for a minute or less. */
#define COMMENT_MS 15000

struct watcher {
    struct request *request;
    struct session_watch *watch;
    struct loop_watch *comments;
    char top[PATH_MAX];
    bool is_behind;
};

/* clang-format off */
static const struct schema_field watch_fields[] = {
    {"path", SCHEMA_STRING, .max_len = 4096, .help = "the directory (default /workspace), or an absolute path in /tmp"},
    {"recursive", SCHEMA_BOOLEAN, .help = "all directories below it, too"},
    {0},
};
/* clang-format on */

/* --- what the client gets --- */

static void write_text(struct watcher *w, const char *text, size_t len)
{
    if (request_write(w->request, text, len) || w->is_behind)
        return;
    w->is_behind = true;
    if (w->watch)
        session_watch_hold(w->watch, true);
}

static void write_event(struct watcher *w, const char *name, json_t *value)
{
    cleanup(buf_done) struct buf text = BUF_OF(64 * KIB);

    if (value && sse_text_add(&text, name, value, NULL) == 0)
        write_text(w, buf_str(&text), text.len);
    json_decref(value);
}

static void on_ready(void *user)
{
    write_event(user, "start", json_object());
}

static void on_event(void *user, const struct tree_event *event)
{
    struct watcher *w = user;
    cleanup(buf_done) struct buf shown = BUF_OF((size_t)8 * PATH_MAX);
    cleanup_free char *path = NULL;

    if (event->kind == TREE_LOST) {
        write_event(w, "lost", json_object());
        return;
    }
    if (asprintf(&path, "%s%s%s", w->top, *w->top ? "/" : "", event->path) < 0 ||
        files_path_escape(path, &shown, NULL) < 0) {
        write_event(w, "lost", json_object());
        return;
    }
    write_event(w, tree_event_name(event->kind),
                json_pack("{s:o, s:b}", "path", json_text_string(buf_str(&shown), shown.len),
                          "directory", (int)event->is_directory));
}

static void free_watcher(struct watcher *w)
{
    session_watch_free(w->watch);
    loop_watch_free(w->comments);
    free(w);
}

static void on_end(void *user, const char *why)
{
    struct watcher *w = user;
    struct request *request = w->request;

    w->watch = NULL;
    write_event(w, "end", json_pack("{s:o}", "reason", json_text_string(why, strlen(why))));
    request->on_gone = NULL;
    request->on_drained = NULL;
    free_watcher(w);
    request_end(request);
}

static void on_silence(void *arg)
{
    struct watcher *w = arg;

    if (!w->is_behind)
        write_text(w, ":\n\n", 3);
    loop_timer_start(w->comments, COMMENT_MS);
}

/* --- the connection --- */

static void on_gone(struct request *request)
{
    free_watcher(request->user);
}

static void on_drained(struct request *request)
{
    struct watcher *w = request->user;

    w->is_behind = false;
    session_watch_hold(w->watch, false);
}

static int begin(struct watcher *w, struct session *session, struct error *err)
{
    const struct api *api = w->request->api;
    const char *path = request_query(w->request, "path");
    struct session_watch_options options = {
        .path = w->top,
        .is_recursive = json_is_true(json_object_get(w->request->query, "recursive")),
        .on_ready = on_ready,
        .on_event = on_event,
        .on_end = on_end,
        .user = w,
    };

    if (path && files_path_check_tmp(path, strlen(path), w->top, err) < 0)
        return -1;
    w->comments = loop_timer(api->loop, on_silence, w);
    if (!w->comments)
        return error_memory(err);
    loop_timer_start(w->comments, COMMENT_MS);
    return session_watch_new(session, &options, &w->watch, err);
}

static void watch(struct request *request)
{
    struct session *session = api_find_session(request);
    struct watcher *w = session ? calloc(1, sizeof(*w)) : NULL;
    struct error err = {0};

    if (!session)
        return;
    if (w)
        w->request = request;
    if (!w || begin(w, session, &err) < 0) {
        if (w)
            free_watcher(w);
        else
            error_memory(&err);
        request_answer_error(request, &err);
        return;
    }
    request->user = w;
    request->on_gone = on_gone;
    request->on_drained = on_drained;
    request_begin(request, 200, "text/event-stream", NULL, REQUEST_UNKNOWN_LENGTH);
}

/* clang-format off */
const struct route api_watch_routes[] = {
    {"GET", "/v1/sessions/{session}/watch", watch, .query = watch_fields,
     .type = "text/event-stream", .status = 200, .tag = "files",
     .summary = "changes in a directory of /workspace or /tmp, as events"},
    {0},
};
/* clang-format on */

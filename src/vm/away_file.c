/* Requests for the files of a session inside. What an answer says is its reader's to check. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "engine/masking.h"
#include "vm/inside.h"
#include "vm/internal.h"

/* A path, each byte as three, and a query. */
#define TARGET_MAX (64 * KIB)
#define ERROR_MAX  (64 * KIB)

struct away_file {
    struct exchanges *all;
    const struct away_file_events *events;
    void *user;
    struct ask *ask;
    struct loop_watch *patience;
    int status;
    struct buf refusal;
    bool is_held;
};

static void file_free(struct away_file *file)
{
    if (!file)
        return;
    ask_free(file->ask);
    loop_watch_free(file->patience);
    buf_done(&file->refusal);
    free(file);
}

/* The error may be of the request, which is freed. */
static void fail(struct away_file *file, const struct error *err)
{
    const struct away_file_events *events = file->events;
    cleanup_error struct error copy = {0};
    void *user = file->user;

    error_copy(&copy, err);
    file_free(file);
    events->on_failed(user, &copy);
}

/* Anything that moves is a reason to wait longer. */
static void be_patient(struct away_file *file)
{
    if (file->is_held)
        loop_timer_stop(file->patience);
    else
        loop_timer_start(file->patience, GRACE_MS);
}

static bool is_refusal(const struct away_file *file)
{
    return file->status >= 400 && file->status != 416;
}

static int on_head(void *user, const struct http_head *head, struct error *err)
{
    struct away_file *file = user;

    if (head->framing == HTTP_UNTIL_CLOSE)
        return http_malformed("its head", err);
    file->status = head->status;
    return is_refusal(file) ? 0 : file->events->on_head(file->user, head, err);
}

static int on_piece(void *user, const char *data, size_t len, struct error *err)
{
    struct away_file *file = user;

    be_patient(file);
    return is_refusal(file) ? buf_add(&file->refusal, data, len, err)
                            : file->events->on_piece(file->user, data, len, err);
}

static void on_end(void *user)
{
    struct away_file *file = user;
    const struct away_file_events *events = file->events;
    void *owner = file->user;
    cleanup_error struct error err = {0};

    if (is_refusal(file)) {
        inside_take_error(file->all->masks, buf_str(&file->refusal), file->refusal.len, &err);
        fail(file, &err);
        return;
    }
    file_free(file);
    events->on_end(owner);
}

static void on_failed(void *user, const struct error *err)
{
    fail(user, err);
}

static void on_room(void *user)
{
    struct away_file *file = user;

    be_patient(file);
    if (file->events->on_room)
        file->events->on_room(file->user);
}

static void on_patience(void *arg)
{
    cleanup_error struct error err = {0};

    error_set(&err, E_SYSTEM, "the virtual machine did not answer in time");
    fail(arg, &err);
}

static struct away_file *file_new(struct away *away, const struct away_file_order *order)
{
    static const struct ask_events events = {.on_head = on_head,
                                             .on_piece = on_piece,
                                             .on_end = on_end,
                                             .on_failed = on_failed,
                                             .on_sent = on_room,
                                             .on_room = on_room};
    struct exchanges *all = away_exchanges(away);
    struct away_file *file = calloc(1, sizeof(*file));
    cleanup(buf_done) struct buf path = BUF_OF(TARGET_MAX), body = BUF_OF(TARGET_MAX);
    struct ask_order ask = {.method = order->method,
                            .headers = order->headers,
                            .body = order->body ? &body : NULL,
                            .is_upload = order->is_upload};

    if (!file)
        return NULL;
    *file = (struct away_file){.all = all, .events = order->events, .user = order->user};
    buf_init(&file->refusal, ERROR_MAX);
    file->patience = loop_timer(all->loop, on_patience, file);
    if (file->patience && away_path(away, order->target, &path, NULL) == 0 &&
        (!order->body || buf_add_str(&body, order->body, NULL) == 0)) {
        ask.path = buf_str(&path);
        file->ask = ask_new(all->loop, all->keeper, &ask, &events, file);
    }
    if (file->ask)
        return file;
    file_free(file);
    return NULL;
}

static void file_hold(struct away_file *file, bool is_held)
{
    file->is_held = is_held;
    ask_hold(file->ask, is_held);
    be_patient(file);
}

static bool file_write(struct away_file *file, const void *data, size_t len)
{
    return ask_write(file->ask, data, len);
}

static void file_written(struct away_file *file)
{
    be_patient(file);
    ask_written(file->ask);
}

void away_file_fill(struct elsewhere *elsewhere)
{
    elsewhere->file = file_new;
    elsewhere->file_hold = file_hold;
    elsewhere->file_write = file_write;
    elsewhere->file_written = file_written;
    elsewhere->file_free = file_free;
}

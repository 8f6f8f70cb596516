/* What is done with a job, step by step. Each step ends the work or names the next one; a step that
 * fails ends it, and the job is looked at again later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/span.h"
#include "cluster/job_internal.h"

#define SOON_MS  500
#define AGAIN_MS 3000
#define LATER_MS 60000

#define SHOWN_BYTES MIB

static json_t *read_json(const struct buf *text)
{
    static const struct json_text_limits limits = {.bytes = SHOWN_BYTES, .depth = 16};
    json_t *value = NULL;

    return json_text_load(buf_str(text), text->len, &limits, &value, NULL) < 0 ? NULL : value;
}

/* Of one place: JSON, sealed. Takes the value over. */
static void put_json(struct job_work *w, char kind, unsigned home, uint64_t number, json_t *value,
                     void (*next)(struct job_work *w))
{
    cleanup(buf_wipe) struct buf text = BUF_OF(JOB_PIECE);

    if (!value || json_text_dump(value, JSON_TEXT_COMPACT, &text, NULL) < 0) {
        w->put = PUT_FAILED;
        next(w);
    } else {
        job_work_put(w, kind, home, number, (struct span){buf_str(&text), text.len}, next);
    }
    json_decref(value);
    buf_wipe(&text);
    buf_done(&text);
}

/* --- it goes --- */

static void purged(struct job_work *w)
{
    struct kept_job *job = w->job;
    bool is_gone = w->put == PUT_DONE;
    struct job_keep *keep = w->keep;

    job_work_end(w, AGAIN_MS);
    if (is_gone)
        job_table_remove(&keep->table, job);
}

static void purge(struct job_work *w)
{
    w->job->is_dropped = true;
    job_work_delete(w, purged);
}

void job_chain_purge(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = job_work_new(keep, job);

    if (w)
        purge(w);
}

/* --- the job as it was accepted, which every chain needs first --- */

static void on_head(struct job_work *w)
{
    w->head = w->status == 200 ? read_json(&w->text) : NULL;
    buf_wipe(&w->text);
    if (w->head && !w->job->is_dropped)
        w->then(w);
    else if (w->status == 404) /* it was deleted meanwhile: what is left goes, too */
        purge(w);
    else
        job_work_end(w, w->status == 200 ? LATER_MS : AGAIN_MS);
}

static void read_head(struct job_work *w, void (*then)(struct job_work *w))
{
    w->then = then;
    job_work_get(w, 'h', 1, 0, on_head);
}

/* --- who has it --- */

static void ask_homes(struct job_work *w);

/* Its homes are not all there: another one was just written, or they went with the job. */
static void look_again(struct job_work *w)
{
    job_keep_look(w->keep);
    job_work_end(w, AGAIN_MS);
}

static void on_home(struct job_work *w)
{
    cleanup_json json_t *home = w->status == 200 ? read_json(&w->text) : NULL;
    const char *name = json_get_text(home, "home");
    const char *self = w->keep->node->settings->name;
    struct kept_job *job = w->job;

    if (w->status == 404) { /* who took a job that was just deleted has left this behind */
        read_head(w, look_again);
        return;
    }
    if (!id_is_node(name)) {
        look_again(w);
        return;
    }
    (void)snprintf(job->home, sizeof(job->home), "%s", name);
    job->knows_home = w->piece == job->last;
    job->was_here |= !job->knows_home && strcmp(name, self) == 0;
    ask_homes(w);
}

static void ask_homes(struct job_work *w)
{
    if (w->job->knows_home)
        job_work_end(w, 0);
    else
        job_work_get(w, 'h', (unsigned)++w->piece, 0, on_home);
}

void job_chain_homes(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = job_work_new(keep, job);

    if (!w)
        return;
    w->piece = 1; /* the first is in the id */
    job->was_here = strcmp(job->id + ID_PLAIN_SIZE, keep->node->settings->name) == 0;
    ask_homes(w);
}

/* --- it is brought to the engine of this machine --- */

static void imported(struct job_work *w)
{
    switch (w->status) {
    case 200:
    case 202:
        w->job->is_imported = true;
        w->job->is_over = w->is_end;
        LOG_EVENT(LOG_INFO, "jobs", {"job", w->id}, {"message", "taken from a lost machine"});
        job_work_end(w, 0);
        return;
    case 401: /* its owner's token was removed, and with it its jobs */
        purge(w);
        return;
    default:
        job_work_end(w, w->status < 429 && w->status ? LATER_MS : AGAIN_MS);
        return;
    }
}

static void give(struct job_work *w)
{
    cleanup(buf_wipe) struct buf text = BUF_OF(2 * (LIMIT_JOB_RESULT + LIMIT_JOB_BODY) + MIB);
    const struct kept_job *job = w->job;
    const char *key = json_get_text(w->head, "key");
    json_t *shown = w->shown ? w->shown : json_object_get(w->head, "job");
    cleanup_json json_t *body =
        json_pack("{s:O, s:I}", "job", shown, "lost", (json_int_t)(job->last - 1));

    if (*key)
        json_set(body, "key", json_string(key));
    if (w->payload.len)
        json_set(body, w->is_end ? "result" : "request",
                 json_stringn(buf_str(&w->payload), w->payload.len));
    if (!body || json_text_dump(body, JSON_TEXT_COMPACT, &text, NULL) < 0) {
        job_work_end(w, LATER_MS);
    } else {
        job_work_call(w, "PUT", "", &text, SHOWN_BYTES, imported);
    }
    buf_wipe(&text);
    buf_done(&text);
}

static void fetch(struct job_work *w);

static void on_piece(struct job_work *w)
{
    if (w->status != 200 || buf_add(&w->payload, buf_str(&w->text), w->text.len, NULL) < 0) {
        job_keep_look(w->keep); /* it may have ended meanwhile: then its request has gone */
        job_work_end(w, SOON_MS);
        return;
    }
    w->piece++;
    fetch(w);
}

static void fetch(struct job_work *w)
{
    if (w->piece < w->pieces)
        job_work_get(w, w->is_end ? 'r' : 'q', w->is_end ? w->end_home : 1, w->piece, on_piece);
    else
        give(w);
}

static size_t pieces_of(const json_t *value)
{
    json_int_t n = json_integer_value(json_object_get(value, "pieces"));

    return n < 0 ? 0 : (size_t)n;
}

static void on_end(struct job_work *w)
{
    cleanup_json json_t *end = w->status == 200 ? read_json(&w->text) : NULL;
    struct kept_job *job = w->job;

    if (w->status == 404) { /* it came too late, and its home has removed it */
        if (job->end_home == w->end_home && job->expires_s == w->end_number)
            job->has_end = false;
        job_work_end(w, SOON_MS);
        return;
    }
    if (!end) {
        job_work_end(w, AGAIN_MS);
        return;
    }
    w->shown = json_incref(json_object_get(end, "job"));
    w->pieces = pieces_of(end);
    fetch(w);
}

static void import_end(struct job_work *w)
{
    const struct kept_job *job = w->job;

    w->pieces = pieces_of(w->head);
    w->piece = 0;
    w->is_end = job->has_end;
    w->end_home = job->end_home;
    w->end_number = job->expires_s;
    if (w->status != 200)
        job_work_end(w, AGAIN_MS);
    else if (w->is_end)
        job_work_get(w, 'e', w->end_home, w->end_number, on_end);
    else
        fetch(w);
}

/* The home before may have brought its end there just before it was taken over: then it is over. */
static void import_it(struct job_work *w)
{
    if (w->job->has_end) {
        w->status = 200;
        import_end(w);
    } else {
        job_work_find_end(w, import_end);
    }
}

void job_chain_import(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = job_work_new(keep, job);

    if (w)
        read_head(w, import_it);
}

/* --- it is taken from a machine that is lost --- */

static void taken(struct job_work *w)
{
    struct kept_job *job = w->job;

    if (w->put != PUT_DONE) { /* another one was faster, or the bus is away */
        job_keep_look(w->keep);
        job_work_end(w, AGAIN_MS);
        return;
    }
    w->home = ++job->last;
    job->moved_ns = loop_now_ns();
    job->is_fenced = job->is_imported = job->is_over = false;
    job->knows_home = true;
    (void)snprintf(job->home, sizeof(job->home), "%s", w->keep->node->settings->name);
    read_head(w, import_it);
}

void job_chain_take(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = job_work_new(keep, job);

    if (w)
        put_json(w, 'h', job->last + 1, 0, json_pack("{s:s}", "home", keep->node->settings->name),
                 taken);
}

/* --- its end is brought to the bus --- */

static void ended(struct job_work *w)
{
    job_work_end(w, 0);
}

/* Whoever takes a job looks for an end when it has written itself down, and whoever ends one looks
 * for another home when it has written the end: so one of them knows, and it ends once. */
static void on_successor(struct job_work *w)
{
    struct kept_job *job = w->job;

    if (w->status == 200) { /* it has moved */
        job_work_delete_last(w, look_again);
        return;
    }
    if (w->status != 404) {
        job_work_end(w, AGAIN_MS);
        return;
    }
    job->has_end = job->is_imported = true;
    job->end_home = w->home;
    node_tell_end(w->keep->node, job->id);
    if (job->is_dropped)
        purge(w);
    else
        job_work_delete_request(w, ended); /* what was asked for is needed no more */
}

static void uploaded(struct job_work *w)
{
    if (w->put == PUT_FAILED)
        job_work_end(w, AGAIN_MS);
    else
        job_work_get(w, 'h', w->home + 1, 0, on_successor);
}

static void upload(struct job_work *w);

static void on_uploaded_piece(struct job_work *w)
{
    if (w->put == PUT_FAILED) {
        job_work_end(w, AGAIN_MS);
        return;
    }
    w->piece++;
    upload(w);
}

static void upload(struct job_work *w)
{
    size_t done = w->piece * JOB_PIECE, len = w->payload.len - done;
    struct kept_job *job = w->job;

    if (job->is_dropped || job->last != w->home) {
        job_work_end(w, 0);
    } else if (done < w->payload.len) {
        job_work_put(w, 'r', w->home, w->piece,
                     (struct span){buf_str(&w->payload) + done, len < JOB_PIECE ? len : JOB_PIECE},
                     on_uploaded_piece);
    } else {
        double keep_s = json_number_value(json_object_get(w->shown, "keep_s"));

        /* A while longer than its engine keeps it. */
        job->expires_s = (uint64_t)time(NULL) + (uint64_t)keep_s + 60;
        put_json(w, 'e', w->home, job->expires_s,
                 json_pack("{s:O, s:I}", "job", w->shown, "pieces", (json_int_t)w->piece),
                 uploaded);
    }
}

static void on_result(struct job_work *w)
{
    if (w->status != 200) {
        job_work_end(w, AGAIN_MS);
        return;
    }
    buf_done(&w->payload);
    w->payload = w->text;
    buf_init(&w->text, SHOWN_BYTES);
    w->piece = 0;
    upload(w);
}

static bool is_over(const json_t *shown)
{
    const char *state = json_get_text(shown, "state");

    return *state && strcmp(state, "waiting") != 0 && strcmp(state, "running") != 0;
}

static void on_shown(struct job_work *w)
{
    struct kept_job *job = w->job;

    if (job->last != w->home) { /* it has moved meanwhile */
        job_work_end(w, 0);
        return;
    }
    if (w->status == 401 || (w->status == 404 && w->home == 1)) { /* the engine knows */
        purge(w);
        return;
    }
    if (w->status == 404) { /* it was taken by an earlier process, which did not bring it here */
        import_it(w);
        return;
    }
    w->shown = w->status == 200 ? read_json(&w->text) : NULL;
    job->is_imported |= w->shown != NULL;
    if (!w->shown || !is_over(w->shown)) {
        job_work_end(w, w->shown ? 0 : AGAIN_MS);
        return;
    }
    w->piece = 0;
    if (json_integer_value(json_object_get(w->shown, "result_bytes")) > 0)
        job_work_call(w, "GET", "/result", NULL, LIMIT_JOB_RESULT, on_result);
    else
        upload(w);
}

static void watch(struct job_work *w)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "?wait_s=%zu", w->pieces);
    job_work_call(w, "GET", path, NULL, SHOWN_BYTES, on_shown);
}

void job_chain_watch(struct job_keep *keep, struct kept_job *job, unsigned wait_s)
{
    struct job_work *w = job_work_new(keep, job);

    if (!w)
        return;
    w->pieces = wait_s;
    read_head(w, watch);
}

/* --- it has moved, and goes here --- */

static void deleted(struct job_work *w)
{
    w->job->is_fenced = w->status == 204 || w->status == 404 || w->status == 401;
    if (w->status == 204)
        LOG_EVENT(LOG_INFO, "jobs", {"job", w->id},
                  {"message", "removed here: another machine has it"});
    job_work_end(w, w->job->is_fenced ? 0 : SOON_MS); /* 409: its program is being stopped */
}

static void cancelled(struct job_work *w)
{
    if (w->status == 200) {
        job_work_call(w, "DELETE", "", NULL, SHOWN_BYTES, deleted);
        return;
    }
    deleted(w);
}

static void fence(struct job_work *w)
{
    static const struct buf empty = {.data = (char *)(uintptr_t) "{}", .len = 2};

    job_work_call(w, "POST", "/cancel", &empty, SHOWN_BYTES, cancelled);
}

void job_chain_fence(struct job_keep *keep, struct kept_job *job)
{
    struct job_work *w = job_work_new(keep, job);

    if (w)
        read_head(w, fence);
}

/* --- for clients --- */

static void finish_hook(struct job_work *w, bool is_good)
{
    struct job_hook *hook = w->hook;

    w->hook = NULL;
    job_work_end(w, 0);
    if (hook) {
        job_hook_set_work(hook, NULL);
        job_hook_done(hook, is_good);
    }
}

static void stored(struct job_work *w)
{
    struct job_keep *keep = w->keep;
    struct kept_job *job = w->put == PUT_FAILED ? NULL : job_table_add(&keep->table, w->id);

    if (job)
        job->seen = keep->look;
    if (job && w->put == PUT_DONE) {
        memcpy(job->pieces, w->put_pieces, sizeof(job->pieces));
        job->n_pieces = w->piece;
        for (size_t i = 0; i < w->piece; i++) /* 0: it was there before */
            job->n_pieces = w->put_pieces[i] ? job->n_pieces : 0;
    }
    if (w->put == PUT_TAKEN) /* it was accepted before */
        job_keep_look(keep);
    finish_hook(w, w->put != PUT_FAILED);
}

static void store_next(struct job_work *w)
{
    size_t done = w->piece * JOB_PIECE, len = w->payload.len - done;

    if (w->piece)
        w->put_pieces[w->piece - 1] = w->sequence;
    if (w->put == PUT_FAILED || w->piece == JOB_PIECES) {
        finish_hook(w, false);
    } else if (done < w->payload.len) {
        w->piece++;
        job_work_put(w, 'q', 1, w->piece - 1,
                     (struct span){buf_str(&w->payload) + done, len < JOB_PIECE ? len : JOB_PIECE},
                     store_next);
    } else {
        json_set(w->head, "pieces", json_integer((json_int_t)w->piece));
        put_json(w, 'h', 1, 0, json_incref(w->head), stored);
    }
}

int job_chain_store(struct job_keep *keep, struct job_hook *hook, const char *id, json_t *head,
                    struct buf *request)
{
    struct job_work *w = job_work_new(keep, NULL);

    if (!w) {
        json_decref(head);
        return -1;
    }
    w->hook = hook;
    w->head = head;
    buf_done(&w->payload);
    w->payload = *request;
    *request = (struct buf){0};
    (void)snprintf(w->id, sizeof(w->id), "%s", id);
    job_hook_set_work(hook, w);
    store_next(w);
    return 0;
}

static void dropped(struct job_work *w)
{
    struct kept_job *job = job_table_find(&w->keep->table, w->id);
    bool is_good = w->put == PUT_DONE;

    if (is_good && job && !job->work)
        job_table_remove(&w->keep->table, job);
    finish_hook(w, is_good);
}

int job_chain_drop(struct job_keep *keep, struct job_hook *hook, const char *id)
{
    struct kept_job *job = job_table_find(&keep->table, id);
    struct job_work *w = job_work_new(keep, NULL);

    if (!w)
        return -1;
    if (job)
        job->is_dropped = true;
    w->hook = hook;
    (void)snprintf(w->id, sizeof(w->id), "%s", id);
    job_hook_set_work(hook, w);
    job_work_delete(w, dropped);
    return 0;
}

/* Undoing one run of the store. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/paths.h"
#include "sandbox/files.h"
#include "undo/store_internal.h"

struct work {
    const struct undo_store_wish *wish;
    int store, run, changes;
    struct store_meta meta;
    struct undo_grant grants[LIMIT_GRANTS];
    struct undo_twin *twins;
    size_t n_twins, twins_size, n_undos;
    struct undo_marks marks;
    char *steps;
    size_t n_steps;
    char own_id[ID_SIZE];
    int own_dir;
    struct journal *own;
};

static void work_done(struct work *w)
{
    journal_free(w->own);
    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        close_fd(&w->grants[i].fd);
    close_fd(&w->own_dir);
    close_fd(&w->changes);
    close_fd(&w->run);
    close_fd(&w->store);
    free(w->twins);
    undo_marks_done(&w->marks);
    free(w->steps);
    store_meta_done(&w->meta);
}

/* --- where --- */

/* The answer of a run leaves before its journal is sealed, which waits for the last process of its
 * sandbox: a moment is waited for that. */
static int open_changes(struct work *w, struct error *err)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    bool is_over = faccessat(w->run, "end.json", F_OK, 0) == 0;
    int r = store_open_changes(w->run, w->wish->id, &w->changes, err);

    for (int i = 0; is_over && r < 0 && err && err->code == E_BUSY && i < 300; i++) {
        (void)nanosleep(&moment, NULL);
        error_done(err);
        r = store_open_changes(w->run, w->wish->id, &w->changes, err);
    }
    return r;
}

/* A run of somebody else is one that is not there. */
static int open_run(struct work *w, struct error *err)
{
    const char *id = w->wish->id, *owner = w->wish->owner;

    if (store_open(&w->store, err) < 0 || store_open_run(w->store, id, &w->run, err) < 0 ||
        store_read_meta(w->run, id, &w->meta, err) < 0)
        return -1;
    if (owner && strcmp(owner, w->meta.owner) != 0)
        return store_not_found(id, err);
    return open_changes(w, err);
}

/* Only the directory that the run had; another one at its path is left alone. */
static int open_same(const struct store_grant *grant)
{
    cleanup_close int fd = open(grant->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != grant->dev || st.st_ino != grant->ino)
        return -1;
    return take_fd(fd);
}

static int open_grants(struct work *w, struct error *err)
{
    for (size_t i = 0; i < w->meta.n_grants; i++) {
        const struct store_grant *grant = &w->meta.grants[i];

        w->grants[i].path = grant->path ? grant->path : "";
        if (!grant->path)
            continue;
        if (w->wish->may_write && !w->wish->may_write(w->wish->arg, grant->path)) {
            error_set(err, E_DENIED, "the run changed directories that you may no longer write");
            return error_hint(err, "they must be allowed with `:rw`");
        }
        w->grants[i].fd = open_same(grant);
    }
    return 0;
}

/* --- undos since then --- */

static void read_twins(struct work *w, int run)
{
    size_t len = 0;
    cleanup_free char *text = store_read_text(run, "twins", &len);
    char *rest = text, *line;

    w->n_undos++;
    while (rest && (line = strsep(&rest, "\n")) && *line) {
        struct undo_twin t = {.undo = w->n_undos};
        void *grown = array_grow(w->twins, w->n_twins, &w->twins_size, sizeof(*w->twins));

        if (!grown)
            return;
        w->twins = grown;
        if (sscanf(line, "%" SCNx32 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, &t.type,
                   &t.dev, &t.ino, &t.new_dev, &t.new_ino) == 5)
            w->twins[w->n_twins++] = t;
    }
}

static void read_marks(struct work *w, int run)
{
    size_t len = 0;
    cleanup_free char *text = store_read_text(run, "marks", &len);
    char *rest = text, *line;

    while (rest && (line = strsep(&rest, "\n")) && *line) {
        struct undo_mark m;

        if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &m.dev, &m.ino,
                   (uint64_t *)&m.ctime_ns) == 3 &&
            undo_marks_set(&w->marks, &m) < 0)
            return; /* what is not known is a conflict */
    }
}

/* An undo that was killed has left files half written; it can be undone itself. */
static int check_undo(struct work *w, int run, const struct store_meta *meta, struct error *err)
{
    if (strcmp(meta->undoes, w->meta.id) == 0 && faccessat(run, "end.json", F_OK, 0) < 0) {
        error_set(err, E_BUSY, "an undo of this run is running, or was interrupted: %s", meta->id);
        return error_hint(err, "if it was interrupted, undo it first: belljar undo %s", meta->id);
    }
    if (meta->began_ns > w->meta.began_ns && (w->steps || strcmp(meta->undoes, w->meta.id) != 0))
        read_twins(w, run);
    if (meta->began_ns > w->meta.began_ns)
        read_marks(w, run);
    return 0;
}

static int read_undos(struct work *w, struct error *err)
{
    cleanup_free char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;
    int r = store_ids(w->store, &ids, &count, err);

    for (size_t i = 0; i < count && r == 0; i++) {
        cleanup_close int run = -1;
        struct store_meta meta = {0};

        if (strncmp(ids[i], "und_", 4) != 0 || store_open_run(w->store, ids[i], &run, NULL) < 0 ||
            store_read_meta(run, ids[i], &meta, NULL) < 0)
            continue;
        r = check_undo(w, run, &meta, err);
        store_meta_done(&meta);
    }
    return r;
}

/* --- our own record --- */

static int begin_own(struct work *w, struct error *err)
{
    const struct journal_limits limits = {.bytes = w->wish->bytes,
                                          .entries = UINT32_MAX,
                                          .text = LIMIT_UNDO_TEXT_OWN,
                                          .is_undo = true};
    struct run_grant grants[LIMIT_GRANTS] = {0};
    struct undo_store_run run = {
        .id = w->own_id,
        .owner = w->meta.owner,
        .session = w->meta.session,
        .undoes = w->meta.id,
        .grants = grants,
        .n_grants = w->meta.n_grants,
        .uid = (uid_t)-1,
    };

    for (size_t i = 0; i < w->meta.n_grants; i++) {
        grants[i].path = (char *)w->grants[i].path;
        grants[i].fd = w->grants[i].fd;
        grants[i].mode = w->grants[i].fd >= 0 ? RUN_GRANT_RW : RUN_GRANT_RO;
    }
    if (id_make(w->own_id, "und_") < 0)
        return error_errno(err, "make an id");
    if (undo_store_begin(&run, &w->own_dir, err) < 0 ||
        journal_new(w->own_dir, &limits, &w->own, err) < 0)
        return -1;
    for (size_t i = 0; i < w->meta.n_grants; i++)
        if (w->grants[i].fd >= 0 && journal_grant(w->own, (unsigned)i, w->grants[i].fd, err) < 0)
            return -1;
    return 0;
}

static int write_twins(int run, const struct undo_report *report, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, 128 * report->n_twins + 1);
    for (size_t i = 0; i < report->n_twins; i++) {
        const struct undo_twin *t = &report->twins[i];

        if (buf_printf(&text, err, "%" PRIx32 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 "\n",
                       t->type, t->dev, t->ino, t->new_dev, t->new_ino) < 0)
            return -1;
    }
    return text.len ? store_write_text(run, "twins", buf_str(&text), text.len, err) : 0;
}

static int write_marks(int run, const struct undo_marks *marks, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, 64 * marks->count + 1);
    for (size_t i = 0; i < marks->n_slots; i++) {
        const struct undo_mark *m = &marks->slots[i];

        if (m->ino && buf_printf(&text, err, "%" PRIx64 " %" PRIx64 " %" PRIx64 "\n", m->dev,
                                 m->ino, (uint64_t)m->ctime_ns) < 0)
            return -1;
    }
    return text.len ? store_write_text(run, "marks", buf_str(&text), text.len, err) : 0;
}

/* Steps of an undo that was undone are no longer done. */
static void forget_steps(struct work *w)
{
    cleanup_close int run = -1;

    if (*w->meta.undoes && store_open_run(w->store, w->meta.undoes, &run, NULL) == 0)
        (void)unlinkat(run, "undone", 0);
}

static int end_own(struct work *w, const struct undo_report *report, struct error *err)
{
    cleanup_close int run = -1;
    struct journal_counts counts;
    int r;

    journal_count(w->own, &counts);
    r = journal_seal(w->own, err);
    if (r == 0 && store_open_run(w->store, w->own_id, &run, err) == 0)
        r = write_twins(run, report, err) < 0 ? -1 : write_marks(run, &report->marks, err);
    if (r == 0 && report->steps) /* NULL: it failed before it began */
        r = store_write_text(w->run, "undone", report->steps, report->n_steps, err);
    if (r == 0 && report->n_conflicts == 0)
        forget_steps(w);
    undo_store_end(take_fd(w->own_dir), w->own_id, &counts);
    return r;
}

/* --- the answer --- */

static json_t *path_json(const struct work *w, unsigned grant, const char *path)
{
    cleanup(buf_done) struct buf shown = BUF_OF(8 * PATH_MAX + 2);

    if (files_path_reveal(w->grants[grant].path, &shown, NULL) < 0 ||
        (*path && buf_add_str(&shown, "/", NULL) < 0) || files_path_reveal(path, &shown, NULL) < 0)
        return json_string("?");
    return json_text_string(buf_str(&shown), shown.len);
}

static json_t *item_json(const struct work *w, const struct undo_item *item)
{
    json_t *json = json_pack("{s:s, s:o}", "action", undo_action_name(item->action), "path",
                             path_json(w, item->grant, item->path));

    if (item->to)
        (void)json_object_set_new(json, "to", path_json(w, item->grant, item->to));
    if (item->conflict)
        (void)json_object_set_new(json, "reason",
                                  json_text_string(item->conflict, strlen(item->conflict)));
    return json;
}

static int answer(const struct work *w, const struct undo_report *report, json_t **ret_answer,
                  struct error *err)
{
    json_t *done = json_array(), *conflicts = json_array();
    bool has_own = !w->wish->is_dry && report->n_done > 0;

    for (size_t i = 0; i < report->count; i++)
        (void)json_array_append_new(report->items[i].conflict ? conflicts : done,
                                    item_json(w, &report->items[i]));
    *ret_answer =
        json_pack("{s:s, s:b, s:o, s:o, s:o, s:I, s:I, s:b}", "run", w->meta.id, "dry_run",
                  (int)w->wish->is_dry, "undo", has_own ? json_string(w->own_id) : json_null(),
                  "done", done, "conflicts", conflicts, "n_done", (json_int_t)report->n_done,
                  "n_conflicts", (json_int_t)report->n_conflicts, "already_undone",
                  (int)(w->steps && report->n_done == 0 && report->n_conflicts == 0));
    return *ret_answer ? 0 : error_memory(err);
}

/* --- all of it --- */

static int64_t end_of(int run)
{
    cleanup_json json_t *end = store_read_json(run, "end.json");

    return json_integer_value(json_object_get(end, "ended_ns"));
}

static int undo(struct work *w, struct undo_report *report, struct error *err)
{
    cleanup_free char *lock = NULL;
    struct undo_task task = {.run = w->changes,
                             .grants = w->grants,
                             .n_grants = w->meta.n_grants,
                             .ended_ns = end_of(w->run),
                             .twins = w->twins,
                             .n_twins = w->n_twins,
                             .marks = &w->marks,
                             .steps = w->steps,
                             .n_steps = w->n_steps};
    int r;

    lock = paths_state("broker.lock", err);
    if (!lock)
        return -1;
    task.lock = lock;
    if (w->wish->is_dry)
        return undo_run(&task, report, err);
    if (begin_own(w, err) < 0) {
        (void)store_remove(w->store, w->own_id, NULL);
        return -1;
    }
    task.own = w->own;
    r = undo_run(&task, report, err);
    /* Also after a failure: what was done so far can be undone. */
    return end_own(w, report, r < 0 ? NULL : err) < 0 || r < 0 ? -1 : 0;
}

int undo_store_undo(const struct undo_store_wish *wish, json_t **ret_answer, struct error *err)
{
    cleanup(work_done) struct work w = {
        .wish = wish, .store = -1, .run = -1, .changes = -1, .own_dir = -1};
    cleanup(undo_report_done) struct undo_report report = {0};

    for (size_t i = 0; i < LIMIT_GRANTS; i++)
        w.grants[i] = (struct undo_grant){"", -1};
    if (open_run(&w, err) < 0 || open_grants(&w, err) < 0)
        return -1;
    w.steps = store_read_text(w.run, "undone", &w.n_steps);
    if (read_undos(&w, err) < 0 || undo(&w, &report, err) < 0)
        return -1;
    return answer(&w, &report, ret_answer, err);
}

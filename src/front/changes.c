#include "front/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/diff.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "pool/mask.h"

/* --- which ones --- */

struct selection {
    const struct layers *layers;
    const json_t *paths;
    struct layers_list *list;
};

static bool is_wanted(void *arg, const struct layer_entry *entry)
{
    const struct selection *s = arg;
    const json_t *path;
    size_t i;

    if (json_array_size(s->paths) == 0)
        return true;
    json_array_foreach((json_t *)s->paths, i, path)
    {
        if (layers_is_below(s->layers, entry, json_string_value(path)))
            return true;
    }
    return false;
}

/* A path that means nothing is a mistake, not nothing to do. */
static int check_paths(const struct selection *s, struct error *err)
{
    const json_t *path;
    size_t i;

    json_array_foreach((json_t *)s->paths, i, path)
    {
        const char *text = json_string_value(path);
        bool found = false;

        for (size_t k = 0; k < s->list->count && !found; k++)
            found = layers_is_below(s->layers, &s->list->entries[k], text);
        if (!found) {
            error_set(err, E_NOT_FOUND, "nothing has changed at `%.200s`", text);
            return error_hint(err, "give paths as the list of changes has them");
        }
    }
    return 0;
}

/* --- masked texts --- */

static json_t *masked(struct run *run, const char *data, size_t len)
{
    struct clean_text clean = mask_text(run, (struct span){data, len});

    return json_text_string(clean.data, clean.len);
}

static json_t *path_json(const struct layers *layers, const struct layer_entry *e, struct run *run)
{
    cleanup(buf_done) struct buf shown = {0};

    buf_init(&shown, 8 * PATH_MAX + 2);
    if (layers_show_path(layers, e, &shown, NULL) < 0)
        return json_string("?");
    return masked(run, buf_str(&shown), shown.len);
}

/* A copy: the next text that is masked takes its place. */
static int mask_copy(struct run *run, struct buf *text, struct buf *ret_copy, struct error *err)
{
    struct clean_text clean = mask_text(run, (struct span){buf_str(text), text->len});

    buf_init(ret_copy, clean.len + 1);
    return buf_add(ret_copy, clean.data, clean.len, err);
}

/* --- one change --- */

struct lines {
    struct diff_count count;
    bool is_binary, is_known;
    struct buf text;
};

/* Masked before they are compared: behind the signs of a diff a key of several lines would not be
 * found. */
static int compare(struct run *run, struct buf *old, struct buf *new, bool has_text,
                   struct lines *lines, struct error *err)
{
    cleanup(buf_done) struct buf a = {0}, b = {0};

    if (!diff_is_text((struct span){buf_str(old), old->len}) ||
        !diff_is_text((struct span){buf_str(new), new->len})) {
        lines->is_binary = true;
        return 0;
    }
    if (mask_copy(run, old, &a, err) < 0 || mask_copy(run, new, &b, err) < 0)
        return -1;
    lines->is_known = true;
    return diff_unified((struct span){buf_str(&a), a.len}, (struct span){buf_str(&b), b.len},
                        has_text ? &lines->text : NULL, &lines->count, err);
}

static int read_lines(const struct layers *layers, const struct layer_entry *e, struct run *run,
                      bool has_text, struct lines *lines, struct error *err)
{
    cleanup(buf_done) struct buf old = {0}, new = {0};

    if (!layers_read(layers, e, LIMIT_DIFF_FILE, &old, &new))
        return 0;
    return compare(run, &old, &new, has_text, lines, err);
}

static json_t *count_json(const struct lines *lines, size_t count)
{
    return lines->is_known ? json_integer((json_int_t)count) : json_null();
}

static json_t *mode_json(unsigned mode, bool is_there)
{
    char text[8];

    (void)snprintf(text, sizeof(text), "%04o", mode);
    return is_there ? json_string(text) : json_null();
}

/* `path` is shown with them escaped; the lines of `diff` have them as they are, for `patch`. */
static bool has_invisible(const struct layer_entry *e, const struct lines *lines)
{
    return utf8_has_invisible(e->path, strlen(e->path)) || lines->count.has_invisible;
}

static json_t *change_json(const struct layers *layers, const struct layer_entry *e,
                           struct run *run, const struct lines *lines)
{
    const char *obstacle = layer_obstacle_name(e->obstacle);

    return json_pack(
        "{s:o, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:b, s:o}", "path",
        path_json(layers, e, run), "change", layer_change_name(e->change), "kind",
        files_kind_name(e->kind), "size", (json_int_t)e->size, "old_size", (json_int_t)e->old_size,
        "mode", mode_json(e->mode, e->change != LAYER_DELETED), "old_mode",
        mode_json(e->old_mode, e->change != LAYER_CREATED), "added",
        count_json(lines, lines->count.added), "removed", count_json(lines, lines->count.removed),
        "is_binary", (int)lines->is_binary, "has_invisible", (int)has_invisible(e, lines),
        "obstacle", obstacle ? json_string(obstacle) : json_null());
}

/* The lines of one file as `diff` and `patch` know them. *left: bytes that an answer has room for;
 * what does not fit is left out, and said to be. */
static void add_diff(json_t *change, const struct layer_entry *e, const struct lines *lines,
                     size_t *left)
{
    const char *path = json_string_value(json_object_get(change, "path"));
    cleanup(buf_done) struct buf text = {0};

    if (!lines->is_known || lines->count.is_cut || !path) {
        (void)json_object_set_new(change, "diff", json_null());
        return;
    }
    buf_init(&text, *left);
    if (buf_printf(&text, NULL, "--- %s%s\n+++ %s%s\n", e->change == LAYER_CREATED ? "" : "a",
                   e->change == LAYER_CREATED ? "/dev/null" : path,
                   e->change == LAYER_DELETED ? "" : "b",
                   e->change == LAYER_DELETED ? "/dev/null" : path) < 0 ||
        buf_add(&text, buf_str(&lines->text), lines->text.len, NULL) < 0) {
        (void)json_object_set_new(change, "diff", json_null());
        return;
    }
    *left -= text.len;
    (void)json_object_set_new(change, "diff", json_text_string(buf_str(&text), text.len));
}

/* --- the list --- */

static int show(const struct selection *s, struct run *run, bool has_diffs, json_t *changes,
                struct error *err)
{
    size_t left = LIMIT_DIFF_BYTES, read = 0;

    for (size_t i = 0; i < s->list->count; i++) {
        const struct layer_entry *e = &s->list->entries[i];
        struct lines lines = {0};
        json_t *change;
        int r = 0;

        if (!is_wanted((void *)s, e))
            continue;
        buf_init(&lines.text, left);
        /* Of the rest only how large it is. */
        if (read < LIMIT_DIFF_READ)
            r = read_lines(s->layers, e, run, has_diffs, &lines, err);
        read += (size_t)(e->size + e->old_size < LIMIT_DIFF_FILE ? e->size + e->old_size : 0);
        change = r == 0 ? change_json(s->layers, e, run, &lines) : NULL;
        if (change && has_diffs)
            add_diff(change, e, &lines, &left);
        buf_done(&lines.text);
        if (r < 0)
            return r;
        if (!change || json_array_append_new(changes, change) < 0)
            return error_memory(err);
    }
    return 0;
}

static int version_of(const struct layers *layers, const struct layers_list *list,
                      char text[2 * SHA256_BYTES + 1])
{
    uint8_t digest[SHA256_BYTES];

    layers_list_digest(layers, list, digest);
    sha256_to_hex(digest, text);
    return 0;
}

static int show_all(const struct selection *s, struct run *run, bool has_diffs, json_t **ret_answer,
                    struct error *err)
{
    json_t *changes = json_array();
    char version[2 * SHA256_BYTES + 1];

    (void)version_of(s->layers, s->list, version);
    if (show(s, run, has_diffs, changes, err) < 0) {
        json_decref(changes);
        return -1;
    }
    *ret_answer = json_pack("{s:o, s:b, s:s}", "changes", changes, "has_more",
                            (int)s->list->is_partial, "version", version);
    return *ret_answer ? 0 : error_memory(err);
}

/* --- what became of it --- */

static const char *reason_words(enum layer_obstacle obstacle)
{
    static const char *const words[] = {
        [LAYER_NO_OBSTACLE] = "it was not tried",
        [LAYER_CONFLICT] = "it changed on the disk, too",
        [LAYER_PROTECTED] = "it runs or steers something on the host; Belljar never writes it",
        [LAYER_SPECIAL] = "it is neither a file nor a directory nor a link",
        [LAYER_LEADS_OUT] = "the link leads out of the directory",
        [LAYER_ODD_NAME] = "its name is no plain text",
        [LAYER_UNREADABLE] = "it cannot be read",
        [LAYER_FAILED] = "it failed",
    };

    return words[obstacle];
}

static json_t *skipped_json(const struct selection *s, const struct layer_entry *e, struct run *run)
{
    const char *name = layer_obstacle_name(e->obstacle);
    const char *words = e->failure ? e->failure : reason_words(e->obstacle);

    return json_pack("{s:o, s:s, s:o}", "path", path_json(s->layers, e, run), "reason",
                     name ? name : "failed", "message", masked(run, words, strlen(words)));
}

static int report(const struct selection *s, struct run *run, json_t **ret_answer,
                  struct error *err)
{
    json_t *done = json_array(), *skipped = json_array();

    for (size_t i = 0; i < s->list->count; i++) {
        const struct layer_entry *e = &s->list->entries[i];

        if (!is_wanted((void *)s, e))
            continue;
        if (e->is_done)
            (void)json_array_append_new(done, path_json(s->layers, e, run));
        else
            (void)json_array_append_new(skipped, skipped_json(s, e, run));
    }
    *ret_answer = json_pack("{s:o, s:o}", "done", done, "skipped", skipped);
    return *ret_answer ? 0 : error_memory(err);
}

static int check_version(const struct selection *s, const char *wanted, struct error *err)
{
    char version[2 * SHA256_BYTES + 1];

    if (!wanted)
        return 0;
    (void)version_of(s->layers, s->list, version);
    if (strcmp(version, wanted) == 0)
        return 0;
    error_set(err, E_INVALID, "the changes are not those of that `version` any more");
    return error_hint(err, "look at them again");
}

static int note_bases(struct layers *layers, const struct layers_list *list, struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct layer_entry *e = &list->entries[i];

        if (e->is_done && e->kind != FILES_DIRECTORY && e->ctime_ns &&
            layers_note_base(layers, e->index, e->path, e->ctime_ns, err) < 0)
            return -1;
    }
    return 0;
}

static int settle(struct layers *layers, struct selection *s, const struct changes_wish *wish,
                  struct error *err)
{
    if (s->list->is_partial && json_array_size(s->paths) == 0) {
        error_set(err, E_TOO_LARGE, "more has changed than is looked at in one go");
        return error_hint(err, "name `paths`, or let the program delete what is not needed");
    }
    if (check_version(s, wish->version, err) < 0)
        return -1;
    if (wish->action == CHANGES_DISCARD) {
        layers_discard(layers, s->list, is_wanted, s);
        return 0;
    }
    layers_apply(layers, s->list, wish->is_forced, is_wanted, s);
    return note_bases(layers, s->list, err);
}

int changes_do(struct layers *layers, struct run *run, const struct changes_wish *wish,
               json_t **ret_answer, struct error *err)
{
    cleanup(layers_list_done) struct layers_list list = {0};
    struct selection s = {layers, wish->paths, &list};

    if (layers_changes(layers, &list, err) < 0 || check_paths(&s, err) < 0)
        return -1;
    if (wish->action == CHANGES_SHOW)
        return show_all(&s, run, wish->has_diffs, ret_answer, err);
    if (settle(layers, &s, wish, err) < 0)
        return -1;
    return report(&s, run, ret_answer, err);
}

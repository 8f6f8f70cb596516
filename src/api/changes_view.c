#include "api/changes_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hidden_mark.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/terminal_text.h"
#include "base/utf8.h"
#include "engine/masking.h"

void changes_view_done(struct changes_view *view)
{
    json_decref(view->path);
    buf_done(&view->diff);
    *view = (struct changes_view){0};
}

/* --- names and words --- */

/* *ret_hidden, which may be NULL: how many bytes of it are not shown. */
static json_t *review_json(struct mask_context masks, struct span text, uint64_t *ret_hidden)
{
    cleanup(buf_done) struct buf shown = {0};
    int64_t hidden = -1;

    buf_init(&shown, 4 * text.len + KIB);
    if (mask_for_review(masks, text, &shown, NULL) == 0)
        hidden = hidden_count(text, (struct span){buf_str(&shown), shown.len});
    if (ret_hidden)
        *ret_hidden = hidden < 0 ? text.len : (uint64_t)hidden;
    if (hidden < 0)
        return json_string("?");
    return json_text_string(buf_str(&shown), shown.len);
}

static json_t *path_json(const struct overlays *overlays, const struct overlay_entry *e,
                         struct mask_context masks, uint64_t *ret_hidden)
{
    cleanup(buf_done) struct buf shown = BUF_OF(8 * PATH_MAX + 2);

    if (overlays_show_path(overlays, e, &shown, NULL) == 0)
        return review_json(masks, (struct span){buf_str(&shown), shown.len}, ret_hidden);
    if (ret_hidden)
        *ret_hidden = strlen(e->path);
    return json_string("?");
}

json_t *changes_view_path(const struct overlays *overlays, const struct overlay_entry *e,
                          struct mask_context masks)
{
    return path_json(overlays, e, masks, NULL);
}

bool changes_view_is_special(unsigned mode)
{
    return mode & 07113;
}

json_t *changes_view_words(struct mask_context masks, const char *words)
{
    return review_json(masks, span_of(words), NULL);
}

/* --- the lines --- */

struct contents {
    struct buf old, new;             /* as they are */
    struct buf shown_old, shown_new; /* with marks */
};

static void contents_done(struct contents *c)
{
    buf_done(&c->old);
    buf_done(&c->new);
    buf_done(&c->shown_old);
    buf_done(&c->shown_new);
}

static struct span span_from(struct buf *text)
{
    return (struct span){buf_str(text), text->len};
}

static bool hide(struct mask_context masks, struct contents *c)
{
    buf_init(&c->shown_old, 8 * LIMIT_DIFF_FILE);
    buf_init(&c->shown_new, 8 * LIMIT_DIFF_FILE);
    return mask_for_review(masks, span_from(&c->old), &c->shown_old, NULL) == 0 &&
           mask_for_review(masks, span_from(&c->new), &c->shown_new, NULL) == 0;
}

/* Facts that the lines do not show, if there are none, or if they are of something else. The list
 * has modes in any case. */
static int add_facts(const struct overlay_entry *e, bool has_hunks, struct buf *out)
{
    if (e->change == OVERLAY_CHANGED && e->kind != e->old_kind &&
        buf_printf(out, NULL, "old kind %s\nnew kind %s\n", files_kind_name(e->old_kind),
                   files_kind_name(e->kind)) < 0)
        return -1;
    if (!has_hunks && e->change == OVERLAY_CHANGED && e->mode != e->old_mode &&
        buf_printf(out, NULL, "old mode %04o\nnew mode %04o\n", e->old_mode, e->mode) < 0)
        return -1;
    if (e->change == OVERLAY_CREATED && e->kind == FILES_REGULAR &&
        changes_view_is_special(e->mode))
        return buf_printf(out, NULL, "new mode %04o\n", e->mode);
    if (e->change == OVERLAY_CREATED && e->kind == FILES_LINK)
        return buf_add_str(out, "new symbolic link\n", NULL);
    return 0;
}

static int add_head(const struct overlay_entry *e, const char *path, bool has_hunks,
                    struct buf *out)
{
    if (add_facts(e, has_hunks, out) < 0)
        return -1;
    return buf_printf(out, NULL, "--- %s%s\n+++ %s%s\n", e->change == OVERLAY_CREATED ? "" : "a",
                      e->change == OVERLAY_CREATED ? "/dev/null" : path,
                      e->change == OVERLAY_DELETED ? "" : "b",
                      e->change == OVERLAY_DELETED ? "/dev/null" : path);
}

/* All of it or nothing: half a diff looks like a whole one. */
static void put_diff(struct changes_view *view, const struct overlay_entry *e,
                     const struct buf *hunks, struct changes_room *room)
{
    const char *path = json_string_value(view->path);

    buf_init(&view->diff, room->shown);
    if (!path || add_head(e, path, hunks->len > 0, &view->diff) < 0 ||
        terminal_distinct(hunks->len ? hunks->data : "", hunks->len, &view->diff, NULL) < 0) {
        buf_done(&view->diff);
        view->not_shown = "no_room";
        return;
    }
    room->shown -= view->diff.len;
}

static int compare(struct changes_view *view, const struct overlay_entry *e,
                   struct mask_context masks, struct contents *c, struct changes_room *room,
                   struct error *err)
{
    cleanup(buf_done) struct buf hunks = {0};
    struct diff_shown shown;

    bool can_show = hide(masks, c);

    shown = (struct diff_shown){span_from(&c->shown_old), span_from(&c->shown_new)};
    buf_init(&hunks, room->shown);
    view->is_known = true;
    if (!can_show || diff_unified_shown(span_from(&c->old), span_from(&c->new), &shown, &hunks,
                                        &view->count, NULL) < 0) {
        view->not_shown = "withheld";
        return diff_unified(span_from(&c->old), span_from(&c->new), NULL, &view->count, err);
    }
    view->hidden = view->count.hidden;
    if (view->count.is_cut)
        view->not_shown = "no_room";
    else
        put_diff(view, e, &hunks, room);
    return 0;
}

/* The shown content must be the one that the list and its version describe. A process of the
 * session may write it in between. */
static bool is_other(const struct overlay_entry *e, struct buf *new)
{
    uint8_t digest[SHA256_BYTES];

    if (e->change == OVERLAY_DELETED)
        return false;
    sha256(buf_str(new), new->len, digest);
    return sha256_differs(digest, e->digest);
}

static int look(struct changes_view *view, const struct overlays *overlays,
                const struct overlay_entry *e, struct mask_context masks, struct changes_room *room,
                struct error *err)
{
    cleanup(contents_done) struct contents c = {0};
    bool was_text, is_text;

    if (e->size > LIMIT_DIFF_FILE || e->old_size > LIMIT_DIFF_FILE) {
        view->not_shown = "too_large";
        return 0;
    }
    if (e->size + e->old_size > room->read) {
        view->not_shown = "no_room";
        return 0;
    }
    room->read -= (size_t)(e->size + e->old_size);
    if (!overlays_read(overlays, e, LIMIT_DIFF_FILE, &c.old, &c.new)) {
        view->not_shown = "unreadable";
        view->is_moving = true;
        return 0;
    }
    if (is_other(e, &c.new)) {
        view->not_shown = "changing";
        view->is_moving = true;
        return 0;
    }
    was_text = diff_is_text(span_from(&c.old));
    is_text = diff_is_text(span_from(&c.new));
    if (was_text && is_text)
        return compare(view, e, masks, &c, room, err);
    view->is_binary = true;
    /* Content that is written without having been shown counts as hidden, whatever was there
     * before. Deleting a file writes nothing. */
    if (e->change != OVERLAY_DELETED)
        view->not_shown = "binary";
    return 0;
}

static bool has_content(const struct overlay_entry *e)
{
    return (e->kind == FILES_REGULAR || e->kind == FILES_LINK) &&
           (e->old_kind == FILES_REGULAR || e->old_kind == FILES_LINK);
}

int changes_view_make(const struct overlays *overlays, const struct overlay_entry *e,
                      struct mask_context masks, struct changes_room *room,
                      struct changes_view *ret_view, struct error *err)
{
    uint64_t hidden_name = 0;

    ret_view->path = path_json(overlays, e, masks, &hidden_name);
    if (!ret_view->path)
        return error_memory(err);
    if (has_content(e) && look(ret_view, overlays, e, masks, room, err) < 0)
        return -1;
    if (ret_view->not_shown)
        ret_view->hidden = e->size + e->old_size > 0 ? e->size + e->old_size : 1;
    ret_view->hidden += hidden_name;
    if (ret_view->is_moving ||
        (e->obstacle != OVERLAY_NO_OBSTACLE && e->obstacle != OVERLAY_CONFLICT))
        ret_view->hidden = 0; /* it is not applied in any case */
    return 0;
}

/* --- JSON --- */

static json_t *count_json(const struct changes_view *view, size_t count)
{
    return view->is_known ? json_integer((json_int_t)count) : json_null();
}

static json_t *mode_json(unsigned mode, bool is_there)
{
    char text[8];

    (void)snprintf(text, sizeof(text), "%04o", mode);
    return is_there ? json_string(text) : json_null();
}

static json_t *digest_json(const struct overlay_entry *e)
{
    char hex[2 * SHA256_BYTES + 1];

    if (e->change == OVERLAY_DELETED || (e->kind != FILES_REGULAR && e->kind != FILES_LINK))
        return json_null();
    sha256_to_hex(e->digest, hex);
    return json_string(hex);
}

json_t *changes_view_json(const struct changes_view *view, const struct overlay_entry *e,
                          bool has_diff)
{
    bool has_invisible = view->count.has_invisible || utf8_has_invisible(e->path, strlen(e->path));
    json_t *change = json_pack(
        "{s:O, s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:b, s:I, s:o, s:o, s:o}", "path",
        view->path, "change", overlay_change_name(e->change), "kind", files_kind_name(e->kind),
        "old_kind", files_kind_name(e->old_kind), "size", (json_int_t)e->size, "old_size",
        (json_int_t)e->old_size, "mode", mode_json(e->mode, e->change != OVERLAY_DELETED),
        "old_mode", mode_json(e->old_mode, e->change != OVERLAY_CREATED), "added",
        count_json(view, view->count.added), "removed", count_json(view, view->count.removed),
        "is_binary", (int)view->is_binary, "has_invisible", (int)has_invisible, "hidden_bytes",
        (json_int_t)view->hidden, "not_shown", json_string_or_null(view->not_shown), "sha256",
        digest_json(e), "obstacle", json_string_or_null(overlay_obstacle_name(e->obstacle)));

    if (change && has_diff)
        (void)json_object_set_new(change, "diff",
                                  view->diff.len ? json_text_string(view->diff.data, view->diff.len)
                                                 : json_null());
    return change;
}

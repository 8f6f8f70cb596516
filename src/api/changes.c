#include "api/changes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/changes_view.h"
#include "base/cleanup.h"
#include "base/json.h"

/* --- which ones --- */

struct selection {
    const struct overlays *overlays;
    const json_t *paths;
    struct overlays_list *list;
};

static bool is_wanted(void *arg, const struct overlay_entry *entry)
{
    const struct selection *s = arg;
    const json_t *path;
    size_t i;

    if (json_array_size(s->paths) == 0)
        return true;
    json_array_foreach((json_t *)s->paths, i, path)
    {
        if (overlays_is_below(s->overlays, entry, json_string_value(path)))
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
            found = overlays_is_below(s->overlays, &s->list->entries[k], text);
        if (!found) {
            error_set(err, E_NOT_FOUND, "nothing has changed at `%.200s`", text);
            return error_hint(err, "give paths as the list of changes has them");
        }
    }
    return 0;
}

static int version_of(const struct overlays *overlays, const struct overlays_list *list,
                      char text[2 * SHA256_BYTES + 1])
{
    uint8_t digest[SHA256_BYTES];

    overlays_list_digest(overlays, list, digest);
    sha256_to_hex(digest, text);
    return 0;
}

static int view_all(const struct selection *s, struct mask_context masks,
                    const struct changes_wish *wish, json_t *changes, uint64_t *ret_hidden,
                    struct error *err)
{
    struct changes_room room = {wish->room ? wish->room : LIMIT_DIFF_BYTES, LIMIT_DIFF_READ};

    *ret_hidden = 0;
    for (size_t i = 0; i < s->list->count; i++) {
        struct overlay_entry *e = &s->list->entries[i];
        cleanup(changes_view_done) struct changes_view view = {0};
        json_t *change;

        if (!is_wanted((void *)s, e))
            continue;
        if (changes_view_make(s->overlays, e, masks, &room, &view, err) < 0)
            return -1;
        *ret_hidden += view.hidden;
        if (view.is_moving && (!e->obstacle || e->obstacle == OVERLAY_CONFLICT))
            e->obstacle = OVERLAY_UNREADABLE;
        change = changes_view_json(&view, e, wish->has_diffs);
        if (!change || json_array_append_new(changes, change) < 0)
            return error_memory(err);
    }
    return 0;
}

/* A list of 20,000 long names is longer than an answer. An apply is bounded by a list without
 * diffs, so that whatever can be applied can be shown with them. */
#define SHOWN_BYTES   (48 * MIB)
#define APPLIED_BYTES (32 * MIB)

static int check_length(const json_t *changes, size_t max, struct error *err)
{
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, max);
    if (json_text_dump(changes, JSON_TEXT_COMPACT, &text, NULL) == 0)
        return 0;
    error_set(err, E_TOO_LARGE, "the list of changes is longer than an answer");
    return error_hint(err, "name `paths`");
}

static int show_all(const struct selection *s, struct mask_context masks,
                    const struct changes_wish *wish, json_t **ret_answer, struct error *err)
{
    json_t *changes = json_array();
    char version[2 * SHA256_BYTES + 1];
    uint64_t hidden;

    (void)version_of(s->overlays, s->list, version);
    if (view_all(s, masks, wish, changes, &hidden, err) < 0 ||
        check_length(changes, SHOWN_BYTES, err) < 0) {
        json_decref(changes);
        return -1;
    }
    *ret_answer =
        json_pack("{s:o, s:b, s:s, s:I}", "changes", changes, "has_more", (int)s->list->is_partial,
                  "version", version, "hidden_bytes", (json_int_t)hidden);
    return *ret_answer ? 0 : error_memory(err);
}

/* --- what became of it --- */

static const char *reason_words(enum overlay_obstacle obstacle)
{
    static const char *const words[] = {
        [OVERLAY_NO_OBSTACLE] = "it was not tried",
        [OVERLAY_CONFLICT] = "it also changed on the disk",
        [OVERLAY_PROTECTED] = "it runs or steers something on the host; Belljar never writes it",
        [OVERLAY_SPECIAL] = "it is neither a file nor a directory nor a link",
        [OVERLAY_LEADS_OUT] = "the link leads out of the directory",
        [OVERLAY_ODD_NAME] = "its name is not plain text",
        [OVERLAY_UNREADABLE] = "it cannot be read",
        [OVERLAY_FAILED] = "it failed",
    };

    return words[obstacle];
}

static json_t *skipped_json(const struct selection *s, const struct overlay_entry *e,
                            struct mask_context masks)
{
    const char *name = overlay_obstacle_name(e->obstacle);
    const char *words = e->failure ? e->failure : reason_words(e->obstacle);

    return json_pack("{s:o, s:s, s:o}", "path", changes_view_path(s->overlays, e, masks), "reason",
                     name ? name : "failed", "message", changes_view_words(masks, words));
}

static int report(const struct selection *s, struct mask_context masks, const char *version,
                  json_t **ret_answer, struct error *err)
{
    json_t *done = json_array(), *skipped = json_array();

    for (size_t i = 0; i < s->list->count; i++) {
        const struct overlay_entry *e = &s->list->entries[i];

        if (!is_wanted((void *)s, e))
            continue;
        if (e->is_done)
            (void)json_array_append_new(done, changes_view_path(s->overlays, e, masks));
        else
            (void)json_array_append_new(skipped, skipped_json(s, e, masks));
    }
    *ret_answer =
        json_pack("{s:o, s:o, s:s}", "done", done, "skipped", skipped, "version", version);
    return *ret_answer ? 0 : error_memory(err);
}

static int check_version(const char *version, const char *wanted, struct error *err)
{
    if (!wanted || strcmp(version, wanted) == 0)
        return 0;
    error_set(err, E_INVALID, "the changes no longer match that `version`");
    return error_hint(err, "review them again");
}

/* An apply without a version means what was shown last. Without a look it takes what there is. */
static int check_shown(const struct overlays *overlays, const char *version, struct error *err)
{
    if (!*overlays_shown(overlays) || strcmp(version, overlays_shown(overlays)) == 0)
        return 0;
    error_set(err, E_INVALID, "the changes differ from those shown last");
    return error_hint(err, "review them again, or give the `version` you mean");
}

/* After an apply or a discard: of what was shown, the rest still counts as shown. */
static void note_rest(struct overlays *overlays, const struct overlays_list *list, bool was_shown)
{
    char version[2 * SHA256_BYTES + 1] = "";
    size_t left = 0;

    for (size_t i = 0; i < list->count; i++)
        left += !list->entries[i].is_done;
    if (left && was_shown)
        (void)version_of(overlays, list, version);
    overlays_note_shown(overlays, version);
}

/* Changes that were not shown are not applied, unless the request names the number of hidden
 * bytes. */
static int check_hidden(const struct selection *s, struct mask_context masks,
                        const struct changes_wish *wish, struct error *err)
{
    cleanup_json json_t *changes = json_array();
    uint64_t hidden;

    if (view_all(s, masks, wish, changes, &hidden, err) < 0 ||
        check_length(changes, APPLIED_BYTES, err) < 0)
        return -1;
    if (hidden == 0 || wish->accepts_all_hidden || wish->accept_hidden == hidden)
        return 0;
    if (wish->accept_hidden)
        error_set(err, E_DENIED, "%" PRIu64 " bytes of these changes are hidden, not %" PRIu64,
                  hidden, wish->accept_hidden);
    else
        error_set(err, E_DENIED,
                  "%" PRIu64 " bytes of these changes are hidden, and nothing was applied", hidden);
    return error_hint(err,
                      "review the changes; to apply them with the hidden part, pass "
                      "`accept_hidden: %" PRIu64 "` (`--with-hidden`)",
                      hidden);
}

static int note_bases(struct overlays *overlays, const struct overlays_list *list,
                      struct error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct overlay_entry *e = &list->entries[i];

        if (e->is_done && e->kind != FILES_DIRECTORY && e->ctime_ns &&
            overlays_note_base(overlays, e->index, e->path, e->ctime_ns, e->inode, err) < 0)
            return -1;
    }
    return 0;
}

static int settle(struct overlays *overlays, struct selection *s, struct mask_context masks,
                  const struct changes_wish *wish, const char *version, struct error *err)
{
    if (s->list->is_partial && json_array_size(s->paths) == 0) {
        error_set(err, E_TOO_LARGE, "there are more changes than can be examined at once");
        return error_hint(err, "set `paths`, or let the program delete files that are not needed");
    }
    if (check_version(version, wish->version, err) < 0)
        return -1;
    if (!wish->version && wish->action == CHANGES_APPLY && check_shown(overlays, version, err) < 0)
        return -1;
    if (wish->action == CHANGES_DISCARD) {
        overlays_discard(overlays, s->list, is_wanted, s);
        return 0;
    }
    if (check_hidden(s, masks, wish, err) < 0)
        return -1;
    overlays_apply(overlays, s->list, wish->is_forced, is_wanted, s);
    return note_bases(overlays, s->list, err);
}

int changes_do(struct overlays *overlays, struct mask_context masks,
               const struct changes_wish *wish, json_t **ret_answer, struct error *err)
{
    cleanup(overlays_list_done) struct overlays_list list = {0};
    struct selection s = {overlays, wish->paths, &list};
    char version[2 * SHA256_BYTES + 1];
    bool was_shown;

    if (overlays_changes(overlays, &list, err) < 0 || check_paths(&s, err) < 0)
        return -1;
    (void)version_of(overlays, &list, version);
    if (wish->action == CHANGES_SHOW) {
        overlays_note_shown(overlays, list.count ? version : "");
        return show_all(&s, masks, wish, ret_answer, err);
    }
    was_shown = strcmp(version, wish->version ? wish->version : overlays_shown(overlays)) == 0;
    if (settle(overlays, &s, masks, wish, version, err) < 0)
        return -1;
    note_rest(overlays, &list, was_shown);
    return report(&s, masks, version, ret_answer, err);
}

/* One change as somebody sees it who decides on it: api/changes.c has the list. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/diff.h"
#include "engine/masking.h"
#include "sandbox/overlay.h"

/* The remaining room of an answer: bytes of diffs, and bytes of files that are read for them. */
struct changes_room {
    size_t shown, read;
};

struct changes_view {
    json_t *path;
    struct diff_count count;
    bool is_known;         /* lines were compared */
    bool is_binary;        /* no text on one side at least */
    const char *not_shown; /* why there is no diff though lines differ, or NULL */
    bool is_moving;  /* it is another file by now, or is written at this moment: not applied */
    uint64_t hidden; /* bytes that an apply would write or remove unseen */
    struct buf diff; /* as `diff` and `patch` know them; what is invisible is escaped */
};

void changes_view_done(struct changes_view *view);

/* Compares both sides and hides what must be. -1: out of memory. */
int changes_view_make(const struct overlays *overlays, const struct overlay_entry *e,
                      struct mask_context masks, struct changes_room *room,
                      struct changes_view *ret_view, struct error *err);

json_t *changes_view_json(const struct changes_view *view, const struct overlay_entry *e,
                          bool has_diff);

/* Of a new file: it can be started, or everybody can write it. */
bool changes_view_is_special(unsigned mode);

/* The whole path; words about it. What cannot be shown is "?". */
json_t *changes_view_path(const struct overlays *overlays, const struct overlay_entry *e,
                          struct mask_context masks);
json_t *changes_view_words(struct mask_context masks, const char *words);

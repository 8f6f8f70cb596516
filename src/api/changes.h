/* Changes in copy-on-write grants, as JSON for every door, and applying or discarding them.
 *
 * A person decides on them. So real contents are compared, and in names and lines only registered
 * values and self-proving tokens are hidden, by a mark (mask_for_review()). What is hidden or does
 * not fit is counted, and an apply has to repeat the number. Contents are read and written to disks
 * that may be slow: servers have it done by a process of its own (changes_start), which leaves each
 * file old or new whatever happens to it.
 */
#pragma once

#include <jansson.h>

#include "api/under_way.h"
#include "base/loop.h"
#include "engine/masking.h"
#include "engine/session.h"
#include "sandbox/overlay.h"

enum changes_action { CHANGES_SHOW, CHANGES_APPLY, CHANGES_DISCARD };

struct changes_wish {
    enum changes_action action;
    const json_t *paths;     /* texts: only what is there or below; NULL or empty: everything */
    const char *version;     /* of the list that was looked at, or NULL: what was shown last */
    bool has_diffs;          /* of a list: with the lines */
    bool is_forced;          /* conflicts are overwritten */
    uint64_t accept_hidden;  /* apply although so many bytes are hidden; another number is a no */
    bool accepts_all_hidden; /* or however many */
    size_t room; /* bytes of diffs that this door shows in one answer; 0: the usual. What does not
                    fit counts as hidden */
};

/* CHANGES_SHOW: {"changes":[{"path","change","kind","old_kind","size","old_size","mode","old_mode",
 * "added","removed","is_binary","has_invisible","hidden_bytes","not_shown","sha256","obstacle",
 * "diff"}],"has_more","version","hidden_bytes"}
 * the others:    {"done":[path],"skipped":[{"path","reason","message"}],"version"}
 * `masks` says what is masked. The caller owns *ret_answer. */
int changes_do(struct overlays *overlays, struct mask_context masks,
               const struct changes_wish *wish, json_t **ret_answer, struct error *err);

/* `answer` is only lent, and NULL where `err` says why. */
typedef void (*changes_fn)(void *user, json_t *answer, struct error *err);

/* Does it for a session, in a process of its own; `fn` is called once, from the loop. E_BUSY: it is
 * at it already, or a cell runs. E_INVALID: it has no such grants. */
int changes_start(struct changes_jobs *jobs, struct loop *loop, struct session *session,
                  const struct changes_wish *wish, changes_fn fn, void *user, struct error *err);

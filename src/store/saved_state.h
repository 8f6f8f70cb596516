/* The state of work that continues over several runs, saved by its owner under a name.
 *
 * Every save is a version of its own, numbered from 1, and the last ones can be loaded. If two
 * clients save at the same time, both get a version. A client that names the version it has seen is
 * refused if there is a newer one.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "store/store.h"
#include "wire/pack.h"

/* Makes one, without a save. `ret_is_new`: it was not there; otherwise it stays as it is, but for a
 * description that is given. */
int saved_state_create(struct store *store, const char *owner, const char *name,
                       const char *description, bool *ret_is_new, struct error *err);

/* `state` is the text of a JSON object. `seen`: the version it was made from; below 0: any. */
int saved_state_save(struct store *store, const char *owner, const char *name, struct span state,
                     int64_t seen, int64_t *ret_version, struct error *err);

/* {"name","description","created_at","updated_at","version","state","history":[{"version",
 * "timestamp","bytes"}]}, the newest first. `version` 0: the last. The caller's. */
int saved_state_load(struct store *store, const char *owner, const char *name, int64_t version,
                     json_t **ret_work, struct error *err);

/* Leaves out "state", whose text is appended to `text`: parsing it could take a MiB. */
int saved_state_load_text(struct store *store, const char *owner, const char *name, int64_t version,
                          json_t **ret_work, struct buf *text, struct error *err);

/* [{"name","description","created_at","updated_at","version","bytes"}], the last changed first. */
int saved_state_list(struct store *store, const char *owner, json_t **ret_list, struct error *err);

int saved_state_delete(struct store *store, const char *owner, const char *name, struct error *err);

/* In a change: E_TOO_LARGE, the owner has too much now. */
int saved_state_check_room(struct store *store, const char *owner, struct error *err);

/* Shared by store.c (runs), store_undo.c (undoing one) and store_prune.c (making room). */
#pragma once

#include <limits.h>

#include "base/id.h"
#include "undo/store.h"
#include "undo/undo.h"

/* RUN/removed: its contents were removed to make room. */
#define STORE_REMOVED "removed"

#define STORE_META_BYTES ((size_t)256 << 10)

/* The content of meta.json. */
struct store_meta {
    char id[ID_SIZE], owner[RUN_KEEPER_MAX], session[ID_SIZE], undoes[ID_SIZE];
    int64_t began_ns;
    size_t n_grants;
    struct store_grant {
        char *path; /* NULL: was not for writing */
        uint64_t dev, ino;
    } grants[LIMIT_GRANTS];
};

void store_meta_done(struct store_meta *meta);

/* $STATE/undo, which is made. */
int store_open(int *ret_dir, struct error *err);

/* An id that is a name of a run's directory and nothing else. */
bool store_is_id(const char *text);

int store_not_found(const char *id, struct error *err);

/* The run's directory, not locked. E_NOT_FOUND: there is none. */
int store_open_run(int store, const char *id, int *ret_dir, struct error *err);
/* RUN/changes, locked. E_BUSY: somebody holds it. */
int store_open_changes(int run, const char *id, int *ret_dir, struct error *err);
int store_read_meta(int run, const char *id, struct store_meta *ret_meta, struct error *err);

/* NULL: there is none, or it is not ours. */
json_t *store_read_json(int run, const char *name);
int store_write_json(int run, const char *name, json_t *value, struct error *err);
int store_write_text(int run, const char *name, const char *text, size_t len, struct error *err);
char *store_read_text(int run, const char *name, size_t *ret_len);

/* Whether somebody writes in RUN/changes. */
bool store_is_locked(int run);

/* All ids, oldest first (ids sort by time). NULL and 0: none. */
int store_ids(int store, char (**ret_ids)[ID_SIZE], size_t *ret_count, struct error *err);

/* Takes the run's directory out of sight and removes it. */
int store_remove(int store, const char *id, struct error *err);
/* Removes a directory that is out of sight, with everything in it. */
void store_delete_tree(int store, const char *name);

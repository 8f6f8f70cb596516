/* Data that outlives a run: one SQLite file, which several processes of one user may have open.
 *
 * The file is opened or created at the first use. A change is one transaction: it is stored as a
 * whole or not at all, whenever the process is killed, and writers wait for one another. Everything
 * belongs to an owner, and no other owner finds it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "base/error.h"

/* Names of what is kept: letters, digits, `_`, `-` and `.`, a letter or digit first. They are never
 * names of files, but a reader should be able to tell them apart. */
#define STORE_NAME_MAX 64

struct store;
struct loop; /* base/loop.h */

/* The content of a file: its tables, as statements that make those that are not there. */
struct store_kind {
    const char *tables;
    int version;        /* of these; a file with a higher one is not touched */
    uint64_t max_bytes; /* of the file */
    const char *full;   /* what to do when it is full */
};

/* `path` is copied; the directory it is in has to be there. NULL: out of memory. */
struct store *store_new(const char *path);

/* A file of its own for something else than skills and saved states. `kind` outlives it. */
struct store *store_new_of(const char *path, const struct store_kind *kind);
void store_free(struct store *store);

/* The user's own, with the shelves of skills that everybody has: the operator's
 * ($XDG_CONFIG_HOME/belljar/skills), and those that come with Belljar. NULL: *err says why. */
struct store *store_open_usual(struct error *err);

/* One more directory of skills for everybody, behind those before. The path is copied; it need not
 * be there. E_TOO_LARGE: there are STORE_SHELVES. */
#define STORE_SHELVES 4
int store_add_shelf(struct store *store, const char *dir, struct error *err);
const char *store_shelf(const struct store *store, size_t index); /* NULL: no more */

/* For a server: the event loop never waits for the disk (store/checkpoint.h). The loop outlives the
 * store. A file that is there is opened now. */
void store_attend(struct store *store, struct loop *loop);

/* Something has been kept here before. */
bool store_is_there(const struct store *store);

/* Deletes all that belongs to an owner. */
int store_forget(struct store *store, const char *owner, struct error *err);

/* `what` is what the name is of, for the message. */
int store_check_name(const char *what, const char *name, struct error *err);

/* --- for the files beside this one --- */

/* A prepared statement with its values: each letter of `types` stands for one, `s` a string (NULL
 * is none), `b` text and `B` bytes with their number (size_t), `i` an int64_t. The caller finalizes
 * it, best with cleanup(store_end). NULL: *err says why. */
sqlite3_stmt *store_query(struct store *store, struct error *err, const char *sql,
                          const char *types, ...);
void store_end(sqlite3_stmt **statement);

/* 1: a row, 0: the end, -1: an error. */
int store_step(struct store *store, sqlite3_stmt *statement, struct error *err);

/* Runs a statement that returns no rows. */
int store_do(struct store *store, struct error *err, const char *sql, const char *types, ...);

/* The first column of the first row, as a number; `none` where there is no row or no number. */
int store_number(struct store *store, int64_t none, int64_t *ret_number, struct error *err,
                 const char *sql, const char *types, ...);

/* Everything between them is one change; `r` < 0 undoes it. Returns `r`, or -1. */
int store_begin(struct store *store, struct error *err);
int store_commit(struct store *store, int r, struct error *err);

/* Reads between them see one state of the file. */
int store_begin_read(struct store *store, struct error *err);
void store_end_read(struct store *store);

/* store_begin() for a change of what belongs to that owner. E_DENIED: several machines have it
 * (store/replica.h), and it is not changed on one alone. */
int store_begin_own(struct store *store, const char *owner, struct error *err);

/* Between them changes are made to be looked at, and undone at the end. */
int store_begin_trial(struct store *store, struct error *err);
void store_end_trial(struct store *store);

/* Copies of an owner's things on other machines; NULL: there are none. */
struct replicas;
void store_set_replicas(struct store *store, struct replicas *replicas);
struct replicas *store_replicas(const struct store *store);

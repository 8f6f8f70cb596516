/* One skill or saved state as machines exchange it (store/replica.h): its description, which is a
 * JSON text, and the contents of its versions, each an object of its own.
 *
 *     {"versions":[{"v":3,"time":"…","bytes":12,"description":"…","id":"obj_…","pieces":1}],
 *      "description":"…","created":"…","updated":"…","last":3}
 *
 * The second line is of a state alone. The content of a state is its JSON text; that of a skill is
 * packed: a byte 0 and the code of a module, or a byte 1, a number, and for each file of a folder
 * its path, whether it is executable, and its bytes.
 *
 * What is read here came from another machine, which may be in a stranger's hands: it has passed
 * the same checks as what a client sends, or it is refused.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "store/store.h"
#include "wire/pack.h"

/* A content is cut into pieces of this size. Its text in base64 is below what a bus takes. */
#define REPLICA_PIECE (512 * KIB)

/* A description: ten versions with the longest texts, in escapes. It is one piece. */
#define REPLICA_ITEM_BYTES (400 * KIB)

/* A content: a skill of LIMIT_FOLDER_BYTES, with its paths. */
#define REPLICA_CONTENT_BYTES (5 * MIB)

enum replica_kind { REPLICA_STATE, REPLICA_SKILL, REPLICA_KINDS };

extern const char *const replica_kinds[REPLICA_KINDS]; /* "state", "skill" */

#define REPLICA_TIME_SIZE 32

struct replica_version {
    int64_t version, bytes;
    char time[REPLICA_TIME_SIZE];
    char *description;      /* of a skill; or NULL */
    char id[ID_PLAIN_SIZE]; /* of its content; "": it has none yet */
    unsigned pieces;
    struct buf content; /* where has_content */
    bool has_content;
};

struct replica_item {
    enum replica_kind kind;
    char name[STORE_NAME_MAX + 1];
    char *description; /* of a state; or NULL */
    char created[REPLICA_TIME_SIZE], updated[REPLICA_TIME_SIZE];
    int64_t last;
    struct replica_version *versions; /* the newest first */
    size_t count;
};

/* Starts zeroed. */
void replica_item_done(struct replica_item *item);

/* {"state/NAME": null, …} of all that the owner has. */
int replica_item_names(struct store *store, const char *owner, json_t **ret_names,
                       struct error *err);

/* 1: *ret_item is what the store has, without contents; 0: there is none of that name. */
int replica_item_read(struct store *store, const char *owner, enum replica_kind kind,
                      const char *name, struct replica_item *ret_item, struct error *err);

/* Reads the content of one version. */
int replica_item_load(struct store *store, const char *owner, struct replica_item *item,
                      size_t index, struct error *err);

/* The description as text, and back. */
int replica_item_write(const struct replica_item *item, struct buf *out, struct error *err);
int replica_item_parse(enum replica_kind kind, const char *name, struct span text,
                       struct replica_item *ret_item, struct error *err);

/* Whether a content is one of this kind. */
int replica_item_check(enum replica_kind kind, struct span content, struct error *err);

/* Ids of the contents that the store has already: sets has_content of none. Versions whose rows are
 * there, with the same id, need none. */
int replica_item_known(struct store *store, const char *owner, const struct replica_item *item,
                       size_t index, bool *ret_is_known, struct error *err);

/* Makes the store hold this version; before its last one is there, the item has an older one. */
int replica_item_put(struct store *store, const char *owner, const struct replica_item *item,
                     size_t index, struct error *err);

/* All versions are there: what the item does not have goes. */
int replica_item_settle(struct store *store, const char *owner, const struct replica_item *item,
                        struct error *err);

/* Notes the ids of the contents, which are those that the store has. */
int replica_item_note(struct store *store, const char *owner, const struct replica_item *item,
                      struct error *err);

int replica_item_remove(struct store *store, const char *owner, enum replica_kind kind,
                        const char *name, struct error *err);

/* "state/NAME": false if it is neither. */
bool replica_item_key(const char *key, enum replica_kind *ret_kind, const char **ret_name);

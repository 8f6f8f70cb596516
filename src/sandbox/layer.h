/* Copy-on-write grants, seen from outside: what a program has changed in a directory without the
 * directory knowing, and how it gets there, or is forgotten.
 *
 * Inside, an overlay stands in the directory's place (sandbox/overlay.h). Its upper layer is on the
 * sandbox's disk and is read here, through a descriptor, like /workspace (sandbox/files.h): beneath
 * it, as the sandbox's user, no link followed. A change is what differs between the layer and the
 * directory as it is on the disk now: what was applied is none any more, and nothing has to be
 * noted in the layer, which is a live program's.
 *
 * The directory itself is only ever worked on as its owner, beneath the descriptor of the grant.
 * Whatever would be more than a file or a directory with plain rights (devices, FIFOs, sockets,
 * set-id bits, links that lead out) is never written there, nor are the protected paths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/run.h"
#include "base/sha256.h"
#include "sandbox/files.h"

struct layers; /* of one sandbox, one per copy-on-write grant, in the order of the grants */

/* Of those among the grants that are copy-on-write; *ret_layers is NULL where none is. From this
 * moment on a file that changes on the disk is in conflict with what the program makes of it. */
int layers_new(const struct run_grant *grants, size_t count, struct layers **ret_layers,
               struct error *err);
struct layers *layers_ref(struct layers *layers);
void layers_unref(struct layers *layers); /* accepts NULL */

size_t layers_count(const struct layers *layers);

/* The two descriptors of WIRE_SEALED, which are taken over. */
int layers_take(struct layers *layers, size_t index, int layer_fd, int seen_fd, struct error *err);

/* --- copies of a sandbox --- */

const char *layers_path(const struct layers *layers, size_t index);

/* The present state of the directories: for copies that are made later, without any descriptor.
 * NULL where there are no layers. */
int layers_past(const struct layers *layers, struct layers **ret_past, struct error *err);

/* For the layers of a copy that was taken at that time: a file that changed on the disk is in
 * conflict where it was for the source. E_SYSTEM: a layer of the source is missing. */
int layers_inherit(struct layers *layers, const struct layers *past, int64_t taken_ns,
                   struct error *err);

/* The clock of conflicts. */
int64_t layers_now_ns(void);

/* Packs the layers (wire/archive.h). In a child process, while nothing changes them. 0, or -1 and
 * why in one line, which may have names of the program's. */
int layers_pack(const struct layers *layers, int file, char *why, size_t why_size);

/* --- what has changed --- */

enum layer_change { LAYER_CREATED, LAYER_CHANGED, LAYER_DELETED };

/* Why a change is not applied. */
enum layer_obstacle {
    LAYER_NO_OBSTACLE,
    LAYER_CONFLICT,   /* it also changed on the disk, since the sandbox was made */
    LAYER_PROTECTED,  /* sandbox/protected.h, in any directory */
    LAYER_SPECIAL,    /* neither a file nor a directory nor a link */
    LAYER_LEADS_OUT,  /* a link to something outside of the directory */
    LAYER_ODD_NAME,   /* control characters, or no text */
    LAYER_UNREADABLE, /* the program closed it, or it is in the way of something */
    LAYER_FAILED,     /* it was tried: see `failure` */
};

struct layer_entry {
    size_t index; /* of the layer */
    const char *path;
    enum layer_change change;
    enum files_kind kind;     /* of what is deleted, or else of the new */
    enum files_kind old_kind; /* of what is on the disk; of a new one the same as `kind` */
    unsigned mode, old_mode;
    uint64_t size, old_size; /* of regular files */
    enum layer_obstacle obstacle;
    bool is_done;     /* applied, or discarded */
    char *failure;    /* or NULL */
    int64_t ctime_ns; /* of what is on the disk; 0: nothing is */
    int64_t mtime_ns; /* of the same */
    uint64_t inode;
    uint8_t digest[SHA256_BYTES]; /* of the new content, or of where a link leads */
    size_t path_at;               /* where the path stands while the list grows */
};

struct layers_list {
    struct layer_entry *entries; /* by directory and path; what is deleted before what is created */
    size_t count;
    bool is_partial; /* something was not looked at: too much, too deep, or closed to us */
    struct buf paths;
    size_t size; /* of entries */
};

void layers_list_done(struct layers_list *list);
int layers_changes(const struct layers *layers, struct layers_list *ret_list, struct error *err);

const char *layer_change_name(enum layer_change change);
const char *layer_obstacle_name(enum layer_obstacle obstacle); /* NULL: there is none */

/* A hash of a whole list: any difference gives another hash. */
void layers_list_digest(const struct layers *layers, const struct layers_list *list,
                        uint8_t digest[SHA256_BYTES]);

/* The whole path as text of one line (files_path_reveal). */
int layers_show_path(const struct layers *layers, const struct layer_entry *entry, struct buf *out,
                     struct error *err);

/* Whether it is the path that was asked for, as it is shown, or below it. A relative one counts
 * where there is one layer only. */
bool layers_is_below(const struct layers *layers, const struct layer_entry *entry,
                     const char *path);

/* Both contents of a changed file, or where links lead, within `limit` each. False: too large, or
 * not to be read. What is not there is empty. */
bool layers_read(const struct layers *layers, const struct layer_entry *entry, size_t limit,
                 struct buf *ret_old, struct buf *ret_new);

/* --- what becomes of it --- */

/* Writes to the disk what has no obstacle (with `force`: a conflict is none), each file as a whole
 * or not at all. Each entry says afterwards what became of it. `wanted`: which ones. */
void layers_apply(struct layers *layers, struct layers_list *list, bool force,
                  bool (*wanted)(void *arg, const struct layer_entry *entry), void *arg);

/* Brings what the program sees back to what is on the disk. */
void layers_discard(struct layers *layers, struct layers_list *list,
                    bool (*wanted)(void *arg, const struct layer_entry *entry), void *arg);

/* The file on the disk is ours now: no conflict until it changes again, or another file replaces
 * it. */
int layers_note_base(struct layers *layers, size_t index, const char *path, int64_t ctime_ns,
                     uint64_t inode, struct error *err);

/* The version of the changes that somebody looked at last; "": nobody did, or there were none. */
const char *layers_shown(const struct layers *layers);
void layers_note_shown(struct layers *layers, const char *version);

/* The n-th note of a layer, for a caller that has to copy it elsewhere. NULL: no more. */
const char *layers_base(const struct layers *layers, size_t index, size_t n, int64_t *ret_ctime_ns,
                        uint64_t *ret_inode);

/* --- what the program sees --- */

/* An overlay remembers names: a file that somebody replaced or deleted on the disk is there with
 * its old content, and one that is new is not. Has the overlays forget all names that nobody uses.
 * In a child process of its own, since it moves into the namespaces of the sandbox whose pid 1 is
 * `pidfd`. */
int layers_refresh(const struct layers *layers, int pidfd, struct error *err);

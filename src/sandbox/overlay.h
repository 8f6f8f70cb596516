/* Copy-on-write grants, seen from outside: what a program has changed in a directory without the
 * directory knowing, and how it gets there, or is forgotten.
 *
 * Inside, an overlay stands in the directory's place (sandbox/overlay_mount.h). Its upper directory
 * is on the sandbox's disk and is read here, through a descriptor, like /workspace
 * (sandbox/files.h): beneath it, as the sandbox's user, no link followed. A change is what differs
 * between the upper directory and the directory as it is on the disk now: what was applied is none
 * any more, and nothing has to be noted in the overlay, which is a live program's.
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

struct overlays; /* of one sandbox, one per copy-on-write grant, in the order of the grants */

/* Of those among the grants that are copy-on-write; *ret_overlays is NULL where none is. From this
 * moment on a file that changes on the disk is in conflict with what the program makes of it. */
int overlays_new(const struct run_grant *grants, size_t count, struct overlays **ret_overlays,
                 struct error *err);
struct overlays *overlays_ref(struct overlays *overlays);
void overlays_unref(struct overlays *overlays); /* accepts NULL */

size_t overlays_count(const struct overlays *overlays);

/* The two descriptors of WIRE_SEALED, which are taken over. */
int overlays_take(struct overlays *overlays, size_t index, int upper_fd, int seen_fd,
                  struct error *err);

/* --- copies of a sandbox --- */

const char *overlays_path(const struct overlays *overlays, size_t index);

/* The present state of the directories: for copies that are made later, without any descriptor.
 * NULL where there are no overlays. */
int overlays_past(const struct overlays *overlays, struct overlays **ret_past, struct error *err);

/* For the overlays of a copy that was taken at that time: a file that changed on the disk is in
 * conflict where it was for the source. E_SYSTEM: an overlay of the source is missing. */
int overlays_inherit(struct overlays *overlays, const struct overlays *past, int64_t taken_ns,
                     struct error *err);

/* The clock of conflicts. */
int64_t overlays_now_ns(void);

/* Packs the overlays (wire/archive.h). In a child process, while nothing changes them. 0, or -1 and
 * why in one line, which may have names of the program's. */
int overlays_pack(const struct overlays *overlays, int file, char *why, size_t why_size);

/* --- what has changed --- */

enum overlay_change { OVERLAY_CREATED, OVERLAY_CHANGED, OVERLAY_DELETED };

/* Why a change is not applied. */
enum overlay_obstacle {
    OVERLAY_NO_OBSTACLE,
    OVERLAY_CONFLICT,   /* it also changed on the disk, since the sandbox was made */
    OVERLAY_PROTECTED,  /* sandbox/protected.h, in any directory */
    OVERLAY_SPECIAL,    /* neither a file nor a directory nor a link */
    OVERLAY_LEADS_OUT,  /* a link to something outside of the directory */
    OVERLAY_ODD_NAME,   /* control characters, or no text */
    OVERLAY_UNREADABLE, /* the program closed it, or it is in the way of something */
    OVERLAY_FAILED,     /* it was tried: see `failure` */
};

struct overlay_entry {
    size_t index; /* of the overlay */
    const char *path;
    enum overlay_change change;
    enum files_kind kind;     /* of what is deleted, or else of the new */
    enum files_kind old_kind; /* of what is on the disk; of a new one the same as `kind` */
    unsigned mode, old_mode;
    uint64_t size, old_size; /* of regular files */
    enum overlay_obstacle obstacle;
    bool is_done;     /* applied, or discarded */
    char *failure;    /* or NULL */
    int64_t ctime_ns; /* of what is on the disk; 0: nothing is */
    int64_t mtime_ns; /* of the same */
    uint64_t inode;
    uint8_t digest[SHA256_BYTES]; /* of the new content, or of where a link leads */
    size_t path_at;               /* where the path stands while the list grows */
};

struct overlays_list {
    struct overlay_entry *entries; /* by directory and path; deleted ones before created ones */
    size_t count;
    bool is_partial; /* something was not looked at: too much, too deep, or closed to us */
    struct buf paths;
    size_t size; /* of entries */
};

void overlays_list_done(struct overlays_list *list);
int overlays_changes(const struct overlays *overlays, struct overlays_list *ret_list,
                     struct error *err);

const char *overlay_change_name(enum overlay_change change);
const char *overlay_obstacle_name(enum overlay_obstacle obstacle); /* NULL: there is none */

/* A hash of a whole list: any difference gives another hash. */
void overlays_list_digest(const struct overlays *overlays, const struct overlays_list *list,
                          uint8_t digest[SHA256_BYTES]);

/* The whole path as text of one line (files_path_reveal). */
int overlays_show_path(const struct overlays *overlays, const struct overlay_entry *entry,
                       struct buf *out, struct error *err);

/* Whether it is the path that was asked for, as it is shown, or below it. A relative one counts
 * where there is one overlay only. */
bool overlays_is_below(const struct overlays *overlays, const struct overlay_entry *entry,
                       const char *path);

/* Both contents of a changed file, or where links lead, within `limit` each. False: too large, or
 * not to be read. What is not there is empty. */
bool overlays_read(const struct overlays *overlays, const struct overlay_entry *entry, size_t limit,
                   struct buf *ret_old, struct buf *ret_new);

/* --- what becomes of it --- */

/* Writes to the disk what has no obstacle (with `force`: a conflict is none), each file as a whole
 * or not at all. Each entry says afterwards what became of it. `wanted`: which ones. */
void overlays_apply(struct overlays *overlays, struct overlays_list *list, bool force,
                    bool (*wanted)(void *arg, const struct overlay_entry *entry), void *arg);

/* Brings what the program sees back to what is on the disk. */
void overlays_discard(struct overlays *overlays, struct overlays_list *list,
                      bool (*wanted)(void *arg, const struct overlay_entry *entry), void *arg);

/* The file on the disk is ours now: no conflict until it changes again, or another file replaces
 * it. */
int overlays_note_base(struct overlays *overlays, size_t index, const char *path, int64_t ctime_ns,
                       uint64_t inode, struct error *err);

/* The version of the changes that somebody looked at last; "": nobody did, or there were none. */
const char *overlays_shown(const struct overlays *overlays);
void overlays_note_shown(struct overlays *overlays, const char *version);

/* The n-th note of an overlay, for a caller that has to copy it elsewhere. NULL: no more. */
const char *overlays_base(const struct overlays *overlays, size_t index, size_t n,
                          int64_t *ret_ctime_ns, uint64_t *ret_inode);

/* --- what the program sees --- */

/* An overlay remembers names: a file that somebody replaced or deleted on the disk is there with
 * its old content, and one that is new is not. Has the overlays forget all names that nobody uses.
 * In a child process of its own, since it moves into the namespaces of the sandbox whose pid 1 is
 * `pidfd`. */
int overlays_refresh(const struct overlays *overlays, int pidfd, struct error *err);

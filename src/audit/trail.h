/* The audit trail: a record of what happened, which nobody can change unnoticed.
 *
 * Records are lines of JSON in files (audit/segment.h). Each carries the hash of the one before, so
 * that changing, removing, inserting or moving one breaks the chain; a code made with the trail's
 * secret, so that nobody else can add one; and the number of records and the last hash are signed
 * (audit/signed_head.h), so that cutting off the end shows, too.
 *
 * Several processes write to one trail: a lock is held for the time of one write. What others have
 * added meanwhile is read first.
 *
 * When trail_append() has returned 0, the record is in the file, in one piece, and stays there
 * whatever happens to this process. It is on the disk TRAIL_SYNC_MS later, or when trail_close()
 * returns (or soon after, if the process is brief), or when enum trail_patience says; a machine
 * that loses power may lose younger records. The head is signed when the records that it covers are
 * on the disk, never before. The loop waits for the disk only when a file is sealed.
 *
 * A process that opens a trail with a torn end moves the torn bytes aside and records that. If the
 * signed head knows records that are missing, it records that instead of signing over it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "audit/key.h"
#include "audit/record.h"
#include "base/error.h"
#include "base/group_sync.h"
#include "base/loop.h"

/* The longest that a record waits for the disk. */
#define TRAIL_SYNC_MS 200

/* Texts beyond this are not kept, only their hash. */
#define TRAIL_TEXT_MAX (4 * MIB)

/* Set aside for the last record of everything that has begun: a disk that fills up meanwhile does
 * not leave its end unrecorded. */
#define TRAIL_ROOM (16 * KIB)

struct trail;

/* When an answer may leave whose record was added. */
enum trail_patience {
    TRAIL_WITHOUT_DISK, /* now */
    TRAIL_BY_GROUP,     /* when trail_group() is clean, which whoever answers sees to */
    TRAIL_AT_ONCE,      /* now: trail_append() waits for the disk, but not for that of a start */
};

struct trail_options {
    const char *dir; /* is made where it is not there */
    const char *key_dir;
    const char *key_name; /* of the file in it; NULL: TRAIL_KEY_NAME */
    uint64_t file_bytes;  /* a file that would grow beyond this is sealed, and another begun */
    uint64_t max_bytes;   /* of all files: beyond it the oldest go; 0: none does */
    uint64_t max_days;    /* files with nothing younger go; 0: none does */
    struct loop *loop;    /* NULL: the disk is waited for at the end alone */
    enum trail_patience patience; /* TRAIL_BY_GROUP needs a loop */
    bool is_brief; /* the process ends after trail_close(): a child waits for the disk */
    /* In words: the end was torn, or something is missing; or the disk does not take it any more.
     * Optional. */
    void (*on_note)(void *user, const char *text);
    void *user;
};

#define TRAIL_KEY_NAME "trail-key.pem"

/* Every trail has a key of its own, so that an empty directory with a key was emptied by somebody.
 * The name for a directory that the operator chose; of "" it is TRAIL_KEY_NAME. */
#define TRAIL_KEY_SIZE 48
void trail_key_name(const char *dir, char name[TRAIL_KEY_SIZE]);

int trail_open(const struct trail_options *options, struct trail **ret_trail, struct error *err);

/* Nothing more is expected. Of a brief process a child begins to wait for the disk, so that
 * trail_close() finds it done; where none may be left behind, one from before is waited for. */
void trail_settle(struct trail *trail, bool may_leave_child);

/* Waits for the disk and signs the head. */
void trail_close(struct trail *trail);

/* A start sets room aside for its end, which takes that back. */
enum trail_part { TRAIL_EVENT, TRAIL_START, TRAIL_END };

/* The file that records go to: its first sequence number. */
uint64_t trail_file(const struct trail *trail);

/* Adds the record. *ret_mark, where it is in the chain, may be NULL. On failure nothing was added:
 * whatever it was about must not happen. 1: nothing was added either, since the record refers to
 * others that are not in the file it would go to; the caller makes it without. */
int trail_append(struct trail *trail, const struct record *record, enum trail_part part,
                 struct record_mark *ret_mark, struct error *err);

/* Is told of each record, and knows what of them is on the disk. */
struct group_sync *trail_group(const struct trail *trail);

const struct key_pair *trail_key(const struct trail *trail);

/* Bait outside the sandbox that anybody may read, write and reach; only the sandbox can keep a
 * program away from it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define BAIT_SOCKETS 4

/* Read-only directories that a program is granted: our own, and those of the settings. */
#define BAIT_GRANTS 8

struct bait {
    char dir[64];
    char granted[64];          /* of our own */
    char *grants[BAIT_GRANTS]; /* all of them, ours first */
    size_t n_grants;
    char *grants_json;
    char file[96];
    char unix_path[96];
    char token[40];  /* what the file and the shared memory hold */
    char secret[64]; /* a variable of our own environment */
    char orphan[16]; /* the name of what a program tries to leave behind */
    char host[65];
    int port; /* of TCP and UDP, on loopback */
    int shm_key;
    int shm;
    int sockets[BAIT_SOCKETS];
};

int bait_new(struct bait **ret_bait, struct error *err);

/* Adds a directory that the settings grant for reading. More than there is room for are left out.
 */
int bait_add_grant(struct bait *bait, const char *path, struct error *err);

/* Removes everything. Accepts NULL and half-built bait. */
void bait_free(struct bait *bait);

/* Is there anything in the text of a program by which it could show that it got out? */
bool bait_is_in(const char *text);

/* Copies a program with the placeholders filled in: @CANARY_FILE@ and the like, @NUL@, @CR@, @TIMES
 * n text@. */
int bait_fill_in(const struct bait *bait, const char *text, size_t len, struct buf *out,
                 struct error *err);

/* Names the bait that was touched since the last call, or NULL. */
const char *bait_touched(struct bait *bait);

/* Reads a whole trail and says what is wrong with it and where: records that were changed, removed,
 * inserted or moved, an end that was cut off, signatures that do not hold.
 *
 * Nothing is changed, and nothing is trusted but the keys it is given.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/key.h"
#include "audit/record.h"
#include "audit/signed_head.h"
#include "base/error.h"

/* How far it is. */
struct verify_progress {
    uint64_t records, bytes, total_bytes;
    size_t files, total_files;
};

struct verify_options {
    const struct key_public *keys; /* whose signatures count */
    size_t n_keys;
    const uint8_t *secret; /* key_mac(), to see who wrote each record; NULL: not known here */
    /* Kept elsewhere: the trail has to have this record. seq 0: nothing is. */
    struct record_mark against;
    /* One finding: a problem, or something worth knowing. */
    void (*on_finding)(void *user, bool is_problem, const char *text);
    /* Often: after each file, and some thousand records. Optional. */
    void (*on_progress)(void *user, const struct verify_progress *progress);
    void *user;
};

struct verify_result {
    uint64_t records, bytes;
    size_t files;
    uint64_t problems;
    uint64_t n_unsigned; /* records that came after the last signature */
    struct record_mark last;
};

/* Like verify_trail(), but of lines that come one after the other, from the first record that there
 * is: a trail that is elsewhere. `head` is the last one that is known of it; `options` are only
 * lent until the end. NULL: out of memory. */
struct verify;
struct verify *verify_lines_new(const struct verify_options *options,
                                const struct signed_head *head);
void verify_line(struct verify *v, const char *line, size_t len);
void verify_lines_end(struct verify *v, struct verify_result *ret_result); /* frees it */

/* -1: it could not be read. What was found is in *ret_result. */
int verify_trail(const char *dir, const struct verify_options *options,
                 struct verify_result *ret_result, struct error *err);

/* One record of the trail, while it is put together: a JSON object, written in order.
 *
 * Text that is not of our own making goes in as struct clean_text and in no other way, so that
 * nothing unmasked is ever stored. Our own words (kinds, states, ids) are checked to be words.
 * Failures add up and are told by trail_append(): out of memory, or more than RECORD_BYTES.
 *
 * A line of the trail is {"v":1,"seq":…,"time":…,"prev":…,"kind":…, FIELDS ,"mac":…,"hash":…}. What
 * stands before `,"hash":` is what was hashed, byte for byte; what stands before `,"mac":` is what
 * its code (HMAC-SHA-256, of which half is kept) was made of.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/clean.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/sha256.h"

/* Texts of up to TRAIL_TEXT_MAX, and control characters, which take six bytes each. Also what a
 * reader takes. */
#define RECORD_BYTES (64 * MIB)

#define RECORD_DEPTH 8

struct record {
    struct buf text;
    char closers[RECORD_DEPTH];
    unsigned depth;
    bool needs_comma;
    bool has_failed;
    uint64_t needs_file; /* it refers to records of the file that begins there; 0: to none */
};

/* `kind`: one of the table in docs/guide/audit.md. */
void record_init(struct record *r, const char *kind);
void record_done(struct record *r);

/* A key of NULL is for members of a list. */
void record_text(struct record *r, const char *key, struct clean_text text);
void record_word(struct record *r, const char *key, const char *word);   /* NULL: null */
void record_base64(struct record *r, const char *key, const char *text); /* a signature of ours */
void record_number(struct record *r, const char *key, uint64_t number);
void record_signed(struct record *r, const char *key, int64_t number);
void record_ms(struct record *r, const char *key, double ms); /* with three decimals */
void record_bool(struct record *r, const char *key, bool value);
void record_digest(struct record *r, const char *key, const uint8_t digest[SHA256_BYTES]);

void record_open(struct record *r, const char *key);      /* an object */
void record_open_list(struct record *r, const char *key); /* a list */
void record_close(struct record *r);

/* --- lines, for those who write and read them --- */

/* The position of a record in the chain. */
struct record_mark {
    uint64_t seq; /* 0: before the first */
    uint8_t hash[SHA256_BYTES];
    char time[DATE_SIZE]; /* "2026-01-31T12:00:00.123Z" */
};

/* The whole line, with its newline, behind `before`; *ret_mark is its own place. */
int record_line(const struct record *r, const struct record_mark *before, const char *time,
                const uint8_t secret[SHA256_BYTES], struct buf *out, struct record_mark *ret_mark,
                struct error *err);

#define RECORD_KIND_MAX 24
#define RECORD_MAC      16

struct record_head {
    struct record_mark mark;
    uint8_t prev[SHA256_BYTES];
    char kind[RECORD_KIND_MAX];
    char mac[2 * RECORD_MAC + 1];
};

/* Takes a line (without its newline) apart. False: it is no line of a trail. */
bool record_read(const char *line, size_t len, struct record_head *ret_head);

/* Its fields, as the caller's own. Texts of programs may hold NUL: whoever reads lines in another
 * way loses the runs that have one in their output. NULL: no JSON object, or out of memory. */
json_t *record_load(const char *line, size_t len);

/* A text as record_text() would have written it, without the quotes: to be looked for in lines. The
 * caller frees it; NULL: out of memory. */
char *record_escape(const char *text);

/* Whether the line is what was hashed. After record_read(). */
bool record_is_whole(const char *line, size_t len, const struct record_head *head);

/* Whether somebody who knows the secret wrote it. After record_read(). */
bool record_is_ours(const char *line, size_t len, const struct record_head *head,
                    const uint8_t secret[SHA256_BYTES]);

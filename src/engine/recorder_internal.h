/* Shared by recorder.c (runs: their beginning and their end) and witness_event.c (everything else
 * that is written down). */
#pragma once

#include "audit/record.h"
#include "audit/trail.h"
#include "engine/recorder.h"
#include "mask/masker.h"

/* The texts of a run that go into the record. */
enum keep { KEEP_NONE, KEEP_CODE, KEEP_ALL };

/* A text of TEXT_LEAST bytes or more that a record of the present file has. */
#define TEXT_LEAST 512
#define TEXTS_KEPT 512

struct recorder_text {
    const char *key; /* under which it stands */
    uint8_t digest[SHA256_BYTES];
    uint64_t seq; /* of the record */
    uint64_t masked, hidden_bytes;
};

/* Pruning removes whole files. There are at least so many in a full trail, so that all but one part
 * in so many of it stays. */
#define RECORDER_FILES 8

struct recorder_owner; /* recorder_share.c */

struct recorder {
    struct trail *trail;
    enum trail_patience patience;
    uint64_t max_bytes; /* of the trail; 0: any amount */
    bool (*has_others)(void *user);
    struct recorder_owner *owners;
    uint64_t shares_at_ns; /* when their sums were right */
    void (*on_written)(void *user, const char *owner, size_t bytes);
    void *user;
    uint64_t texts_file; /* that the texts are in */
    struct recorder_text texts[TEXTS_KEPT], fresh[8];
    size_t n_texts, next_text, n_fresh;
    struct masker_recent recent; /* names that come again and again: owners, profiles */
    uint64_t second;             /* of the last refusal */
    unsigned n_refused;          /* in that second */
    uint64_t n_untold;
    enum keep keep;
    struct masks *masks, *own_masks; /* the engine's, or ours where there is none */
    enum run_masking masking;        /* at least secrets, whatever an answer may show */
};

/* The owner where a door knows nobody else: whoever started us. */
#define OWNER_LOCAL "local"

/* --- recorder_text.c --- */

/* Says where the text is, if it is in this file. False: it is not. */
bool recorder_refer(struct recorder *recorder, struct record *r, const char *key,
                    const uint8_t digest[SHA256_BYTES]);

/* The record that is being made has it. `key` is a constant. */
void recorder_note_text(struct recorder *recorder, const char *key,
                        const uint8_t digest[SHA256_BYTES], uint64_t masked, uint64_t hidden_bytes);

/* trail_append(), with the texts that were noted. 1: it has to be made anew, as there. `owner`, who
 * pays, may be NULL. */
int recorder_append(struct recorder *recorder, const char *owner, const struct record *record,
                    enum trail_part part, struct record_mark *ret_mark, struct error *err);

/* Writes a record of something that has not happened yet: E_BUSY if the owner has used up its
 * share. */
int recorder_append_new(struct recorder *recorder, const char *owner, const struct record *record,
                        enum trail_part part, struct error *err);

/* --- recorder_share.c --- */

/* So much was written for the owner, who may be NULL. */
void recorder_count(struct recorder *recorder, const char *owner, size_t bytes);
void recorder_free_shares(struct recorder *recorder);

/* --- recorder.c --- */

/* Text of whoever gave it, masked; nothing for NULL. */
void recorder_add(struct recorder *recorder, struct record *r, const char *key, const char *text);

/* Nothing where there is none. */
void recorder_add_error(struct recorder *recorder, struct record *r, const struct error *error);
void recorder_add_limits(struct record *r, const struct run_limits *limits);

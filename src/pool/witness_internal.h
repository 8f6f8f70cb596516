/* Shared by witness.c (runs: their beginning and their end) and witness_event.c (everything else
 * that is written down). */
#pragma once

#include "pool/witness.h"
#include "trail/record.h"
#include "trail/trail.h"

/* How much of what was run goes into the record. */
enum keep { KEEP_NONE, KEEP_CODE, KEEP_ALL };

/* Names that come again and again, and have passed the masker as they are: owners, profiles. */
#define KNOWN_COUNT 8
#define KNOWN_SIZE  64

struct witness {
    struct trail *trail;
    char known[KNOWN_COUNT][KNOWN_SIZE];
    unsigned next_known;
    uint64_t second;    /* of the last refusal */
    unsigned n_refused; /* in that second */
    uint64_t n_untold;
    enum keep keep;
    enum run_masking masking; /* at least secrets, whatever an answer may show */
};

/* The owner where a door knows nobody else: whoever started us. */
#define OWNER_LOCAL "local"

/* Text of whoever gave it, masked; nothing for NULL. */
void witness_add(struct witness *witness, struct record *r, const char *key, const char *text);

/* Nothing where there is none. */
void witness_add_error(struct witness *witness, struct record *r, const struct error *error);
void witness_add_limits(struct record *r, const struct run_limits *limits);

/* One program of the escape corpus: its text and what it promises in its first comment lines. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/doctor/prove_bait.h"
#include "wire/language.h"

#define PROGRAM_TEXTS_MAX 8

/* Values point into `header`. */
struct program {
    char *header;
    struct buf source;
    const char *id;
    const char *category;
    const char *profile;
    const char *expect;
    const char *limits;
    const char *process;   /* why it ends in another way at isolation `process`, or NULL */
    const char *uncovered; /* what it reaches there, or NULL */
    const char *require[PROGRAM_TEXTS_MAX];
    const char *forbid[PROGRAM_TEXTS_MAX];
    long runs;
    bool must_differ;
    bool needs_cgroup;
    enum run_language language;
    bool has_grants; /* it is given the read-only directories of the bait */
};

/* Reads the file and fills in the bait. Free it with program_done() also after a failure. */
int program_load(const char *path, const struct bait *bait, struct program *p, struct error *err);
void program_done(struct program *p);

/* Shared by the readers of a profile: the profile being filled, where its files are, and how one is
 * read. */
#pragma once

#include <jansson.h>

#include "admit/profile.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/layer.h"
#include "wire/message.h"
#include "wire/policy.h"

/* Known names gathered for a suggestion. */
#define PROFILE_NAMES_MAX 64

/* A chain of parents longer than this is a mistake, not a design. */
#define PROFILE_INHERIT_MAX 16

/* Lists are jansson objects used as ordered sets ({"numpy": true, ...}): the file's order is kept,
 * a name is there once, and taking one away is one call. */
struct profile {
    char *name;
    char *system_dir; /* where a profile that does serve a language is looked for; or NULL */
    json_t *sets[POLICY_LIST_END]; /* by enum policy_list; POLICY_IMPORT_FROM holds sets,
                                      POLICY_HINT strings */
    json_t *languages;
    json_t *layers;
    json_t *process_layers; /* at the level `process`, if it has_process */
    json_t *powers;
    json_t *reach;
    struct net *net; /* hosts that programs may reach, or NULL */
    bool is_listed;
    bool has_dunder;
    bool has_project; /* may import modules of the granted directory it starts in */
    bool has_parts;   /* a module of which names are listed may be imported whole */
    bool has_processes;
    bool has_grants;
    bool has_process; /* accepts the level `process` */
    uint64_t max_bytes;
    uint64_t max_lines;
    struct run_limits limits;
    uint32_t limits_set; /* bit per row of run_limit_table */
    uint32_t limits_old; /* the same: those that a file names by an old spelling */
    struct pack encoded;
    char *paths[PROFILE_INHERIT_MAX]; /* the files it was read from */
    size_t n_paths;
};

/* One file being read into the profile. */
struct profile_source {
    const char *path;
    struct profile *profile;
};

/* A profile's file and those it inherits from, child first (profile_find.c). */
struct profile_chain {
    char *paths[PROFILE_INHERIT_MAX];
    json_t *trees[PROFILE_INHERIT_MAX];
    size_t count;
};

int profile_chain_load(struct profile_chain *chain, const char *name, const char *system_dir,
                       struct error *err);
void profile_chain_done(struct profile_chain *chain);

/* Merges the file's keys into the profile; an unknown key or a wrong value is an error
 * (profile_read.c). */
int profile_read(const struct profile_source *source, json_t *tree, struct error *err);

/* E_INVALID, "FILE:LINE: message", with the line of `key`. Returns -1. */
int profile_mistake(const struct profile_source *source, const char *key, struct error *err,
                    const char *fmt, ...) error_printf(4, 5);
int profile_wrong_kind(const struct profile_source *source, const char *key, const json_t *value,
                       const char *expected, struct error *err);

/* The words of the lists that are closed; the order is that of the bits. */
extern const char *const profile_layers[RUN_LAYER_COUNT];
extern const char *const profile_powers[POLICY_POWER_COUNT];
extern const char *const profile_reach[RUN_REACH_COUNT];

/* Bit i is set when the set holds words[i]. */
uint32_t profile_bits(json_t *set, const char *const *words, size_t count);

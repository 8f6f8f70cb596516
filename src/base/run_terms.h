/* On which terms a program runs: what its sandbox is made of and what it may do there. Admission
 * decides on them (admit/request.h). A run has its own; a session has some that hold for each of
 * its cells.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/run_limits.h"
#include "wire/pack.h"

struct net; /* base/net.h */

/* Kinds of data that are replaced by labels in everything a run returns (mask/masker.h). */
enum run_masking { RUN_MASK_NOTHING, RUN_MASK_SECRETS, RUN_MASK_ALL, RUN_MASK_COUNT };

/* COW: the program sees and changes it, and nothing is on the disk until somebody says so
 * (sandbox/overlay.h). */
enum run_grant_mode { RUN_GRANT_RO, RUN_GRANT_RW, RUN_GRANT_COW };

struct run_grant {
    char *path; /* absolute, without symlinks: the place inside is the place outside */
    int fd;     /* O_PATH directory, opened once */
    enum run_grant_mode mode;
    bool is_for_sessions; /* `:cow`, which is read-only without a session */
};

/* Calls that a program may make (calls/call.h); each is a word in profiles. */
#define RUN_REACHES(X)                                                                             \
    X(RUN_REACH_STATE, "state")     /* refactoring sessions of its owner */                        \
    X(RUN_REACH_SKILLS, "skills")   /* skills of its owner */                                      \
    X(RUN_REACH_SERVERS, "servers") /* tools of other MCP servers */

enum run_reach_index {
#define X(reach, name) reach##_INDEX,
    RUN_REACHES(X)
#undef X
        RUN_REACH_COUNT
};

enum run_reach {
#define X(reach, name) reach = 1u << reach##_INDEX,
    RUN_REACHES(X)
#undef X
};

struct run_terms {
    const char *profile;      /* its name; the next five are what it says (admit/profile.h) */
    struct span policy;       /* the rules, as they travel into the sandbox */
    uint32_t required_layers; /* bits of enum wire_layer, all of which must stand */
    bool is_on_host;          /* the level `process`: no namespaces (`isolation`) */
    bool may_spawn;           /* false: Linux refuses execve and new processes */
    uint32_t reach;           /* bits of enum run_reach: what it may ask of the outside */
    struct run_limits limits;
    uint32_t interrupt_grace_ms; /* of a cell: from the interrupt to the end of its kernel */
    uint64_t grace_end_ms;       /* since its beginning: no grace goes on for longer */
    char **env;                  /* "NAME=value", NULL at the end, or NULL */
    char **identity; /* variables that say who commits (admit/git_identity.h), in the same form */
    struct run_grant grants[LIMIT_GRANTS];
    size_t n_grants;
    char *workdir;       /* where it starts (admit/workdir.h); NULL: /workspace */
    bool uses_grants;    /* it has directories or hosts by the right `grants` of its token */
    bool has_terminal;   /* the sandbox has a terminal, and the program runs on it */
    bool has_one_stream; /* stderr is written to stdout, in the order of the program */
    bool keeps_overlays; /* what is changed in copy-on-write grants outlives the sandbox */
    uint16_t ports[LIMIT_PORTS]; /* of its servers that clients may reach, in sessions */
    size_t n_ports;
    struct net *net;          /* hosts it may reach (base/net.h), or NULL */
    enum run_masking masking; /* secrets, unless the operator says otherwise */
    bool has_seed;            /* the same program and input give the same output */
    uint64_t seed;
    char *environment; /* the name of another one than the settings say, or NULL */
};

/* The default limits, and secrets are masked. */
void run_terms_init(struct run_terms *terms);
void run_terms_done(struct run_terms *terms);

/* Gives a cell its session's rules and limits, which belong to the session. */
void run_terms_lend(struct run_terms *cell, const struct run_terms *session);

/* A copy for a sandbox that is a copy of another one. `copy` has been initialised. -1: out of
 * memory or descriptors. */
int run_terms_copy(struct run_terms *copy, const struct run_terms *terms);

/* A variable for the program; one of that name before it counts no more. E_TOO_LARGE: there are too
 * many. */
int run_terms_add_env(struct run_terms *terms, const char *name, const char *value,
                      struct error *err);

/* A list with NULL at the end, or NULL. */
void run_strings_free(char **strings);

/* The rules of a profile as they travel into the sandbox.
 *
 * A policy is a few flags and a list of rows {list, key, value}. The supervisor writes it
 * (admit/profile.c), the kernel process reads it (guest/policy/policy.c) before it reads the
 * program. wire_policy_decode() refuses everything it does not know: a rule that is not understood
 * must not be a rule that is not applied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/pack.h"

#define POLICY_VERSION 1

/* A profile has a few hundred rows of a few bytes; these bounds are what a reader is willing to
 * hold. */
#define POLICY_ROWS_MAX  8192
#define POLICY_KEY_MAX   256
#define POLICY_VALUE_MAX 1024
#define POLICY_BYTES_MAX ((size_t)1024 * 1024)

/* Violations listed for one program; the rest is counted. Same as LIMIT_VIOLATIONS of the
 * supervisor. */
#define POLICY_VIOLATIONS_MAX 100

enum policy_list {
    POLICY_IMPORT_ALLOW = 1, /* key: module */
    POLICY_IMPORT_DENY,      /* key: module */
    POLICY_IMPORT_FROM,      /* key: module, value: one name that may be imported from it */
    POLICY_BUILTIN_DENY,     /* key: name */
    POLICY_ATTRIBUTE_ALLOW,  /* key: dunder name */
    POLICY_ATTRIBUTE_DENY,   /* key: name */
    POLICY_HINT,             /* key: module, builtin or attribute, value: what to use instead */
    POLICY_LIST_END
};

/* Actions that the audit hook allows to the program's own code at run time. */
#define POLICY_POWERS(X)                                                                           \
    X(POWER_FILES, "files")         /* open, list, rename, remove: where the mounts allow it */    \
    X(POWER_NETWORK, "network")     /* connect, bind, resolve */                                   \
    X(POWER_PROCESSES, "processes") /* fork, exec, spawn, signals */                               \
    X(POWER_NATIVE, "native")       /* ctypes, extension modules from anywhere */                  \
    X(POWER_EVALUATE, "evaluate")   /* exec, eval, compile, marshal, code objects */               \
    X(POWER_UNPICKLE, "unpickle")   /* pickles that name any class */                              \
    X(POWER_INTROSPECTION, "introspection") /* frames, gc, tracing, hooks */                       \
    X(POWER_WORKSPACE, "workspace") /* the files of POWER_FILES that lie in /workspace and /tmp */

enum policy_power_index {
#define X(power, name) power##_INDEX,
    POLICY_POWERS(X)
#undef X
        POLICY_POWER_COUNT
};

enum policy_power {
#define X(power, name) power = 1u << power##_INDEX,
    POLICY_POWERS(X)
#undef X
};

#define POLICY_POWERS_ALL ((1u << POLICY_POWER_COUNT) - 1)

enum policy_flag {
    POLICY_IMPORTS_LISTED =
        1u << 0,                    /* only what is on the allow-list; else all but the deny-list */
    POLICY_DUNDER_DENIED = 1u << 1, /* dunder attributes only from the allow-list */
    POLICY_NO_PROCESSES =
        1u << 2, /* the kernel refuses them anyway: nobody may try, libraries included */
    POLICY_PROJECT_ALLOWED = 1u << 3, /* modules of the granted directory in which programs start */
    /* A module of which names are listed may be imported whole: programs see those names of it. */
    POLICY_PARTS_SHOWN = 1u << 4,
    POLICY_FLAGS_ALL = (1u << 5) - 1,
};

struct policy_row {
    enum policy_list list;
    struct span key;
    struct span value;
};

struct wire_policy {
    struct span profile;
    uint32_t flags;  /* enum policy_flag */
    uint32_t powers; /* enum policy_power */
    uint32_t max_bytes;
    uint32_t max_lines;
    struct policy_row *rows; /* malloc'd; keys and values point into the message */
    size_t n_rows;
};

/* Appends the policy to `p`. Rows beyond the bounds make the pack fail. */
void wire_policy_encode(const struct wire_policy *policy, struct pack *p);

/* Returns 0, or -1: not a policy, or out of memory. On success the caller frees ret->rows with
 * wire_policy_done(), and the spans live as long as `encoded`. */
int wire_policy_decode(struct span encoded, struct wire_policy *ret);
void wire_policy_done(struct wire_policy *policy);

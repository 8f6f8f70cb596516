/* The rights of a token: its profiles, limits and allowances.
 *
 * Each bound is a row of one table, which makes the keys of the tokens' file, the flags of
 * `belljar token add` and its listing. A bound that is not set leaves what the settings say.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/run.h"

#define RIGHTS_PROFILES_MAX 16
#define RIGHTS_PROFILE_LEN  64

struct rights {
    char profiles[RIGHTS_PROFILES_MAX][RIGHTS_PROFILE_LEN];
    size_t n_profiles; /* 0: all of them */
    bool is_operator;  /* sees figures of the whole server */
    bool has_grants;   /* may use the directories of the host that the settings allow */

    /* Below 0: not set. */
#define X(name, ...) double max_##name;
    RUN_LIMITS_OF_REQUEST(X) /* the most a run may ask for, in the unit of the name */
#undef X
    double max_runs, max_sessions; /* at once */
    double runs_per_minute, cpu_s_per_hour, bytes_per_hour;
};

/* A row of the table. */
struct rights_bound {
    const char *name; /* the key in the file; the flag has dashes for `_` */
    bool is_whole;
    double min, max;
    const char *help;
    size_t offset; /* of the double in struct rights */
};

const struct rights_bound *rights_bounds(size_t *ret_count);
double rights_get(const struct rights *rights, const struct rights_bound *bound);

bool rights_are_same(const struct rights *a, const struct rights *b);

/* Nothing is set: everything is allowed that the settings allow. */
void rights_init(struct rights *rights);

/* From the words of a command line. */
int rights_set_text(struct rights *rights, const struct rights_bound *bound, const char *text,
                    struct error *err);
int rights_set_profiles(struct rights *rights, const char *list, struct error *err);

/* A key of the file and its value. E_INVALID: there is no such key, or no such value. */
int rights_set_json(struct rights *rights, const char *key, const json_t *value, struct error *err);

/* The lines of the file. */
int rights_write(const struct rights *rights, struct buf *out, struct error *err);

/* The most this token may ask for, in the unit of the limit's name; below 0: not set. */
double rights_limit_max(const struct rights *rights, const struct run_limit *limit);

bool rights_allow_profile(const struct rights *rights, const char *name);

/* Lowers what nobody asked for, the defaults, to what this one may have. */
void rights_lower(const struct rights *rights, struct run_limits *limits);

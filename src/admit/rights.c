#include "admit/rights.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"

#define AT(field) .offset = offsetof(struct rights, field)

/* The bound of a limit that a request may name, in the same order: row i of the one table is row i
 * of the other. No token is bound to 0, which would mean "no limit". */
#define MAX_BOUND(name, member, type, kind, per, min, max, ...)                                    \
    {"max_" #name,                                                                                 \
     IS_WHOLE_##kind,                                                                              \
     (min) ? (double)(min) : 1.0 / (per),                                                          \
     (double)(max),                                                                                \
     "the highest `" #name "` a run may request",                                                  \
     AT(max_##name)},

#define IS_WHOLE_SECONDS false
#define IS_WHOLE_CORES   false
#define IS_WHOLE_COUNT   true
#define IS_WHOLE_MB      true
#define IS_WHOLE_BYTES   true

/* clang-format off */
static const struct rights_bound bounds[] = {
    RUN_LIMITS_OF_REQUEST(MAX_BOUND)
    {"max_runs", true, 1, 4096, "runs at once; further ones wait", AT(max_runs)},
    {"max_sessions", true, 0, 4096, "sessions at once", AT(max_sessions)},
    {"runs_per_minute", true, 1, 1000000, "runs and cells started per minute", AT(runs_per_minute)},
    {"cpu_s_per_hour", false, 1, 1e9, "CPU seconds of all runs per hour", AT(cpu_s_per_hour)},
    {"bytes_per_hour", true, 1024, 1e15, "bytes of programs, input, output and files per hour", AT(bytes_per_hour)},
};
/* clang-format on */

const struct rights_bound *rights_bounds(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(bounds);
    return bounds;
}

static double *place(struct rights *rights, const struct rights_bound *bound)
{
    return (void *)((char *)rights + bound->offset);
}

double rights_get(const struct rights *rights, const struct rights_bound *bound)
{
    const double *at = (const void *)((const char *)rights + bound->offset);

    return *at;
}

bool rights_are_same(const struct rights *a, const struct rights *b)
{
    if (a->is_operator != b->is_operator || a->has_grants != b->has_grants ||
        a->n_profiles != b->n_profiles)
        return false;
    for (size_t i = 0; i < a->n_profiles; i++)
        if (strcmp(a->profiles[i], b->profiles[i]) != 0)
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
        if (rights_get(a, &bounds[i]) != rights_get(b, &bounds[i]))
            return false;
    return true;
}

void rights_init(struct rights *rights)
{
    *rights = (struct rights){0};
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++)
        *place(rights, &bounds[i]) = -1;
}

static int set_number(struct rights *rights, const struct rights_bound *bound, double value,
                      struct error *err)
{
    if (!(value >= bound->min && value <= bound->max) ||
        (bound->is_whole && (double)(int64_t)value != value))
        return error_set(err, E_INVALID, "`%s`: expected a %snumber from %.15g to %.15g",
                         bound->name, bound->is_whole ? "whole " : "", bound->min, bound->max);
    *place(rights, bound) = value;
    return 0;
}

int rights_set_text(struct rights *rights, const struct rights_bound *bound, const char *text,
                    struct error *err)
{
    char *end;
    double value;

    errno = 0;
    value = strtod(text, &end);
    if (end == text || *end || errno)
        value = NAN;
    return set_number(rights, bound, value, err);
}

static int add_profile(struct rights *rights, const char *name, size_t len, struct error *err)
{
    bool is_name = len > 0 && len < RIGHTS_PROFILE_LEN;

    for (size_t i = 0; is_name && i < len; i++)
        is_name = isalnum((unsigned char)name[i]) || (i && strchr("._-", name[i]));
    if (!is_name)
        return error_set(err, E_INVALID, "`profiles`: `%.*s` is not the name of a profile",
                         (int)(len < 80 ? len : 80), name);
    if (rights->n_profiles == RIGHTS_PROFILES_MAX)
        return error_set(err, E_TOO_LARGE, "`profiles`: at most %d", RIGHTS_PROFILES_MAX);
    memcpy(rights->profiles[rights->n_profiles], name, len);
    rights->profiles[rights->n_profiles++][len] = '\0';
    return 0;
}

int rights_set_profiles(struct rights *rights, const char *list, struct error *err)
{
    for (;;) {
        size_t len = strcspn(list, ",");

        if (add_profile(rights, list, len, err) < 0)
            return -1;
        if (!list[len])
            return 0;
        list += len + 1;
    }
}

/* A list that is empty would mean all of them: nobody writes it and means that. */
static int set_profiles_json(struct rights *rights, const json_t *value, struct error *err)
{
    if (!json_is_array(value) || json_array_size(value) == 0)
        return error_set(err, E_INVALID, "`profiles`: expected a list of names");
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);

        if (!json_is_string(item))
            return error_set(err, E_INVALID, "`profiles`: expected a list of names");
        if (add_profile(rights, json_string_value(item), json_string_length(item), err) < 0)
            return -1;
    }
    return 0;
}

static int set_flag(bool *flag, const char *key, const json_t *value, struct error *err)
{
    if (!json_is_boolean(value))
        return error_set(err, E_INVALID, "`%s`: expected true or false", key);
    *flag = json_is_true(value);
    return 0;
}

int rights_set_json(struct rights *rights, const char *key, const json_t *value, struct error *err)
{
    const char *known[ARRAY_SIZE(bounds) + 3];
    const char *nearest;

    if (strcmp(key, "profiles") == 0)
        return set_profiles_json(rights, value, err);
    if (strcmp(key, "operator") == 0)
        return set_flag(&rights->is_operator, key, value, err);
    if (strcmp(key, "grants") == 0)
        return set_flag(&rights->has_grants, key, value, err);
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        known[i] = bounds[i].name;
        if (strcmp(key, bounds[i].name) == 0)
            return set_number(rights, &bounds[i],
                              json_is_number(value) ? json_number_value(value) : NAN, err);
    }
    known[ARRAY_SIZE(bounds)] = "profiles";
    known[ARRAY_SIZE(bounds) + 1] = "operator";
    known[ARRAY_SIZE(bounds) + 2] = "grants";
    nearest = suggest_nearest(key, known, ARRAY_SIZE(known));
    error_set(err, E_INVALID, "unknown key `%.80s`", key);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

int rights_write(const struct rights *rights, struct buf *out, struct error *err)
{
    for (size_t i = 0; i < rights->n_profiles; i++)
        if (buf_printf(out, err, "%s\"%s\"%s", i ? ", " : "profiles = [", rights->profiles[i],
                       i + 1 == rights->n_profiles ? "]\n" : "") < 0)
            return -1;
    if (rights->is_operator && buf_add_str(out, "operator = true\n", err) < 0)
        return -1;
    if (rights->has_grants && buf_add_str(out, "grants = true\n", err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(bounds); i++) {
        double value = rights_get(rights, &bounds[i]);

        if (value < 0)
            continue;
        if (buf_printf(out, err, bounds[i].is_whole ? "%s = %.0f\n" : "%s = %.6f\n", bounds[i].name,
                       value) < 0)
            return -1;
    }
    return 0;
}

bool rights_allow_profile(const struct rights *rights, const char *name)
{
    for (size_t i = 0; i < rights->n_profiles; i++)
        if (strcmp(rights->profiles[i], name) == 0)
            return true;
    return rights->n_profiles == 0;
}

double rights_limit_max(const struct rights *rights, const struct run_limit *limit)
{
    size_t row = (size_t)(limit - run_limit_table);

    return row < RUN_LIMIT_REQUEST_ROWS ? rights_get(rights, &bounds[row]) : -1;
}

void rights_lower(const struct rights *rights, struct run_limits *limits)
{
    for (size_t i = 0; i < RUN_LIMIT_REQUEST_ROWS; i++) {
        const struct run_limit *limit = &run_limit_table[i];
        double most = rights_limit_max(rights, limit);

        if (most >= 0 && run_limit_exceeds(limit, run_limit_get(limits, limit), most))
            run_limit_set(limits, limit, most);
    }
}

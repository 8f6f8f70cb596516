#include "base/run_limits.h"

#include <math.h>
#include <string.h>

#include "base/cleanup.h"

#define ROW(name_, member_, type_, kind_, per_, min_, max_, fallback_, scope_, help_)              \
    [RUN_LIMIT_ROW_##name_] = {                                                                    \
        .name = #name_,                                                                            \
        .member = #member_,                                                                        \
        .kind = RUN_LIMIT_##kind_,                                                                 \
        .scope = (scope_),                                                                         \
        .per = (per_),                                                                             \
        .min = (double)(min_),                                                                     \
        .max = (double)(max_),                                                                     \
        .fallback = (fallback_),                                                                   \
        .help = (help_),                                                                           \
        .offset = offsetof(struct run_limits, member_),                                            \
        .size = sizeof(type_),                                                                     \
    },

const struct run_limit run_limit_table[RUN_LIMIT_ROWS] = {
#define X(n, m, t, k, p, min, max, d, flag, variables, brief, help)                                \
    ROW(n, m, t, k, p, min, max, d, RUN_LIMIT_OF_CELL, help)
    RUN_LIMITS_OF_CELL(X)
#undef X
#define X(n, m, t, k, p, min, max, d, flag, variables, brief, help)                                \
    ROW(n, m, t, k, p, min, max, d, RUN_LIMIT_OF_SANDBOX, help)
        RUN_LIMITS_OF_SANDBOX(X)
#undef X
#define X(n, m, t, k, p, min, max, d, flag, variables, brief, help)                                \
    ROW(n, m, t, k, p, min, max, d, RUN_LIMIT_OF_OPERATOR, help)
            RUN_LIMITS_OF_OPERATOR(X)
#undef X
};

static const struct {
    const char *old;
    enum run_limit_row row;
    double per;
} old_names[] = {
#define X(old, name, per) {#old, RUN_LIMIT_ROW_##name, per},
    RUN_LIMIT_OLD_NAMES(X)
#undef X
};

const struct run_limit *run_limit_find(const char *name)
{
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        if (strcmp(run_limit_table[i].name, name) == 0)
            return &run_limit_table[i];
    return NULL;
}

const struct run_limit *run_limit_find_old(const char *name, double *ret_per)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_names); i++)
        if (strcmp(old_names[i].old, name) == 0) {
            *ret_per = old_names[i].per;
            return &run_limit_table[old_names[i].row];
        }
    return NULL;
}

const char *run_limit_old_name(const struct run_limit *limit)
{
    for (size_t i = 0; i < ARRAY_SIZE(old_names); i++)
        if (&run_limit_table[old_names[i].row] == limit)
            return old_names[i].old;
    return NULL;
}

const char *run_limit_unit(const struct run_limit *limit)
{
    static const char *const units[] = {
        [RUN_LIMIT_SECONDS] = "seconds", [RUN_LIMIT_CORES] = "cores", [RUN_LIMIT_COUNT] = "",
        [RUN_LIMIT_MB] = "MB",           [RUN_LIMIT_BYTES] = "bytes",
    };

    return units[limit->kind];
}

/* All ranges are far below 2^53, so a double holds every whole number exactly. */
bool run_limit_fits(const struct run_limit *limit, double value)
{
    return isfinite(value) && value >= limit->min && value <= limit->max &&
           (!run_limit_is_whole(limit) || value == (double)(int64_t)value);
}

void run_limits_init(struct run_limits *limits)
{
    *limits = (struct run_limits){0};
    for (size_t i = 0; i < RUN_LIMIT_ROWS; i++)
        run_limit_set(limits, &run_limit_table[i], run_limit_table[i].fallback);
}

uint64_t run_limit_raw(const struct run_limits *limits, const struct run_limit *limit)
{
    const char *at = (const char *)limits + limit->offset;
    uint64_t large;
    uint32_t small;

    if (limit->size == sizeof(large)) {
        memcpy(&large, at, sizeof(large));
        return large;
    }
    memcpy(&small, at, sizeof(small));
    return small;
}

void run_limit_set_raw(struct run_limits *limits, const struct run_limit *limit, uint64_t value)
{
    char *at = (char *)limits + limit->offset;
    uint32_t small = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;

    if (limit->size == sizeof(value))
        memcpy(at, &value, sizeof(value));
    else
        memcpy(at, &small, sizeof(small));
}

double run_limit_get(const struct run_limits *limits, const struct run_limit *limit)
{
    return (double)run_limit_raw(limits, limit) / limit->per;
}

void run_limit_set(struct run_limits *limits, const struct run_limit *limit, double value)
{
    uint64_t raw = (uint64_t)(value * limit->per + 0.5);

    run_limit_set_raw(limits, limit, raw == 0 && value > 0 ? 1 : raw);
}

bool run_limit_exceeds(const struct run_limit *limit, double value, double most)
{
    return value > most || (value == 0 && run_limit_has_none(limit));
}

/* The limits of a run: the one table of their names, units, ranges, defaults, scopes and help.
 *
 * Settings and flags (base/config.c), profiles (admit/profile_read.c), tokens (admit/rights.c), the
 * schemas of HTTP and MCP (api/api.h), the trail (engine/recorder.c) and the manual all take their
 * names and ranges from here. To add a limit, add a row, and make the engine keep it.
 * base/limits.h has the fixed ceilings that nobody can change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"

/* X(name, member, type, kind, per, min, max, default, flag, variables, brief, help)
 *
 * name       in settings, profiles and requests; a token has it as `max_<name>`
 * member     in struct run_limits, and in the records of the trail
 * type       of that member
 * kind       SECONDS, CORES, COUNT, MB or BYTES: its unit
 * per        how many of the member's units make one of the name's
 * min        0: zero is taken and means "no limit"
 * flag       of the commands that run programs, without dashes; or NULL
 * variables  further environment variables: names that older systems use
 * brief      the help of the flag: one line of at most 54 columns
 */
/* clang-format off */

/* Can be set for each run and for each cell of a session. */
#define RUN_LIMITS_OF_CELL(X)                                                                      \
    X(timeout_s, timeout_ms, uint32_t, SECONDS, 1000, 1, 86400, 30, "timeout",                     \
      ("EXECUTION_TIMEOUT", "CODERUNNER_EXECUTION_TIMEOUT"),                                       \
      "wall-clock limit",                                                                          \
      "wall-clock limit of a run or cell")                                                         \
    X(cpu_time_s, cpu_ms, uint32_t, SECONDS, 1000, 0, 86400, 0, "cpu-time", (NULL),                \
      "CPU time of all its processes; 0: no limit",                                                \
      "CPU time that all processes of a run or cell may use together; 0: no limit")                \
    X(output_bytes, output_bytes, uint64_t, BYTES, 1, 1, LIMIT_OUTPUT_BYTES_MAX, 1048576,          \
      "output", (NULL),                                                                            \
      "bytes kept of stdout, and of stderr",                                                             \
      "bytes kept of stdout, and of stderr; of longer output the middle is dropped")

/* Belong to the sandbox: set when a run starts or a session is opened. */
#define RUN_LIMITS_OF_SANDBOX(X)                                                                   \
    X(memory_mb, memory_bytes, uint64_t, MB, 1048576, 16, 1048576, 1024, "memory",                 \
      ("MEMORY_LIMIT_MB", "CODERUNNER_MAX_KERNEL_MEMORY"),                                         \
      "memory of all its processes and files",                                               \
      "memory of all processes of a program and of the files it writes")                       \
    X(cpus, cpu_percent, uint32_t, CORES, 100, 0, 1024, 0, "cpus", ("CODERUNNER_MAX_KERNEL_CPU"),  \
      "share of the processor, in cores; 0: all",                                                  \
      "share of the processor, in cores (0.5 is half of one); 0: no limit")                        \
    X(pids, processes, uint32_t, COUNT, 1, 1, 65536, 256, "pids", (NULL),                          \
      "processes and threads at once",                                                             \
      "processes and threads at once")                                                             \
    X(disk_mb, disk_bytes, uint64_t, MB, 1048576, 1, 1048576, 256, "disk", (NULL),                 \
      "files outside allowed directories",                                             \
      "space for files written outside allowed directories; it also counts as memory")

/* Only the operator sets these: in settings and profiles. */
#define RUN_LIMITS_OF_OPERATOR(X)                                                                  \
    X(descriptors, descriptors, uint32_t, COUNT, 1, 16, 65536, 256, NULL, (NULL), NULL,            \
      "open files per process")                                                                    \
    X(inodes, inodes, uint32_t, COUNT, 1, 16, 10000000, 10000, NULL, (NULL), NULL,                 \
      "files and directories a program may create outside allowed directories")            \
    X(file_mb, file_bytes, uint64_t, MB, 1048576, 1, 1048576, 16384, NULL, (NULL), NULL,           \
      "size of one file a program writes, also in allowed directories")

#define RUN_LIMITS_OF_REQUEST(X) RUN_LIMITS_OF_CELL(X) RUN_LIMITS_OF_SANDBOX(X)
#define RUN_LIMITS(X)            RUN_LIMITS_OF_REQUEST(X) RUN_LIMITS_OF_OPERATOR(X)

/* The most a request may ask for until the operator says otherwise: X(name, kind, default) of the
 * setting `max_<name>`. A process costs a number that the whole host shares, and writing the answer
 * of one run holds up the others: 4 MiB of output take about a tenth of a second. */
#define RUN_LIMIT_CEILINGS(X)                                                                      \
    X(timeout_s, SECONDS, 300)                                                                     \
    X(memory_mb, MB, 2048)                                                                         \
    X(pids, COUNT, 4096)                                                                           \
    X(disk_mb, MB, 65536)                                                                          \
    X(output_bytes, BYTES, 4194304)

/* Defaults of a user's own runs, which follow the machine (base/config_machine.c): X(name, words of
 * the help). Those that no flag sets have none. */
#define RUN_LIMITS_OF_MACHINE(X)                                                                   \
    X(timeout_s, "none")                                                                           \
    X(memory_mb, "3/4 of all")                                                                     \
    X(pids, "4096")                                                                                \
    X(disk_mb, "half of memory")

/* Former spellings, which profiles may still use: X(old, name, how many of the old make one). */
#define RUN_LIMIT_OLD_NAMES(X)                                                                     \
    X(cpu_s, cpu_time_s, 1)                                                                        \
    X(cpu_percent, cpus, 100)
/* clang-format on */

struct run_limits {
#define X(name, member, type, ...) type member;
    RUN_LIMITS(X)
#undef X
};

/* The C type of a value in the unit of its name. */
#define RUN_LIMIT_TYPE_SECONDS double
#define RUN_LIMIT_TYPE_CORES   double
#define RUN_LIMIT_TYPE_COUNT   int64_t
#define RUN_LIMIT_TYPE_MB      int64_t
#define RUN_LIMIT_TYPE_BYTES   int64_t

enum run_limit_kind {
    RUN_LIMIT_SECONDS,
    RUN_LIMIT_CORES,
    RUN_LIMIT_COUNT,
    RUN_LIMIT_MB,
    RUN_LIMIT_BYTES
};

enum run_limit_scope { RUN_LIMIT_OF_CELL, RUN_LIMIT_OF_SANDBOX, RUN_LIMIT_OF_OPERATOR };

/* Rows: those that a request may name come first. */
enum run_limit_row {
#define X(name, ...) RUN_LIMIT_ROW_##name,
    RUN_LIMITS(X)
#undef X
        RUN_LIMIT_ROWS
};

#define X(name, ...) +1 /* NOLINT(bugprone-macro-parentheses): a term of the sum below */
enum { RUN_LIMIT_REQUEST_ROWS = 0 RUN_LIMITS_OF_REQUEST(X) };
#undef X

/* Ranges, for tables that the compiler fills. */
enum {
#define X(name, member, type, kind, per, min, max, ...)                                            \
    RUN_LIMIT_MIN_##name = (int)(min), RUN_LIMIT_MAX_##name = (int)(max),
    RUN_LIMITS(X)
#undef X
};

struct run_limit {
    const char *name;
    const char *member;
    enum run_limit_kind kind;
    enum run_limit_scope scope;
    double per;
    double min, max, fallback;
    const char *help;
    size_t offset; /* in struct run_limits */
    size_t size;
};

extern const struct run_limit run_limit_table[RUN_LIMIT_ROWS];

/* NULL: there is no such limit. */
const struct run_limit *run_limit_find(const char *name);

/* By an old spelling; *ret_per is how many of the old unit make one. NULL: it is none. */
const struct run_limit *run_limit_find_old(const char *name, double *ret_per);

/* The old spelling of a limit, or NULL. */
const char *run_limit_old_name(const struct run_limit *limit);

static inline bool run_limit_is_whole(const struct run_limit *limit)
{
    return limit->kind != RUN_LIMIT_SECONDS && limit->kind != RUN_LIMIT_CORES;
}

/* Whether 0 stands for "no limit". */
static inline bool run_limit_has_none(const struct run_limit *limit)
{
    return limit->min == 0;
}

/* "seconds", "cores", "MB", "bytes"; "" for a number of things. */
const char *run_limit_unit(const struct run_limit *limit);

/* Whether the value, in the unit of the name, is in range. */
bool run_limit_fits(const struct run_limit *limit, double value);

/* The defaults of the table. */
void run_limits_init(struct run_limits *limits);

/* In the unit of the member, as the trail has it. */
uint64_t run_limit_raw(const struct run_limits *limits, const struct run_limit *limit);
void run_limit_set_raw(struct run_limits *limits, const struct run_limit *limit, uint64_t value);

/* In the unit of the name. A positive value that is too small for the member's unit becomes one of
 * it, since 0 may mean "no limit". */
double run_limit_get(const struct run_limits *limits, const struct run_limit *limit);
void run_limit_set(struct run_limits *limits, const struct run_limit *limit, double value);

/* Whether the value of `limits` is above `most`; "no limit" is above everything. */
bool run_limit_exceeds(const struct run_limit *limit, double value, double most);

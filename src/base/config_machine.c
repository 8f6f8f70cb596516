/* The defaults of a user's own runs (`belljar run`, `exec`, `shell`), which follow the machine. */
#include <string.h>

#include "base/cleanup.h"
#include "base/config_internal.h"
#include "base/meminfo.h"

/* Of the memory of the machine; the rest is for the user's other programs. */
#define MEMORY_PART(bytes) ((bytes) / 4 * 3)

/* Files are memory, too. Small ones take a page each. */
#define DISK_PART(mb)     ((mb) / 2)
#define FILES_OF_DISK(mb) ((double)(mb)*256)
#define FILES_MAX         1000000

#define PROCESSES   4096
#define DESCRIPTORS 1024

/* The least, on a small machine or with a low `memory_mb`. */
#define MEMORY_MIN_MB 512
#define DISK_MIN_MB   64

static double clamp(double value, double min, double max)
{
    return value < min ? min : value > max ? max : value;
}

/* Somebody's own setting stays. */
static void set(const struct config *config, const struct config_option *option, double value)
{
    if (config_source_of(config, option)->origin == CONFIG_DEFAULT)
        config_put_number(config, option, value);
}

static void set_limit(const struct config *config, enum run_limit_row row, double value, double min)
{
    const struct run_limit *limit = &run_limit_table[row];

    set(config, config_find(limit->name), clamp(value, min, limit->max));
}

void config_apply_machine(struct config *config)
{
    struct meminfo memory;

    if (!config->follows_machine)
        return;
#define X(name, kind, default_) set(config, config_find("max_" #name), RUN_LIMIT_MAX_##name);
    RUN_LIMIT_CEILINGS(X)
#undef X
    set_limit(config, RUN_LIMIT_ROW_timeout_s, 0, 0);
    if (meminfo_read(&memory))
        set_limit(config, RUN_LIMIT_ROW_memory_mb, (double)(MEMORY_PART(memory.total_bytes) / MIB),
                  MEMORY_MIN_MB);
    set_limit(config, RUN_LIMIT_ROW_pids, PROCESSES, 0);
    set_limit(config, RUN_LIMIT_ROW_disk_mb, (double)DISK_PART(config->memory_mb), DISK_MIN_MB);
    set_limit(config, RUN_LIMIT_ROW_inodes, clamp(FILES_OF_DISK(config->disk_mb), 0, FILES_MAX),
              run_limit_table[RUN_LIMIT_ROW_inodes].fallback);
    set_limit(config, RUN_LIMIT_ROW_descriptors, DESCRIPTORS, 0);
}

void config_follow_machine(struct config *config)
{
    config->follows_machine = true;
    config_apply_machine(config); /* flags are judged before the files are read */
}

const char *config_own_fallback(const struct config_option *option, const char *command)
{
    static const struct {
        enum run_limit_row row;
        const char *text;
    } own[] = {
#define X(name, text) {RUN_LIMIT_ROW_##name, text},
        RUN_LIMITS_OF_MACHINE(X)
#undef X
    };

    if (strcmp(command, "exec") == 0 && strcmp(option->name, "profile") == 0)
        return "open";
    if (strcmp(command, "run") != 0 && strcmp(command, "exec") != 0 &&
        strcmp(command, "shell") != 0)
        return option->fallback;
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (option->limit == &run_limit_table[own[i].row])
            return own[i].text;
    return option->fallback;
}

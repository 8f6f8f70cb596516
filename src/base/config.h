/* The operator's settings: one table of options, filled from defaults, files, the environment and
 * flags, in that order.
 *
 * Files: /etc/belljar/config.toml, then $XDG_CONFIG_HOME/belljar/config.toml over it; a file named
 * by a flag stands in for both. Environment: BELLJAR_<NAME> and the names of older systems in the
 * table. The stronger source wins whatever the order of calls, so that flags may be set before
 * config_load(). Nothing is read before config_load().
 *
 * A mistake is E_INVALID and says where, what was read, what was expected and, where one is near,
 * the name that was probably meant.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "base/config_server.h"
#include "base/error.h"
#include "base/run.h"

enum config_type {
    CONFIG_INT,    /* int64_t */
    CONFIG_REAL,   /* double */
    CONFIG_SIZE,   /* int64_t in units of `unit_bytes`; text may say 64K, 1M, 2G */
    CONFIG_STRING, /* char *, never NULL */
    CONFIG_CHOICE, /* char *, one of `choices` */
    CONFIG_LIST,   /* struct config_list; comma-separated as text */
};

/* Each is stronger than those before it. CONFIG_COMPAT: a rule of the system that `mcp_compat`
 * names.
 */
enum config_origin { CONFIG_DEFAULT, CONFIG_COMPAT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG };

struct config_list {
    char **items;
    size_t count;
};

int config_list_add(struct config_list *list, const char *text, size_t len, struct error *err);
void config_list_done(struct config_list *list);

/* A row of the table. */
struct config_option {
    const char *name; /* the key in the file */
    enum config_type type;
    const char *fallback; /* the default, as text */
    double min, max;
    const char *choices;    /* comma-separated, of CONFIG_CHOICE */
    const char *unit;       /* "seconds", "MB", ... or NULL */
    int64_t unit_bytes;     /* of CONFIG_SIZE */
    bool is_reloadable;     /* a running server takes a new value without a restart */
    const char *aliases[3]; /* further environment variables; BELLJAR_<NAME> comes by itself */
    const char *flag;       /* without the dashes, or NULL */
    const char *command;    /* those that have the flag, "mcp serve"; NULL: all that run programs */
    const char *value;      /* what stands behind the flag in --help */
    const char *help;       /* one sentence, lower case, no period */
    const char *brief;      /* the same for --help, where a line has 54 columns for it */
    const struct run_limit *limit; /* the row it was made from, or NULL */
    bool is_net;                   /* a list of hosts (base/net.h), which may be tables in a file */
    bool (*accepts)(const char *text); /* of CONFIG_STRING; NULL: any text */
    const char *expected;              /* what that is, in words */
    size_t offset;                     /* of the value in struct config */
};

/* A Python prefix with its modules: [environments.NAME] in the file. */
struct config_environment {
    char *name;
    char *python; /* an interpreter, or the directory of a virtual environment */
    struct config_list preload;
    bool has_preload; /* false: the option `preload` counts */
};

struct config_source;

struct config {
    char *profile;
    char *environment;
    struct config_list preload;
    struct config_list allow;
    char *workdir;
    struct config_list net;
    int64_t net_mb;
    char *resolver;
    char *helpers;
    struct config_list variables;
    char *git_identity;
    char *package_index;
    struct config_list auto_install;
    char *policies_dir;
#define X(name, member, type, kind, ...) RUN_LIMIT_TYPE_##kind name;
    RUN_LIMITS(X)
#undef X
#define X(name, kind, fallback) RUN_LIMIT_TYPE_##kind max_##name;
    RUN_LIMIT_CEILINGS(X)
#undef X
    int64_t code_bytes;
    char *isolation;
    char *masking;
    char *aggressive_masking;
    char *reversible_masking;
    char *masking_file;
    char *trail;
    char *trail_keep;
    char *trail_dir;
    char *trail_sync;
    int64_t trail_file_mb;
    int64_t trail_max_days;
    int64_t trail_max_mb;
    int64_t trail_mb_per_hour;
    char *undo;
    int64_t undo_mb;
    int64_t undo_total_mb;
    int64_t undo_days;
    int64_t pool_size;
    int64_t pool_hot;
    int64_t zygote_count;
    int64_t zygote_max_runs;
    int64_t zygote_max_minutes;
    char *listen;
    char *socket;
    char *cluster_socket;
    char *tls_cert;
    char *tls_key;
    char *auth;
    char *token_file;
    char *tokens_file;
    struct config_list hosts;
    struct config_list origins;
    int64_t runs_max;
    char *node;
    int64_t queue_max;
    int64_t jobs_max;
    double queue_timeout_s;
    int64_t http_connections;
    int64_t http_connections_per_address;
    int64_t http_connections_per_token;
    double http_idle_s;
    double stop_grace_s;
    double interrupt_grace_s;
    int64_t sessions_max;
    int64_t session_kept_mb;
    double session_idle_s;
    double session_lifetime_s;
    char *console;
    char *session_evict;
    char *e2b_debug;
    struct config_list session_ports;
    char *machine;
    int64_t machine_memory_mb;
    int64_t machine_cpus;
    char *mcp_compat;
    char *mcp_tools;
    int64_t mcp_answer_tokens;
    char *mcp_resource;
    struct config_list authorization_servers;
    char *log_level;
    char *log_format;
    char *color;

    bool is_inside_machine; /* not an option: the server was started in a virtual machine */

    /* --- private --- */
    struct config_environment *environments;
    size_t n_environments;
    struct config_server servers[CONFIG_SERVERS_MAX]; /* by the order of the files */
    size_t n_servers;
    struct config_source *sources; /* one per row */
    char *files[2];
    bool is_loaded;
    bool follows_machine;
    struct config *older; /* values that were replaced: somebody may still use them */
};

/* All defaults. NULL: out of memory. */
struct config *config_new(void);
void config_free(struct config *config);

/* For `cleanup(config_free_p) struct config *config = NULL`. */
static inline void config_free_p(struct config **config)
{
    config_free(*config);
}

/* Reads the files and the environment, then checks limits against their ceilings. `path`: the file
 * to read instead of the usual ones, which need not exist; this one must. */
int config_load(struct config *config, const char *path, struct error *err);

/* For a server that runs: the settings as config_load() would read them now, with the same flags.
 */
int config_read_again(const struct config *config, const char *path, struct config **ret_config,
                      struct error *err);

/* Takes the options that are reloadable and have changed from `next`, which belongs to the config
 * from here on. Their names go to `taken`, those of other options that have changed to `left`. */
int config_take_over(struct config *config, struct config *next, struct buf *taken,
                     struct buf *left, struct error *err);

/* `flag` without dashes. Repeating a list flag adds to the list, which replaces the one of weaker
 * sources. An unknown flag is E_INVALID with the nearest one in the hint. */
int config_set_flag(struct config *config, const char *flag, const char *value, struct error *err);

/* The source of an option's value. */
enum config_origin config_origin(const struct config *config, const char *name);

/* Combines the two options for masking. */
enum run_masking config_masking(const struct config *config);
bool config_has_names(const struct config *config); /* for personal data: mask/pseudonyms.h */

/* Puts the limits that come from `least` or stronger into *limits, so that a profile's own can go
 * between: config_limits(c, CONFIG_DEFAULT, &l); profile_apply_limits(p, &l); config_limits(c,
 * CONFIG_FILE, &l); */
void config_limits(const struct config *config, enum config_origin least,
                   struct run_limits *limits);

/* For commands that run a user's own programs; before its flags and config_load(). Where nobody has
 * set a limit it follows the machine: there is no time limit, most of the memory may be used, and
 * the ceilings of requests do not hold. docs/guide/limits.md has the numbers. */
void config_follow_machine(struct config *config);

/* The most a request may ask for, in the unit of the name. */
double config_limit_max(const struct config *config, const struct run_limit *limit);

/* The level `process` was chosen: programs run without namespaces. */
bool config_is_process_level(const struct config *config);
bool config_has_e2b_debug(const struct config *config);

/* The environment the option `environment` names: one of the file, `system`, or a path. The results
 * belong to the config; *ret_python is NULL for `system`. An unknown name is E_NOT_FOUND. */
int config_environment(const struct config *config, const char *name, const char **ret_python,
                       const struct config_list **ret_preload, struct error *err);

/* DIR[:ro|:rw|:cow] taken apart; read-only unless it says otherwise. The caller frees *ret_path. */
int config_parse_grant(const char *text, char **ret_path, enum run_grant_mode *ret_mode,
                       struct error *err);

/* --- the table, for those who print it --- */

/* Rows the table may have; a list of all its names has this room. */
#define CONFIG_OPTIONS_MAX 96

const struct config_option *config_options(size_t *ret_count);
const struct config_option *config_find(const char *name); /* NULL: no such option */

/* The value as JSON, or NULL when out of memory. */
json_t *config_value(const struct config *config, const struct config_option *option);

/* "default", "FILE:LINE", "environment NAME", "flag --NAME". The caller frees it. NULL: out of
 * memory. */
char *config_source_text(const struct config *config, const struct config_option *option);

/* The environment variable of an option: BELLJAR_<NAME>. */
void config_variable(const struct config_option *option, char *text, size_t size);

/* "a whole number from 1 to 4096": what the option takes, for messages and manuals. */
int config_describe(const struct config *config, const struct config_option *option,
                    struct buf *out, struct error *err);

/* Whether the command of that name has the option's flag. */
bool config_has_flag(const struct config_option *option, const char *command);

/* The flags that the command has, with their help, one a line, for --help; all of them, or without
 * those that are seldom needed. */
void config_print_flags(FILE *out, const char *command, bool is_whole);

#include "base/config_internal.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/identity.h"
#include "base/limits.h"
#include "base/suggest.h"

#define AT(field) .offset = offsetof(struct config, field)

/* Rows of the table of limits (base/run_limits.h), by the unit of their values. */
#define OF_SECONDS CONFIG_REAL
#define OF_CORES   CONFIG_REAL
#define OF_COUNT   CONFIG_INT
#define OF_MB      CONFIG_SIZE
#define OF_BYTES   CONFIG_SIZE

#define IN_SECONDS .unit = "seconds", .value = "SECONDS"
#define IN_CORES   .unit = "cores", .value = "N"
#define IN_COUNT   .value = "N"
#define IN_MB      .unit = "MB", .unit_bytes = 1048576, .value = "MB"
#define IN_BYTES   .unit = "bytes", .unit_bytes = 1, .value = "BYTES"

#define WORDS(...) __VA_ARGS__

#define LIMIT_OPTION(name, member, ctype, kind, per, min, max, default_, flag_, variables, brief_, \
                     help_)                                                                        \
    {#name,                                                                                        \
     OF_##kind,                                                                                    \
     #default_,                                                                                    \
     (double)(min),                                                                                \
     (double)(max),                                                                                \
     IN_##kind,                                                                                    \
     .is_reloadable = true,                                                                        \
     .aliases = {WORDS variables},                                                                 \
     .flag = (flag_),                                                                              \
     .help = (help_),                                                                              \
     .brief = (brief_),                                                                            \
     .limit = &run_limit_table[RUN_LIMIT_ROW_##name],                                              \
     AT(name)},

#define CEILING_OPTION(name, kind, default_)                                                       \
    {"max_" #name,                                                                                 \
     OF_##kind,                                                                                    \
     #default_,                                                                                    \
     RUN_LIMIT_MIN_##name,                                                                         \
     RUN_LIMIT_MAX_##name,                                                                         \
     IN_##kind,                                                                                    \
     .is_reloadable = true,                                                                        \
     .help = "the highest `" #name "` a request may ask for",                                      \
     AT(max_##name)},

/* Every option of the program. The table makes the parser, the checks, the flags, `belljar config`
 * and the manual. */
/* clang-format off */
static const struct config_option options[] = {
    {"profile", CONFIG_STRING, "standard", .is_reloadable = true, .flag = "profile", .value = "NAME",
     .help = "the profile of programs, by name or path",
     .brief = "profile, by name or path", AT(profile)},
    {"isolation", CONFIG_CHOICE, "namespaces", .choices = "namespaces,process", .flag = "isolation",
     .command = "run exec batch serve mcp", .value = "LEVEL",
     .help = "how programs are kept apart from the host: `namespaces`, or `process`, which is weaker, for hosts that give none: Landlock, seccomp and resource limits only",
     .brief = "`process` is weaker, for plain containers", AT(isolation)},
    {"environment", CONFIG_STRING, "system", .flag = "environment", .value = "NAME",
     .help = "the Python environment: `system`, a name from [environments.NAME], or the path of a virtual environment",
     .brief = "`system`, the name of an environment, or a venv", AT(environment)},
    {"preload", CONFIG_LIST, "numpy,pandas,scipy,sklearn,matplotlib,sympy,networkx",
     .help = "modules that warm interpreters import in advance, for programs that may use them; missing ones are skipped", AT(preload)},
    {"allow", CONFIG_LIST, "", .is_reloadable = true, .aliases = {"ALLOWED_DIRECTORIES"},
     .flag = "allow", .value = "DIR[:ro|:rw|:cow]",
     .help = "directories that programs may see, at the same path; read-only by default, writable with `:rw`; with `:cow`, changes are staged until they are applied",
     .brief = "a directory the program may see; repeatable", AT(allow)},
    {"workdir", CONFIG_STRING, "", .is_reloadable = true, .flag = "workdir", .value = "DIR",
     .help = "where programs start: /workspace, or a directory that `allow` grants; empty: the granted directory if there is one, else /workspace",
     .brief = "start there; the granted directory if there is one", AT(workdir)},
    {"net", CONFIG_LIST, "", .is_reloadable = true, .is_net = true, .flag = "net", .value = "HOST[:PORT]",
     .help = "hosts that programs may reach: api.example.org:443, *.example.org, http://HOST:PORT/PATH/; with `ask`, others after a question to the user",
     .brief = "a host the program may reach; repeatable", AT(net)},
    {"net_mb", CONFIG_SIZE, "1024", 1, 1048576, .unit = "MB", .unit_bytes = 1048576,
     .help = "traffic of one sandbox with these hosts, both directions together", AT(net_mb)},
    {"resolver", CONFIG_STRING, "", .value = "PROGRAM",
     .help = "a program that prints the addresses of a host name; empty: the system's resolver", AT(resolver)},
    {"helpers", CONFIG_STRING, "", .value = "DIR",
     .help = "a directory with your own Python modules, which every program may import; empty: none", AT(helpers)},
    {"variables", CONFIG_LIST, "", .value = "NAME=VALUE",
     .help = "environment variables for every program and helper, each as `NAME=VALUE`", AT(variables)},
    {"git_identity", CONFIG_STRING, "host", .is_reloadable = true, .value = "host|off|NAME <MAIL>",
     .help = "the author of commits: `host` gives programs with a granted directory the user.name and user.email of your git, `off` gives none, `Name <mail@example.org>` gives that one to every program",
     .accepts = identity_is_setting, .expected = "`host`, `off` or `Name <mail@example.org>`", AT(git_identity)},
    {"package_index", CONFIG_STRING, "", .value = "URL",
     .help = "the package index for pip inside the sandbox, if its host is granted; empty: pip's default", AT(package_index)},
    {"auto_install", CONFIG_LIST, "", .value = "MODULE[:PACKAGE]",
     .help = "modules to install from `package_index` when a program imports them and its host is granted; empty: none", AT(auto_install)},
    {"policies_dir", CONFIG_STRING, "", .value = "DIR",
     .help = "directory of the built-in profiles; empty: those installed with Belljar", AT(policies_dir)},

    RUN_LIMITS(LIMIT_OPTION)
    RUN_LIMIT_CEILINGS(CEILING_OPTION)
    {"code_bytes", CONFIG_SIZE, "1048576", 1, LIMIT_CODE_BYTES, .unit = "bytes", .unit_bytes = 1,
     .is_reloadable = true, .help = "the longest program accepted", AT(code_bytes)},

    {"masking", CONFIG_CHOICE, "yes", .choices = "yes,no,true,false,1,0", .is_reloadable = true,
     .aliases = {"MASK_SECRETS"}, .value = "yes|no",
     .help = "replace secrets with labels in everything a program outputs", AT(masking)},
    {"aggressive_masking", CONFIG_CHOICE, "no", .choices = "yes,no,true,false,1,0", .is_reloadable = true,
     .aliases = {"AGGRESSIVE_MASKING"}, .value = "yes|no",
     .help = "also replace personal data: email and IP addresses, phone, card and account numbers", AT(aggressive_masking)},
    {"reversible_masking", CONFIG_CHOICE, "no", .choices = "yes,no,true,false,1,0", .value = "yes|no",
     .help = "in sessions, replace personal data with names such as EMAIL_1; cells sent to the same session may use them", AT(reversible_masking)},
    {"masking_file", CONFIG_STRING, "", .value = "PATH",
     .help = "a TOML file with more secrets to mask: `values`, `variables` and [rules.NAME]; empty: none", AT(masking_file)},

    {"trail", CONFIG_CHOICE, "on", .choices = "on,off", .value = "on|off",
     .help = "record everything in the audit trail; with `on`, nothing runs that cannot be recorded", AT(trail)},
    {"trail_keep", CONFIG_CHOICE, "code", .choices = "none,code,all", .value = "WHAT",
     .help = "texts kept in the trail, masked: `none`: only hashes; `code`: programs; `all`: also their input and output", AT(trail_keep)},
    {"trail_dir", CONFIG_STRING, "", .value = "DIR",
     .help = "directory of the trail; empty: `belljar/trail` in the state directory", AT(trail_dir)},
    {"trail_sync", CONFIG_CHOICE, "after_answer", .choices = "after_answer,before_answer", .value = "WHEN",
     .help = "when records reach the disk: `after_answer`: up to 0.2 s later; `before_answer`: each answer waits until its records are there", AT(trail_sync)},
    {"trail_file_mb", CONFIG_SIZE, "64", 1, 4096, .unit = "MB", .unit_bytes = 1048576,
     .help = "size at which a trail file is sealed and the next one started; at most an eighth of `trail_max_mb`", AT(trail_file_mb)},
    {"trail_max_days", CONFIG_INT, "0", 0, 36500, .value = "DAYS",
     .help = "delete trail files older than this many days (recorded in the trail); 0: keep all", AT(trail_max_days)},
    {"trail_max_mb", CONFIG_SIZE, "4096", 0, 1 << 30, .unit = "MB", .unit_bytes = 1048576,
     .help = "delete the oldest trail files beyond this total size (recorded in the trail); 0: keep all", AT(trail_max_mb)},

    {"trail_mb_per_hour", CONFIG_SIZE, "1024", 0, 1 << 30, .unit = "MB", .unit_bytes = 1048576,
     .help = "trail data a server writes for one token per hour; further requests get 429; 0: no limit", AT(trail_mb_per_hour)},

    {"undo", CONFIG_CHOICE, "on", .choices = "on,off", .flag = "undo", .command = "mcp", .value = "on|off",
     .brief = "record changes in `:rw` directories",
     .help = "record what programs change in directories granted with `:rw`, so that `belljar undo` can undo it; with `on`, a change that cannot be recorded is refused", AT(undo)},
    {"undo_mb", CONFIG_SIZE, "1024", 1, 1048576, .unit = "MB", .unit_bytes = 1048576,
     .help = "data saved for the undo of one run; changes beyond it are refused", AT(undo_mb)},
    {"undo_total_mb", CONFIG_SIZE, "4096", 1, 1 << 30, .unit = "MB", .unit_bytes = 1048576,
     .help = "undo data kept for all runs together; beyond this the token that holds the most loses its oldest", AT(undo_total_mb)},
    {"undo_days", CONFIG_INT, "7", 0, 36500, .value = "DAYS",
     .help = "days for which a run can be undone; 0: no limit except `undo_total_mb`", AT(undo_days)},

    {"pool_size", CONFIG_INT, "-1", -1, LIMIT_SANDBOXES, .unit = "sandboxes",
     .help = "sandboxes kept ready; -1: chosen by memory and cores; 0: none", AT(pool_size)},
    {"pool_hot", CONFIG_INT, "-1", -1, LIMIT_SANDBOXES, .unit = "sandboxes",
     .help = "how many of these have already run a warm-up line; -1: half", AT(pool_hot)},
    {"zygote_count", CONFIG_INT, "0", 0, 16, .unit = "processes",
     .help = "warm interpreters of `belljar serve` that make sandboxes side by side, of each kind; 0: one for every four cores, with the data stack one for every 16", AT(zygote_count)},
    {"zygote_max_runs", CONFIG_INT, "10000", 0, 1000000000, .unit = "runs",
     .help = "replace a warm interpreter after this many runs; 0: never", AT(zygote_max_runs)},
    {"zygote_max_minutes", CONFIG_INT, "60", 0, 525600, .unit = "minutes",
     .help = "replace a warm interpreter after this many minutes; 0: never", AT(zygote_max_minutes)},

    {"listen", CONFIG_STRING, "127.0.0.1:8222", .flag = "listen", .command = "serve", .value = "ADDRESS:PORT",
     .help = "address and port of `belljar serve`; other than loopback only with TLS and a token",
     .brief = "address and port to listen on", AT(listen)},
    {"socket", CONFIG_STRING, "", .flag = "socket", .command = "serve", .value = "PATH",
     .help = "the Unix socket of `belljar serve`; empty: `belljar/http.sock` in the runtime directory; `none`: no socket",
     .brief = "Unix socket to listen on; `none`: no socket", AT(socket)},
    {"cluster_socket", CONFIG_STRING, "", .value = "PATH",
     .help = "a Unix socket for `belljar cluster node`, on which every request needs a token, also one of the same user; empty: none", AT(cluster_socket)},
    {"tls_cert", CONFIG_STRING, "", .flag = "tls-cert", .command = "serve", .value = "FILE",
     .help = "the certificate of `belljar serve` with its chain (PEM); empty: plain HTTP",
     .brief = "certificate with its chain (PEM)", AT(tls_cert)},
    {"tls_key", CONFIG_STRING, "", .flag = "tls-key", .command = "serve", .value = "FILE",
     .help = "the certificate's private key (PEM); other users must not be able to read the file",
     .brief = "private key of the certificate (PEM)", AT(tls_key)},
    {"auth", CONFIG_CHOICE, "token", .choices = "token,none", .value = "HOW",
     .help = "who may use a server: `token`: clients with a token; `none`: everybody, only on loopback addresses", AT(auth)},
    {"token_file", CONFIG_STRING, "", .value = "PATH",
     .help = "file of the first token; empty: `belljar/token` in the state directory", AT(token_file)},
    {"tokens_file", CONFIG_STRING, "", .value = "PATH",
     .help = "file in which `belljar token` keeps all other tokens; empty: `belljar/tokens.toml` in the state directory", AT(tokens_file)},
    {"hosts", CONFIG_LIST, "", .value = "NAME",
     .help = "host names that requests may use, besides `localhost` and loopback addresses; `*.example.org`: PORT-ID.example.org is a port of a session", AT(hosts)},
    {"origins", CONFIG_LIST, "", .value = "ORIGIN",
     .help = "web origins that may call the server, for example `https://console.example.org`", AT(origins)},
    {"runs_max", CONFIG_INT, "-1", -1, LIMIT_SANDBOXES,
     .help = "programs a server runs at once, not counting session cells; further ones wait; -1: chosen by the number of cores", AT(runs_max)},
    {"node", CONFIG_STRING, "", .value = "NAME", .accepts = id_is_setting,
     .expected = "up to 12 lowercase letters and digits, a letter first",
     .help = "the name of this server among several: ids that it makes end with it, as in `run_…-a1`, so that a client or proxy knows which server has a run, session or job; empty: ids name none", AT(node)},
    {"queue_max", CONFIG_INT, "1024", 0, 65536,
     .help = "programs that may wait, of all tokens together; further ones are refused with 429", AT(queue_max)},
    {"queue_timeout_s", CONFIG_REAL, "30", 1, 3600, .unit = "seconds",
     .help = "how long a program may wait before it is refused", AT(queue_timeout_s)},
    {"jobs_max", CONFIG_INT, "10000", 0, 1000000, .unit = "jobs", .is_reloadable = true,
     .help = "durable jobs of one token that are not over; further ones are refused with 429", AT(jobs_max)},
    {"http_connections", CONFIG_INT, "4096", 8, 65536,
     .help = "connections at once; further ones wait", AT(http_connections)},
    {"http_connections_per_address", CONFIG_INT, "-1", -1, 65536,
     .help = "connections at once from one IPv4 address, IPv6 /64 network or Unix socket user; further ones are refused with 429; -1: half of all",
     AT(http_connections_per_address)},
    {"http_connections_per_token", CONFIG_INT, "-1", -1, 65536,
     .help = "requests at once from one token; further ones are refused with 429; -1: half of all connections",
     AT(http_connections_per_token)},
    {"http_idle_s", CONFIG_REAL, "60", 1, 3600, .unit = "seconds",
     .help = "how long a connection may be idle between two requests", AT(http_idle_s)},
    {"stop_grace_s", CONFIG_REAL, "10", 0, 3600, .unit = "seconds",
     .help = "how long programs may continue when the server is told to stop; then they are interrupted", AT(stop_grace_s)},
    {"interrupt_grace_s", CONFIG_REAL, "10", 0, 300, .unit = "seconds",
     .help = "how long a session's cell that was interrupted, or has exceeded its time limit, may take to end before its kernel is killed and its variables are lost; time limit and grace together never exceed `max_timeout_s`",
     AT(interrupt_grace_s)},
    {"sessions_max", CONFIG_INT, "64", 0, LIMIT_SANDBOXES,
     .help = "sessions open at once", AT(sessions_max)},
    {"session_kept_mb", CONFIG_SIZE, "0", 0, 1 << 24, .unit = "MB", .unit_bytes = 1048576,
     .help = "memory for uploaded files, checkpoints and restored sessions, of all sessions together; one token may take as much as is still free; 0: half of the memory",
     AT(session_kept_mb)},
    {"session_idle_s", CONFIG_REAL, "1800", 0, 604800, .unit = "seconds",
     .help = "end a session after this time without a cell; 0: never", AT(session_idle_s)},
    {"session_lifetime_s", CONFIG_REAL, "86400", 0, LIMIT_SESSION_CLOCK_S, .unit = "seconds",
     .help = "end a session this long after it was opened; 0: never", AT(session_lifetime_s)},
    {"mcp_compat", CONFIG_CHOICE, "none", .choices = "none,marketplace,cms,pyrunner,coderunner", .flag = "compat", .command = "mcp serve",
     .value = "NAME", .help = "follow the rules of another system: its profile and limits, unless others are set, and the names and parameters of its MCP tools: marketplace, cms, pyrunner or coderunner",
     .brief = "rules and tool names of another system", AT(mcp_compat)},
    {"mcp_tools", CONFIG_CHOICE, "few", .choices = "few,all", .flag = "tools", .command = "mcp", .value = "few|all",
     .help = "which tools MCP clients see: the four that most work needs, or all. The others can always be called; with `mcp_compat` all are listed",
     .brief = "tools that are listed", AT(mcp_tools)},
    {"mcp_answer_tokens", CONFIG_INT, "2000", 200, 10000000, .flag = "answer-tokens", .command = "mcp", .value = "N",
     .help = "about how many tokens the answer of an MCP tool has; what is beyond is cut and kept. `max_tokens` in a call sets another number",
     .brief = "length of an answer in tokens", AT(mcp_answer_tokens)},
    {"mcp_resource", CONFIG_STRING, "", .value = "URL",
     .help = "the URL under which clients reach `/mcp`, for example `https://box.example.org/mcp`; needed for `authorization_servers`", AT(mcp_resource)},
    {"authorization_servers", CONFIG_LIST, "", .value = "URL",
     .help = "servers from which MCP clients get a token (RFC 9728), one that `belljar token` manages; empty: clients are told there are none",
     AT(authorization_servers)},
    {"console", CONFIG_CHOICE, "on", .choices = "on,off",
     .help = "the web console, a page at `/console`", AT(console)},
    {"session_evict", CONFIG_CHOICE, "mcp", .choices = "mcp,yes,no",
     .help = "at the session limit, a new session ends the longest idle one of the same token: `mcp` among those that MCP tools opened, `yes` also over HTTP, `no` never. Sessions with a name or a checkpoint, and those that are kept or run code, do not end",
     AT(session_evict)},
    {"e2b_debug", CONFIG_CHOICE, "no", .choices = "yes,no,true,false,1,0", .value = "yes|no",
     .help = "also listen on the ports 49983, 49999 and 3000 of this machine, for programs with E2B_DEBUG: every local program may use one sandbox there without a token", AT(e2b_debug)},
    {"session_ports", CONFIG_LIST, "", .is_reloadable = true, .value = "PORT",
     .help = "ports of servers in sessions that their clients may reach, if a session is opened with them: numbers, or `*` for any; empty: none",
     AT(session_ports)},
    {"machine", CONFIG_CHOICE, "no", .choices = "no,kvm,tcg", .flag = "machine", .command = "serve", .value = "kvm|tcg",
     .help = "programs of `belljar serve` run in a virtual machine, with QEMU and KVM: `kvm`. `tcg` needs no KVM and is for tests; it is tens of times slower and gives no hardware isolation",
     .brief = "run programs in a virtual machine", AT(machine)},
    {"machine_memory_mb", CONFIG_SIZE, "2048", 512, 1 << 20, .unit = "MB", .unit_bytes = 1048576,
     .help = "memory of the virtual machine, which all its programs share", AT(machine_memory_mb)},
    {"machine_cpus", CONFIG_INT, "2", 1, 64, .unit = "processors",
     .help = "processors of the virtual machine", AT(machine_cpus)},

    {"log_level", CONFIG_CHOICE, "info", .choices = "error,warning,info,debug", .aliases = {"LOG_LEVEL", "CODERUNNER_LOG_LEVEL"},
     .value = "LEVEL", .help = "how much a server logs to stderr; `info`: one line per run", AT(log_level)},
    {"log_format", CONFIG_CHOICE, "text", .choices = "text,json", .value = "HOW",
     .help = "format of the log: `text` for people, or `json`", AT(log_format)},

    {"color", CONFIG_CHOICE, "auto", .choices = "auto,always,never", .value = "WHEN",
     .help = "colors in messages; `auto`: on a terminal, unless NO_COLOR is set", AT(color)},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(options) <= CONFIG_OPTIONS_MAX, "lists of names hold the whole table");

struct config *config_new(void)
{
    struct config *config = calloc(1, sizeof(*config));
    const struct config_source source = {.origin = CONFIG_DEFAULT};

    if (!config)
        return NULL;
    config->sources = calloc(ARRAY_SIZE(options), sizeof(*config->sources));
    for (size_t i = 0; config->sources && i < ARRAY_SIZE(options); i++) {
        if (config_set_text(config, &options[i], &source, options[i].fallback, NULL) == 0)
            continue;
        config_free(config);
        return NULL;
    }
    if (!config->sources) {
        config_free(config);
        return NULL;
    }
    return config;
}

static void free_values(struct config *config)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        void *field = config_field(config, &options[i]);

        if (options[i].type == CONFIG_LIST)
            config_list_done(field);
        else if (options[i].type == CONFIG_STRING || options[i].type == CONFIG_CHOICE)
            free(*(char **)field);
    }
}

static void free_one(struct config *config)
{
    free_values(config);
    for (size_t i = 0; i < config->n_environments; i++) {
        free(config->environments[i].name);
        free(config->environments[i].python);
        config_list_done(&config->environments[i].preload);
    }
    free(config->environments);
    for (size_t i = 0; i < config->n_servers; i++)
        config_server_done(&config->servers[i]);
    free(config->sources);
    free(config->files[0]);
    free(config->files[1]);
    free(config);
}

void config_free(struct config *config)
{
    while (config) {
        struct config *older = config->older;

        free_one(config);
        config = older;
    }
}

const struct config_option *config_options(size_t *ret_count)
{
    *ret_count = ARRAY_SIZE(options);
    return options;
}

const struct config_option *config_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

void *config_field(const struct config *config, const struct config_option *option)
{
    return (char *)config + option->offset;
}

struct config_source *config_source_of(const struct config *config,
                                       const struct config_option *option)
{
    return &config->sources[option - options];
}

void config_variable(const struct config_option *option, char *text, size_t size)
{
    (void)snprintf(text, size, "BELLJAR_%s", option->name);
    for (char *c = text; *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

int config_set_flag(struct config *config, const char *flag, const char *value, struct error *err)
{
    const char *known[ARRAY_SIZE(options)];
    const char *nearest;

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const struct config_option *option = &options[i];
        const struct config_source source = {.origin = CONFIG_FLAG, .name = option->flag};

        known[i] = option->flag;
        if (!option->flag || strcmp(option->flag, flag) != 0)
            continue;
        if (config_set_text(config, option, &source, value, err) < 0)
            return -1;
        return config->is_loaded ? config_check_ceiling(config, option, err) : 0;
    }
    nearest = suggest_nearest(flag, known, ARRAY_SIZE(known));
    error_set(err, E_INVALID, "unknown option `--%s`", flag);
    return nearest ? error_hint(err, "did you mean `--%s`?", nearest) : -1;
}

enum config_origin config_origin(const struct config *config, const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (strcmp(options[i].name, name) == 0)
            return config->sources[i].origin;
    return CONFIG_DEFAULT;
}

void config_limits(const struct config *config, enum config_origin least, struct run_limits *limits)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (options[i].limit && config->sources[i].origin >= least)
            run_limit_set(limits, options[i].limit, config_number(config, &options[i]));
}

const struct config_option *config_ceiling(const struct config_option *option)
{
    char name[64];

    if (!option->limit)
        return NULL;
    (void)snprintf(name, sizeof(name), "max_%s", option->name);
    return config_find(name);
}

double config_limit_max(const struct config *config, const struct run_limit *limit)
{
    const struct config_option *option = config_find(limit->name);
    const struct config_option *ceiling = option ? config_ceiling(option) : NULL;

    return ceiling ? config_number(config, ceiling) : limit->max;
}

static bool is_yes(const char *word)
{
    return strchr("yt1", *word);
}

bool config_has_names(const struct config *config)
{
    return is_yes(config->reversible_masking);
}

bool config_has_e2b_debug(const struct config *config)
{
    return is_yes(config->e2b_debug);
}

enum run_masking config_masking(const struct config *config)
{
    if (is_yes(config->aggressive_masking) || config_has_names(config))
        return RUN_MASK_ALL;
    return is_yes(config->masking) ? RUN_MASK_SECRETS : RUN_MASK_NOTHING;
}

bool config_is_process_level(const struct config *config)
{
    return config->isolation && strcmp(config->isolation, "process") == 0;
}

int config_environment(const struct config *config, const char *name, const char **ret_python,
                       const struct config_list **ret_preload, struct error *err)
{
    const char *known[64] = {"system"};
    size_t n_known = 1;
    const char *nearest;

    for (size_t i = 0; i < config->n_environments; i++) {
        const struct config_environment *e = &config->environments[i];

        if (strcmp(e->name, name) == 0) {
            *ret_python = e->python;
            *ret_preload = e->has_preload ? &e->preload : &config->preload;
            return 0;
        }
        if (n_known < ARRAY_SIZE(known))
            known[n_known++] = e->name;
    }
    if (strcmp(name, "system") == 0 || strchr(name, '/')) {
        *ret_python = strchr(name, '/') ? name : NULL;
        *ret_preload = &config->preload;
        return 0;
    }
    nearest = suggest_nearest(name, known, n_known);
    error_set(err, E_NOT_FOUND, "there is no environment `%s`", name);
    if (nearest)
        return error_hint(err, "did you mean `%s`?", nearest);
    return error_hint(err,
                      "make it with `belljar environment create %s --with PACKAGE`, define it as "
                      "[environments.%s] in the configuration, or give a path",
                      name, name);
}

int config_parse_grant(const char *text, char **ret_path, enum run_grant_mode *ret_mode,
                       struct error *err)
{
    static const struct {
        const char *text;
        enum run_grant_mode mode;
    } endings[] = {
        {":ro", RUN_GRANT_RO},
        {":rw", RUN_GRANT_RW},
        {":cow", RUN_GRANT_COW},
    };
    enum run_grant_mode mode = RUN_GRANT_RO;
    size_t len = strlen(text);
    char *path;

    for (size_t i = 0; i < ARRAY_SIZE(endings); i++) {
        size_t n = strlen(endings[i].text);

        if (len >= n && strcmp(text + len - n, endings[i].text) == 0) {
            mode = endings[i].mode;
            len -= n;
            break;
        }
    }
    if (len == 0) {
        error_set(err, E_INVALID, "`%s`: expected DIR, DIR:ro, DIR:rw or DIR:cow", text);
        return error_hint(err, "name the directory: /srv/data, or /srv/data:rw");
    }
    path = strndup(text, len);
    if (!path)
        return error_memory(err);
    *ret_path = path;
    *ret_mode = mode;
    return 0;
}

bool config_has_flag(const struct config_option *option, const char *command)
{
    size_t len = strlen(command);

    if (!option->flag || !option->command)
        return option->flag != NULL;
    for (const char *word = option->command; *word; word += strspn(word, " ")) {
        size_t word_len = strcspn(word, " ");

        if (word_len == len && strncmp(word, command, len) == 0)
            return true;
        word += word_len;
    }
    return false;
}

static bool is_seldom_needed(const char *flag)
{
    static const char *const flags[] = {"isolation", "cpu-time", "output", "cpus", "pids", "disk"};

    for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
        if (strcmp(flag, flags[i]) == 0)
            return true;
    return false;
}

void config_print_flags(FILE *out, const char *command, bool is_whole)
{
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const struct config_option *option = &options[i];
        const char *fallback;
        int used;

        if (!config_has_flag(option, command) || (!is_whole && is_seldom_needed(option->flag)))
            continue;
        used = fprintf(out, "  --%s %s", option->flag, option->value);
        (void)fprintf(out, "%*s%s", used < 24 ? 24 - used : 1, "",
                      option->brief ? option->brief : option->help);
        fallback = config_own_fallback(option, command);
        (void)fprintf(out, *fallback ? " (%s)\n" : "\n", fallback);
    }
}

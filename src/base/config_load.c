/* Loads settings from files and the environment. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/config_internal.h"
#include "base/json.h"
#include "base/suggest.h"
#include "base/toml.h"

#define SYSTEM_FILE "/etc/belljar/config.toml"
#define PREFIX      "BELLJAR_"

/* More names than anybody gives; each is looked through for the nearest. */
#define ENVIRONMENTS_MAX 63

/* Of the functions together; each has its own, which is shorter. */
#define HOST_TIMEOUT_S  3601
#define HOST_APPROVAL_S 300

/* A longer name is near to none of ours. */
#define NAME_MAX_BYTES 64

extern char **environ;

/* ---- files ---- */

struct file {
    const char *path; /* of struct config.files */
    json_t *lines;
};

static int unknown_key(const struct file *file, const char *where, const char *key,
                       const char *const *known, size_t count, struct error *err)
{
    const char *nearest = suggest_nearest(key, known, count);

    error_set(err, E_INVALID, "%s:%d: read the unknown option `%s`, expected %s", file->path,
              toml_line(file->lines, where), where,
              count > 4 ? "one that `belljar config` lists" : "`python` or `preload`");
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

static int wrong(const struct file *file, const char *where, const char *expected,
                 struct error *err)
{
    return error_set(err, E_INVALID, "%s:%d: `%s`: expected %s", file->path,
                     toml_line(file->lines, where), where, expected);
}

static int read_preload(const struct file *file, const char *where, const json_t *value,
                        struct config_environment *e, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return wrong(file, where, "an array of module names", err);
    config_list_done(&e->preload);
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return wrong(file, where, "an array of module names", err);
        if (config_list_add(&e->preload, json_string_value(item), json_string_length(item), err) <
            0)
            return -1;
    }
    e->has_preload = true;
    return 0;
}

static int read_environment(const struct file *file, const char *name, json_t *table,
                            struct config_environment *e, struct error *err)
{
    static const char *const known[] = {"python", "preload"};
    const char *key;
    json_t *value;

    json_object_foreach(table, key, value)
    {
        cleanup_free char *where = NULL;
        int r = 0;

        if (asprintf(&where, "environments.%s.%s", name, key) < 0)
            return error_memory(err);
        if (strcmp(key, "preload") == 0) {
            r = read_preload(file, where, value, e, err);
        } else if (strcmp(key, "python") == 0) {
            if (!json_is_string(value) || json_string_value(value)[0] != '/')
                return wrong(file, where, "the absolute path of an interpreter or its prefix", err);
            free(e->python);
            e->python = strdup(json_string_value(value));
            r = e->python ? 0 : error_memory(err);
        } else {
            r = unknown_key(file, where, key, known, ARRAY_SIZE(known), err);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* The entry of that name, new when a weaker file has not made it. */
static struct config_environment *environment_slot(struct config *config, const char *name)
{
    struct config_environment *grown;

    for (size_t i = 0; i < config->n_environments; i++)
        if (strcmp(config->environments[i].name, name) == 0)
            return &config->environments[i];
    grown = realloc(config->environments, (config->n_environments + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    config->environments = grown;
    grown += config->n_environments;
    *grown = (struct config_environment){.name = strdup(name)};
    if (!grown->name)
        return NULL;
    config->n_environments++;
    return grown;
}

static int read_environments(struct config *config, const struct file *file, json_t *tables,
                             struct error *err)
{
    const char *name;
    json_t *table;

    if (!json_is_object(tables))
        return wrong(file, "environments", "tables of the form [environments.NAME]", err);
    json_object_foreach(tables, name, table)
    {
        cleanup_free char *where = NULL;
        struct config_environment *e;

        if (asprintf(&where, "environments.%s", name) < 0)
            return error_memory(err);
        if (!json_is_object(table))
            return wrong(file, where, "a table with `python` and `preload`", err);
        if (config->n_environments >= ENVIRONMENTS_MAX)
            return error_set(err, E_TOO_LARGE, "%s: more than %d environments", file->path,
                             ENVIRONMENTS_MAX);
        e = environment_slot(config, name);
        if (!e)
            return error_memory(err);
        if (read_environment(file, name, table, e, err) < 0)
            return -1;
    }
    return 0;
}

/* The entry of that name, the weaker file's or a new one; NULL: there are too many. */
static struct config_server *server_slot(struct config *config, const char *name)
{
    for (size_t i = 0; i < config->n_servers; i++)
        if (strcmp(config->servers[i].name, name) == 0)
            return &config->servers[i];
    return config->n_servers < CONFIG_SERVERS_MAX ? &config->servers[config->n_servers] : NULL;
}

static int read_servers(struct config *config, const struct file *file, json_t *tables,
                        struct error *err)
{
    const char *name;
    json_t *table;

    if (!json_is_object(tables))
        return wrong(file, "servers", "tables of the form [servers.NAME]", err);
    json_object_foreach(tables, name, table)
    {
        struct config_server *server = server_slot(config, name);

        if (!server)
            return error_set(err, E_TOO_LARGE, "%s: more than %d servers", file->path,
                             CONFIG_SERVERS_MAX);
        /* Counted first: what was read of one that is wrong is freed with the rest. */
        if (server == &config->servers[config->n_servers])
            config->n_servers++;
        if (config_server_read(server, file->path, file->lines, name, table, err) < 0)
            return -1;
    }
    return 0;
}

/* All of them are the tools of one server. */
static struct config_server *host_server(struct config *config, struct error *err)
{
    struct config_server *server = server_slot(config, CONFIG_HOST);

    if (!server) {
        error_set(err, E_TOO_LARGE, "more than %d servers", CONFIG_SERVERS_MAX);
        return NULL;
    }
    if (server == &config->servers[config->n_servers]) {
        *server = (struct config_server){.name = strdup(CONFIG_HOST),
                                         .timeout_s = HOST_TIMEOUT_S,
                                         .approval_s = HOST_APPROVAL_S,
                                         .era = CONFIG_ERA_LEGACY,
                                         .tools = json_object()};
        server->functions = calloc(CONFIG_FUNCTIONS_MAX, sizeof(*server->functions));
        config->n_servers++;
    }
    if (server->name && server->tools && server->functions)
        return server;
    error_memory(err);
    return NULL;
}

/* Its place, the weaker file's or a new one. */
static struct config_function *function_slot(struct config_server *server, const char *name)
{
    for (size_t i = 0; i < server->n_functions; i++)
        if (strcmp(server->functions[i].name, name) == 0)
            return &server->functions[i];
    return server->n_functions < CONFIG_FUNCTIONS_MAX ? &server->functions[server->n_functions++]
                                                      : NULL;
}

static int read_functions(struct config *config, const struct file *file, json_t *tables,
                          struct error *err)
{
    struct config_server *server = host_server(config, err);
    const char *name;
    json_t *table;

    if (!server)
        return -1;
    if (!json_is_object(tables))
        return wrong(file, "functions", "tables of the form [functions.NAME]", err);
    json_object_foreach(tables, name, table)
    {
        struct config_function *function = function_slot(server, name);

        if (!function)
            return error_set(err, E_TOO_LARGE, "%s: more than %d functions", file->path,
                             CONFIG_FUNCTIONS_MAX);
        if (config_function_read(function, file->path, file->lines, name, table, err) < 0)
            return -1;
        if (json_object_set_new(server->tools, name, json_integer(function->consent)) < 0)
            return error_memory(err);
    }
    return 0;
}

static int read_key(struct config *config, const struct file *file, const char *key, json_t *value,
                    struct error *err)
{
    const struct config_option *option = config_find(key);
    const struct config_source source = {
        .origin = CONFIG_FILE, .file = file->path, .line = toml_line(file->lines, key)};
    const struct config_option *options;
    const char *known[CONFIG_OPTIONS_MAX];
    size_t count;

    if (option)
        return config_set_json(config, option, &source, value, err);
    if (strcmp(key, "environments") == 0)
        return read_environments(config, file, value, err);
    if (strcmp(key, "servers") == 0)
        return read_servers(config, file, value, err);
    if (strcmp(key, "functions") == 0)
        return read_functions(config, file, value, err);
    options = config_options(&count);
    for (size_t i = 0; i < count; i++)
        known[i] = options[i].name;
    return unknown_key(file, key, key, known, count, err);
}

/* `is_required`: a file the operator named must exist; the usual ones need not. */
static int read_file(struct config *config, char **slot, const char *path, bool is_required,
                     struct error *err)
{
    cleanup_error struct error mistake = {0};
    cleanup_json json_t *tree = NULL;
    cleanup_json json_t *lines = NULL;
    struct file file;
    const char *key;
    json_t *value;

    if (toml_load_lines(path, &tree, &lines, &mistake) < 0) {
        if (mistake.code == E_NOT_FOUND && !is_required)
            return 0;
        error_move(err, &mistake);
        return -1;
    }
    free(*slot);
    *slot = strdup(path);
    if (!*slot)
        return error_memory(err);
    file = (struct file){*slot, lines};
    json_object_foreach(tree, key, value)
    {
        if (read_key(config, &file, key, value, err) < 0)
            return -1;
    }
    return 0;
}

/* A relative XDG_CONFIG_HOME is to be ignored, says its specification. */
static char *user_file(void)
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int r = -1;

    if (base && *base == '/')
        r = asprintf(&path, "%s/belljar/config.toml", base);
    else if (home && *home == '/')
        r = asprintf(&path, "%s/.config/belljar/config.toml", home);
    return r < 0 ? NULL : path;
}

static int read_files(struct config *config, const char *path, struct error *err)
{
    cleanup_free char *user = NULL;

    if (path)
        return read_file(config, &config->files[0], path, true, err);
    if (read_file(config, &config->files[0], SYSTEM_FILE, false, err) < 0)
        return -1;
    user = user_file();
    return user ? read_file(config, &config->files[1], user, false, err) : 0;
}

/* ---- environment ---- */

/* `alias`: NULL for BELLJAR_<NAME>. */
static int read_variable(struct config *config, const struct config_option *option,
                         const char *alias, bool *ret_is_set, struct error *err)
{
    const struct config_source source = {.origin = CONFIG_ENVIRONMENT, .name = alias};
    char name[NAME_MAX_BYTES];
    const char *value;

    config_variable(option, name, sizeof(name));
    value = getenv(alias ? alias : name);
    /* Set to nothing is how shells unset; but an empty list is a wish, and a strict one. */
    if (!value || (!*value && option->type != CONFIG_LIST))
        return 0;
    *ret_is_set = true;
    return config_set_text(config, option, &source, value, err);
}

/* CodeRunner has its address in two variables. Beyond loopback the usual rules hold: TLS and a
 * token. */
static int read_coderunner_address(struct config *config, struct error *err)
{
    const char *host = getenv("CODERUNNER_FASTMCP_HOST"), *port = getenv("CODERUNNER_FASTMCP_PORT"),
               *ours = getenv(PREFIX "LISTEN");
    const struct config_source source = {.origin = CONFIG_ENVIRONMENT,
                                         .name = host && *host ? "CODERUNNER_FASTMCP_HOST"
                                                               : "CODERUNNER_FASTMCP_PORT"};
    bool has_host = host && *host, has_port = port && *port;
    bool is_v6 = has_host && strchr(host, ':') && *host != '[';
    char address[512];

    if ((ours && *ours) || (!has_host && !has_port))
        return 0;
    (void)snprintf(address, sizeof(address), "%s%s%s:%s", is_v6 ? "[" : "",
                   has_host ? host : "127.0.0.1", is_v6 ? "]" : "", has_port ? port : "8222");
    return config_set_text(config, config_find("listen"), &source, address, err);
}

static int read_variables(struct config *config, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        bool is_set = false;

        if (read_variable(config, &options[i], NULL, &is_set, err) < 0)
            return -1;
        for (size_t j = 0; !is_set && options[i].aliases[j]; j++)
            if (read_variable(config, &options[i], options[i].aliases[j], &is_set, err) < 0)
                return -1;
    }
    return read_coderunner_address(config, err);
}

/* A variable with our prefix that is almost an option is a slip, and a limit that is silently not
 * set is a bad one. What is near to nothing is left alone: it may be meant for another program. */
static int find_slips(struct error *err)
{
    const char *known[CONFIG_OPTIONS_MAX];
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++)
        known[i] = options[i].name;
    for (char **entry = environ; entry && *entry; entry++) {
        const char *name = *entry + strlen(PREFIX);
        size_t len = strncmp(*entry, PREFIX, strlen(PREFIX)) == 0 ? strcspn(name, "=") : 0;
        char word[NAME_MAX_BYTES], variable[NAME_MAX_BYTES];
        const char *nearest;

        if (len == 0 || len >= sizeof(word))
            continue;
        (void)snprintf(word, sizeof(word), "%.*s", (int)len, name);
        nearest = suggest_nearest(word, known, count);
        if (!nearest)
            continue;
        config_variable(config_find(nearest), variable, sizeof(variable));
        if (strcmp(variable + strlen(PREFIX), word) == 0)
            continue;
        error_set(err, E_INVALID,
                  "environment variable `" PREFIX
                  "%s`: read an unknown name, expected that of an option",
                  word);
        return error_hint(err, "did you mean `%s`?", variable);
    }
    return 0;
}

/* Defaults that the systems of `mcp_compat` promise their programs. */
static const struct {
    const char *compat, *option, *value;
} compat_rules[] = {
    {"marketplace", "profile", "marketplace"}, /* 256 MB, 30 s */
    {"cms", "profile", "cms"},                 /* 256 MB, 5 s, half a core */
    {"pyrunner", "profile", "pyrunner"},       /* 50 descriptors */
    {"coderunner", "profile", "open"},
    {"coderunner", "timeout_s", "300"},
    {"coderunner", "hosts", "coderunner.local"},
};

static int apply_compat(struct config *config, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(compat_rules); i++) {
        const struct config_source source = {.origin = CONFIG_COMPAT,
                                             .name = compat_rules[i].compat};

        if (strcmp(config->mcp_compat, compat_rules[i].compat) == 0 &&
            config_set_text(config, config_find(compat_rules[i].option), &source,
                            compat_rules[i].value, err) < 0)
            return -1;
    }
    return 0;
}

int config_load(struct config *config, const char *path, struct error *err)
{
    size_t count;
    const struct config_option *options = config_options(&count);

    if (read_files(config, path, err) < 0 || read_variables(config, err) < 0 ||
        find_slips(err) < 0 || apply_compat(config, err) < 0)
        return -1;
    config_apply_machine(config);
    for (size_t i = 0; i < count; i++)
        if (config_check_ceiling(config, &options[i], err) < 0)
            return -1;
    config->is_loaded = true;
    return 0;
}

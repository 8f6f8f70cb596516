#include "base/config_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/config_function.h"
#include "base/config_place.h"
#include "base/limits.h"

#define TIMEOUT_S      60
#define TIMEOUT_S_MAX  3600
#define APPROVAL_S     300
#define APPROVAL_S_MAX 86400

/* --- strings and lists of them --- */

static int read_args(const struct config_place *place, struct config_server *server,
                     const json_t *value, struct error *err)
{
    size_t n = 1; /* after the command */

    return config_place_words(place, "args", value, &server->argv, &n, err);
}

/* --- the keys --- */

static int read_era(const struct config_place *place, struct config_server *server,
                    const json_t *value, struct error *err)
{
    static const char *const names[] = {"auto", "legacy", "modern"};
    const char *name = json_string_value(value);

    for (size_t i = 0; name && i < ARRAY_SIZE(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            server->era = (enum config_era)i;
            return 0;
        }
    }
    return config_place_wrong(place, "era", "`auto`, `legacy` or `modern`", err);
}

static int read_tools(const struct config_place *place, struct config_server *server,
                      const json_t *table, struct error *err)
{
    static const char *const words[] = {"auto", "allow", "ask", "deny"};
    const char *tool;
    json_t *value;

    if (!json_is_object(table))
        return config_place_wrong(place, "tools", "a table of tools with `allow`, `ask` or `deny`",
                                  err);
    json_object_foreach((json_t *)table, tool, value)
    {
        size_t i = 0;

        while (i < ARRAY_SIZE(words) &&
               !(json_is_string(value) && strcmp(json_string_value(value), words[i]) == 0))
            i++;
        if (i == ARRAY_SIZE(words))
            return config_place_wrong(place, "tools",
                                      "`allow`, `ask`, `deny` or `auto` for each tool", err);
        if (json_object_set_new(server->tools, tool, json_integer((json_int_t)i)) < 0)
            return error_memory(err);
    }
    return 0;
}

static int read_key(const struct config_place *place, struct config_server *server, const char *key,
                    const json_t *value, struct error *err)
{
    static const char *const known[] = {"command", "args",      "env",        "cwd", "url",
                                        "headers", "timeout_s", "approval_s", "era", "tools"};

    if (strcmp(key, "command") == 0)
        return 0; /* comes first: see read_command() */
    if (strcmp(key, "args") == 0)
        return read_args(place, server, value, err);
    if (strcmp(key, "env") == 0)
        return config_place_pairs(place, key, value, "=", &server->env, err);
    if (strcmp(key, "headers") == 0)
        return config_place_pairs(place, key, value, ": ", &server->headers, err);
    if (strcmp(key, "cwd") == 0)
        return config_place_text(place, key, value, "a directory", &server->cwd, err);
    if (strcmp(key, "url") == 0)
        return config_place_text(place, key, value, "an http or https URL", &server->url, err);
    if (strcmp(key, "timeout_s") == 0)
        return config_place_number(place, key, value, "seconds", TIMEOUT_S_MAX, &server->timeout_s,
                                   err);
    if (strcmp(key, "approval_s") == 0)
        return config_place_number(place, key, value, "seconds", APPROVAL_S_MAX,
                                   &server->approval_s, err);
    if (strcmp(key, "era") == 0)
        return read_era(place, server, value, err);
    if (strcmp(key, "tools") == 0)
        return read_tools(place, server, value, err);
    return config_place_unknown(place, key, known, ARRAY_SIZE(known), err);
}

/* Checks the options of a server against each other. */
static int check(const struct config_place *place, const struct config_server *server,
                 struct error *err)
{
    bool is_url = server->url && (strncmp(server->url, "http://", 7) == 0 ||
                                  strncmp(server->url, "https://", 8) == 0);

    if (!server->argv == !server->url)
        return config_place_wrong(place, NULL, "either a `command` or a `url`", err);
    if (server->url && !is_url)
        return config_place_wrong(place, "url", "an http or https URL", err);
    if (server->url && (server->env || server->cwd))
        return config_place_wrong(place, NULL, "`env` and `cwd` only with a `command`", err);
    if (server->argv && server->headers)
        return config_place_wrong(place, NULL, "`headers` only with a `url`", err);
    if (server->argv && server->argv[0][0] != '/' && strchr(server->argv[0], '/'))
        return config_place_wrong(place, "command",
                                  "an absolute path, or a name to look for in PATH", err);
    if (server->cwd && server->cwd[0] != '/')
        return config_place_wrong(place, "cwd", "an absolute path", err);
    return 0;
}

/* Programs import it by this name; further rules of Python's are looked after inside. */
static bool is_name(const char *name)
{
    return config_name_is_sound(name, CONFIG_SERVER_NAME_MAX) && strcmp(name, "search") != 0 &&
           strcmp(name, "names") != 0 && strcmp(name, CONFIG_HOST) != 0;
}

static int read_table(const struct config_place *place, struct config_server *server, json_t *table,
                      struct error *err)
{
    const json_t *command = json_object_get(table, "command");
    cleanup_free char *program = NULL;
    const char *key;
    json_t *value;
    size_t n = 0;

    server->tools = json_object();
    if (!server->name || !server->tools)
        return error_memory(err);
    if (json_object_get(table, "args") && !command)
        return config_place_wrong(place, "args", "them only with a `command`", err);
    if (command && (config_place_text(place, "command", command, "a program", &program, err) < 0 ||
                    config_words_add(&server->argv, &n, program, err) < 0))
        return -1;
    json_object_foreach(table, key, value)
    {
        if (read_key(place, server, key, value, err) < 0)
            return -1;
    }
    return check(place, server, err);
}

int config_server_read(struct config_server *server, const char *path, const json_t *lines,
                       const char *name, json_t *table, struct error *err)
{
    const struct config_place place = {"servers", path, lines, name};

    if (!json_is_object(table))
        return config_place_wrong(&place, NULL, "a table with a `command` or a `url`", err);
    if (!is_name(name))
        return config_place_wrong(
            &place, NULL,
            "a name of lower-case letters, digits and `_`, other than host, search and names", err);
    config_server_done(server);
    *server = (struct config_server){
        .name = strdup(name), .timeout_s = TIMEOUT_S, .approval_s = APPROVAL_S};
    return read_table(&place, server, table, err);
}

void config_server_done(struct config_server *server)
{
    free(server->name);
    config_words_free(server->argv);
    config_words_free(server->env);
    config_words_free(server->headers);
    free(server->cwd);
    free(server->url);
    json_decref(server->tools);
    for (size_t i = 0; i < server->n_functions; i++)
        config_function_done(&server->functions[i]);
    free(server->functions);
    *server = (struct config_server){0};
}

enum config_consent config_server_consent(const struct config_server *server, const char *tool)
{
    const json_t *said = json_object_get(server->tools, tool);

    if (!said)
        said = json_object_get(server->tools, "*");
    return said ? (enum config_consent)json_integer_value(said) : CONFIG_AUTO;
}

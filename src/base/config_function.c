#include "base/config_function.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config_place.h"
#include "base/json.h"
#include "base/json_schema.h"

#define TIMEOUT_S     30
#define TIMEOUT_S_MAX 3600
#define RATE_MAX      100000
#define NAME_BYTES    64

static const char *const severities[] = {"read_only", "low", "medium", "high", "destructive"};

static int read_words(const struct config_place *place, const char *key, const json_t *value,
                      char ***ret_list, struct error *err)
{
    size_t n = 0;

    if (!json_array_size(value))
        return config_place_wrong(place, key, "an array of strings", err);
    return config_place_words(place, key, value, ret_list, &n, err);
}

static int read_severity(const struct config_place *place, const json_t *value,
                         struct config_function *function, struct error *err)
{
    for (size_t i = 0; json_is_string(value) && i < ARRAY_SIZE(severities); i++)
        if (strcmp(json_string_value(value), severities[i]) == 0)
            return config_place_text(place, "severity", value, "a text", &function->severity, err);
    return config_place_wrong(place, "severity", "read_only, low, medium, high or destructive",
                              err);
}

static int read_approval(const struct config_place *place, const json_t *value,
                         struct config_function *function, struct error *err)
{
    static const struct {
        const char *word;
        enum config_consent consent;
    } words[] = {
        {"auto", CONFIG_AUTO},
        {"never", CONFIG_ALLOW},
        {"always", CONFIG_ASK},
    };

    for (size_t i = 0; json_is_string(value) && i < ARRAY_SIZE(words); i++)
        if (strcmp(json_string_value(value), words[i].word) == 0) {
            function->consent = words[i].consent;
            return 0;
        }
    return config_place_wrong(place, "approval", "auto, never or always", err);
}

/* A parameter without a default is required. */
static int read_parameters(const struct config_place *place, json_t *value,
                           struct config_function *function, struct error *err)
{
    cleanup_json json_t *required = json_array();
    const char *name;
    json_t *one;

    if (!json_is_object(value))
        return config_place_wrong(place, "parameters", "a table of parameters", err);
    json_object_foreach(value, name, one)
    {
        if (!json_object_get(one, "default"))
            (void)json_array_append_new(required, json_string(name));
    }
    json_decref(function->schema);
    function->schema =
        json_pack("{s:s, s:O, s:O}", "type", "object", "properties", value, "required", required);
    if (!function->schema)
        return error_memory(err);
    if (json_schema_check(function->schema, function->name, err) < 0)
        return error_wrap(err, "%s", place->path);
    return 0;
}

static int read_key(const struct config_place *place, const char *key, json_t *value,
                    struct config_function *function, struct error *err)
{
    static const char *const known[] = {"description", "command",    "request", "headers",
                                        "parameters",  "session",    "callers", "severity",
                                        "timeout_s",   "per_minute", "approval"};

    if (strcmp(key, "description") == 0)
        return config_place_text(place, key, value, "a text", &function->description, err);
    if (strcmp(key, "command") == 0)
        return read_words(place, key, value, &function->argv, err);
    if (strcmp(key, "request") == 0)
        return config_place_text(place, key, value, "`METHOD URL`", &function->request, err);
    if (strcmp(key, "headers") == 0)
        return config_place_pairs(place, key, value, ": ", &function->headers, err);
    if (strcmp(key, "parameters") == 0)
        return read_parameters(place, value, function, err);
    if (strcmp(key, "session") == 0)
        return config_place_text(place, key, value, "a text", &function->session, err);
    if (strcmp(key, "callers") == 0)
        return read_words(place, key, value, &function->callers, err);
    if (strcmp(key, "severity") == 0)
        return read_severity(place, value, function, err);
    if (strcmp(key, "timeout_s") == 0)
        return config_place_number(place, key, value, "seconds", TIMEOUT_S_MAX,
                                   &function->timeout_s, err);
    if (strcmp(key, "per_minute") == 0)
        return config_place_number(place, key, value, "calls", RATE_MAX, &function->per_minute,
                                   err);
    if (strcmp(key, "approval") == 0)
        return read_approval(place, value, function, err);
    return config_place_unknown(place, key, known, ARRAY_SIZE(known), err);
}

/* Each `{name}` has to be an argument, or would be passed on as it stands. */
static int check_word(const struct config_place *place, const struct config_function *function,
                      const char *key, const char *word, struct error *err)
{
    const json_t *properties = json_object_get(function->schema, "properties");

    for (const char *open = strchr(word, '{'); open; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        char name[NAME_BYTES];

        (void)snprintf(name, sizeof(name), "%.*s", close ? (int)(close - open) - 1 : 0, open + 1);
        if (!close || (!json_object_get(properties, name) &&
                       !(function->session && strcmp(function->session, name) == 0)))
            return config_place_wrong(place, key, "only parameters in {…}", err);
    }
    return 0;
}

/* The host and the method are fixed. */
static bool is_request(const char *text)
{
    size_t method = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    const char *url = text[method] == ' ' && method ? text + method + 1 : "";
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : "";
    size_t len = strcspn(host, "/");

    return len && host[len] == '/' && strcspn(host, "{?#@ ") >= len && !strpbrk(host, " \r\n\t#");
}

static int check(const struct config_place *place, const struct config_function *function,
                 struct error *err)
{
    if (!function->argv == !function->request || !function->description)
        return config_place_wrong(place, NULL, "a `description`, and a `command` or a `request`",
                                  err);
    if (function->argv && (function->argv[0][0] != '/' || strchr(function->argv[0], '{')))
        return config_place_wrong(place, "command", "the absolute path of a program first", err);
    if (function->request && !is_request(function->request))
        return config_place_wrong(place, "request",
                                  "`METHOD URL`, http or https, with {…} only after the host", err);
    if (function->headers && !function->request)
        return config_place_wrong(place, "headers", "them only with a `request`", err);
    if (function->session &&
        json_object_get(json_object_get(function->schema, "properties"), function->session))
        return config_place_wrong(place, "session", "a name that is not a parameter", err);
    for (char **word = function->argv; word && *word; word++)
        if (check_word(place, function, "command", *word, err) < 0)
            return -1;
    return function->request ? check_word(place, function, "request", function->request, err) : 0;
}

int config_function_read(struct config_function *function, const char *path, const json_t *lines,
                         const char *name, json_t *table, struct error *err)
{
    const struct config_place place = {"functions", path, lines, name};
    const char *key;
    json_t *value;

    if (!config_name_is_sound(name, NAME_BYTES))
        return config_place_wrong(&place, NULL, "a name of lower-case letters, digits and `_`",
                                  err);
    if (!json_is_object(table))
        return config_place_wrong(&place, NULL, "a table with a `description`", err);
    config_function_done(function);
    *function = (struct config_function){
        .name = strdup(name),
        .timeout_s = TIMEOUT_S,
        .schema = json_pack("{s:s, s:{}}", "type", "object", "properties")};
    if (!function->name || !function->schema)
        return error_memory(err);
    json_object_foreach(table, key, value)
    {
        if (read_key(&place, key, value, function, err) < 0)
            return -1;
    }
    return check(&place, function, err);
}

void config_function_done(struct config_function *function)
{
    free(function->name);
    free(function->description);
    free(function->session);
    free(function->severity);
    config_words_free(function->argv);
    config_words_free(function->headers);
    free(function->request);
    config_words_free(function->callers);
    json_decref(function->schema);
    *function = (struct config_function){0};
}

bool config_function_serves(const struct config_function *function, const char *profile,
                            const char *owner)
{
    for (char **caller = function->callers; caller && *caller; caller++)
        if ((profile && strcmp(*caller, profile) == 0) || (owner && strcmp(*caller, owner) == 0))
            return true;
    return !function->callers;
}

#include "base/config_function.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/json_schema.h"
#include "base/suggest.h"
#include "base/toml.h"

#define TIMEOUT_S     30
#define TIMEOUT_S_MAX 3600
#define RATE_MAX      100000
#define NAME_BYTES    64
#define WORDS_MAX     128

static const char *const severities[] = {"read_only", "low", "medium", "high", "destructive"};

struct place {
    const char *path;
    const json_t *lines;
    const char *name;
};

static int wrong(const struct place *place, const char *key, const char *expected,
                 struct error *err)
{
    char where[160];

    (void)snprintf(where, sizeof(where), "functions.%s%s%s", place->name, key ? "." : "",
                   key ? key : "");
    return error_set(err, E_INVALID, "%s:%d: `%s`: read something else, expected %s", place->path,
                     toml_line(place->lines, where), where, expected);
}

static int no_memory(struct error *err)
{
    return error_set(err, E_SYSTEM, "out of memory");
}

static int read_text(const struct place *place, const char *key, const json_t *value,
                     char **ret_text, struct error *err)
{
    if (!json_is_string(value) || !*json_string_value(value))
        return wrong(place, key, "a text", err);
    *ret_text = strdup(json_string_value(value));
    return *ret_text ? 0 : no_memory(err);
}

static int read_number(const struct place *place, const char *key, const json_t *value, double max,
                       double *ret_number, struct error *err)
{
    if (!json_is_number(value) || json_number_value(value) < 1 || json_number_value(value) > max)
        return wrong(place, key, "a number from 1 on that is not too large", err);
    *ret_number = json_number_value(value);
    return 0;
}

static int read_words(const struct place *place, const char *key, const json_t *value,
                      char ***ret_list, struct error *err)
{
    size_t count = json_array_size(value);

    if (!count || count > WORDS_MAX)
        return wrong(place, key, "an array of texts", err);
    *ret_list = calloc(count + 1, sizeof(**ret_list));
    if (!*ret_list)
        return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *word = json_array_get(value, i);

        if (!json_is_string(word))
            return wrong(place, key, "an array of texts", err);
        (*ret_list)[i] = strdup(json_string_value(word));
        if (!(*ret_list)[i])
            return no_memory(err);
    }
    return 0;
}

static int read_severity(const struct place *place, const json_t *value,
                         struct config_function *function, struct error *err)
{
    for (size_t i = 0; json_is_string(value) && i < ARRAY_SIZE(severities); i++)
        if (strcmp(json_string_value(value), severities[i]) == 0)
            return read_text(place, "severity", value, &function->severity, err);
    return wrong(place, "severity", "read_only, low, medium, high or destructive", err);
}

static int read_approval(const struct place *place, const json_t *value,
                         struct config_function *function, struct error *err)
{
    static const struct {
        const char *word;
        enum config_consent consent;
    } words[] = {
        {"auto",   CONFIG_AUTO },
        {"never",  CONFIG_ALLOW},
        {"always", CONFIG_ASK  },
    };

    for (size_t i = 0; json_is_string(value) && i < ARRAY_SIZE(words); i++)
        if (strcmp(json_string_value(value), words[i].word) == 0) {
            function->consent = words[i].consent;
            return 0;
        }
    return wrong(place, "approval", "auto, never or always", err);
}

/* What has no default is required. */
static int read_parameters(const struct place *place, json_t *value,
                           struct config_function *function, struct error *err)
{
    json_t *required = json_array();
    const char *name;
    json_t *one;

    if (!json_is_object(value)) {
        json_decref(required);
        return wrong(place, "parameters", "a table of parameters", err);
    }
    json_object_foreach(value, name, one)
    {
        if (!json_object_get(one, "default"))
            (void)json_array_append_new(required, json_string(name));
    }
    json_decref(function->schema);
    function->schema =
        json_pack("{s:s, s:O, s:o}", "type", "object", "properties", value, "required", required);
    if (!function->schema)
        return no_memory(err);
    if (json_schema_check(function->schema, function->name, err) < 0)
        return error_wrap(err, "%s", place->path);
    return 0;
}

static int read_key(const struct place *place, const char *key, json_t *value,
                    struct config_function *function, struct error *err)
{
    static const char *const known[] = {"description", "command",    "parameters",
                                        "session",     "callers",    "severity",
                                        "timeout_s",   "per_minute", "approval"};
    const char *nearest;

    if (strcmp(key, "description") == 0)
        return read_text(place, key, value, &function->description, err);
    if (strcmp(key, "command") == 0)
        return read_words(place, key, value, &function->argv, err);
    if (strcmp(key, "parameters") == 0)
        return read_parameters(place, value, function, err);
    if (strcmp(key, "session") == 0)
        return read_text(place, key, value, &function->session, err);
    if (strcmp(key, "callers") == 0)
        return read_words(place, key, value, &function->callers, err);
    if (strcmp(key, "severity") == 0)
        return read_severity(place, value, function, err);
    if (strcmp(key, "timeout_s") == 0)
        return read_number(place, key, value, TIMEOUT_S_MAX, &function->timeout_s, err);
    if (strcmp(key, "per_minute") == 0)
        return read_number(place, key, value, RATE_MAX, &function->per_minute, err);
    if (strcmp(key, "approval") == 0)
        return read_approval(place, value, function, err);
    (void)wrong(place, key, "an option of functions", err);
    nearest = suggest_nearest(key, known, ARRAY_SIZE(known));
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

/* Each `{name}` has to be an argument, or would be passed on as it stands. */
static int check_word(const struct place *place, const struct config_function *function,
                      const char *word, struct error *err)
{
    const json_t *properties = json_object_get(function->schema, "properties");

    for (const char *open = strchr(word, '{'); open; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        char name[NAME_BYTES];

        (void)snprintf(name, sizeof(name), "%.*s", close ? (int)(close - open) - 1 : 0, open + 1);
        if (!close || (!json_object_get(properties, name) &&
                       !(function->session && strcmp(function->session, name) == 0)))
            return wrong(place, "command", "only parameters in {…}", err);
    }
    return 0;
}

static int check(const struct place *place, const struct config_function *function,
                 struct error *err)
{
    if (!function->argv || !function->description)
        return wrong(place, NULL, "a `command` and a `description`", err);
    if (function->argv[0][0] != '/' || strchr(function->argv[0], '{'))
        return wrong(place, "command", "the absolute path of a program first", err);
    if (function->session &&
        json_object_get(json_object_get(function->schema, "properties"), function->session))
        return wrong(place, "session", "a name that is no parameter", err);
    for (char **word = function->argv; *word; word++)
        if (check_word(place, function, *word, err) < 0)
            return -1;
    return 0;
}

static bool is_name(const char *name)
{
    size_t len = strlen(name);

    if (!len || len >= NAME_BYTES || !islower((unsigned char)*name))
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

int config_function_read(struct config_function *function, const char *path, const json_t *lines,
                         const char *name, json_t *table, struct error *err)
{
    const struct place place = {path, lines, name};
    const char *key;
    json_t *value;

    if (!is_name(name))
        return wrong(&place, NULL, "a name of lower-case letters, digits and `_`", err);
    if (!json_is_object(table))
        return wrong(&place, NULL, "a table with a `command` and a `description`", err);
    config_function_done(function);
    *function = (struct config_function){
        .name = strdup(name),
        .timeout_s = TIMEOUT_S,
        .schema = json_pack("{s:s, s:{}}", "type", "object", "properties")};
    if (!function->name || !function->schema)
        return no_memory(err);
    json_object_foreach(table, key, value)
    {
        if (read_key(&place, key, value, function, err) < 0)
            return -1;
    }
    return check(&place, function, err);
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

void config_function_done(struct config_function *function)
{
    free(function->name);
    free(function->description);
    free(function->session);
    free(function->severity);
    free_words(function->argv);
    free_words(function->callers);
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

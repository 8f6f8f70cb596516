#include "mask/operator_rules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/suggest.h"
#include "base/toml.h"

struct source {
    struct operator_rules *own;
    const char *path;
    json_t *lines;
};

static int wrong(const struct source *source, const char *where, const char *expected,
                 struct error *err)
{
    return error_set(err, E_INVALID, "%s:%d: `%s`: expected %s", source->path,
                     toml_line(source->lines, where), where, expected);
}

static int unknown(const struct source *source, const char *where, const char *key,
                   const char *const *known, size_t count, struct error *err)
{
    const char *nearest = suggest_nearest(key, known, count);

    error_set(err, E_INVALID, "%s:%d: read the unknown name `%s`", source->path,
              toml_line(source->lines, where), where);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

int operator_rules_add(struct operator_rules *own, const char *value, size_t len, struct error *err)
{
    if (!own->values)
        own->values = masker_values_new();
    if (!own->values)
        return error_memory(err);
    return masker_values_add(own->values, value, len, err);
}

/* Never the value itself: it would stand in a message. */
static int add_value(const struct source *source, const char *where, const char *value, size_t len,
                     struct error *err)
{
    if (operator_rules_add(source->own, value, len, err) == 0)
        return 0;
    return error_wrap(err, "%s:%d: `%s`", source->path, toml_line(source->lines, where), where);
}

/* For those who use it by its name. */
static int name_value(const struct source *source, const char *name, json_t *value,
                      struct error *err)
{
    if (!source->own->secrets)
        source->own->secrets = json_object();
    if (value && source->own->secrets &&
        json_object_set_new(source->own->secrets, name, value) == 0)
        return 0;
    return error_memory(err);
}

static int read_secrets(const struct source *source, json_t *table, struct error *err)
{
    const char *name;
    json_t *value;

    if (!json_is_object(table))
        return wrong(source, "secrets", "a table of names and values", err);
    json_object_foreach(table, name, value)
    {
        cleanup_free char *where = NULL;

        if (asprintf(&where, "secrets.%s", name) < 0)
            return error_memory(err);
        if (!json_is_string(value))
            return wrong(source, where, "a string", err);
        if (add_value(source, where, json_string_value(value), json_string_length(value), err) <
                0 ||
            name_value(source, name, json_incref(value), err) < 0)
            return -1;
    }
    return 0;
}

const char *operator_rules_secret(const struct operator_rules *own, const char *name, size_t len)
{
    cleanup_free char *copy = strndup(name, len);

    return copy && own->secrets ? json_string_value(json_object_get(own->secrets, copy)) : NULL;
}

/* A variable that is not set, or empty, has nothing to hide. */
static int add_variable(const struct source *source, const char *where, const char *name,
                        struct error *err)
{
    const char *value = getenv(name);

    if (!value || !*value)
        return 0;
    if (add_value(source, where, value, strlen(value), err) < 0)
        return -1;
    return name_value(source, name, json_string(value), err);
}

static int read_list(const struct source *source, const char *key, const json_t *list,
                     struct error *err)
{
    bool are_values = strcmp(key, "values") == 0;
    const json_t *item;
    size_t i;

    if (!json_is_array(list))
        return wrong(source, key, "an array of strings", err);
    json_array_foreach(list, i, item)
    {
        cleanup_free char *where = NULL;
        int r;

        if (asprintf(&where, "%s[%zu]", key, i) < 0)
            return error_memory(err);
        if (!json_is_string(item))
            return wrong(source, where, "a string", err);
        r = are_values
                ? add_value(source, where, json_string_value(item), json_string_length(item), err)
                : add_variable(source, where, json_string_value(item), err);
        if (r < 0)
            return -1;
    }
    return 0;
}

static int read_rule(const struct source *source, const char *name, json_t *table,
                     struct error *err)
{
    static const char *const known[] = {"pattern", "context"};
    const char *texts[ARRAY_SIZE(known)] = {NULL, NULL}, *key;
    cleanup_free char *rule = NULL;
    json_t *value;

    if (asprintf(&rule, "rules.%s", name) < 0)
        return error_memory(err);
    json_object_foreach(table, key, value)
    {
        cleanup_free char *where = NULL;
        size_t i = 0;

        if (asprintf(&where, "%s.%s", rule, key) < 0)
            return error_memory(err);
        while (i < ARRAY_SIZE(known) && strcmp(known[i], key) != 0)
            i++;
        if (i == ARRAY_SIZE(known))
            return unknown(source, where, key, known, ARRAY_SIZE(known), err);
        if (!json_is_string(value))
            return wrong(source, where, "a string", err);
        texts[i] = json_string_value(value);
    }
    if (!json_is_object(table) || !texts[0])
        return wrong(source, rule, "a table with `pattern` and optionally `context`", err);
    if (masker_rules_add(source->own->rules, name, texts[0], texts[1], err) < 0)
        return error_wrap(err, "%s:%d", source->path, toml_line(source->lines, rule));
    return 0;
}

static int read_rules(const struct source *source, json_t *tables, struct error *err)
{
    const char *name;
    json_t *table;

    if (!json_is_object(tables))
        return wrong(source, "rules", "tables of the form [rules.NAME]", err);
    source->own->rules = masker_rules_new();
    if (!source->own->rules)
        return error_memory(err);
    json_object_foreach(tables, name, table)
    {
        if (read_rule(source, name, table, err) < 0)
            return -1;
    }
    return 0;
}

static int check_mode(const char *path, const json_t *tree, struct error *err)
{
    struct stat st;

    if ((!json_object_get(tree, "values") && !json_object_get(tree, "secrets")) ||
        stat(path, &st) < 0 || !(st.st_mode & 077))
        return 0;
    error_set(err, E_DENIED, "others may read or write `%s`, which holds secrets", path);
    return error_hint(err, "chmod 600 %s", path);
}

int operator_rules_load(struct operator_rules *own, const char *path, struct error *err)
{
    static const char *const known[] = {"values", "variables", "secrets", "rules"};
    cleanup_json json_t *tree = NULL;
    cleanup_json json_t *lines = NULL;
    struct source source = {own, path, NULL};
    const char *key;
    json_t *value;

    if (toml_load_lines(path, &tree, &lines, err) < 0 || check_mode(path, tree, err) < 0)
        return error_wrap(err, "masking_file");
    source.lines = lines;
    json_object_foreach(tree, key, value)
    {
        int r;

        if (strcmp(key, "rules") == 0)
            r = read_rules(&source, value, err);
        else if (strcmp(key, "secrets") == 0)
            r = read_secrets(&source, value, err);
        else if (strcmp(key, "values") == 0 || strcmp(key, "variables") == 0)
            r = read_list(&source, key, value, err);
        else
            r = unknown(&source, key, key, known, ARRAY_SIZE(known), err);
        if (r < 0)
            return -1;
    }
    return 0;
}

void operator_rules_done(struct operator_rules *own)
{
    masker_rules_free(own->rules);
    masker_values_free(own->values);
    json_decref(own->secrets);
    *own = (struct operator_rules){0};
}

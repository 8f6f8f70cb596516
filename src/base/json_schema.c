#include "base/json_schema.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define DEPTH_MAX 16
#define WHERE_MAX 128

static bool is_string(const json_t *v)
{
    return json_is_string(v);
}

/* 2.0 is a whole number, too. */
static bool is_integer(const json_t *v)
{
    return json_is_integer(v) ||
           (json_is_real(v) && floor(json_real_value(v)) == json_real_value(v));
}

static bool is_number(const json_t *v)
{
    return json_is_number(v);
}

static bool is_boolean(const json_t *v)
{
    return json_is_boolean(v);
}

static bool is_array(const json_t *v)
{
    return json_is_array(v);
}

static bool is_object(const json_t *v)
{
    return json_is_object(v);
}

static const struct {
    const char *name;
    bool (*fits)(const json_t *value);
} types[] = {
    {"string", is_string},   {"integer", is_integer}, {"number", is_number},
    {"boolean", is_boolean}, {"array", is_array},     {"object", is_object},
};

/* The type of value that each keyword takes. */
static const struct {
    const char *name;
    bool (*fits)(const json_t *value);
} keywords[] = {
    {"type", is_string},       {"title", is_string},      {"description", is_string},
    {"enum", is_array},        {"minimum", is_number},    {"maximum", is_number},
    {"minLength", is_integer}, {"maxLength", is_integer}, {"minItems", is_integer},
    {"maxItems", is_integer},  {"items", is_object},      {"properties", is_object},
    {"required", is_array},    {"default", NULL},
};

static int type_of(const json_t *schema)
{
    const char *name = json_string_value(json_object_get(schema, "type"));

    for (size_t i = 0; name && i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int check_keyword(const char *key, const json_t *value, const char *where, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
        if (strcmp(keywords[i].name, key) == 0)
            return !keywords[i].fits || keywords[i].fits(value)
                       ? 0
                       : error_set(err, E_INVALID, "`%s`: `%s` has the wrong type", where, key);
    error_set(err, E_INVALID, "`%s`: `%s` is not supported", where, key);
    return error_hint(err, "use type, description, default, enum, minimum, maximum, "
                           "minLength, maxLength, minItems, maxItems, items, properties, required");
}

static void below(char inner[WHERE_MAX], const char *where, const char *name)
{
    (void)snprintf(inner, WHERE_MAX, "%.60s.%.60s", where, name);
}

static int check_deep(const json_t *schema, const char *where, unsigned depth, struct error *err)
{
    const json_t *items = json_object_get(schema, "items");
    char inner[WHERE_MAX];
    const char *key;
    json_t *value;

    if (depth > DEPTH_MAX)
        return error_set(err, E_TOO_LARGE, "`%s`: too deep", where);
    if (!json_is_object(schema) || type_of(schema) < 0) {
        error_set(err, E_INVALID, "`%s` has no `type`", where);
        return error_hint(err, "one of string, integer, number, boolean, array, object");
    }
    json_object_foreach((json_t *)schema, key, value)
    {
        if (check_keyword(key, value, where, err) < 0)
            return -1;
    }
    json_object_foreach(json_object_get(schema, "properties"), key, value)
    {
        below(inner, where, key);
        if (check_deep(value, inner, depth + 1, err) < 0)
            return -1;
    }
    return items ? check_deep(items, where, depth + 1, err) : 0;
}

int json_schema_check(const json_t *schema, const char *where, struct error *err)
{
    return check_deep(schema, where, 0, err);
}

/* --- values --- */

static int check_range(const json_t *schema, const char *low, const char *high, double value,
                       const char *what, const char *where, struct error *err)
{
    const json_t *least = json_object_get(schema, low), *most = json_object_get(schema, high);

    if (least && value < json_number_value(least))
        return error_set(err, E_INVALID, "`%s` must %s at least %.15g", where, what,
                         json_number_value(least));
    if (most && value > json_number_value(most))
        return error_set(err, E_INVALID, "`%s` must %s at most %.15g", where, what,
                         json_number_value(most));
    return 0;
}

/* Characters, not bytes. */
static double length_of(const json_t *string)
{
    const char *text = json_string_value(string);
    size_t count = 0;

    for (size_t i = 0; i < json_string_length(string); i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return (double)count;
}

static int check_choice(const json_t *schema, const json_t *value, const char *where,
                        struct error *err)
{
    const json_t *choices = json_object_get(schema, "enum"), *choice;
    size_t i;

    json_array_foreach(choices, i, choice)
    {
        if (json_equal(choice, value))
            return 0;
    }
    return choices ? error_set(err, E_INVALID, "`%s` is not one of the allowed values", where) : 0;
}

static int validate_deep(const json_t *schema, const json_t *value, const char *where,
                         unsigned depth, struct error *err);

static int validate_items(const json_t *schema, const json_t *value, const char *where,
                          unsigned depth, struct error *err)
{
    const json_t *items = json_object_get(schema, "items"), *item;
    char inner[WHERE_MAX], number[32];
    size_t i;

    json_array_foreach(value, i, item)
    {
        (void)snprintf(number, sizeof(number), "%zu", i);
        below(inner, where, number);
        if (items && validate_deep(items, item, inner, depth + 1, err) < 0)
            return -1;
    }
    return check_range(schema, "minItems", "maxItems", (double)json_array_size(value), "have",
                       where, err);
}

/* Without `properties` anything goes; with them, nothing else. */
static int validate_properties(const json_t *schema, const json_t *value, const char *where,
                               unsigned depth, struct error *err)
{
    json_t *properties = json_object_get(schema, "properties"), *one;
    const json_t *name;
    char inner[WHERE_MAX];
    const char *key;
    size_t i;

    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (!json_object_get(value, json_string_value(name)))
            return error_set(err, E_INVALID, "`%s` lacks `%.60s`", where, json_string_value(name));
    }
    json_object_foreach((json_t *)value, key, one)
    {
        const json_t *known = json_object_get(properties, key);

        below(inner, where, key);
        if (!known && properties)
            return error_set(err, E_INVALID, "`%s` takes no `%.60s`", where, key);
        if (known && validate_deep(known, one, inner, depth + 1, err) < 0)
            return -1;
    }
    return 0;
}

static int validate_deep(const json_t *schema, const json_t *value, const char *where,
                         unsigned depth, struct error *err)
{
    int type = type_of(schema);

    if (depth > DEPTH_MAX)
        return error_set(err, E_TOO_LARGE, "`%s` is too deep", where);
    if (type < 0 || !types[type].fits(value))
        return error_set(err, E_INVALID, "`%s` must be of type %s", where,
                         type < 0 ? "?" : types[type].name);
    if (check_choice(schema, value, where, err) < 0)
        return -1;
    if (json_is_string(value))
        return check_range(schema, "minLength", "maxLength", length_of(value), "have a length of",
                           where, err);
    if (json_is_number(value))
        return check_range(schema, "minimum", "maximum", json_number_value(value), "be", where,
                           err);
    if (json_is_array(value))
        return validate_items(schema, value, where, depth, err);
    if (json_is_object(value))
        return validate_properties(schema, value, where, depth, err);
    return 0;
}

int json_schema_validate(const json_t *schema, const json_t *value, const char *where,
                         struct error *err)
{
    return validate_deep(schema, value, where, 0, err);
}

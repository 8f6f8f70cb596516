#include "base/config_place.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/suggest.h"
#include "base/toml.h"

/* More than any command line of a configuration has. */
#define WORDS_MAX 128

#define VALUE_BYTES (32 * KIB)

int config_place_wrong(const struct config_place *place, const char *key, const char *expected,
                       struct error *err)
{
    char where[160];

    (void)snprintf(where, sizeof(where), "%s.%s%s%s", place->section, place->name, key ? "." : "",
                   key ? key : "");
    return error_set(err, E_INVALID, "%s:%d: `%s`: expected %s", place->path,
                     toml_line(place->lines, where), where, expected);
}

int config_place_unknown(const struct config_place *place, const char *key,
                         const char *const *known, size_t count, struct error *err)
{
    const char *nearest = suggest_nearest(key, known, count);
    char expected[64];

    (void)snprintf(expected, sizeof(expected), "an option of %s", place->section);
    (void)config_place_wrong(place, key, expected, err);
    return nearest ? error_hint(err, "did you mean `%s`?", nearest) : -1;
}

int config_place_text(const struct config_place *place, const char *key, const json_t *value,
                      const char *expected, char **ret_text, struct error *err)
{
    if (!json_is_string(value) || !*json_string_value(value))
        return config_place_wrong(place, key, expected, err);
    free(*ret_text);
    *ret_text = strdup(json_string_value(value));
    return *ret_text ? 0 : error_memory(err);
}

int config_place_number(const struct config_place *place, const char *key, const json_t *value,
                        const char *what, double max, double *ret_number, struct error *err)
{
    double number = json_is_number(value) ? json_number_value(value) : 0;
    char expected[64];

    if (number >= 1 && number <= max) {
        *ret_number = number;
        return 0;
    }
    (void)snprintf(expected, sizeof(expected), "a number of %s from 1 to %.0f", what, max);
    return config_place_wrong(place, key, expected, err);
}

int config_words_add(char ***list, size_t *n, const char *text, struct error *err)
{
    char **grown;

    if (*n >= WORDS_MAX)
        return error_set(err, E_TOO_LARGE, "more than %d items in one list", WORDS_MAX);
    grown = realloc(*list, (*n + 2) * sizeof(*grown));
    if (!grown)
        return error_memory(err);
    *list = grown;
    grown[*n] = strdup(text);
    grown[*n + 1] = NULL;
    return grown[(*n)++] ? 0 : error_memory(err);
}

int config_place_words(const struct config_place *place, const char *key, const json_t *value,
                       char ***list, size_t *n, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return config_place_wrong(place, key, "an array of strings", err);
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item))
            return config_place_wrong(place, key, "an array of strings", err);
        if (config_words_add(list, n, json_string_value(item), err) < 0)
            return error_wrap(err, "%s: `%s.%s.%s`", place->path, place->section, place->name, key);
    }
    return 0;
}

void config_words_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++) {
        explicit_bzero(list[i], strlen(list[i])); /* keys and tokens stand in some */
        free(list[i]);
    }
    free(list);
}

bool config_name_is_sound(const char *name, size_t size)
{
    size_t len = strlen(name);

    if (len == 0 || len >= size || !islower((unsigned char)*name))
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

/* With each ${NAME} replaced by that variable of ours: a key need not stand in a file. */
static int expand(const struct config_place *place, const char *key, const char *text,
                  struct buf *out, struct error *err)
{
    while (*text) {
        const char *open = strstr(text, "${");
        const char *close = open ? strchr(open, '}') : NULL;
        char name[64];
        const char *value;

        if (!close)
            return buf_add_str(out, text, err);
        if ((size_t)(close - open) - 2 >= sizeof(name))
            return config_place_wrong(place, key, "the name of a variable in ${…}", err);
        (void)snprintf(name, sizeof(name), "%.*s", (int)(close - open) - 2, open + 2);
        value = getenv(name);
        if (!value) {
            (void)config_place_wrong(place, key,
                                     "a variable of the environment in ${…} that is set", err);
            return error_hint(err, "set `%s` in the environment of belljar", name);
        }
        if (buf_add(out, text, (size_t)(open - text), err) < 0 || buf_add_str(out, value, err) < 0)
            return -1;
        text = close + 1;
    }
    return 0;
}

int config_place_pairs(const struct config_place *place, const char *key, const json_t *table,
                       const char *between, char ***ret_list, struct error *err)
{
    bool is_header = *between == ':';
    size_t n = 0;
    const char *name;
    json_t *value;

    if (!json_is_object(table))
        return config_place_wrong(place, key, "a table of strings", err);
    json_object_foreach((json_t *)table, name, value)
    {
        cleanup(buf_done) struct buf text = {0};

        if (!json_is_string(value) || !*name || strpbrk(name, is_header ? ": \t\r\n" : "="))
            return config_place_wrong(place, key, "a table of names and strings", err);
        buf_init(&text, VALUE_BYTES);
        if (buf_printf(&text, err, "%s%s", name, between) < 0 ||
            expand(place, key, json_string_value(value), &text, err) < 0)
            return -1;
        if (is_header && strpbrk(buf_str(&text), "\r\n"))
            return config_place_wrong(place, key, "headers of one line", err);
        if (config_words_add(ret_list, &n, buf_str(&text), err) < 0)
            return -1;
    }
    return 0;
}

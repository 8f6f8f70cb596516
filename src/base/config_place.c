#include "base/config_place.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/toml.h"

/* More than any command line of a configuration has. */
#define WORDS_MAX 128

int config_place_wrong(const struct config_place *place, const char *key, const char *expected,
                       struct error *err)
{
    char where[160];

    (void)snprintf(where, sizeof(where), "%s.%s%s%s", place->section, place->name, key ? "." : "",
                   key ? key : "");
    return error_set(err, E_INVALID, "%s:%d: `%s`: read something else, expected %s", place->path,
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
    return *ret_text ? 0 : error_set(err, E_SYSTEM, "out of memory");
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
        return error_set(err, E_SYSTEM, "out of memory");
    *list = grown;
    grown[*n] = strdup(text);
    grown[*n + 1] = NULL;
    return grown[(*n)++] ? 0 : error_set(err, E_SYSTEM, "out of memory");
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

/* A table [SECTION.NAME] of a configuration file while it is read: what its keys may hold, and
 * mistakes that say file, line and what was expected. Used by base/config_server.c and
 * base/config_function.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/error.h"

struct config_place {
    const char *section;
    const char *path;
    const json_t *lines; /* as of toml_line() */
    const char *name;
};

/* E_INVALID. `key`: NULL for the table itself. */
int config_place_wrong(const struct config_place *place, const char *key, const char *expected,
                       struct error *err);

/* Reports an unknown key, with the nearest known one as a hint. */
int config_place_unknown(const struct config_place *place, const char *key,
                         const char *const *known, size_t count, struct error *err);

/* A string that is not empty. What *ret_text held is freed. */
int config_place_text(const struct config_place *place, const char *key, const json_t *value,
                      const char *expected, char **ret_text, struct error *err);

/* From 1 to `max`; `what` as in "seconds". */
int config_place_number(const struct config_place *place, const char *key, const json_t *value,
                        const char *what, double max, double *ret_number, struct error *err);

/* Adds the strings of an array to a list of *n words that ends with NULL and may be NULL itself. On
 * failure the list holds what was added so far. */
int config_place_words(const struct config_place *place, const char *key, const json_t *value,
                       char ***list, size_t *n, struct error *err);

/* A table of strings as "NAME=value" or "Name: value", as `between` is "=" or ": ". ${NAME} in a
 * value is that variable of ours: a key need not stand in a file. */
int config_place_pairs(const struct config_place *place, const char *key, const json_t *table,
                       const char *between, char ***ret_list, struct error *err);
int config_words_add(char ***list, size_t *n, const char *text, struct error *err);
void config_words_free(char **list);

/* Lower-case letters, digits and `_`, a letter first, shorter than `size`: programs import it. */
bool config_name_is_sound(const char *name, size_t size);

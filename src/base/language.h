/* Languages as requests name them, and whether this host has what they need. wire/language.h is the
 * table. */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/language.h"

/* By name or alias. E_INVALID: there is none; the hint lists what is supported. */
int language_read(const char *word, enum run_language *ret_language, struct error *err);

/* The field `language` of a request; without it the default. */
enum run_language language_of_json(const json_t *body);

/* E_UNSUPPORTED: a program that it needs is not installed; the hint names the package. */
int language_check_installed(enum run_language language, struct error *err);
bool language_is_installed(enum run_language language);

/* "Python, Bash, JavaScript and TypeScript". */
int language_add_titles(struct buf *out, struct error *err);

/* One per language: {"name", "title", "aliases", "suffixes", "available", "needs"}. */
json_t *language_list_json(void);

/* The words of a list (wire/language.h) as an array. */
json_t *language_words_json(const char *list);

/* The head of SKILL.md: lines between two of `---`, each `key: value`.
 *
 * It reads the part of YAML that such heads use: plain and quoted values of one line, plain values
 * that go on in indented lines, and the blocks `|` and `>`. It needs two keys, `name` and
 * `description`; others are skipped with what is indented below them. Anchors, tags and lists as
 * values of the two are refused, and so is a key that comes twice.
 */
#pragma once

#include "base/error.h"
#include "wire/pack.h"

/* As the format has them. */
#define FRONT_MATTER_NAME_MAX        64
#define FRONT_MATTER_DESCRIPTION_MAX 4096

struct front_matter {
    char *name;        /* small letters, digits, `-` and `_`: with `_` for `-` a module's name */
    char *description; /* text, not empty */
};

/* The strings are the caller's. */
int front_matter_read(struct span text, struct front_matter *ret_matter, struct error *err);

/* The head of SKILL.md: lines between two of `---`, each `key: value`.
 *
 * Of YAML this reads what such heads are written in: plain and quoted values of one line, plain
 * values that go on in indented lines, and the blocks `|` and `>`. Two keys are wanted, `name` and
 * `description`; others are passed over with what is indented below them. Anchors, tags and lists
 * in the place of the two are refused, and so is a key that comes twice.
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

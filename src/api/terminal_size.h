/* The size of a terminal, as requests have it. */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "api/schema.h"

#define TERMINAL_SIDE_MAX 4096

/* clang-format off */
#define TERMINAL_SIZE_FIELDS                                                                       \
    {"cols", SCHEMA_INTEGER, .is_required = true, .min = 1, .max = TERMINAL_SIDE_MAX,              \
     .example = "80", .help = "columns"},                                                          \
    {"rows", SCHEMA_INTEGER, .is_required = true, .min = 1, .max = TERMINAL_SIDE_MAX,              \
     .example = "24", .help = "rows"}
/* clang-format on */

/* Of an object that was checked against these fields. */
static inline uint16_t terminal_side(const json_t *size, const char *name)
{
    return (uint16_t)json_integer_value(json_object_get(size, name));
}

/* An error as every door writes it: {"error":{"code","message","hint"}}. */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/hint.h"

/* NULL: out of memory. */
json_t *error_json(const struct error *error, enum hint_reader reader);

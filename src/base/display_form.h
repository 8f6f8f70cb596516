/* A form of something shown, as it stands in a result: JSON as JSON, text as text, all else as
 * base64. */
#pragma once

#include <jansson.h>

#include "base/run.h"

bool form_is_binary(const char *mime);

/* *ret_encoding is "base64" or NULL. NULL: out of memory. */
json_t *form_data(const struct run_form *form, const char **ret_encoding);

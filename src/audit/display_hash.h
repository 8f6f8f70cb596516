/* A hash of a program's displays, which can be computed from the run and from its result alike.
 *
 * It is the hash of one line for each form, `BUNDLE MIME SHA256`, in the order of the result. The
 * last is of the bytes of a form in base64, of a text in UTF-8, and of any other JSON as text
 * without spaces and with its keys sorted.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"
#include "base/run.h"
#include "base/sha256.h"

int display_hash_of_run(const struct run *run, char hex[2 * SHA256_BYTES + 1], struct error *err);

/* Of the list `displays` of a result. E_INVALID: it is no such list. */
int display_hash_of_list(const json_t *list, char hex[2 * SHA256_BYTES + 1], struct error *err);

/* A hash of what the output of a run with a seed depends on besides the program: this version, the
 * interpreter, its packages, the C library and the processor. */
#pragma once

#include "base/error.h"
#include "base/sha256.h"
#include "engine/environment.h"

#define FINGERPRINT_TEXT (2 * SHA256_BYTES + 1)

int fingerprint_of(const struct environment *environment, const char *python_version,
                   char ret_text[FINGERPRINT_TEXT], struct error *err);

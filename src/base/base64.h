/* Bytes as text: the alphabet of RFC 4648 with padding, in one line. */
#pragma once

#include "base/buf.h"

int base64_add(struct buf *out, const void *data, size_t len, struct error *err);

/* The bytes again, strictly: the whole alphabet of it and nothing else, padding where it belongs.
 * What is not that is E_INVALID. */
int base64_decode(struct buf *out, const char *text, size_t len, struct error *err);

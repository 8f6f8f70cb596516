/* Bytes as text: the alphabet of RFC 4648 with padding, in one line. */
#pragma once

#include "base/buf.h"

int base64_add(struct buf *out, const void *data, size_t len, struct error *err);

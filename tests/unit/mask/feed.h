/* One masker, and all that has come out of it. */
#pragma once

#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "mask/masker.h"

extern struct masker *masker;
extern struct buf out;

/* options: NULL for none. What came out before is gone. */
void begin(const struct masker_options *options);

/* The bytes that come out at once. */
const char *feed_bytes(const char *text, size_t len);
const char *feed(const char *text);

/* All that came out. */
const char *finish(void);

/* Marks that stand for hidden bytes in a text that somebody decides on: "[12 bytes hidden]". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/pack.h"

int hidden_mark(struct buf *out, size_t bytes, struct error *err);

/* Returns how many bytes of `real` the marks in `shown` replace, if everything else is the same;
 * -1: something else differs. A mark stands where `real` has a letter, a digit or one of _+/=.- :
 * one that is part of the real text is not a mark. */
int64_t hidden_count(struct span real, struct span shown);

/* A run that can be repeated: see guest/steady/steady.h. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* In a kernel of a steady zygote, before the program is looked at. */
int seed_start(uint64_t seed, struct error *err);

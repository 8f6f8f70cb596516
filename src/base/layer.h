/* The layers of a run: the walls that its sandbox reports (wire/message.h), and those that stand
 * around the whole engine. */
#pragma once

#include <stdint.h>

#include "wire/message.h"

/* Its engine is in a virtual machine. No sandbox can report it. */
#define RUN_LAYER_MACHINE ((uint32_t)1 << WIRE_LAYER_COUNT)

#define RUN_LAYER_COUNT (WIRE_LAYER_COUNT + 1)

static inline const char *run_layer_name(unsigned index)
{
    return index == WIRE_LAYER_COUNT ? "machine" : wire_layer_name(index);
}

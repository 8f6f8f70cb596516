/* The memory of the host, as Linux reports it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct meminfo {
    uint64_t total_bytes;
    uint64_t available_bytes; /* without swapping */
    uint64_t swap_bytes;
};

/* False: /proc does not say. */
bool meminfo_read(struct meminfo *ret_meminfo);

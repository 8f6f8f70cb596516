#include "base/meminfo.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/limits.h"

/* "MemTotal:       24683612 kB", one to a line. */
static uint64_t value(const char *text, const char *key)
{
    const char *line = strstr(text, key);
    uint64_t kib;

    return line && sscanf(line + strlen(key), ": %" SCNu64, &kib) == 1 ? kib * KIB : 0;
}

bool meminfo_read(struct meminfo *ret_meminfo)
{
    char text[4096];
    struct meminfo m;

    if (file_read(AT_FDCWD, "/proc/meminfo", text, sizeof(text)) < 0)
        return false;
    m = (struct meminfo){value(text, "MemTotal"), value(text, "MemAvailable"),
                         value(text, "SwapTotal")};
    if (!m.total_bytes || !m.available_bytes)
        return false;
    *ret_meminfo = m;
    return true;
}

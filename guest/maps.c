#include "guest/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAPS_MAX ((size_t)1 << 20)

static char maps[MAPS_MAX];

int maps_read(char **ret_text, struct error *err)
{
    cleanup_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t len = 0;

    if (fd < 0)
        return error_errno(err, "open /proc/self/maps");
    for (;;) {
        ssize_t n = read(fd, maps + len, sizeof(maps) - 1 - len);

        if (n < 0)
            return error_errno(err, "read /proc/self/maps");
        if (n == 0)
            break;
        len += (size_t)n;
        if (len == sizeof(maps) - 1)
            return error_set(err, E_TOO_LARGE, "too many mappings");
    }
    maps[len] = '\0';
    *ret_text = maps;
    return 0;
}

bool maps_next(char **text, struct mapping *m)
{
    char *line = *text, *end, *at;

    end = strchr(line, '\n');
    if (!end)
        return false;
    *end = '\0';
    *text = end + 1;

    m->start = strtoul(line, &at, 16);
    m->end = strtoul(at + 1, &at, 16);
    m->prot = (at[1] == 'r' ? PROT_READ : 0) | (at[2] == 'w' ? PROT_WRITE : 0) |
              (at[3] == 'x' ? PROT_EXEC : 0);
    m->is_private = at[4] == 'p';
    m->name = strpbrk(line, "/[");
    m->is_anonymous =
        !m->name || strcmp(m->name, "[heap]") == 0 || strncmp(m->name, "[anon", 5) == 0;
    if (!m->name)
        m->name = "";
    return true;
}

#include "guest/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

#define MAPS_MAX ((size_t)1 << 20)

/* Neither in our own data, where it would be a hole of a megabyte, nor beside memory that is looked
 * at. It is shared, so it must be gone before a sandbox is forked. */
static char *maps;

int maps_read(char **ret_text, struct error *err)
{
    cleanup_close int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t len = 0;

    if (!maps)
        maps = mmap(NULL, MAPS_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (maps == MAP_FAILED) {
        maps = NULL;
        return error_errno(err, "mmap");
    }
    if (fd < 0)
        return error_errno(err, "open /proc/self/maps");
    for (;;) {
        ssize_t n = read(fd, maps + len, MAPS_MAX - 1 - len);

        if (n < 0)
            return error_errno(err, "read /proc/self/maps");
        if (n == 0)
            break;
        len += (size_t)n;
        if (len == MAPS_MAX - 1)
            return error_set(err, E_TOO_LARGE, "too many mappings");
    }
    maps[len] = '\0';
    *ret_text = maps;
    return 0;
}

void maps_done(void)
{
    if (maps)
        (void)munmap(maps, MAPS_MAX);
    maps = NULL;
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

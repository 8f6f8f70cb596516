/* The numbers in the files of a group. A session's are read after each of its cells, and opening a
 * file of a group takes five times as long as reading it; those that were read last stay open. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/cgroup_internal.h"

/* The place of this counter, if it is open. Groups made one after the other get neighbouring
 * places: a few sessions that run cell after cell keep theirs, and many share without a search. */
static struct cgroup_counter *slot_of(const struct cgroup *group, const char *file)
{
    size_t at = group->number * 5;

    for (const char *c = file; *c; c++)
        at = at * 31 + (unsigned char)*c;
    return &group->host->counters[at % CGROUP_COUNTERS];
}

static void empty(struct cgroup_counter *slot)
{
    if (!slot->group)
        return;
    (void)close(slot->fd);
    slot->group = NULL;
}

void cgroup_forget_counters(struct cgroup_host *host, const struct cgroup *group)
{
    for (size_t i = 0; i < CGROUP_COUNTERS; i++)
        if (!group || host->counters[i].group == group)
            empty(&host->counters[i]);
}

static int open_counter(struct cgroup_counter *slot, const struct cgroup *group, int dirfd,
                        const char *file)
{
    char path[CGROUP_PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", group->name, file);
    fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    empty(slot);
    *slot = (struct cgroup_counter){group, file, fd};
    return 0;
}

/* The whole of it: these files are shorter than the buffer, and one read gives what there is. */
static int read_counter(const struct cgroup *group, int dirfd, const char *file, char *text,
                        size_t size)
{
    struct cgroup_counter *slot = slot_of(group, file);
    ssize_t n;
    int r;

    if (slot->group != group || strcmp(slot->file, file) != 0) {
        r = open_counter(slot, group, dirfd, file);
        if (r < 0)
            return r;
    }
    do
        n = pread(slot->fd, text, size - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    text[n] = '\0';
    return 0;
}

/* Behind "key " at the beginning of a line; NULL: not there. */
static const char *find_key(const char *text, const char *key)
{
    size_t len = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, len) == 0 && line[len] == ' ')
            return line + len + 1;
    }
    return NULL;
}

int cgroup_read_u64(const struct cgroup *group, enum cgroup_controller controller, const char *file,
                    const char *key, uint64_t *value)
{
    int dirfd = cgroup_place_fd(group->host, controller);
    char text[1024];
    const char *number = text;
    int r;

    if (dirfd < 0)
        return 0;
    r = read_counter(group, dirfd, file, text, sizeof(text));
    if (r == -ENOENT && faccessat(dirfd, group->name, F_OK, 0) == 0)
        return 0;
    if (r < 0)
        return r;
    if (key)
        number = find_key(text, key);
    if (number)
        *value = strtoull(number, NULL, 10);
    return 0;
}

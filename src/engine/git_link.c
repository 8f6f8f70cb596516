#include "engine/git_link.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"

#define PREFIX "gitdir: "

/* The first line of a small regular file. False: it is something else. */
static bool read_line(int dir, const char *path, char line[PATH_MAX])
{
    cleanup_close int fd =
        openat(dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;
    ssize_t n =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, line, PATH_MAX - 1) : -1;

    if (n <= 0 || memchr(line, '\0', (size_t)n))
        return false;
    line[n] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

/* A worktree is named in its data. A submodule lies in its repository. */
static bool points_back(const char *data, const char *root, const char *kind, const char *grant)
{
    char path[PATH_MAX], back[PATH_MAX], expected[PATH_MAX];

    if (strncmp(kind, "modules/", 8) == 0)
        return paths_below(grant, root);
    return strncmp(kind, "worktrees/", 10) == 0 &&
           snprintf(path, sizeof(path), "%s/gitdir", data) < PATH_MAX &&
           snprintf(expected, sizeof(expected), "%s/.git", grant) < PATH_MAX &&
           read_line(AT_FDCWD, path, back) && strcmp(back, expected) == 0;
}

bool git_link_is_missing(const struct run_terms *terms, size_t grant, char root[PATH_MAX])
{
    const struct run_grant *g = &terms->grants[grant];
    char line[PATH_MAX], path[PATH_MAX];
    cleanup_free char *data = NULL;
    const char *target = line + strlen(PREFIX), *kind;

    if (!read_line(g->fd, ".git", line) || strncmp(line, PREFIX, strlen(PREFIX)) != 0)
        return false;
    if (*target != '/') {
        if (snprintf(path, sizeof(path), "%s/%s", g->path, target) >= PATH_MAX)
            return false;
        target = path;
    }
    data = realpath(target, NULL);
    kind = data ? strstr(data, "/.git/") : NULL;
    if (!kind)
        return false;
    for (size_t i = 0; i < terms->n_grants; i++)
        if (paths_below(data, terms->grants[i].path))
            return false;
    (void)snprintf(root, PATH_MAX, "%.*s", (int)(kind - data), data);
    return points_back(data, root, kind + strlen("/.git/"), g->path);
}

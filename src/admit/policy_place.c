#include "admit/policy_place.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* Deeper than any path a file was opened by. */
#define DEPTH_MAX (PATH_MAX / 2)

/* Whether `path` is in the directory or anywhere below it, by what is there and not by its name:
 * links and bind mounts lead to the same place. */
static bool is_below(const char *path, int dir)
{
    cleanup_free char *real = realpath(path, NULL);
    char *slash = real ? strrchr(real, '/') : NULL;
    struct stat top, here, before = {0};
    cleanup_close int fd = -1;

    if (!slash || fstat(dir, &top) < 0 || stat(real, &here) < 0)
        return false;
    if (!S_ISDIR(here.st_mode))
        *slash = '\0';
    fd = open(*real ? real : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < DEPTH_MAX && fstat(fd, &here) == 0; i++) {
        int above;

        if (file_is_same(&here, &top))
            return true;
        if (i && file_is_same(&here, &before)) /* the root is above itself */
            return false;
        before = here;
        above = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        (void)close(fd);
        fd = above;
    }
    return false;
}

/* Belljar's own settings: no grant lets a program write there (sandbox/protected.h). */
static bool is_own(const char *path)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char own[2][PATH_MAX] = {"/etc/belljar/", ""};

    if (config && *config == '/')
        (void)snprintf(own[1], sizeof(own[1]), "%s/belljar/", config);
    else if (home && *home == '/')
        (void)snprintf(own[1], sizeof(own[1]), "%s/.config/belljar/", home);
    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (*own[i] && strncmp(path, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

int policy_place_check(const struct run *run, const char *path, const char *what, struct error *err)
{
    if (!path || is_own(path))
        return 0;
    for (size_t i = 0; i < run->terms.n_grants; i++) {
        const struct run_grant *grant = &run->terms.grants[i];

        if (grant->mode == RUN_GRANT_RO || !is_below(path, grant->fd))
            continue;
        error_set(err, E_DENIED, "%s `%s` is in `%s`, which the program may write", what, path,
                  grant->path);
        return error_hint(err, "a program must not change its own rules: move the file out of the "
                               "directory, or grant the directory for reading");
    }
    return 0;
}

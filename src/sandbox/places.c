#include "sandbox/places.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static char workspace[PATH_MAX] = "/workspace";
static char tmp[PATH_MAX] = "/tmp";
static bool is_on_host;
static uint64_t data_bytes;

const char *places_workspace(void)
{
    return workspace;
}

const char *places_tmp(void)
{
    return tmp;
}

bool places_are_on_host(void)
{
    return is_on_host;
}

bool places_has_home(void)
{
    char target[sizeof(PLACES_HOME_TARGET)];
    ssize_t n = is_on_host ? -1 : readlink(PLACES_HOME, target, sizeof(target));

    return n == (ssize_t)strlen(PLACES_HOME_TARGET) &&
           memcmp(target, PLACES_HOME_TARGET, (size_t)n) == 0;
}

uint64_t places_data_bytes(void)
{
    return data_bytes;
}

/* The sixth number of statm, in pages. */
uint64_t places_read_data_bytes(void)
{
    cleanup_fclose FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (!file || fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
        return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

int places_make(const char *directory, struct error *err)
{
    if (snprintf(workspace, sizeof(workspace), "%s/workspace", directory) >= PATH_MAX ||
        snprintf(tmp, sizeof(tmp), "%s/tmp", directory) >= PATH_MAX)
        return error_set(err, E_INVALID, "path too long");
    if (mkdir(workspace, 0700) < 0 || mkdir(tmp, 0700) < 0)
        return error_errno(err, "make directories in `%s`", directory);
    is_on_host = true;
    data_bytes = places_read_data_bytes();
    return 0;
}

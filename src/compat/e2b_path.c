/* Paths: the home directory of E2B's programs is /home/user, which is /workspace here. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"

static const char *const homes[] = {E2B_HOME, "/workspace"};

/* What follows the directory; NULL: the path is elsewhere. */
static const char *below(const char *path, const char *directory)
{
    size_t len = strlen(directory);

    if (strncmp(path, directory, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len + strspn(path + len, "/");
}

static const char *below_home(const char *path)
{
    const char *rest = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(homes) && !rest; i++)
        rest = below(path, homes[i]);
    return rest;
}

/* `~`, as a shell reads it. NULL: it is somebody else's home. */
static const char *skip_tilde(const char *given)
{
    if (*given != '~')
        return given;
    return given[1] == '\0' || given[1] == '/' ? given + 1 + strspn(given + 1, "/") : NULL;
}

int e2b_path_read(const char *given, char ret_path[PATH_MAX], struct error *err)
{
    const char *rest = skip_tilde(given);

    if (!rest)
        return error_set(err, E_INVALID, "there is only one home directory: `~`");
    if (*rest == '/')
        rest = below_home(rest);
    if (!rest) {
        error_set(err, E_DENIED, "only files below %s can be reached from outside", E2B_HOME);
        return error_hint(err, "run a command in the sandbox to reach others");
    }
    if (!*rest || strcmp(rest, ".") == 0) {
        *ret_path = '\0';
        return 0;
    }
    return files_path_check(rest, strlen(rest), ret_path, err);
}

int e2b_path_directory(const char *given, char ret_path[PATH_MAX], struct error *err)
{
    const char *rest = skip_tilde(given);
    int n;

    if (!rest)
        return error_set(err, E_INVALID, "there is only one home directory: `~`");
    if (*rest != '/')
        n = snprintf(ret_path, PATH_MAX, "/workspace/%s", rest);
    else if (below_home(rest))
        n = snprintf(ret_path, PATH_MAX, "/workspace/%s", below_home(rest));
    else
        n = snprintf(ret_path, PATH_MAX, "%s", rest);
    return n < PATH_MAX ? 0 : error_set(err, E_INVALID, "the path is too long");
}

int e2b_path_write(const char *path, struct buf *out, struct error *err)
{
    if (buf_add_str(out, E2B_HOME, err) < 0 || (*path && buf_add_str(out, "/", err) < 0))
        return -1;
    return files_path_escape(path, out, err);
}

/* Paths: the home directory of E2B's programs is /home/user, the second name of /workspace.
 * Files in /tmp can be reached, too. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "compat/e2b_internal.h"
#include "engine/session_files.h"

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
    if (!files_path_is_inside(rest) && !files_path_is_tmp(rest)) {
        error_set(err, E_DENIED, "only files below %s and /tmp can be reached from outside",
                  E2B_HOME);
        return error_hint(err, "run a command in the sandbox to reach others");
    }
    if (!*rest || strcmp(rest, ".") == 0) {
        *ret_path = '\0';
        return 0;
    }
    return files_path_check_tmp(rest, strlen(rest), ret_path, err);
}

int e2b_path_directory(const char *given, char ret_path[PATH_MAX], struct error *err)
{
    const char *rest = skip_tilde(given);
    int n;

    if (!rest)
        return error_set(err, E_INVALID, "there is only one home directory: `~`");
    if (*rest == '/')
        n = snprintf(ret_path, PATH_MAX, "%s", rest);
    else
        n = snprintf(ret_path, PATH_MAX, "%s%s%s", E2B_HOME, *rest ? "/" : "", rest);
    return n < PATH_MAX ? 0 : error_set(err, E_INVALID, "the path is too long");
}

int e2b_path_write(const char *path, struct buf *out, struct error *err)
{
    if (*path != '/' &&
        (buf_add_str(out, E2B_HOME, err) < 0 || (*path && buf_add_str(out, "/", err) < 0)))
        return -1;
    return files_path_escape(path, out, err);
}

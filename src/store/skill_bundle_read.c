/* A folder of the disk. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "store/skill_bundle.h"

static int read_file(struct skill_bundle *folder, int dir, const char *name, struct span path,
                     struct error *err)
{
    cleanup_close int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    cleanup(buf_done) struct buf data;
    struct stat st;

    buf_init(&data, LIMIT_FOLDER_BYTES);
    if (fd < 0 && errno == ELOOP)
        return error_set(err, E_INVALID, "`%.*s` is a link", (int)path.len, path.data);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_errno(err, "open `%.*s`", (int)path.len, path.data);
    if (!S_ISREG(st.st_mode))
        return error_set(err, E_INVALID, "`%.*s` is neither file nor directory", (int)path.len,
                         path.data);
    if (buf_read_fd(&data, fd, err) < 0)
        return error_wrap(err, "%.*s", (int)path.len, path.data);
    return skill_bundle_add(folder, path, (struct span){buf_str(&data), data.len},
                            st.st_mode & S_IXUSR, err);
}

/* `path`: of this directory, in a place that has room for SKILL_BUNDLE_PATH_MAX. Names that are too
 * long or too deep are refused when they come in, so this ends. */
static int read_below(struct skill_bundle *folder, int dir, char *path, size_t len,
                      struct error *err)
{
    cleanup_closedir DIR *handle = file_open_dir(dir, ".");
    const struct dirent *entry;
    int r = handle ? 0 : error_errno(err, "read the folder");

    while (r == 0 && (entry = readdir(handle))) {
        const char *name = entry->d_name;
        size_t all = len + strlen(name);
        cleanup_close int below = -1;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, ".git") == 0 ||
            strcmp(name, "__pycache__") == 0)
            continue;
        if (all > SKILL_BUNDLE_PATH_MAX)
            return error_set(err, E_INVALID, "a path in the folder is too long");
        memcpy(path + len, name, strlen(name) + 1);
        below = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) {
            r = read_file(folder, dir, name, (struct span){path, all}, err);
        } else {
            r = skill_bundle_check_path((struct span){path, all}, err);
            path[all] = '/';
            r = r < 0 ? r : read_below(folder, below, path, all + 1, err);
        }
    }
    return r;
}

int skill_bundle_read(struct skill_bundle *folder, const char *path, struct error *err)
{
    cleanup_close int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    char below[SKILL_BUNDLE_PATH_MAX + 2];

    if (dir < 0)
        return error_errno(err, "open `%s`", path);
    return read_below(folder, dir, below, 0, err);
}

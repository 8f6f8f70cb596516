/* Data of git's in an overlay: it is checked as the write broker checks it (sandbox/git_data.h),
 * and what fails is not applied. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sandbox/git_data.h"
#include "sandbox/overlay_internal.h"

struct look {
    const struct overlay *overlay;
    const struct survey *survey;
};

/* The part of an absolute path below the overlay's directory; NULL: it is elsewhere. */
static const char *below(const struct overlay *overlay, const char *path)
{
    size_t len = strlen(overlay->path);

    if (strncmp(path, overlay->path, len) != 0 || (path[len] != '/' && path[len]))
        return NULL;
    return path + len + strspn(path + len, "/");
}

static const char *judge(void *arg, const char *path)
{
    const struct look *l = arg;
    const struct protected_name *found = protected_judge(-1, path);
    const char *relative = below(l->overlay, path);

    if (!found && relative)
        found = survey_judge_path(l->survey, relative);
    if (!found && protected_is_cache(path))
        return "Python runs the compiled modules in it";
    return found ? found->reason : NULL;
}

static int open_directory(void *arg, const char *path)
{
    const struct look *l = arg;
    const char *relative = below(l->overlay, path);

    return relative ? overlay_openat(&l->overlay->disk, l->overlay->disk.fd, relative,
                                     O_PATH | O_DIRECTORY)
                    : -1;
}

static int open_parent(const struct overlay *overlay, const char *path)
{
    const char *slash = strrchr(path, '/');
    char parent[PATH_MAX];

    (void)snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 0, path);
    return overlay_openat(&overlay->disk, overlay->disk.fd, parent, O_PATH | O_DIRECTORY);
}

static bool is_permitted(struct git_data *data, int fd, uint8_t digest[SHA256_BYTES])
{
    cleanup(buf_done) struct buf now = {0}, content = {0};

    buf_init(&now, GIT_DATA_BYTES);
    if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || buf_read_fd(&now, fd, NULL) < 0 ||
        git_data_check(data, &now, &content) < 0 || content.len != now.len ||
        memcmp(buf_str(&content), buf_str(&now), now.len) != 0)
        return false;
    /* The file that is applied later must be the one that was checked. */
    sha256(buf_str(&now), now.len, digest);
    return true;
}

bool overlay_git_refuses(const struct overlay *overlay, const struct survey *survey,
                         const char *path, const struct overlay_entry *e, int fd,
                         uint8_t digest[SHA256_BYTES])
{
    struct look look = {overlay, survey};
    cleanup_close int dir = open_parent(overlay, path);
    char whole[2 * PATH_MAX];
    struct git_data data = {
        .dir = dir, .path = whole, .judge = judge, .open = open_directory, .arg = &look};

    (void)snprintf(whole, sizeof(whole), "%s/%s", overlay->path, path);
    data.kind = protected_judge_data(dir, whole);
    if (!data.kind)
        data.kind = survey_judge_data(survey, path);
    if (data.kind == PROTECTED_DATA_NONE)
        return false;
    if (data.kind == PROTECTED_DATA_OBJECTS)
        return e->change != OVERLAY_DELETED && e->kind != FILES_DIRECTORY;
    if (e->change == OVERLAY_DELETED)
        return data.kind == PROTECTED_DATA_OBJECT;
    if (e->kind != FILES_REGULAR || (data.kind == PROTECTED_DATA_OBJECT && e->ctime_ns))
        return true;
    return !is_permitted(&data, fd, digest);
}

/* Finds the mounted hierarchies, and the group of this process in each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"
#include "sandbox/cgroup_internal.h"

static const char *const controller_names[CGROUP_CONTROLLERS] = {
    [CGROUP_MEMORY] = "memory",
    [CGROUP_PIDS] = "pids",
    [CGROUP_CPU] = "cpu",
    [CGROUP_CPUACCT] = "cpuacct",
};

struct mount {
    char *root; /* which group is at the mount point */
    char *point;
    char *type;
    char *options; /* of the super block: on v1 they name the controllers */
};

/* Cuts the next word off; NULL at the end of the line. */
static char *next_field(char **line)
{
    return *line ? strsep(line, " ") : NULL;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:1 - tmpfs tmpfs rw": the number of fields before
 * the dash varies. */
static bool parse_mount(char *line, struct mount *mount)
{
    char *dash = strstr(line, " - ");

    if (!dash)
        return false;
    *dash = '\0';
    dash += 3;
    for (int i = 0; i < 3; i++)
        (void)next_field(&line);
    mount->root = next_field(&line);
    mount->point = next_field(&line);
    mount->type = next_field(&dash);
    (void)next_field(&dash);
    mount->options = next_field(&dash);
    if (!mount->point || !mount->options)
        return false;
    unescape(mount->root);
    unescape(mount->point);
    return true;
}

/* The controllers named in a list with commas, as far as we want them. */
static unsigned controllers_in(const char *list, char separator)
{
    unsigned found = 0;

    while (*list) {
        const char *end = strchrnul(list, separator);
        size_t len = (size_t)(end - list);

        for (unsigned i = 0; i < CGROUP_CONTROLLERS; i++)
            if (strlen(controller_names[i]) == len && memcmp(list, controller_names[i], len) == 0)
                found |= CGROUP_BIT(i);
        list = *end ? end + 1 : end;
    }
    return found;
}

/* Path of this process in the hierarchy with these controllers (0: the unified one), from
 * /proc/self/cgroup: "4:memory:/a/b" or "0::/a/b". The text stays as it is. Returns a copy, or
 * NULL. */
static char *own_path(const char *groups, unsigned controllers)
{
    for (const char *line = groups; line && *line; line = strchr(line, '\n')) {
        const char *list, *path;
        cleanup_free char *names = NULL;

        line += *line == '\n';
        list = strchr(line, ':');
        path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            break;
        names = strndup(list + 1, (size_t)(path - list - 1));
        if (!names)
            return NULL;
        if (controllers ? (controllers_in(names, ',') & controllers) != 0
                        : line[0] == '0' && *names == '\0')
            return strndup(path + 1, strcspn(path + 1, "\n"));
    }
    return NULL;
}

/* The directory of group `path` below a mount that shows the hierarchy from `root` on. A group that
 * is not below that root cannot be seen from here; the top of what can be seen is then the best we
 * know. */
static char *own_directory(const struct mount *mount, const char *path)
{
    size_t root_len = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    char *directory = NULL;

    if (strncmp(path, mount->root, root_len) == 0 && (path[root_len] == '/' || !path[root_len]))
        path += root_len;
    else
        path = "";
    if (strcmp(path, "/") == 0 || strstr(path, "/.."))
        path = "";
    return asprintf(&directory, "%s%s", mount->point, path) < 0 ? NULL : directory;
}

static int add_place(struct cgroup_host *host, const struct mount *mount, const char *groups,
                     unsigned controllers, bool is_unified)
{
    struct cgroup_place *place = &host->places[host->n_places];
    cleanup_free char *path = own_path(groups, is_unified ? 0 : controllers);

    if (!path)
        return 0;
    place->controllers = controllers;
    place->fd = -1;
    place->mount = strdup(mount->point);
    place->own = own_directory(mount, path);
    host->n_places++; /* from here on the host frees it, half built or not */
    return place->mount && place->own ? 0 : -ENOMEM;
}

static void drop_places(struct cgroup_host *host)
{
    for (size_t i = 0; i < host->n_places; i++) {
        free(host->places[i].mount);
        free(host->places[i].own);
        host->places[i] = (struct cgroup_place){.fd = -1};
    }
    host->n_places = 0;
}

static unsigned all_controllers(const struct cgroup_host *host)
{
    unsigned all = 0;

    for (size_t i = 0; i < host->n_places; i++)
        all |= host->places[i].controllers;
    return all;
}

/* A hierarchy can be mounted in several places: the first one counts. */
static int add_v1(struct cgroup_host *host, const struct mount *mount, const char *groups)
{
    unsigned controllers = controllers_in(mount->options, ',') & ~all_controllers(host);

    if (!controllers || host->n_places == CGROUP_ATTACH_MAX)
        return 0;
    return add_place(host, mount, groups, controllers, false);
}

/* The controllers v2 can give to groups here: those its own group has. CPU time is always counted.
 */
static unsigned unified_controllers(const char *own)
{
    char list[256], file[4096];

    if (snprintf(file, sizeof(file), "%s/cgroup.controllers", own) >= (int)sizeof(file) ||
        file_read(AT_FDCWD, file, list, sizeof(list)) < 0)
        return 0;
    return controllers_in(list, ' ') | CGROUP_BIT(CGROUP_CPUACCT);
}

/* Takes v2 when it has what we need, and forgets what was found of v1. */
static int consider_v2(struct cgroup_host *host, const struct mount *mount, const char *groups)
{
    cleanup_free char *path = own_path(groups, 0);
    cleanup_free char *own = path ? own_directory(mount, path) : NULL;
    unsigned controllers = own ? unified_controllers(own) : 0;

    if ((controllers & CGROUP_NEEDED) != CGROUP_NEEDED)
        return 0;
    drop_places(host);
    host->kind = CGROUP_V2;
    host->ops = &cgroup_v2_ops;
    return add_place(host, mount, groups, controllers, true);
}

static int read_proc(const char *proc, const char *name, struct buf *text, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_close int fd = -1;

    buf_init(text, MIB);
    if (asprintf(&path, "%s/%s", proc, name) < 0)
        return error_errno(err, "read `%s`", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0; /* a kernel without cgroups has no such file */
    if (fd < 0)
        return error_errno(err, "open `%s`", path);
    return buf_read_fd(text, fd, err);
}

/* The first usable v2 wins over all of v1. */
static int read_mounts(struct cgroup_host *host, char *mounts, const char *groups, bool *ret_has_v2)
{
    char *rest = mounts, *line;

    while (host->kind != CGROUP_V2 && (line = rest ? strsep(&rest, "\n") : NULL)) {
        struct mount mount = {0};
        int r = 0;

        if (!parse_mount(line, &mount))
            continue;
        if (strcmp(mount.type, "cgroup") == 0) {
            r = add_v1(host, &mount, groups);
        } else if (strcmp(mount.type, "cgroup2") == 0) {
            *ret_has_v2 = true;
            r = consider_v2(host, &mount, groups);
        }
        if (r < 0)
            return r;
    }
    return 0;
}

int cgroup_probe(const char *proc, struct cgroup_host *host, struct error *err)
{
    cleanup(buf_done) struct buf mounts = {0};
    cleanup(buf_done) struct buf groups = {0};
    bool has_v2 = false;
    int r;

    if (read_proc(proc, "mountinfo", &mounts, err) < 0 ||
        read_proc(proc, "cgroup", &groups, err) < 0)
        return -1;
    r = read_mounts(host, mounts.data, buf_str(&groups), &has_v2);
    if (r < 0) {
        errno = -r;
        return error_errno(err, "look for cgroups");
    }
    if (host->kind == CGROUP_V2)
        return 0;
    if ((all_controllers(host) & CGROUP_NEEDED) == CGROUP_NEEDED) {
        host->kind = CGROUP_V1;
        host->ops = &cgroup_v1_ops;
        return 0;
    }
    if (has_v2)
        cgroup_set_reason(host,
                          "the cgroup of this process has no memory and pids controllers: start it "
                          "with `systemd-run --user --scope -p Delegate=yes`");
    else
        cgroup_set_reason(host,
                          "no cgroup hierarchy with memory and pids is mounted: mount cgroup2 at "
                          "/sys/fs/cgroup");
    return 0;
}

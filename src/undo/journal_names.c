/* Files with several names (hard links).
 *
 * An undo finds a file by its name. When a run changes a file and then removes the name by which it
 * did so, the file goes on under another name, and that is the one that an undo has to know.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "undo/journal_internal.h"

/* Of all names that are remembered. Beyond that, names are looked for in the same directory only.
 */
#define NAMES_BYTES (16 * MIB)

/* How many entries of a directory are looked at for another name. */
#define SIBLINGS_MAX 10000

int journal_open_below(int dir, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };

    return (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));
}

static void forget(struct journal *j, char **name)
{
    j->names_bytes -= *name ? strlen(*name) + 1 : 0;
    free(*name);
    *name = NULL;
}

void journal_names_forget(struct journal *j, struct object *o)
{
    for (size_t i = 0; i < ARRAY_SIZE(o->names); i++)
        forget(j, &o->names[i]);
}

/* Takes the place of the oldest. */
static void remember(struct journal *j, struct object *o, unsigned grant, const char *path)
{
    size_t size = strlen(path) + 1, last = ARRAY_SIZE(o->names) - 1;

    for (size_t i = 0; i <= last; i++)
        if (o->names[i] && strcmp(o->names[i], path) == 0 && o->grant == grant)
            return;
    if (o->grant != grant)
        journal_names_forget(j, o);
    forget(j, &o->names[0]);
    memmove(o->names, o->names + 1, last * sizeof(*o->names));
    o->grant = grant;
    o->names[last] = j->names_bytes + size <= NAMES_BYTES ? strdup(path) : NULL;
    j->names_bytes += o->names[last] ? size : 0;
}

void journal_name(struct journal *j, unsigned grant, const char *path, const struct stat *st)
{
    struct object *o = journal_object(j, st, -1, NULL);

    if (o)
        remember(j, o, grant, path);
}

void journal_names_move(struct journal *j, struct object *o, const char *from, const char *to)
{
    for (size_t i = 0; i < ARRAY_SIZE(o->names); i++)
        if (o->names[i] && strcmp(o->names[i], from) == 0) {
            forget(j, &o->names[i]);
            remember(j, o, o->grant, to);
            return;
        }
}

static bool is_at(const struct journal *j, unsigned grant, const char *path, const struct stat *st)
{
    cleanup_close int fd = grant < LIMIT_GRANTS && j->grants[grant] >= 0
                               ? journal_open_below(j->grants[grant], path)
                               : -1;
    struct stat now;

    return fd >= 0 && fstat(fd, &now) == 0 && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

static bool find_sibling(const struct journal *j, unsigned grant, const char *path, int parent,
                         const struct stat *st, char other[PATH_MAX])
{
    cleanup_closedir DIR *entries = file_open_dir(parent, ".");
    const char *slash = strrchr(path, '/');
    int above = slash ? (int)(slash - path) + 1 : 0;
    const struct dirent *entry;

    for (int i = 0; entries && i < SIBLINGS_MAX && (entry = readdir(entries)); i++)
        if (entry->d_ino == st->st_ino && strcmp(entry->d_name, path + above) != 0 &&
            snprintf(other, PATH_MAX, "%.*s%s", above, path, entry->d_name) < PATH_MAX &&
            is_at(j, grant, other, st))
            return true;
    return false;
}

bool journal_find_name(const struct journal *j, const struct object *o, unsigned grant,
                       const char *path, int parent, const struct stat *st, char other[PATH_MAX])
{
    for (size_t i = 0; o && o->grant == grant && i < ARRAY_SIZE(o->names); i++)
        if (o->names[i] && strcmp(o->names[i], path) != 0 && is_at(j, grant, o->names[i], st)) {
            (void)snprintf(other, PATH_MAX, "%s", o->names[i]);
            return true;
        }
    return o && o->flags & (OBJECT_CHANGED | OBJECT_META) &&
           find_sibling(j, grant, path, parent, st, other);
}

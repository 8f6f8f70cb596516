#include "machine/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"

/* A machine without a network card and disks. Those that are built in are left out. */
static const char *const wanted[] = {"virtio_mmio", "virtio_console", "virtio_rng",
                                     "fuse",        "virtiofs",       "overlay"};

#define LIST_BYTES_MAX ((size_t)8 << 20)

/* "kernel/fs/fuse/virtio-fs.ko.xz" is the module "virtio_fs", as far as `len`. */
static bool is_module(const char *path, size_t len, const char *name)
{
    const char *file = memrchr(path, '/', len);
    size_t n = strlen(name);

    file = file ? file + 1 : path;
    len -= (size_t)(file - path);
    if (len < n + 3 || strncmp(file + n, ".ko", 3) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((file[i] == '-' ? '_' : file[i]) != name[i])
            return false;
    return true;
}

/* The start of the line for that module in a list, or NULL. Lines are "PATH" or "PATH: NEEDS…". */
static const char *find_line(const char *list, const char *name)
{
    for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (is_module(line, strcspn(line, ":\n"), name))
            return line;
    return NULL;
}

static int read_list(const char *directory, const char *name, struct buf *list, struct error *err)
{
    cleanup_free char *path = NULL;
    cleanup_close int fd = -1;

    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return error_memory(err);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "open %s", path);
    return buf_read_fd(list, fd, err);
}

/* Unless it is there already. */
static int add(struct kernel *kernel, const char *directory, const char *path, size_t len,
               struct error *err)
{
    cleanup_free char *whole = NULL;

    if (asprintf(&whole, "%s/%.*s", directory, (int)len, path) < 0)
        return error_memory(err);
    for (size_t i = 0; i < kernel->n_modules; i++)
        if (strcmp(kernel->modules[i], whole) == 0)
            return 0;
    if (kernel->n_modules == KERNEL_MODULES_MAX)
        return error_set(err, E_TOO_LARGE, "%s: too many modules", directory);
    kernel->modules[kernel->n_modules++] = take_ptr(whole);
    return 0;
}

/* What it needs, and then itself. modules.dep names the nearest need first. */
static int add_with_needs(struct kernel *kernel, const char *directory, const char *line,
                          struct error *err)
{
    size_t len = strcspn(line, ":\n"), start = len, end = strcspn(line, "\n");

    while (end > start) {
        size_t at = end;

        while (at > start && line[at - 1] != ' ' && line[at - 1] != ':')
            at--;
        if (end > at && add(kernel, directory, line + at, end - at, err) < 0)
            return -1;
        end = at > start ? at - 1 : start;
    }
    return add(kernel, directory, line, len, err);
}

static int find_modules(struct kernel *kernel, const char *directory, struct error *err)
{
    cleanup(buf_done) struct buf needs = BUF_OF(LIST_BYTES_MAX), builtin = BUF_OF(LIST_BYTES_MAX);

    if (read_list(directory, "modules.dep", &needs, err) < 0 ||
        read_list(directory, "modules.builtin", &builtin, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
        const char *line = find_line(buf_str(&needs), wanted[i]);

        if (!line && !find_line(buf_str(&builtin), wanted[i]))
            return error_set(err, E_UNSUPPORTED, "%s has no module %s", directory, wanted[i]);
        if (line && add_with_needs(kernel, directory, line, err) < 0)
            return -1;
    }
    return 0;
}

/* The newest release with an image that can be read; NULL: there is none. */
static char *newest(const char *boot, const char *modules)
{
    cleanup_closedir DIR *directory = opendir(modules);
    const struct dirent *entry;
    char *best = NULL;

    while (directory && (entry = readdir(directory)) != NULL) {
        cleanup_free char *image = NULL, *needs = NULL;

        if (*entry->d_name == '.' || (best && strverscmp(entry->d_name, best) <= 0) ||
            asprintf(&image, "%s/vmlinuz-%s", boot, entry->d_name) < 0 ||
            asprintf(&needs, "%s/%s/modules.dep", modules, entry->d_name) < 0 ||
            access(image, R_OK) < 0 || access(needs, R_OK) < 0)
            continue;
        free(best);
        best = strdup(entry->d_name);
    }
    return best;
}

int kernel_find(const char *boot, const char *modules, struct kernel *ret_kernel, struct error *err)
{
    cleanup_free char *release = newest(boot, modules), *directory = NULL;
    struct kernel kernel = {0};

    if (!release) {
        error_set(err, E_UNSUPPORTED, "no kernel with modules in %s and %s", boot, modules);
        return error_hint(err, "install linux-image-cloud-amd64");
    }
    if (asprintf(&kernel.image, "%s/vmlinuz-%s", boot, release) < 0 ||
        asprintf(&directory, "%s/%s", modules, release) < 0)
        return error_memory(err);
    if (find_modules(&kernel, directory, err) < 0) {
        kernel_done(&kernel);
        return -1;
    }
    *ret_kernel = kernel;
    return 0;
}

void kernel_done(struct kernel *kernel)
{
    free(kernel->image);
    for (size_t i = 0; i < kernel->n_modules; i++)
        free(kernel->modules[i]);
    *kernel = (struct kernel){0};
}

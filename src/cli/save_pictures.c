#include "cli/save_pictures.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/display.h"
#include "base/cleanup.h"
#include "base/file.h"

/* "plots/sales.py" makes sales-1.png. */
static char *name_for(const char *program)
{
    const char *slash = program ? strrchr(program, '/') : NULL;
    const char *base = slash ? slash + 1 : program;
    const char *dot = base ? strrchr(base, '.') : NULL;

    if (!base || !*base || dot == base || strcmp(base, "-") == 0)
        return strdup("picture");
    return dot ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

int save_open(struct save *save, const char *path, const char *program, struct error *err)
{
    save->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (save->dir < 0) {
        int saved = errno;

        error_errno(err, "--save `%s`", path);
        err->code = saved == ENOENT ? E_NOT_FOUND : E_INVALID;
        return error_hint(err, "name an existing directory");
    }
    save->path = path;
    save->name = name_for(program);
    return save->name ? 0 : error_memory(err);
}

void save_done(struct save *save)
{
    close_fd(&save->dir);
    free(save->name);
    save->name = NULL;
}

static int write_file(int dir, const char *name, const struct run_form *form, const char *id)
{
    cleanup_free char *temporary = NULL;
    cleanup_close int fd = -1;

    /* The id cannot be guessed, so nobody has put anything there. */
    if (asprintf(&temporary, ".%s.tmp", id) < 0) {
        temporary = NULL;
        errno = ENOMEM;
        return -1;
    }
    fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    if (file_write_all(fd, form->data, form->len) < 0 || renameat(dir, temporary, dir, name) < 0) {
        int saved = errno;

        (void)unlinkat(dir, temporary, 0);
        errno = saved;
        return -1;
    }
    return 0;
}

static int save_form(const struct save *save, const struct run *run, const struct run_form *form,
                     unsigned number, struct buf *out, struct error *err)
{
    cleanup_free char *name = NULL;

    if (asprintf(&name, "%s-%u.%s", save->name, number, display_picture_suffix(form->mime)) < 0) {
        name = NULL;
        return error_memory(err);
    }
    if (write_file(save->dir, name, form, run->id) < 0)
        return error_errno(err, "write `%s/%s`", save->path, name);
    return buf_printf(out, err, "belljar: saved %s/%s\n", save->path, name);
}

static int describe(const struct run_form *form, uint32_t width, uint32_t height, struct buf *out,
                    struct error *err)
{
    if (buf_add_str(out, "belljar: picture", err) < 0)
        return -1;
    if (width && height && buf_printf(out, err, " %ux%u", width, height) < 0)
        return -1;
    return buf_printf(out, err, ", %zu kB: use --json, or --save DIR to keep it\n",
                      (form->len + 999) / 1000);
}

int save_pictures(const struct save *save, const struct run *run, struct buf *out,
                  struct error *err)
{
    unsigned number = 0;

    for (size_t i = 0; i < run->result.n_displays; i++) {
        const struct run_display *display = &run->result.displays[i];
        uint32_t width, height;
        const struct run_form *first = display_picture(display, &width, &height);

        if (!first)
            continue;
        number++;
        if (save->dir < 0 && describe(first, width, height, out, err) < 0)
            return -1;
        for (size_t f = 0; save->dir >= 0 && f < display->n_forms; f++)
            if (display_picture_suffix(display->forms[f].mime) &&
                save_form(save, run, &display->forms[f], number, out, err) < 0)
                return -1;
    }
    return 0;
}

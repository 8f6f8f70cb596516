#include "terminal/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/display.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/limits.h"

/* A picture a terminal is asked to decode: a few bytes may stand for gigabytes of pixels. */
#define DRAWN_BYTES (4 * MIB)
#define DRAWN_SIDE  4096u

/* The most bytes that kitty's protocol carries in one piece. */
#define KITTY_CHUNK ((size_t)4096)

/* Names that are tried. */
#define NUMBERS_MAX 100000

static bool is(const char *variable, const char *value)
{
    const char *set = getenv(variable);

    return set && strcmp(set, value) == 0;
}

enum picture_protocol picture_protocol(int fd)
{
    const char *term = getenv("TERM");

    if (!isatty(fd) || !term || getenv("TMUX") || strncmp(term, "screen", 6) == 0 ||
        strncmp(term, "tmux", 4) == 0)
        return PICTURE_NONE;
    if (strcmp(term, "xterm-kitty") == 0 || strcmp(term, "xterm-ghostty") == 0 ||
        is("TERM_PROGRAM", "ghostty") || getenv("KITTY_WINDOW_ID") || getenv("KONSOLE_VERSION"))
        return PICTURE_KITTY;
    if (is("TERM_PROGRAM", "iTerm.app") || is("LC_TERMINAL", "iTerm2") ||
        is("TERM_PROGRAM", "WezTerm"))
        return PICTURE_ITERM;
    return PICTURE_NONE;
}

static int create_numbered(const char *dir, const char *name, const char *suffix, char **ret_path,
                           struct error *err)
{
    for (unsigned number = 1; number < NUMBERS_MAX; number++) {
        cleanup_free char *path = NULL;
        int fd;

        if (asprintf(&path, "%s/%s-%u.%s", dir, name, number, suffix) < 0) {
            path = NULL;
            return error_memory(err);
        }
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
        if (fd >= 0) {
            *ret_path = take_ptr(path);
            return fd;
        }
        if (errno != EEXIST)
            return error_errno(err, "save a picture as `%s`", path);
    }
    return error_set(err, E_TOO_LARGE, "`%s` has no space left for pictures", dir);
}

int picture_save(const char *dir, const char *name, const struct run_form *form, char **ret_path,
                 struct error *err)
{
    const char *suffix = display_picture_suffix(form->mime);
    cleanup_free char *path = NULL;
    cleanup_close int fd = create_numbered(dir, name, suffix ? suffix : "bin", &path, err);

    if (fd < 0)
        return -1;
    if (file_write_all(fd, form->data, form->len) < 0) {
        error_errno(err, "save a picture as `%s`", path);
        (void)unlink(path);
        return -1;
    }
    *ret_path = take_ptr(path);
    return 0;
}

static uint32_t big_endian(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Signature, then the header chunk: length, "IHDR", width, height. */
bool picture_png_size(const void *data, size_t len, uint32_t *ret_width, uint32_t *ret_height)
{
    const unsigned char *at = data;

    if (len < 24 || len > DRAWN_BYTES || memcmp(at, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0)
        return false;
    *ret_width = big_endian(at + 16);
    *ret_height = big_endian(at + 20);
    return *ret_width && *ret_height && *ret_width <= DRAWN_SIDE && *ret_height <= DRAWN_SIDE;
}

/* "a=T" transmits and shows, "f=100" is PNG, "q=2" keeps the terminal from answering into our
 * input; "m=1" says that more follows. */
static int draw_kitty(const struct buf *text, struct buf *out)
{
    for (size_t at = 0; at < text->len; at += KITTY_CHUNK) {
        size_t len = text->len - at < KITTY_CHUNK ? text->len - at : KITTY_CHUNK;

        if (buf_printf(out, NULL, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "",
                       at + len < text->len) < 0 ||
            buf_add(out, text->data + at, len, NULL) < 0 || buf_add_str(out, "\033\\", NULL) < 0)
            return -1;
    }
    return buf_add_str(out, "\n", NULL);
}

static int draw_iterm(const struct buf *text, size_t len, struct buf *out)
{
    if (buf_printf(out, NULL, "\033]1337;File=inline=1;size=%zu:", len) < 0 ||
        buf_add(out, text->data, text->len, NULL) < 0)
        return -1;
    return buf_add_str(out, "\a\n", NULL);
}

bool picture_draw(enum picture_protocol protocol, const struct run_form *form, struct buf *out)
{
    cleanup(buf_done) struct buf text = BUF_OF(2 * DRAWN_BYTES);
    uint32_t width, height;

    if (protocol == PICTURE_NONE || strcmp(form->mime, "image/png") != 0 ||
        !picture_png_size(form->data, form->len, &width, &height))
        return false;
    if (base64_add(&text, form->data, form->len, NULL) < 0)
        return false;
    return (protocol == PICTURE_KITTY ? draw_kitty(&text, out)
                                      : draw_iterm(&text, form->len, out)) == 0;
}

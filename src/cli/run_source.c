#include "cli/run_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/paths.h"
#include "base/utf8.h"
#include "cli/flags.h"

static int open_regular(const char *path, const char *what, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        int saved = errno;

        error_errno(err, "%s `%s`", what, path);
        err->code = saved == ENOENT ? E_NOT_FOUND : E_INVALID;
        if (saved == ENOENT)
            return error_hint(err, "check the name; a program given as text needs -c");
        return error_hint(err, "the file must be readable for you");
    }
    if (S_ISDIR(st.st_mode)) {
        error_set(err, E_INVALID, "%s `%s` is a directory", what, path);
        return error_hint(err, "name a file in it");
    }
    return take_fd(fd);
}

static int read_source(struct buf *target, const char *path, const char *what, struct error *err)
{
    cleanup_close int opened = -1;
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0) {
        opened = open_regular(path, what, err);
        if (opened < 0)
            return -1;
        fd = opened;
    }
    if (buf_read_fd(target, fd, err) < 0) {
        if (err->code == E_TOO_LARGE)
            error_hint(err, "split it, or pass large data with --allow");
        return error_wrap(err, "%s", what);
    }
    return 0;
}

/* By the file's suffix, where nothing was said. */
static int pick_language(const struct run_source *source, struct run_request *asked,
                         struct error *err)
{
    const char *dot = source->file ? strrchr(source->file, '.') : NULL;

    if (source->language)
        return flags_language(source->language, &asked->language, err);
    asked->language =
        dot && (strcmp(dot, ".sh") == 0 || strcmp(dot, ".bash") == 0) ? RUN_BASH : RUN_PYTHON;
    return 0;
}

static int check_code(const struct buf *code, struct error *err)
{
    size_t at;

    if (strspn(buf_str(code), " \t\r\n\f") == code->len) {
        error_set(err, E_INVALID, "the program is empty");
        return error_hint(err, "give it as FILE, with -c, or on standard input as -");
    }
    if (memchr(code->data, '\0', code->len)) {
        error_set(err, E_INVALID, "the program contains a NUL byte");
        return error_hint(err, "it must be UTF-8 text");
    }
    at = utf8_valid(code->data, code->len);
    if (at < code->len) {
        error_set(err, E_INVALID, "the program is not valid UTF-8 at byte %zu", at);
        return error_hint(err, "save it as UTF-8");
    }
    return 0;
}

static int read_code(const struct run_source *source, const struct config *config,
                     struct run_text *text, struct run_request *asked, struct error *err)
{
    struct buf *code = &text->code;

    if (source->code && source->file) {
        error_set(err, E_INVALID, "both -c and a file were given");
        return error_hint(err, "give one of them");
    }
    buf_init(code, (size_t)config->code_bytes);
    if (source->code) {
        if (buf_add_str(code, source->code, err) < 0)
            return error_wrap(err, "the program");
    } else if (source->file || !isatty(STDIN_FILENO)) {
        if (read_source(code, source->file ? source->file : "-", "the program", err) < 0)
            return -1;
    }
    asked->code = (struct span){buf_str(code), code->len};
    return check_code(code, err);
}

static int read_input(const struct run_source *source, struct run_text *text,
                      struct run_request *asked, struct error *err)
{
    if (!source->input)
        return 0;
    if (strcmp(source->input, "-") == 0 && source->file && strcmp(source->file, "-") == 0)
        return error_set(err, E_INVALID, "standard input cannot be both the program and its input");
    buf_init(&text->input, LIMIT_STDIN_BYTES);
    if (read_source(&text->input, source->input, "--stdin", err) < 0)
        return -1;
    asked->input = (struct span){buf_str(&text->input), text->input.len};
    return 0;
}

int run_source_read(const struct run_source *source, const struct config *config,
                    struct run_text *text, struct run_request *asked, struct error *err)
{
    if (pick_language(source, asked, err) < 0 || read_code(source, config, text, asked, err) < 0)
        return -1;
    return read_input(source, text, asked, err);
}

int run_source_place(const struct run_source *source, struct run *run, struct error *err)
{
    cleanup_free char *real =
        source->file && strcmp(source->file, "-") != 0 ? realpath(source->file, NULL) : NULL;

    for (size_t i = 0; real && i < run->terms.n_grants && !run->program.script; i++)
        if (paths_below(real, run->terms.grants[i].path) && !(run->program.script = strdup(real)))
            return error_memory(err);
    return 0;
}

void run_text_done(struct run_text *text)
{
    buf_done(&text->code);
    buf_done(&text->input);
}

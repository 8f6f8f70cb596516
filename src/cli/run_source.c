#include "cli/run_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/language.h"
#include "base/paths.h"
#include "base/shell_word.h"
#include "base/span.h"
#include "base/utf8.h"
#include "cli/flags.h"
#include "cli/run_hints.h"

/* `hint` is about a file that is not there, or cannot be. */
static int open_regular(const char *path, const char *what, const char *hint, struct error *err)
{
    cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0) {
        int saved = errno;

        error_errno(err, "%s `%s`", what, path);
        err->code = saved == ENOENT ? E_NOT_FOUND : E_INVALID;
        if (saved == EACCES || saved == EPERM)
            return error_hint(err, "you need permission to read the file");
        return error_hint(err, "%s", hint);
    }
    if (S_ISDIR(st.st_mode)) {
        error_set(err, E_INVALID, "%s `%s` is a directory", what, path);
        return error_hint(err, "name a file in it");
    }
    return take_fd(fd);
}

static int read_source(struct buf *target, const char *path, const char *what, const char *hint,
                       struct error *err)
{
    cleanup_close int opened = -1;
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0) {
        opened = open_regular(path, what, hint, err);
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

/* --- languages --- */

static bool is_notebook(const struct run_source *source)
{
    const char *dot = source->file ? strrchr(source->file, '.') : NULL;

    return dot && strcmp(dot, ".ipynb") == 0;
}

/* The next word of a line of `len` bytes, and what follows it. */
static struct span next_word(struct span *line)
{
    struct span word;

    while (line->len && (*line->data == ' ' || *line->data == '\t'))
        *line = (struct span){line->data + 1, line->len - 1};
    word = (struct span){line->data, 0};
    while (word.len < line->len && !strchr(" \t\r", word.data[word.len]))
        word.len++;
    *line = (struct span){line->data + word.len, line->len - word.len};
    return word;
}

/* The last part of the interpreter's path in "#!/usr/bin/env -S python3 -u"; empty: there is none.
 */
static struct span interpreter_of(struct span code)
{
    const char *end = memchr(code.data, '\n', code.len), *slash;
    struct span line = {code.data + 2, (end ? (size_t)(end - code.data) : code.len) - 2}, word;

    if (code.len < 3 || memcmp(code.data, "#!", 2) != 0 || (end && end < code.data + 2))
        return (struct span){"", 0};
    do {
        word = next_word(&line);
        slash = memrchr(word.data, '/', word.len);
        if (slash)
            word = (struct span){slash + 1, word.len - (size_t)(slash + 1 - word.data)};
    } while (span_is(word, "env") || (word.len && *word.data == '-'));
    return word;
}

/* "Python (.py), Bash (.sh .bash), ...". */
static int add_types(struct buf *out)
{
    for (size_t i = 0; i < RUN_LANGUAGES; i++)
        if (buf_printf(out, NULL, "%s%s (%s%s)", i ? ", " : "", languages[i].title,
                       languages[i].suffixes, i == RUN_PYTHON ? " .ipynb" : "") < 0)
            return -1;
    return 0;
}

static int refuse_type(const char *file, struct span interpreter, struct error *err)
{
    cleanup(buf_done) struct buf types = BUF_OF(KIB);

    if (interpreter.len)
        error_set(err, E_INVALID, "`%s` is for `%.*s`, which Belljar does not run", file,
                  (int)(interpreter.len < 64 ? interpreter.len : 64), interpreter.data);
    else
        error_set(err, E_INVALID, "`%s`: the type of the program is not known", file);
    if (add_types(&types) < 0)
        return -1;
    return error_hint(
        err,
        "supported are %s, and files whose #! line names their interpreter; -l names the language",
        buf_str(&types));
}

/* Text without a file name is Python unless its first line says otherwise. */
static int pick_language(const struct run_source *source, struct run_request *asked,
                         struct error *err)
{
    struct stat st; /* of `<(command)` and /dev/stdin, the name says nothing */
    bool has_name = source->file && strcmp(source->file, "-") != 0 &&
                    stat(source->file, &st) == 0 && S_ISREG(st.st_mode);
    struct span interpreter = interpreter_of(asked->code);
    int found = has_name ? is_notebook(source) ? RUN_PYTHON : language_of_file(source->file) : -1;

    if (source->language)
        return language_read(source->language, &asked->language, err);
    if (found < 0)
        found = language_of_interpreter(interpreter);
    if (found < 0 && has_name)
        return refuse_type(source->file, interpreter, err);
    asked->language = found < 0 ? RUN_PYTHON : (enum run_language)found;
    return 0;
}

/* --- the program --- */

/* Of a file: pictures in it count. */
#define NOTEBOOK_BYTES (64 * MIB)

/* With -l it would be read as text of that language, which JSON is not. */
static int check_notebook(const struct run_source *source, struct error *err)
{
    if (!is_notebook(source) || !source->language)
        return 0;
    error_set(err, E_INVALID, "`%s` is a notebook; -l is for plain programs", source->file);
    return error_hint(err, "leave -l out: `belljar run %s` runs its code cells", source->file);
}

bool run_source_has_suffix(const char *file)
{
    return language_of_file(file) >= 0 || is_notebook(&(struct run_source){.file = file});
}

/* `belljar run python3 x.py`. */
static int read_file(const struct run_source *source, struct buf *code, struct error *err)
{
    cleanup_free char *place = NULL;

    if (read_source(code, source->file, "the program",
                    "check the name; a program given as text needs -c", err) == 0)
        return 0;
    place = strchr(source->file, '/') ? NULL : run_hints_place_of(source->file);
    return err->code == E_NOT_FOUND && place
               ? error_hint(err, "`belljar exec --here -- %s …` runs a command of this system",
                            source->file)
               : -1;
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

    buf_init(code, is_notebook(source) ? NOTEBOOK_BYTES : (size_t)config->code_bytes);
    if (source->code) {
        if (buf_add_str(code, source->code, err) < 0)
            return error_wrap(err, "the program");
    } else if (!source->file && isatty(STDIN_FILENO)) {
        error_set(err, E_INVALID, "no program was given");
        return error_hint(err,
                          "give it as FILE, or as text with -c; `belljar shell` opens a prompt");
    } else if (source->file ? read_file(source, code, err) < 0
                            : read_source(code, "-", "the program", "", err) < 0) {
        return -1;
    }
    asked->code = (struct span){buf_str(code), code->len};
    return check_code(code, err);
}

/* --- notebooks --- */

/* With a NUL that it may have, which the check of the program refuses. */
static int add_text(const json_t *text, struct buf *code, struct error *err)
{
    return buf_add(code, json_string_value(text), json_string_length(text), err);
}

/* `source` of a cell: a text, or a list of lines. */
static int add_cell(const json_t *source, struct buf *code, struct error *err)
{
    const json_t *line;
    size_t i;

    if (json_is_string(source) && add_text(source, code, err) < 0)
        return -1;
    json_array_foreach((json_t *)source, i, line)
    {
        if (json_is_string(line) && add_text(line, code, err) < 0)
            return -1;
    }
    return buf_add_str(code, "\n", err);
}

/* The code cells, one behind the other, as one program whose last value is printed. */
static int take_notebook(const struct run_source *source, const struct config *config,
                         struct run_text *text, struct run_request *asked, struct error *err)
{
    struct buf code;
    json_t *object, *cells, *cell;
    unsigned number = 0;
    size_t i;
    int r = 0;

    object = json_text_own(buf_str(&text->code), text->code.len);
    cells = json_object_get(object, "cells");
    if (!json_is_array(cells)) {
        json_decref(object);
        error_set(err, E_INVALID, "the notebook `%s` has no list of cells", source->file);
        return error_hint(err, "it must be JSON in version 4 of the notebook format");
    }
    buf_init(&code, (size_t)config->code_bytes);
    json_array_foreach(cells, i, cell)
    {
        const char *type = json_string_value(json_object_get(cell, "cell_type"));

        if (r == 0 && type && strcmp(type, "code") == 0)
            r = buf_printf(&code, err, "# %%%% In [%u]\n", ++number) /* guest/notebook.h */ < 0
                    ? -1
                    : add_cell(json_object_get(cell, "source"), &code, err);
    }
    json_decref(object);
    buf_done(&text->code);
    text->code = code;
    asked->code = (struct span){buf_str(&text->code), text->code.len};
    asked->language = RUN_PYTHON;
    asked->auto_print = true;
    return r < 0 ? error_wrap(err, "the notebook `%s`", source->file)
                 : check_code(&text->code, err);
}

static int read_input(const struct run_source *source, struct run_text *text,
                      struct run_request *asked, struct error *err)
{
    if (!source->input)
        return 0;
    if (strcmp(source->input, "-") == 0 && source->file && strcmp(source->file, "-") == 0)
        return error_set(err, E_INVALID, "standard input cannot be both the program and its input");
    buf_init(&text->input, LIMIT_STDIN_BYTES);
    if (read_source(&text->input, source->input, "--stdin",
                    "check the name; `--stdin -` passes on what is piped into this command",
                    err) < 0)
        return -1;
    asked->input = (struct span){buf_str(&text->input), text->input.len};
    return 0;
}

/* --- commands --- */

/* The command as a line of a shell, for the trail and for servers. */
static int write_command(char **command, struct run_text *text, struct run_request *asked,
                         struct error *err)
{
    buf_init(&text->code, LIMIT_COMMAND_LINE);
    for (char **word = command; *word; word++)
        if ((word > command && buf_add_str(&text->code, " ", err) < 0) ||
            shell_word_add(*word, &text->code, err) < 0)
            return error_wrap(err, "the command");
    asked->code = (struct span){buf_str(&text->code), text->code.len};
    asked->max_code = LIMIT_COMMAND_LINE;
    asked->language = RUN_COMMAND;
    return 0;
}

int run_source_read(const struct run_source *source, const struct config *config,
                    struct run_text *text, struct run_request *asked, struct error *err)
{
    if (source->command)
        return write_command(source->command, text, asked, err) < 0
                   ? -1
                   : read_input(source, text, asked, err);
    if (check_notebook(source, err) < 0 || read_code(source, config, text, asked, err) < 0 ||
        (is_notebook(source) && take_notebook(source, config, text, asked, err) < 0) ||
        pick_language(source, asked, err) < 0)
        return -1;
    if (source->code && asked->args.count) /* as sys.argv[0] and $0 */
        asked->filename = asked->language == RUN_BASH ? "bash" : "-c";
    return read_input(source, text, asked, err);
}

int run_source_place(const struct run_source *source, struct run *run, struct error *err)
{
    cleanup_free char *real =
        source->file && strcmp(source->file, "-") != 0 ? realpath(source->file, NULL) : NULL;

    if (is_notebook(source)) /* its file is not the program: Python would quote lines of JSON */
        return 0;
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

/* Cells that are scripts: `%%bash -s 1 2`, `%%script node --out text`. They become a call with one
 * command, which has the cell as its standard input. */
#include <string.h>

#include <Python.h>

#include "base/span.h"
#include "guest/notebook_internal.h"

/* `--out NAME`, `--err NAME`, `--no-raise-error`, `--bg`: they stand anywhere on the line. */
struct options {
    struct span out, err; /* names that get what is printed */
    bool may_fail;
    bool is_background; /* it goes on after the cell, and what it prints is lost */
};

static struct span take_word(struct span *rest)
{
    struct span word = {rest->data, 0};

    while (word.len < rest->len && !memchr(" \t\n", word.data[word.len], 3))
        word.len++;
    *rest = notebook_trim(notebook_after(*rest, word.len));
    return word;
}

/* Is it this option with a value, `--out NAME` or `--out=NAME`? */
static bool is_option(struct span word, const char *option, struct span *rest, struct span *ret)
{
    size_t len = strlen(option);

    if (word.len < len || memcmp(word.data, option, len) != 0)
        return false;
    if (word.len > len && word.data[len] != '=')
        return false;
    *ret = word.len > len ? notebook_after(word, len + 1) : take_word(rest);
    return true;
}

/* Adds the line without them to `left`. -1: a value is no name. */
static int take_options(struct span rest, struct options *o, struct text *left)
{
    struct span none;

    rest = notebook_trim(rest);
    while (rest.len) {
        struct span word = take_word(&rest);

        if (is_option(word, "--out", &rest, &o->out) || is_option(word, "--err", &rest, &o->err))
            continue;
        if (span_is(word, "--raise-error") || is_option(word, "--proc", &rest, &none))
            continue;
        o->may_fail |= span_is(word, "--no-raise-error");
        o->is_background |= span_is(word, "--bg");
        if (span_is(word, "--no-raise-error") || span_is(word, "--bg"))
            continue;
        text_add_str(left, " ");
        text_add(left, word.data, word.len);
    }
    return (o->out.len && notebook_name_length(o->out) != o->out.len) ||
                   (o->err.len && notebook_name_length(o->err) != o->err.len)
               ? -1
               : 0;
}

static void add_command(struct text *t, struct span command, struct span body, bool is_background)
{
    bool has_end = body.len && body.data[body.len - 1] == '\n';

    notebook_add_command(t, command);
    text_add_str(t, " + ");
    text_add_literal(t, span_of(is_background ? " <<'__END_OF_CELL__' >/dev/null 2>&1 &\n"
                                              : " <<'__END_OF_CELL__'\n"));
    text_add_str(t, " "); /* quotes of an empty text would join those beside it */
    text_add_literal(t, body);
    text_add_str(t, " ");
    text_add_literal(t, span_of(has_end ? "__END_OF_CELL__\n" : "\n__END_OF_CELL__\n"));
}

static bool has_names(const struct options *o)
{
    return o->out.len || o->err.len;
}

/* "out, _ = _notebook('streams', (", or the call alone. */
static void begin_call(struct text *t, const struct options *o)
{
    if (!has_names(o)) {
        text_add_str(t, o->may_fail ? "_notebook('shell', " : "_notebook('script', ");
        return;
    }
    text_add(t, o->out.len ? o->out.data : "_stdout", o->out.len ? o->out.len : strlen("_stdout"));
    text_add_str(t, ", ");
    text_add(t, o->err.len ? o->err.data : "_stderr", o->err.len ? o->err.len : strlen("_stderr"));
    text_add_str(t, " = _notebook('streams', (");
}

static void end_call(struct text *t, const struct options *o)
{
    if (has_names(o)) {
        text_add_str(t, o->out.len ? ", True" : ", False");
        text_add_str(t, o->err.len ? ", True" : ", False");
        text_add_str(t, o->may_fail ? ", False)" : ", True)");
    }
    text_add_str(t, ")");
}

int notebook_add_script(struct text *t, struct span program, struct span rest, struct span body)
{
    struct options o = {0};
    struct text left = {0};
    int r = take_options(rest, &o, &left);

    if (r == 0 && !left.failed) {
        struct text command = {0};

        text_add(&command, program.data, program.len);
        text_add(&command, left.data ? left.data : "", left.len);
        begin_call(t, &o);
        add_command(t, notebook_trim((struct span){command.data, command.len}), body,
                    o.is_background);
        end_call(t, &o);
        r = command.failed ? -1 : 0;
        PyMem_RawFree(command.data);
    }
    PyMem_RawFree(left.data);
    return left.failed ? -1 : r;
}

#include "guest/notebook.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/span.h"
#include "guest/notebook_internal.h"

void text_add(struct text *t, const char *data, size_t len)
{
    if (t->failed)
        return;
    if (!t->data || t->len + len + 1 > t->size) {
        size_t size = 2 * (t->len + len) + 256;
        char *data_new = PyMem_RawRealloc(t->data, size);

        if (!data_new) {
            t->failed = true;
            return;
        }
        t->data = data_new;
        t->size = size;
    }
    memcpy(t->data + t->len, data, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void text_add_str(struct text *t, const char *s)
{
    text_add(t, s, strlen(s));
}

void text_add_literal(struct text *t, struct span s)
{
    text_add_str(t, "'");
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        char escaped[8];

        if (c == '\\' || c == '\'' || c < 0x20 || c == 0x7f) {
            (void)snprintf(escaped, sizeof(escaped), "\\x%02x", c);
            text_add_str(t, escaped);
        } else {
            text_add(t, s.data + i, 1);
        }
    }
    text_add_str(t, "'");
}

struct span notebook_trim(struct span s)
{
    while (s.len && isspace((unsigned char)s.data[0]))
        s = (struct span){s.data + 1, s.len - 1};
    while (s.len && isspace((unsigned char)s.data[s.len - 1]))
        s.len--;
    return s;
}

bool notebook_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

size_t notebook_name_length(struct span s)
{
    size_t n = 0;

    while (n < s.len && notebook_is_word(s.data[n]))
        n++;
    return n && isdigit((unsigned char)s.data[0]) ? 0 : n;
}

struct span notebook_after(struct span s, size_t n)
{
    return (struct span){s.data + n, s.len - n};
}

struct span notebook_take_line(struct span *rest)
{
    const char *end = memchr(rest->data, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->data) : rest->len;
    struct span line = {rest->data, len};

    *rest = notebook_after(*rest, end ? len + 1 : len);
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

/* ---- lines ---- */

/* Behind a string that begins and ends on this line. */
static size_t skip_string(struct span line, size_t i)
{
    char quote = line.data[i];

    for (i++; i < line.len && line.data[i] != quote; i++)
        i += line.data[i] == '\\';
    return i;
}

static bool is_triple(struct span line, size_t i)
{
    return line.len - i >= 3 && line.data[i + 1] == line.data[i] &&
           line.data[i + 2] == line.data[i];
}

void notebook_scan_line(struct notebook_state *s, struct span line)
{
    s->continues = false;
    for (size_t i = 0; i < line.len; i++) {
        char c = line.data[i];

        if (s->quote) {
            if (c == '\\') {
                i++;
            } else if (c == s->quote && is_triple(line, i)) {
                s->quote = 0;
                i += 2;
            }
            s->last = c;
            continue;
        }
        if (c == '#')
            return;
        if (isspace((unsigned char)c))
            continue;
        s->last = c;
        if ((c == '\'' || c == '"') && is_triple(line, i)) {
            s->quote = c;
            i += 2;
        } else if (c == '\'' || c == '"') {
            i = skip_string(line, i);
        } else if (strchr("([{", c)) {
            s->depth++;
        } else if (strchr(")]}", c)) {
            s->depth -= s->depth > 0;
        } else if (c == '\\' && i + 1 == line.len) {
            s->continues = true;
        }
    }
}

struct span notebook_before_comment(struct span line)
{
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == '\'' || line.data[i] == '"')
            i = skip_string(line, i);
        else if (line.data[i] == '#')
            line.len = i;
    }
    return notebook_trim(line);
}

bool notebook_is_quiet(struct span source)
{
    struct notebook_state s = {0};

    while (source.len)
        notebook_scan_line(&s, notebook_take_line(&source));
    return s.last == ';' && !s.quote;
}

/* `name = !command`: the place behind the equals sign, or 0. */
static size_t assignment(struct span line)
{
    size_t i = 0;

    while (i < line.len && (notebook_is_word(line.data[i]) || strchr(" .,[]'\"\t", line.data[i])))
        i++;
    if (!i || i >= line.len || line.data[i] != '=')
        return 0;
    for (i++; i < line.len && isspace((unsigned char)line.data[i]); i++)
        continue;
    return i < line.len && strchr("!%", line.data[i]) ? i : 0;
}

/* `df?` or `?df`: the name, or nothing. */
static struct span question(struct span line)
{
    struct span name = line;

    while (name.len && name.data[name.len - 1] == '?')
        name.len--;
    while (name.len && name.data[0] == '?')
        name = notebook_after(name, 1);
    name = notebook_trim(name);
    if (!name.len && line.len == 1)
        return span_of("%"); /* `?` alone: what there is */
    if (name.len == line.len || !name.len)
        return (struct span){"", 0};
    for (size_t i = 0; i < name.len; i++)
        if (!notebook_is_word(name.data[i]) && !strchr(".*%", name.data[i]))
            return (struct span){"", 0};
    return name;
}

void notebook_add_question(struct text *t, struct span name, bool is_long)
{
    /* `df.a*?`, and a question about a command of notebooks. */
    if (memchr(name.data, '%', name.len) || memchr(name.data, '*', name.len)) {
        text_add_str(t, name.data[0] == '%' ? "_notebook('lsmagic', " : "_notebook('psearch', ");
        text_add_literal(t, name);
        text_add_str(t, ")");
        return;
    }
    text_add_str(t, "_notebook('describe', (");
    text_add_literal(t, name);
    text_add_str(t, is_long ? ", True, lambda: (" : ", False, lambda: (");
    text_add(t, name.data, name.len);
    text_add_str(t, ")))");
}

/* A notebook takes it for a command without a sign in front. */
static bool is_bare_command(struct span line)
{
    return span_starts_with(line, "pip install ") || span_starts_with(line, "pip3 install ") ||
           span_starts_with(line, "conda install ");
}

/* `name = %magic`. A statement that is measured is a function before the assignment, on lines of
 * its own. */
static int add_assigned_magic(struct text *t, struct span indent, struct span target,
                              struct span line)
{
    size_t n = notebook_name_length(line);
    struct text value = {0};
    int r = notebook_add_value(&value, indent, (struct span){line.data, n},
                               notebook_trim(notebook_after(line, n)));
    const char *last = r >= 0 && value.data ? strrchr(value.data, '\n') : NULL;
    size_t before = last ? (size_t)(last + 1 - value.data) : 0;

    if (r >= 0 && value.data) {
        text_add(t, value.data, before);
        text_add(t, last ? indent.data : "", last ? indent.len : 0);
        text_add(t, target.data, target.len);
        text_add_str(t, notebook_trim(span_of(value.data + before)).data);
    }
    r = r < 0 || value.failed || !value.data ? -1 : 1;
    PyMem_RawFree(value.data);
    return r;
}

/* `name = !command` or `name = %magic`; `at` is the place of the sign. */
static int add_assignment(struct text *t, struct span indent, struct span line, size_t at)
{
    struct span rest = notebook_after(line, at + 1);

    if (line.data[at] == '%')
        return add_assigned_magic(t, indent, (struct span){line.data, at}, rest);
    text_add(t, line.data, at);
    notebook_add_call(t, "lines", notebook_trim(rest));
    return 1;
}

/* 1: it was a line of a notebook's; 0: it is none; -1: one that is not known. */
static int add_line(struct text *t, struct span line)
{
    struct span begin = notebook_trim(line), indent = {line.data, (size_t)(begin.data - line.data)};
    struct span asked = question(begin);
    size_t value = begin.len ? assignment(begin) : 0;
    bool is_bare = is_bare_command(begin);

    if (!begin.len || begin.data[0] == '#' ||
        (!strchr("!%", begin.data[0]) && !value && !asked.len && !is_bare))
        return 0;
    text_add(t, indent.data, indent.len);
    if (value)
        return add_assignment(t, indent, begin, value);
    if (asked.len)
        notebook_add_question(t, asked, begin.len > 2 && begin.data[begin.len - 2] == '?');
    else if (is_bare)
        notebook_add_call(t, "shell", begin);
    else if (begin.data[0] == '%')
        return notebook_add_magic(t, indent, notebook_after(begin, 1)) < 0 ? -1 : 1;
    else if (span_starts_with(begin, "!!"))
        notebook_add_call(t, "lines", notebook_trim(notebook_after(begin, 2)));
    else
        notebook_add_call(t, "shell", notebook_trim(notebook_after(begin, 1)));
    return 1;
}

/* A command goes on behind a backslash at the end of its line. */
static struct span take_command(struct span first, struct span *rest)
{
    struct span line = first;

    while (line.len && line.data[line.len - 1] == '\\' && rest->len) {
        line = notebook_take_line(rest);
        first.len = (size_t)(line.data + line.len - first.data);
    }
    return first;
}

static bool is_command(struct span line)
{
    size_t value = line.len ? assignment(line) : 0;

    return line.len && (line.data[0] == '!' || (value && line.data[value] == '!'));
}

/* ---- what surrounds a program that was copied from somewhere ---- */

/* `>>> ` and `... ` of an interactive interpreter, `In [7]: ` and `   ...: ` of IPython, and the
 * indentation of the first line. */
struct frame_of_cell {
    bool is_known, has_prompts;
    struct span indent;
};

/* The length of a prompt at the beginning of the text; 0: there is none. */
static size_t prompt_length(struct span text)
{
    size_t n = strlen("In [");

    if (span_starts_with(text, ">>>") || span_starts_with(text, "..."))
        return span_starts_with(text, "...:") ? 4 : 3;
    if (!span_starts_with(text, "In ["))
        return 0;
    while (n < text.len && isdigit((unsigned char)text.data[n]))
        n++;
    return span_starts_with(notebook_after(text, n), "]:") ? n + 2 : 0;
}

static void look_at_first(struct frame_of_cell *f, struct span line)
{
    struct span text = notebook_trim(line);

    if (f->is_known || !text.len)
        return;
    f->is_known = true;
    f->has_prompts = span_starts_with(text, ">>> ") || (text.data[0] == 'I' && prompt_length(text));
    f->indent = (struct span){line.data, (size_t)(text.data - line.data)};
}

/* Lines without a prompt are what the interpreter said. */
static struct span without_prompt(struct span line)
{
    struct span text = notebook_trim(line);
    size_t n = prompt_length(text);

    if (!n)
        return (struct span){line.data, 0};
    line = notebook_after(line, (size_t)(text.data - line.data) + n);
    return line.len && line.data[0] == ' ' ? notebook_after(line, 1) : line;
}

/* The program without them, line by line. NULL: there are none. */
static char *unframe(struct span source)
{
    struct frame_of_cell f = {0};
    struct text t = {0};
    bool found = false;

    while (source.len) {
        bool begins = notebook_begins_cell(source);
        struct span line = notebook_take_line(&source);

        if (begins)
            f = (struct frame_of_cell){0};
        else
            look_at_first(&f, line);
        found |= f.has_prompts || f.indent.len;
        if (f.has_prompts)
            line = without_prompt(line);
        else if (f.indent.len && line.len >= f.indent.len &&
                 memcmp(line.data, f.indent.data, f.indent.len) == 0)
            line = notebook_after(line, f.indent.len);
        text_add(&t, line.data, line.len);
        text_add_str(&t, "\n");
    }
    if (found && !t.failed)
        return t.data;
    PyMem_RawFree(t.data);
    return NULL;
}

/* ---- programs ---- */

static void add_ends_of_lines(struct text *t, struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] == '\n')
            text_add_str(t, "\n");
}

/* 1: something was translated; 0: nothing; -1: memory is short. A line that is not known stays as
 * it is, so that the error of the program is in that line. */
static int translate(struct span rest, struct text *t)
{
    struct notebook_state s = {0};
    int found = 0, r = 0;

    while (rest.len && !t->failed) {
        size_t len = t->len;
        bool begins = notebook_begins_cell(rest);
        struct span line = notebook_take_line(&rest), begin = notebook_trim(line);

        r = 0;
        if (begins) {
            s = (struct notebook_state){0};
            text_add_str(t, found ? "_notebook('cell')" : "");
        } else if (!s.quote && !s.depth && !s.continues) {
            if (is_command(begin))
                line = take_command(line, &rest);
            r = begin.len > 2 && span_starts_with(begin, "%%") && !question(begin).len
                    ? notebook_add_cell(t, notebook_after(begin, 2), &rest)
                    : add_line(t, line);
            r = span_starts_with(begin, "%%") && r == 0 ? 1 : r;
            if (r < 0)
                t->len = len;
        }
        if (r <= 0 && !begins) {
            text_add(t, line.data, line.len);
            notebook_scan_line(&s, line);
        } else if (r > 0) {
            found = 1;
            add_ends_of_lines(t, line);
        }
        text_add_str(t, "\n");
    }
    return t->failed ? -1 : found;
}

bool notebook_has_prompt(struct span source)
{
    source = notebook_trim(source);
    return span_starts_with(source, "In [") && prompt_length(source);
}

char *notebook_translate(struct span source)
{
    char *plain = unframe(source);
    struct text t = {0};
    int r = translate(plain ? span_of(plain) : source, &t);

    if (r > 0 || (r == 0 && plain && t.data)) {
        PyMem_RawFree(plain);
        return t.data;
    }
    PyMem_RawFree(plain);
    PyMem_RawFree(t.data);
    return NULL;
}

/* ---- without a sign in front ---- */

/* Such a name followed by something else is an expression or an assignment. */
static bool is_argument(struct span rest)
{
    static const char *const words[] = {"in ", "is ", "and ", "or ", "if ", "not ", NULL};

    if (!rest.data || !rest.len)
        return true;
    for (size_t i = 0; words[i]; i++)
        if (span_starts_with(rest, words[i]))
            return false;
    if (memmem(rest.data, rest.len, "&&", 2) || memchr(rest.data, ';', rest.len))
        return false; /* a script, which is Bash as a whole */
    return !strchr("=,([:;", rest.data[0]) && !(rest.len > 1 && rest.data[1] == '=');
}

char *notebook_translate_bare(struct span source, PyObject *names)
{
    struct span line = notebook_trim(source), word = {line.data, notebook_name_length(line)}, rest;
    struct text t = {0};
    char *translated = NULL;
    PyObject *name;

    rest = notebook_after(line, word.len);
    if (!word.len || memchr(line.data, '\n', line.len) || !notebook_is_bare_magic(word) ||
        (rest.len && !isspace((unsigned char)rest.data[0])) || !is_argument(notebook_trim(rest)))
        return NULL;
    name = PyUnicode_FromStringAndSize(word.data, (Py_ssize_t)word.len);
    if (name && PyDict_Contains(names, name) == 0) {
        text_add_str(&t, "%");
        text_add(&t, line.data, line.len);
        translated = t.failed ? NULL : notebook_translate((struct span){t.data, t.len});
    }
    Py_XDECREF(name);
    PyErr_Clear();
    PyMem_RawFree(t.data);
    return translated;
}

#include "terminal/cell.h"

#include <string.h>

#include "base/cleanup.h"

/* --- Python --- */

struct python {
    const char *at;
    unsigned depth;     /* of brackets */
    bool is_open;       /* within triple quotes, or behind a backslash */
    bool has_block;     /* a line ended in a colon, or began with @ */
    bool at_start;      /* of a logical line */
    char last;          /* significant character of the logical line */
    bool is_line_empty; /* the present one */
};

/* Behind the quotes, or at the end of the text. */
static void python_string(struct python *p)
{
    char quote = *p->at;
    bool is_triple = p->at[1] == quote && p->at[2] == quote;

    p->at += is_triple ? 3 : 1;
    for (; *p->at; p->at++) {
        if (*p->at == '\\' && p->at[1]) {
            p->at++;
        } else if (is_triple) {
            if (p->at[0] == quote && p->at[1] == quote && p->at[2] == quote) {
                p->at += 3;
                return;
            }
        } else if (*p->at == quote || *p->at == '\n') { /* the latter is a mistake, and not ours */
            p->at += *p->at == quote;
            return;
        }
    }
    p->is_open = is_triple;
}

static void python_newline(struct python *p)
{
    if (p->depth)
        return;
    p->has_block |= p->last == ':';
    p->last = '\0';
    p->at_start = true;
    p->is_line_empty = true;
}

static void python_character(struct python *p)
{
    char c = *p->at;

    if (strchr("([{", c))
        p->depth++;
    else if (strchr(")]}", c) && p->depth)
        p->depth--;
    if (c == '@' && p->at_start)
        p->has_block = true;
    p->last = c;
    p->at_start = false;
    p->is_line_empty = false;
}

/* `!ls (`, `%time x`: a line that is not Python goes on after a backslash alone. */
static void python_command(struct python *p)
{
    p->at += strcspn(p->at, "\n");
    p->is_open = p->at[-1] == '\\' && !*p->at;
    p->is_line_empty = false;
    p->at_start = false;
    p->last = '\0';
}

/* `%%bash`: a whole cell that is not Python, which ends with an empty line. */
static bool is_cell_command(const char *text)
{
    text += strspn(text, " \t\n");
    return text[0] == '%' && text[1] == '%' && text[2] && !strchr(" \t\n", text[2]);
}

static bool ends_with_empty_line(const char *text)
{
    size_t len = strlen(text);

    while (len && strchr(" \t", text[len - 1]))
        len--;
    return len && text[len - 1] == '\n';
}

static bool python_is_complete(const char *text)
{
    struct python p = {.at = text, .at_start = true, .is_line_empty = true};

    if (is_cell_command(text))
        return ends_with_empty_line(text);
    while (*p.at) {
        if (p.at_start && !p.depth && (*p.at == '!' || *p.at == '%')) {
            python_command(&p);
        } else if (*p.at == '#') {
            p.at += strcspn(p.at, "\n");
            p.is_line_empty = false;
        } else if (*p.at == '"' || *p.at == '\'') {
            python_character(&p);
            python_string(&p);
        } else if (*p.at == '\\' && (p.at[1] == '\n' || !p.at[1])) {
            p.is_line_empty = false;
            p.is_open = !p.at[1];
            p.at += p.at[1] ? 2 : 1;
        } else {
            if (*p.at == '\n')
                python_newline(&p);
            else if (!strchr(" \t\r\f", *p.at))
                python_character(&p);
            p.at++;
        }
    }
    if (p.depth || p.is_open)
        return false;
    return !(p.has_block || p.last == ':') || p.is_line_empty;
}

/* --- Bash --- */

#define NESTING_MAX  128
#define HEREDOCS_MAX 8

/* In place of the bracket that ends `name()`, whose body is to follow. */
#define FUNCTION_HEAD '\1'

struct bash {
    const char *at;
    char nesting[NESTING_MAX]; /* what closes each open thing: a bracket, a quote, or f(i) d(one)
                                  e(sac) */
    size_t depth;
    bool is_command; /* the next word stands where a command does */
    char last;       /* significant character of the line */
    char before;     /* the last opening bracket: what `last` was */
    bool is_open;    /* an operator or a backslash wants the next line */
    struct {
        const char *word;
        size_t len;
        bool strips_tabs;
    } heredocs[HEREDOCS_MAX]; /* announced on this line */
    size_t n_heredocs;
};

static void bash_push(struct bash *b, char closes)
{
    if (b->depth < NESTING_MAX)
        b->nesting[b->depth++] = closes;
}

static char bash_top(const struct bash *b)
{
    if (!b->depth)
        return '\0';
    return b->nesting[b->depth - 1];
}

/* A `)` that closes nothing belongs to a pattern of `case`. */
static void bash_pop(struct bash *b, char closes)
{
    if (bash_top(b) == closes)
        b->depth--;
}

static const struct {
    const char *word;
    char opens, closes;
    bool is_followed; /* by a command */
} bash_words[] = {
    {"if", 'f', 0, true},      {"fi", 0, 'f', false},   {"for", 'd', 0, false},
    {"select", 'd', 0, false}, {"while", 'd', 0, true}, {"until", 'd', 0, true},
    {"done", 0, 'd', false},   {"case", 'e', 0, false}, {"esac", 0, 'e', false},
    {"{", '}', 0, true},       {"}", 0, '}', false},    {"then", 0, 0, true},
    {"do", 0, 0, true},        {"else", 0, 0, true},    {"elif", 0, 0, true},
    {"!", 0, 0, true},         {"time", 0, 0, true},
};

static void bash_word(struct bash *b)
{
    size_t len = strcspn(b->at, " \t\r\n;&|()<>'\"`$\\#");
    bool was_command = b->is_command;

    len = len ? len : 1;
    b->is_command = false;
    for (size_t i = 0; was_command && i < ARRAY_SIZE(bash_words); i++) {
        if (strlen(bash_words[i].word) != len || strncmp(bash_words[i].word, b->at, len) != 0)
            continue;
        if (bash_words[i].opens)
            bash_push(b, bash_words[i].opens);
        if (bash_words[i].closes)
            bash_pop(b, bash_words[i].closes);
        b->is_command = bash_words[i].is_followed;
    }
    b->last = b->at[len - 1];
    b->at += len;
}

static void bash_heredoc(struct bash *b)
{
    bool strips_tabs = b->at[2] == '-';
    const char *word = b->at + 2 + strips_tabs;
    size_t len;

    word += strspn(word, " \t");
    word += *word == '\'' || *word == '"' || *word == '\\';
    len = strcspn(word, " \t\r\n;&|()<>'\"`$\\");
    b->at = word + len + (word[len] == '\'' || word[len] == '"');
    b->last = 'x';
    if (!len || b->n_heredocs == HEREDOCS_MAX)
        return;
    b->heredocs[b->n_heredocs].word = word;
    b->heredocs[b->n_heredocs].len = len;
    b->heredocs[b->n_heredocs++].strips_tabs = strips_tabs;
}

/* Behind the newline: the documents that were announced. False: one of them is not complete. */
static bool bash_documents(struct bash *b)
{
    for (size_t i = 0; i < b->n_heredocs; i++) {
        for (;;) {
            size_t len = strcspn(b->at, "\n");
            const char *line = b->at;

            line += b->heredocs[i].strips_tabs ? strspn(line, "\t") : 0;
            b->at += len + (b->at[len] == '\n');
            if (strncmp(line, b->heredocs[i].word, b->heredocs[i].len) == 0 &&
                (line[b->heredocs[i].len] == '\n' || !line[b->heredocs[i].len]))
                break;
            if (!*b->at)
                return false;
        }
    }
    b->n_heredocs = 0;
    return true;
}

/* Within "…", `…` and ${…} only what ends them, and what is nested in them, counts. */
static void bash_quoted(struct bash *b)
{
    char closes = bash_top(b);

    if (*b->at == closes) {
        b->depth--;
        b->last = closes;
    } else if (*b->at == '\\' && b->at[1]) {
        b->at++;
    } else if (b->at[0] == '$' && (b->at[1] == '(' || b->at[1] == '{')) {
        bash_push(b, b->at[1] == '(' ? ')' : '$');
        b->is_command = b->at[1] == '(';
        b->at++;
    }
    b->at++;
}

static void bash_operator(struct bash *b)
{
    char c = *b->at;

    bool is_head = c == ')' && b->last == '(' && b->before != '=';

    if (c == '(') {
        bash_push(b, ')');
        b->before = b->last;
    } else if (c == ')') {
        bash_pop(b, ')');
    }
    if (c != '>' && c != '<')
        b->is_command = c != ')' || is_head || bash_top(b) == 'e';
    if (c == '&' && b->at[1] != '&' && b->last != '|')
        b->last = ';'; /* one of them ends a command, two want another */
    else if (is_head)
        b->last = FUNCTION_HEAD;
    else
        b->last = c;
    b->at += c == '&' && b->at[1] == '&' ? 2 : 1;
}

/* One step of plain text. */
static void bash_step(struct bash *b)
{
    char c = *b->at;

    if (c == ' ' || c == '\t' || c == '\r') {
        b->at++;
    } else if (c == '\\') {
        b->is_open = b->at[1] == '\0';
        if (b->at[1] != '\n')
            b->last = 'x';
        b->at += b->at[1] ? 2 : 1;
    } else if (c == '\'') {
        const char *end = strchr(b->at + 1, '\'');

        b->is_open = !end;
        b->at = end ? end + 1 : b->at + strlen(b->at);
        b->last = c;
        b->is_command = false;
    } else if (c == '"' || c == '`') {
        bash_push(b, c);
        b->at++;
        b->is_command = false;
    } else if (c == '$' && (b->at[1] == '(' || b->at[1] == '{')) {
        bash_push(b, b->at[1] == '(' ? ')' : '$');
        b->is_command = b->at[1] == '(';
        b->at += 2;
    } else if (c == '#' && (!b->last || strchr(" \t\n;", b->at[-1]))) {
        b->at += strcspn(b->at, "\n");
    } else if (strncmp(b->at, "<<<", 3) == 0) {
        b->at += 3;
    } else if (strncmp(b->at, "<<", 2) == 0 && bash_top(b) != ')') {
        bash_heredoc(b);
    } else if (strchr(";&|()<>", c)) {
        bash_operator(b);
    } else {
        bash_word(b);
    }
}

static bool bash_wants_more(const struct bash *b)
{
    return b->last == '|' || b->last == '&' || b->last == FUNCTION_HEAD;
}

static bool bash_is_complete(const char *text)
{
    struct bash b = {.at = text, .is_command = true};

    while (*b.at) {
        char top = bash_top(&b);

        if (top == '"' || top == '`' || top == '$') {
            if (top == '$' && *b.at == '}') {
                b.depth--;
                b.last = '}';
                b.at++;
            } else {
                bash_quoted(&b);
            }
        } else if (*b.at == '\n') {
            b.at++;
            b.is_command = true;
            if (!bash_wants_more(&b))
                b.last = '\0';
            if (b.n_heredocs && !bash_documents(&b))
                return false;
        } else {
            bash_step(&b);
        }
    }
    return !b.depth && !b.is_open && !b.n_heredocs && !bash_wants_more(&b);
}

/* --- other languages: brackets, as in C --- */

/* Behind the quoted text that begins at `c`; its end if it is not closed, which only a template of
 * JavaScript may be. */
static const char *skip_quoted(const char *c, bool *ret_is_open)
{
    char quote = *c++;

    while (*c && *c != quote && (quote == '`' || *c != '\n'))
        c += c[0] == '\\' && c[1] ? 2 : 1;
    *ret_is_open = !*c && quote == '`';
    return *c ? c + 1 : c;
}

static const char *skip_comment(const char *c, bool *ret_is_open)
{
    const char *end = c[1] == '*' ? strstr(c + 2, "*/") : strchr(c, '\n');

    *ret_is_open = !end && c[1] == '*';
    return !end ? c + strlen(c) : c[1] == '*' ? end + 2 : end;
}

static bool brackets_are_closed(const char *text)
{
    bool is_open = false;
    long depth = 0;

    for (const char *c = text; *c && !is_open;) {
        if (strchr("\"'`", *c)) {
            c = skip_quoted(c, &is_open);
        } else if (c[0] == '/' && (c[1] == '/' || c[1] == '*')) {
            c = skip_comment(c, &is_open);
        } else {
            depth += strchr("([{", *c) ? 1 : strchr(")]}", *c) ? -1 : 0;
            c++;
        }
    }
    return !is_open && depth <= 0;
}

bool cell_is_complete(enum run_language language, const char *text)
{
    return language == RUN_PYTHON ? python_is_complete(text)
           : language == RUN_BASH ? bash_is_complete(text)
                                  : brackets_are_closed(text);
}

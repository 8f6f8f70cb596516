#include "terminal/highlight.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const sequences[HIGHLIGHT_KINDS] = {
    [HIGHLIGHT_NONE] = "\033[0m",     [HIGHLIGHT_KEYWORD] = "\033[35m",
    [HIGHLIGHT_STRING] = "\033[32m",  [HIGHLIGHT_NUMBER] = "\033[36m",
    [HIGHLIGHT_COMMENT] = "\033[90m", [HIGHLIGHT_NAME] = "\033[34m",
    [HIGHLIGHT_COMMAND] = "\033[33m",
};

const char *highlight_sequence(enum highlight kind)
{
    return sequences[kind];
}

/* Sorted, for bsearch(). */
static const char *const python_words[] = {
    "False",  "None",     "True",   "and", "as",    "assert", "async",  "await",    "break", "case",
    "class",  "continue", "def",    "del", "elif",  "else",   "except", "finally",  "for",   "from",
    "global", "if",       "import", "in",  "is",    "lambda", "match",  "nonlocal", "not",   "or",
    "pass",   "raise",    "return", "try", "while", "with",   "yield",
};

static const char *const bash_words[] = {
    "case",     "do", "done", "elif",  "else",   "esac",   "export", "fi",    "for",
    "function", "if", "in",   "local", "return", "select", "then",   "until", "while",
};

struct scan {
    const char *text;
    size_t len, at;
    uint8_t *kinds;
};

static void mark(struct scan *s, size_t to, enum highlight kind)
{
    to = to < s->len ? to : s->len;
    memset(s->kinds + s->at, kind, to - s->at);
    s->at = to;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t word_end(const struct scan *s, size_t at)
{
    while (at < s->len && (is_letter(s->text[at]) || is_digit(s->text[at])))
        at++;
    return at;
}

static size_t line_end(const struct scan *s, size_t at)
{
    const char *end = memchr(s->text + at, '\n', s->len - at);

    return end ? (size_t)(end - s->text) : s->len;
}

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

static bool is_among(const struct scan *s, size_t end, const char *const *words, size_t count)
{
    char word[16];
    size_t len = end - s->at;

    if (len >= sizeof(word))
        return false;
    memcpy(word, s->text + s->at, len);
    word[len] = '\0';
    return bsearch(word, words, count, sizeof(*words), compare) != NULL;
}

/* --- Python --- */

/* Behind the quotes; a string in single ones ends with its line. */
static size_t string_end(const struct scan *s, size_t at)
{
    char quote = s->text[at];
    bool is_triple = at + 2 < s->len && s->text[at + 1] == quote && s->text[at + 2] == quote;

    for (at += is_triple ? 3 : 1; at < s->len; at++) {
        if (s->text[at] == '\\') {
            at++;
        } else if (s->text[at] == quote && !is_triple) {
            return at + 1;
        } else if (is_triple && at + 2 < s->len &&
                   memcmp(s->text + at, (char[]){quote, quote, quote}, 3) == 0) {
            return at + 3;
        } else if (s->text[at] == '\n' && !is_triple) {
            return at;
        }
    }
    return s->len;
}

static bool is_prefix(const struct scan *s, size_t end)
{
    if (end >= s->len || end - s->at > 2 || (s->text[end] != '\'' && s->text[end] != '"'))
        return false;
    for (size_t i = s->at; i < end; i++)
        if (!strchr("rRbBfFuU", s->text[i]))
            return false;
    return true;
}

static void python_word(struct scan *s)
{
    size_t end = word_end(s, s->at);
    bool is_attribute = s->at > 0 && s->text[s->at - 1] == '.';
    bool defines;

    if (is_prefix(s, end)) {
        mark(s, string_end(s, end), HIGHLIGHT_STRING);
        return;
    }
    if (is_attribute || !is_among(s, end, python_words, ARRAY_SIZE(python_words))) {
        s->at = end;
        return;
    }
    defines = (end - s->at == 3 && memcmp(s->text + s->at, "def", 3) == 0) ||
              (end - s->at == 5 && memcmp(s->text + s->at, "class", 5) == 0);
    mark(s, end, HIGHLIGHT_KEYWORD);
    while (defines && s->at < s->len && s->text[s->at] == ' ')
        s->at++;
    if (defines)
        mark(s, word_end(s, s->at), HIGHLIGHT_NAME);
}

static void python(struct scan *s)
{
    bool at_start = true; /* of a line */

    while (s->at < s->len) {
        char c = s->text[s->at];

        if (at_start && (c == '%' || c == '!' || (c == ':' && !s->at)))
            mark(s, line_end(s, s->at), HIGHLIGHT_COMMAND);
        else if (at_start && c == '@')
            mark(s, word_end(s, s->at + 1), HIGHLIGHT_NAME);
        else if (c == '#')
            mark(s, line_end(s, s->at), HIGHLIGHT_COMMENT);
        else if (c == '\'' || c == '"')
            mark(s, string_end(s, s->at), HIGHLIGHT_STRING);
        else if (is_digit(c))
            mark(s, word_end(s, s->at), HIGHLIGHT_NUMBER);
        else if (is_letter(c))
            python_word(s);
        else
            s->at++;
        at_start = c == '\n' || (at_start && (c == ' ' || c == '\t'));
    }
}

/* --- Bash --- */

static size_t bash_string_end(const struct scan *s)
{
    char quote = s->text[s->at];
    size_t at = s->at + 1;

    while (at < s->len && s->text[at] != quote)
        at += s->text[at] == '\\' && quote == '"' ? 2 : 1;
    return at + 1;
}

static void bash(struct scan *s)
{
    while (s->at < s->len) {
        char c = s->text[s->at];
        bool is_apart = !s->at || strchr(" \t\n;&|(", s->text[s->at - 1]);

        if (c == ':' && !s->at)
            mark(s, line_end(s, s->at), HIGHLIGHT_COMMAND);
        else if (c == '#' && is_apart)
            mark(s, line_end(s, s->at), HIGHLIGHT_COMMENT);
        else if (c == '\\')
            s->at += 2;
        else if (c == '\'' || c == '"')
            mark(s, bash_string_end(s), HIGHLIGHT_STRING);
        else if (c == '$' && s->at + 1 < s->len && is_letter(s->text[s->at + 1]))
            mark(s, word_end(s, s->at + 1), HIGHLIGHT_NAME);
        else if (is_letter(c) && is_apart &&
                 is_among(s, word_end(s, s->at), bash_words, ARRAY_SIZE(bash_words)))
            mark(s, word_end(s, s->at), HIGHLIGHT_KEYWORD);
        else if (is_letter(c))
            s->at = word_end(s, s->at);
        else
            s->at++;
    }
}

void highlight(enum run_language language, const char *text, size_t len, uint8_t *kinds)
{
    struct scan s = {.text = text, .len = len, .kinds = kinds};

    memset(kinds, HIGHLIGHT_NONE, len);
    if (language == RUN_PYTHON)
        python(&s);
    else
        bash(&s);
}

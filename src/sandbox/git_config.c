#include "sandbox/git_config.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct parser {
    const char *at, *end;
    char *section, *subsection, *name, *value; /* each has room for the whole text */
    bool has_subsection;
    git_config_fn *fn;
    void *arg;
};

static int peek(const struct parser *p)
{
    return p->at < p->end ? (unsigned char)*p->at : -1;
}

/* CRLF is one newline. */
static int next(struct parser *p)
{
    if (p->at == p->end)
        return -1;
    if (*p->at == '\r' && p->at + 1 < p->end && p->at[1] == '\n')
        p->at++;
    return (unsigned char)*p->at++;
}

static void skip_line(struct parser *p)
{
    int c;

    do
        c = next(p);
    while (c != '\n' && c != -1);
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Behind `[`. False: there is no end of it in this line. */
static bool read_section(struct parser *p)
{
    char *to = p->section;
    int c = next(p);

    p->has_subsection = false;
    while (c != -1 && (isalnum(c) || c == '-' || c == '.')) {
        *to++ = (char)tolower(c);
        c = next(p);
    }
    *to = '\0';
    while (is_blank(c))
        c = next(p);
    if (c == '"') {
        to = p->subsection;
        while ((c = next(p)) != '"') {
            if (c == '\\')
                c = next(p);
            if (c == -1 || c == '\n')
                return false;
            *to++ = (char)c;
        }
        *to = '\0';
        p->has_subsection = true;
        c = next(p);
    } else {
        /* [section.subsection], as it was written once */
        char *dot = strchr(p->section, '.');

        if (dot) {
            *dot = '\0';
            memcpy(p->subsection, dot + 1, strlen(dot + 1) + 1);
            p->has_subsection = true;
        }
    }
    while (is_blank(c))
        c = next(p);
    if (c == '\n')
        p->at--;
    return c == ']';
}

static int unescape(int c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'b':
        return '\b';
    default:
        return c;
    }
}

/* Behind `=`, to the end of the line, or of the last line that it goes on to. */
static void read_value(struct parser *p)
{
    char *to = p->value, *kept = p->value; /* blanks behind `kept` do not count */
    bool is_quoted = false;
    int c;

    while (is_blank(peek(p)))
        p->at++;
    while ((c = next(p)) != -1 && c != '\n') {
        if (!is_quoted && (c == '#' || c == ';')) {
            skip_line(p);
            break;
        }
        if (c == '"') {
            is_quoted = !is_quoted;
            kept = to;
            continue;
        }
        if (c == '\\') {
            c = next(p);
            if (c == '\n')
                continue;
            if (c == -1)
                break;
            *to++ = (char)unescape(c);
            kept = to;
            continue;
        }
        *to++ = (char)c;
        if (is_quoted || !is_blank(c))
            kept = to;
    }
    *kept = '\0';
}

static void read_variable(struct parser *p)
{
    char *to = p->name;

    while (isalnum(peek(p)) || peek(p) == '-')
        *to++ = (char)tolower(next(p));
    *to = '\0';
    p->value[0] = '\0';
    while (is_blank(peek(p)))
        p->at++;
    if (peek(p) == '=') {
        p->at++;
        read_value(p);
    } else {
        skip_line(p);
    }
    p->fn(p->arg, p->section, p->has_subsection ? p->subsection : NULL, p->name, p->value);
}

static void read_all(struct parser *p)
{
    int c;

    if (p->end - p->at >= 3 && memcmp(p->at, "\xef\xbb\xbf", 3) == 0)
        p->at += 3;
    while ((c = peek(p)) != -1) {
        if (is_blank(c) || c == '\n') {
            p->at++;
        } else if (c == '[') {
            p->at++;
            if (!read_section(p))
                skip_line(p);
        } else if (isalpha(c)) {
            read_variable(p);
        } else {
            skip_line(p);
        }
    }
}

int git_config_parse(const char *text, size_t len, git_config_fn *fn, void *arg)
{
    cleanup_free char *room = calloc(4, len + 2);
    struct parser p = {.at = text, .end = text + len, .fn = fn, .arg = arg};

    if (!room)
        return -1;
    p.section = room;
    p.subsection = room + (len + 2);
    p.name = room + 2 * (len + 2);
    p.value = room + 3 * (len + 2);
    read_all(&p);
    return 0;
}

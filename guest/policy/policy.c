/* The source before it is parsed, and the report of what was found. */
#include "guest/policy/policy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/policy/internal.h"

static const struct span nothing = {"", 0};

int policy_prepare(void)
{
    if (policy_caller_prepare() < 0 || policy_walk_prepare() < 0 || policy_modules_prepare() < 0 ||
        policy_slots_prepare() < 0 || policy_hidden_prepare() < 0 || policy_match_prepare() < 0 ||
        policy_guard_prepare() < 0 || policy_audit_prepare() < 0) {
        PyErr_Clear();
        return -1;
    }
    return 0;
}

/* ---- the report ---- */

/* Names come from the program and may be anything; people read them on a terminal. */
static char *dup_printable(struct span text)
{
    char *copy = strndup(text.data, text.len < 200 ? text.len : 200);

    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return copy;
}

static int grow(struct policy_report *report)
{
    struct policy_violation *items;

    if (report->count & (report->count - 1)) /* room is made at powers of two */
        return 0;
    items = realloc(report->items, (report->count ? 2 * report->count : 1) * sizeof(*items));
    if (!items)
        return -1;
    report->items = items;
    return 0;
}

int policy_report_add(struct policy_report *report, const char *rule, struct span name, int line,
                      int column, struct span hint, const char *fmt, ...)
{
    struct policy_violation item = {.line = line > 0 ? (unsigned)line : 0,
                                    .column = column >= 0 ? (unsigned)column + 1 : 0};
    va_list args;

    if (report->count >= POLICY_VIOLATIONS_MAX) {
        report->more++;
        return 0;
    }
    if (grow(report) < 0)
        return -1;
    va_start(args, fmt);
    if (vasprintf(&item.message, fmt, args) < 0)
        item.message = NULL;
    va_end(args);
    item.rule = strdup(rule);
    item.name = dup_printable(name);
    item.hint = hint.len ? strndup(hint.data, hint.len) : NULL;
    report->items[report->count++] = item;
    return item.message && item.rule && item.name && (item.hint || !hint.len) ? 0 : -1;
}

static int compare_places(const void *a, const void *b)
{
    const struct policy_violation *x = a, *y = b;

    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->column == y->column ? 0 : x->column < y->column ? -1 : 1;
}

/* The beginning of the next line; CPython ends lines at LF, CR LF and CR. */
static size_t next_line(struct span text, size_t at)
{
    while (at < text.len && text.data[at] != '\n' && text.data[at] != '\r')
        at++;
    if (at < text.len && text.data[at] == '\r' && at + 1 < text.len && text.data[at + 1] == '\n')
        at++;
    return at < text.len ? at + 1 : at;
}

/* 1-based byte column -> 1-based character column. */
static unsigned column_in_characters(struct span text, size_t line_start, unsigned column)
{
    unsigned characters = 1;

    for (unsigned i = 0; i + 1 < column && line_start + i < text.len; i++)
        characters += ((unsigned char)text.data[line_start + i + 1] & 0xc0) != 0x80;
    return characters;
}

void policy_report_finish(struct policy_report *report, size_t first)
{
    struct span text = report->source;
    unsigned line = 1;
    size_t at = 0;

    if (report->count > first)
        qsort(report->items + first, report->count - first, sizeof(*report->items), compare_places);
    if (!text.data)
        return;
    text = policy_source_text(text);
    for (size_t i = first; i < report->count; i++) {
        struct policy_violation *item = &report->items[i];

        for (; line < item->line && at < text.len; line++)
            at = next_line(text, at);
        if (item->column && line == item->line)
            item->column = column_in_characters(text, at, item->column);
    }
}

void policy_report_done(struct policy_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        free(report->items[i].rule);
        free(report->items[i].name);
        free(report->items[i].message);
        free(report->items[i].hint);
    }
    free(report->items);
    *report = (struct policy_report){0};
}

/* ---- the source ---- */

static unsigned line_of(struct span text, size_t offset)
{
    unsigned line = 1;
    size_t at = 0;

    while ((at = next_line(text, at)) <= offset && at < text.len)
        line++;
    return line;
}

static unsigned count_lines(struct span text)
{
    unsigned lines = 0;

    for (size_t at = 0; at < text.len; at = next_line(text, at))
        lines++;
    return lines;
}

/* The offset of the first byte that is not UTF-8 (surrogates and over-long forms are not), or
 * text.len. */
static size_t first_invalid(struct span text)
{
    const unsigned char *s = (const unsigned char *)text.data;
    size_t at = 0;

    while (at < text.len) {
        unsigned char c = s[at];
        size_t more = c < 0x80 ? 0 : c < 0xc2 ? 9 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 9;

        if (more == 9 || more >= text.len - at)
            return at;
        for (size_t i = 1; i <= more; i++)
            if ((s[at + i] & 0xc0) != 0x80)
                return at;
        if ((c == 0xe0 && s[at + 1] < 0xa0) || (c == 0xed && s[at + 1] > 0x9f) ||
            (c == 0xf0 && s[at + 1] < 0x90) || (c == 0xf4 && s[at + 1] > 0x8f))
            return at;
        at += more + 1;
    }
    return at;
}

static bool is_cookie_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* The encoding a comment line declares (PEP 263), or an empty span. */
static struct span cookie_of(struct span line)
{
    size_t at = 0;

    while (at < line.len &&
           (line.data[at] == ' ' || line.data[at] == '\t' || line.data[at] == '\f'))
        at++;
    if (at == line.len || line.data[at] != '#')
        return nothing;
    for (; at + 7 <= line.len; at++) {
        size_t start = at + 7, end;

        if (memcmp(line.data + at, "coding", 6) != 0 ||
            (line.data[at + 6] != ':' && line.data[at + 6] != '='))
            continue;
        while (start < line.len && (line.data[start] == ' ' || line.data[start] == '\t'))
            start++;
        for (end = start; end < line.len && is_cookie_char(line.data[end]);)
            end++;
        if (end > start)
            return (struct span){line.data + start, end - start};
    }
    return nothing;
}

static bool is_utf8_name(struct span name)
{
    static const char *const names[] = {"utf-8", "utf8", "utf_8"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (name.len == strlen(names[i]) && strncasecmp(name.data, names[i], name.len) == 0)
            return true;
    return false;
}

static int check_cookie(struct span source, struct policy_report *report)
{
    size_t start = 0;

    for (unsigned line = 1; line <= 2 && start < source.len; line++) {
        size_t end = next_line(source, start);
        struct span cookie = cookie_of((struct span){source.data + start, end - start});

        if (cookie.len && !is_utf8_name(cookie) &&
            policy_report_add(report, "source", cookie, (int)line, -1,
                              span_of("remove the comment: the source is read as UTF-8"),
                              "the source declares the encoding `%.*s`",
                              (int)(cookie.len < 64 ? cookie.len : 64), cookie.data) < 0)
            return -1;
        start = end;
    }
    return 0;
}

bool policy_is_program_file(struct span file)
{
    return span_is(file, policy_filename()) ||
           (file.len >= strlen(POLICY_CELL_FILENAME) &&
            memcmp(file.data, POLICY_CELL_FILENAME, strlen(POLICY_CELL_FILENAME)) == 0);
}

struct span policy_source_text(struct span source)
{
    if (source.len >= 3 && memcmp(source.data, "\xef\xbb\xbf", 3) == 0)
        return (struct span){source.data + 3, source.len - 3};
    return source;
}

static int check_bytes(struct span source, struct policy_report *report)
{
    const char *nul = source.len ? memchr(source.data, '\0', source.len) : NULL;
    size_t bad = first_invalid(source);

    if (nul && policy_report_add(report, "source", span_of("NUL"),
                                 (int)line_of(source, (size_t)(nul - source.data)), -1,
                                 span_of("write \\0 inside a string"),
                                 "the source contains a NUL byte") < 0)
        return -1;
    if (bad < source.len &&
        policy_report_add(report, "source", span_of("UTF-8"), (int)line_of(source, bad), -1,
                          span_of("save the source as UTF-8"),
                          "the source is not valid UTF-8 at byte %zu", bad) < 0)
        return -1;
    return 0;
}

int policy_check_source(const struct policy *policy, struct span source,
                        struct policy_report *report)
{
    unsigned lines;

    report->source = source;
    policy_forget_modules();
    /* A source that is too long is not looked at any further. */
    if (source.len > policy->max_bytes)
        return policy_report_add(report, "source", span_of("size"), 0, -1,
                                 span_of("split the program, or read the data from a file"),
                                 "the source has %zu bytes; profile `%s` allows %u", source.len,
                                 policy->profile, policy->max_bytes);
    lines = count_lines(source);
    if (lines > policy->max_lines &&
        policy_report_add(report, "source", span_of("lines"), 0, -1, span_of("split the program"),
                          "the source has %u lines; profile `%s` allows %u", lines, policy->profile,
                          policy->max_lines) < 0)
        return -1;
    if (check_bytes(source, report) < 0)
        return -1;
    return check_cookie(policy_source_text(source), report);
}

#include "cli/setup/toml_edit.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/toml.h"

#define KEY_PARTS_MAX TOML_DEPTH_MAX

/* One header or one `key = value`. All positions are of the text. */
struct statement {
    bool is_header;
    bool is_array;           /* [[…]] */
    size_t start, end;       /* `end`: behind its line */
    size_t value, value_end; /* of a `key = value` */
    json_t *key;             /* an array of strings */
};

struct scan {
    const char *text;
    size_t len;
    size_t at;
    struct error *err;
};

static void statement_done(struct statement *statement)
{
    json_decref(statement->key);
    *statement = (struct statement){0};
}

/* The text has been parsed by the time it comes here, so that nothing below can be surprised in
 * earnest; should it be all the same, this is said and nothing is changed. */
static int is_lost(const struct scan *s)
{
    return error_set(s->err, E_UNSUPPORTED, "cannot parse the file at byte %zu", s->at);
}

static int peek(const struct scan *s)
{
    return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static bool starts(const struct scan *s, const char *word)
{
    size_t n = strlen(word);

    return s->len - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

/* --- a walk through the statements --- */

static void skip_blank(struct scan *s)
{
    while (peek(s) == ' ' || peek(s) == '\t')
        s->at++;
}

static void skip_line(struct scan *s)
{
    while (s->at < s->len && s->text[s->at] != '\n')
        s->at++;
    s->at += s->at < s->len;
}

static int skip_string(struct scan *s)
{
    char quote = s->text[s->at];
    const char closing[] = {quote, quote, quote, '\0'};
    bool is_long = starts(s, closing);

    s->at += is_long ? 3 : 1;
    while (s->at < s->len) {
        if (is_long ? starts(s, closing) : s->text[s->at] == quote) {
            s->at += is_long ? 3 : 1;
            /* Up to two quotes may stand before the closing three. */
            while (is_long && peek(s) == quote)
                s->at++;
            return 0;
        }
        s->at += quote == '"' && s->text[s->at] == '\\' ? 2 : 1;
    }
    s->at = s->len;
    return is_lost(s);
}

static int skip_value(struct scan *s)
{
    size_t depth = 0;

    for (; s->at < s->len; s->at++) {
        char c = s->text[s->at];

        if (c == '"' || c == '\'') {
            if (skip_string(s) < 0)
                return -1;
            s->at--;
        } else if (c == '#' && depth) {
            skip_line(s);
            s->at--;
        } else if (c == '[' || c == '{') {
            depth++;
        } else if (c == ']' || c == '}') {
            if (depth-- == 0)
                return is_lost(s);
        } else if (!depth && (c == '\n' || c == '#')) {
            break;
        }
    }
    return depth ? is_lost(s) : 0;
}

/* One part of a key. What is escaped the parser reads. */
static int read_part(struct scan *s, json_t *key)
{
    size_t from = s->at;
    cleanup(buf_done) struct buf line = {0};
    json_t *tree = NULL;
    const char *name;
    int r;

    if (peek(s) == '"' || peek(s) == '\'') {
        if (skip_string(s) < 0)
            return -1;
    } else {
        while (s->at < s->len && !strchr(" \t\r\n.=]#", s->text[s->at]))
            s->at++;
    }
    if (s->at == from)
        return is_lost(s);
    buf_init(&line, s->at - from + 8);
    if (buf_add(&line, s->text + from, s->at - from, s->err) < 0 ||
        buf_add_str(&line, "=0", s->err) < 0 ||
        toml_parse("a key", buf_str(&line), line.len, &tree, NULL, s->err) < 0)
        return -1;
    name = json_object_iter_key(json_object_iter(tree));
    r = name ? json_array_append_new(key, json_string(name)) : -1;
    json_decref(tree);
    return r < 0 ? is_lost(s) : 0;
}

static int read_key(struct scan *s, struct statement *statement)
{
    statement->key = json_array();
    if (!statement->key)
        return error_memory(s->err);
    for (;;) {
        skip_blank(s);
        if (json_array_size(statement->key) == KEY_PARTS_MAX || read_part(s, statement->key) < 0)
            return is_lost(s);
        skip_blank(s);
        if (peek(s) != '.')
            return 0;
        s->at++;
    }
}

static int read_header(struct scan *s, struct statement *statement)
{
    statement->is_header = true;
    statement->is_array = starts(s, "[[");
    s->at += statement->is_array ? 2 : 1;
    if (read_key(s, statement) < 0)
        return -1;
    return peek(s) == ']' ? 0 : is_lost(s);
}

static int read_pair(struct scan *s, struct statement *statement)
{
    if (read_key(s, statement) < 0)
        return -1;
    if (peek(s) != '=')
        return is_lost(s);
    s->at++;
    skip_blank(s);
    statement->value = s->at;
    if (skip_value(s) < 0)
        return -1;
    statement->value_end = s->at;
    while (strchr(" \t\r", s->text[statement->value_end - 1]))
        statement->value_end--;
    return 0;
}

/* 1: one was read; 0: there is none any more. */
static int next(struct scan *s, struct statement *ret_statement)
{
    struct statement statement = {0};
    int r;

    while (s->at < s->len && strchr(" \t\r\n#", s->text[s->at])) {
        if (s->text[s->at] == '#')
            skip_line(s);
        else
            s->at++;
    }
    if (s->at == 0 && starts(s, "\xef\xbb\xbf")) {
        s->at = 3;
        return next(s, ret_statement);
    }
    if (s->at >= s->len)
        return 0;
    statement.start = s->at;
    r = peek(s) == '[' ? read_header(s, &statement) : read_pair(s, &statement);
    if (r < 0) {
        statement_done(&statement);
        return -1;
    }
    skip_line(s);
    statement.end = s->at;
    *ret_statement = statement;
    return 1;
}

/* --- what a table means --- */

static bool is_part(const json_t *key, size_t i, const char *name)
{
    const char *part = json_string_value(json_array_get(key, i));

    return part && strcmp(part, name) == 0;
}

static bool is_below(const struct statement *header, const struct toml_table_name *table)
{
    return header->is_header && is_part(header->key, 0, table->outer) &&
           is_part(header->key, 1, table->name);
}

static bool is_header_of(const struct statement *header, const struct toml_table_name *table)
{
    return is_below(header, table) && json_array_size(header->key) == 2 && !header->is_array;
}

static int parse(const char *text, size_t len, json_t **ret_tree, struct error *err)
{
    return toml_parse("the file", text, len, ret_tree, NULL, err);
}

static json_t *entry_of(const json_t *tree, const struct toml_table_name *table)
{
    return json_object_get(json_object_get(tree, table->outer), table->name);
}

int toml_edit_get(const char *text, size_t len, const struct toml_table_name *table,
                  json_t **ret_value, struct error *err)
{
    json_t *tree = NULL;

    if (parse(text, len, &tree, err) < 0)
        return -1;
    *ret_value = json_incref(entry_of(tree, table));
    json_decref(tree);
    return 0;
}

/* An outer table that has nothing in it is as good as none. */
static void drop_empty(json_t *tree, const char *outer)
{
    const json_t *table = json_object_get(tree, outer);

    if (json_is_object(table) && json_object_size(table) == 0)
        (void)json_object_del(tree, outer);
}

static int check(const struct buf *out, json_t *wanted, const char *outer, struct error *err)
{
    json_t *found = NULL;
    bool is_same;

    if (parse(buf_str(out), out->len, &found, NULL) < 0) {
        error_set(err, E_UNSUPPORTED, "the tables of this file cannot be added to");
        return error_hint(err, "add the entry by hand: `--print` shows it");
    }
    drop_empty(found, outer);
    drop_empty(wanted, outer);
    is_same = json_equal(found, wanted);
    json_decref(found);
    if (is_same)
        return 0;
    error_set(err, E_UNSUPPORTED, "`%s` is written in a form that Belljar does not edit", outer);
    return error_hint(err, "change it by hand: `--print` shows how");
}

/* --- putting in --- */

/* Strings and lists of strings in JSON's form are TOML's as well, once DEL is escaped, which it is.
 * Between the items a blank, as people write them. */
static int add_value(struct buf *out, const json_t *value, struct error *err)
{
    const json_t *item;
    size_t i;

    if (!json_is_array(value))
        return json_text_dump(value, JSON_TEXT_COMPACT, out, err);
    if (buf_add_str(out, "[", err) < 0)
        return -1;
    json_array_foreach(value, i, item)
    {
        if ((i && buf_add_str(out, ", ", err) < 0) ||
            json_text_dump(item, JSON_TEXT_COMPACT, out, err) < 0)
            return -1;
    }
    return buf_add_str(out, "]", err);
}

static int add_line(struct buf *out, const char *key, const json_t *value, const char *newline,
                    struct error *err)
{
    if (buf_printf(out, err, "%s = ", key) < 0 || add_value(out, value, err) < 0)
        return -1;
    return buf_add_str(out, newline, err);
}

static const char *newline_of(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);

    return end && end > text && end[-1] == '\r' ? "\r\n" : "\n";
}

static int append(const char *text, size_t len, const struct toml_table_name *table,
                  const json_t *values, struct buf *out, struct error *err)
{
    const char *newline = newline_of(text, len), *key;
    json_t *value;

    if (buf_add(out, text, len, err) < 0)
        return -1;
    if (len && text[len - 1] != '\n' && buf_add_str(out, newline, err) < 0)
        return -1;
    if (buf_printf(out, err, "%s[%s.%s]%s", len ? newline : "", table->outer, table->name,
                   newline) < 0)
        return -1;
    json_object_foreach((json_t *)values, key, value)
    {
        if (add_line(out, key, value, newline, err) < 0)
            return -1;
    }
    return 0;
}

/* The table's header, and the pair of that key in it (end 0: there is none). */
static int find(const char *text, size_t len, const struct toml_table_name *table, const char *key,
                size_t *ret_header_end, struct statement *ret_pair, struct error *err)
{
    struct scan s = {text, len, 0, err};
    struct statement one = {0};
    bool is_inside = false;
    int r;

    *ret_header_end = 0;
    *ret_pair = (struct statement){0};
    while ((r = next(&s, &one)) > 0) {
        if (one.is_header)
            is_inside = is_header_of(&one, table);
        if (one.is_header && is_inside)
            *ret_header_end = one.end;
        else if (is_inside && json_array_size(one.key) == 1 && is_part(one.key, 0, key))
            *ret_pair = one;
        statement_done(&one);
    }
    ret_pair->key = NULL;
    return r;
}

static int set_key(const struct buf *text, const struct toml_table_name *table, const char *key,
                   const json_t *value, struct buf *out, struct error *err)
{
    const char *newline = newline_of(buf_str(text), text->len);
    struct statement pair;
    size_t header_end;

    if (find(buf_str(text), text->len, table, key, &header_end, &pair, err) < 0)
        return -1;
    if (!header_end) {
        error_set(err, E_UNSUPPORTED, "`%s.%s` has no header of its own", table->outer,
                  table->name);
        return error_hint(err, "change it by hand: `--print` shows how");
    }
    if (pair.end)
        return buf_add(out, text->data, pair.value, err) < 0 || add_value(out, value, err) < 0 ||
                       buf_add(out, text->data + pair.value_end, text->len - pair.value_end, err) <
                           0
                   ? -1
                   : 0;
    if (buf_add(out, text->data, header_end, err) < 0 ||
        (text->data[header_end - 1] != '\n' && buf_add_str(out, newline, err) < 0) ||
        add_line(out, key, value, newline, err) < 0)
        return -1;
    return buf_add(out, text->data + header_end, text->len - header_end, err);
}

static int change(const char *text, size_t len, const struct toml_table_name *table,
                  const json_t *present, const json_t *values, struct buf *out, struct error *err)
{
    cleanup(buf_done) struct buf before = {0};
    const char *key;
    json_t *value;

    buf_init(&before, out->limit);
    if (buf_add(out, text, len, err) < 0)
        return -1;
    json_object_foreach((json_t *)values, key, value)
    {
        if (json_equal(json_object_get(present, key), value))
            continue;
        buf_clear(&before);
        if (buf_add(&before, buf_str(out), out->len, err) < 0)
            return -1;
        buf_clear(out);
        if (set_key(&before, table, key, value, out, err) < 0)
            return -1;
    }
    return 0;
}

/* The tree as it should be afterwards. */
static int want(json_t *tree, const struct toml_table_name *table, const json_t *values,
                struct error *err)
{
    json_t *outer = json_object_get(tree, table->outer), *entry;

    if (!outer) {
        outer = json_object();
        if (json_object_set_new(tree, table->outer, outer) < 0)
            return error_memory(err);
    }
    if (!json_is_object(outer))
        return error_set(err, E_INVALID, "`%s` is not a table", table->outer);
    entry = json_object_get(outer, table->name);
    if (!entry)
        return json_object_set(outer, table->name, (json_t *)values) < 0 ? error_memory(err) : 0;
    if (!json_is_object(entry))
        return error_set(err, E_INVALID, "`%s.%s` is not a table", table->outer, table->name);
    return json_object_update(entry, (json_t *)values) < 0 ? error_memory(err) : 0;
}

int toml_edit_put(const char *text, size_t len, const struct toml_table_name *table,
                  const json_t *values, struct buf *out, struct error *err)
{
    json_t *tree = NULL, *present;
    int r;

    buf_clear(out);
    if (parse(text, len, &tree, err) < 0)
        return -1;
    present = json_deep_copy(entry_of(tree, table));
    r = want(tree, table, values, err);
    if (r == 0)
        r = present ? change(text, len, table, present, values, out, err)
                    : append(text, len, table, values, out, err);
    if (r == 0)
        r = check(out, tree, table->outer, err);
    json_decref(present);
    json_decref(tree);
    return r;
}

/* --- taking out --- */

/* The first stretch of lines that belongs to the table or to one below it: from its header to the
 * end of its last pair, so that what is written above the next header stays with that one. */
static int find_stretch(const char *text, size_t len, const struct toml_table_name *table,
                        size_t *ret_from, size_t *ret_to, struct error *err)
{
    struct scan s = {text, len, 0, err};
    struct statement one = {0};
    bool is_inside = false, is_past = false;
    int r;

    *ret_from = *ret_to = 0;
    while ((r = next(&s, &one)) > 0) {
        if (one.is_header) {
            is_past |= is_inside && !is_below(&one, table);
            is_inside = !is_past && is_below(&one, table);
        }
        if (is_inside && !*ret_to)
            *ret_from = one.start;
        if (is_inside)
            *ret_to = one.end;
        statement_done(&one);
    }
    return r;
}

/* An empty line in front of it came with it. */
static size_t with_gap(const char *text, size_t from)
{
    size_t at = from;

    if (at >= 2 && text[at - 1] == '\n' && text[at - 2] == '\n')
        return at - 1;
    if (at >= 4 && memcmp(text + at - 4, "\r\n\r\n", 4) == 0)
        return at - 2;
    return at;
}

static int cut_all(const char *text, size_t len, const struct toml_table_name *table,
                   struct buf *out, struct error *err)
{
    size_t from, to;

    if (buf_add(out, text, len, err) < 0)
        return -1;
    for (;;) {
        if (find_stretch(buf_str(out), out->len, table, &from, &to, err) < 0)
            return -1;
        if (!to)
            return 0;
        from = with_gap(out->data, from);
        memmove(out->data + from, out->data + to, out->len - to + 1);
        out->len -= to - from;
    }
}

int toml_edit_remove(const char *text, size_t len, const struct toml_table_name *table,
                     struct buf *out, struct error *err)
{
    json_t *tree = NULL;
    int r;

    buf_clear(out);
    if (parse(text, len, &tree, err) < 0)
        return -1;
    if (json_is_object(json_object_get(tree, table->outer)))
        (void)json_object_del(json_object_get(tree, table->outer), table->name);
    r = cut_all(text, len, table, out, err);
    if (r == 0)
        r = check(out, tree, table->outer, err);
    json_decref(tree);
    return r;
}

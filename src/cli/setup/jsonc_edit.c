#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/setup/jsonc_internal.h"

#define INDENT_MAX 256

/* The formatting of this text. */
struct style {
    const char *newline;
    char unit[INDENT_MAX];   /* one level */
    char indent[INDENT_MAX]; /* of the line that is being written */
    bool is_compact;         /* all on one line */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* --- how it is written --- */

static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

/* The space a line begins with. */
static void copy_indent(const struct jsonc_scan *s, size_t at, char *indent)
{
    size_t from = line_start(s->text, at), n = 0;

    while (from + n < s->len && n < INDENT_MAX - 1 && is_blank(s->text[from + n]))
        n++;
    memcpy(indent, s->text + from, n);
    indent[n] = '\0';
}

/* Whether a member begins its line. */
static bool has_own_line(const struct jsonc_scan *s, const struct jsonc_member *m)
{
    size_t from = line_start(s->text, m->key);

    if (from == 0)
        return false;
    while (from < m->key && is_blank(s->text[from]))
        from++;
    return from == m->key;
}

/* One level is what the root's members are moved in by; two blanks where nothing can be learned. */
static void learn_style(struct jsonc_scan s, struct style *ret_style)
{
    const char *end = memchr(s.text, '\n', s.len);
    struct jsonc_object root;

    s.err = NULL;
    *ret_style = (struct style){.newline = "\n", .unit = "  "};
    if (end && end > s.text && end[-1] == '\r')
        ret_style->newline = "\r\n";
    if (s.at < s.len && s.text[s.at] == '{' && jsonc_look(&s, "", &root) == 0 && root.count &&
        has_own_line(&s, &root.first)) {
        copy_indent(&s, root.first.key, ret_style->unit);
        if (!*ret_style->unit)
            memcpy(ret_style->unit, "  ", sizeof("  "));
    }
}

static void indent_more(struct style *style)
{
    size_t n = strlen(style->indent), more = strlen(style->unit);

    if (n + more < INDENT_MAX)
        memcpy(style->indent + n, style->unit, more + 1);
}

static void indent_less(struct style *style)
{
    size_t n = strlen(style->indent), less = strlen(style->unit);

    if (n >= less)
        style->indent[n - less] = '\0';
}

/* --- writing a value --- */

static int add_value(struct buf *out, struct style *style, const json_t *value, struct error *err);

static int add_key(struct buf *out, const char *key, struct error *err)
{
    json_t *name = json_string(key);
    int r = name ? json_text_dump(name, JSON_TEXT_COMPACT, out, err) : error_memory(err);

    json_decref(name);
    return r < 0 ? -1 : buf_add_str(out, ": ", err);
}

static int add_break(struct buf *out, const struct style *style, struct error *err)
{
    if (style->is_compact)
        return 0;
    return buf_printf(out, err, "%s%s", style->newline, style->indent);
}

static int add_members(struct buf *out, struct style *style, const json_t *object,
                       struct error *err)
{
    const char *key, *comma = "";
    json_t *item;

    json_object_foreach((json_t *)object, key, item)
    {
        if (buf_add_str(out, comma, err) < 0 || add_break(out, style, err) < 0 ||
            add_key(out, key, err) < 0 || add_value(out, style, item, err) < 0)
            return -1;
        comma = style->is_compact ? ", " : ",";
    }
    return 0;
}

static int add_object(struct buf *out, struct style *style, const json_t *object, struct error *err)
{
    if (json_object_size(object) == 0)
        return buf_add_str(out, "{}", err);
    indent_more(style);
    if (buf_add_str(out, "{", err) < 0 || add_members(out, style, object, err) < 0)
        return -1;
    indent_less(style);
    return add_break(out, style, err) < 0 ? -1 : buf_add_str(out, "}", err);
}

/* Arguments of a command read best on one line. */
static int add_array(struct buf *out, struct style *style, const json_t *array, struct error *err)
{
    const json_t *item;
    size_t i;

    if (buf_add_str(out, "[", err) < 0)
        return -1;
    json_array_foreach(array, i, item)
    {
        if ((i && buf_add_str(out, ", ", err) < 0) || add_value(out, style, item, err) < 0)
            return -1;
    }
    return buf_add_str(out, "]", err);
}

static int add_value(struct buf *out, struct style *style, const json_t *value, struct error *err)
{
    if (json_is_object(value))
        return add_object(out, style, value, err);
    if (json_is_array(value))
        return add_array(out, style, value, err);
    return json_text_dump(value, JSON_TEXT_COMPACT, out, err);
}

/* KEY: VALUE, or KEY: {NEXT: VALUE} where more of the path has to be made. */
static int add_new_member(struct buf *out, struct style *style, const char *const *path,
                          const json_t *value, struct error *err)
{
    if (add_key(out, path[0], err) < 0)
        return -1;
    if (!path[1])
        return add_value(out, style, value, err);
    indent_more(style);
    if (buf_add_str(out, "{", err) < 0 || add_break(out, style, err) < 0 ||
        add_new_member(out, style, path + 1, value, err) < 0)
        return -1;
    indent_less(style);
    return add_break(out, style, err) < 0 ? -1 : buf_add_str(out, "}", err);
}

/* --- putting in --- */

static int copy(const struct jsonc_scan *s, size_t from, size_t to, struct buf *out)
{
    return buf_add(out, s->text + from, to - from, s->err);
}

/* Behind comments that stand on the same line: they speak of what is in front of them. */
static size_t past_remarks(struct jsonc_scan s, size_t at)
{
    size_t end = at;

    for (s.at = at; s.at < s.len && (is_blank(s.text[s.at]) || s.text[s.at] == '/');) {
        bool is_line = s.text[s.at] == '/' && s.text[s.at + 1] == '/';

        if (is_blank(s.text[s.at])) {
            s.at++;
            continue;
        }
        if (jsonc_skip_comment(&s) < 0)
            return end;
        end = s.at;
        if (is_line)
            return s.text[end - 1] == '\r' ? end - 1 : end;
    }
    return end;
}

/* Behind the last comment of an object that has nothing else. */
static size_t past_comments(struct jsonc_scan s, const struct jsonc_object *o)
{
    size_t end = o->open + 1;

    for (s.at = end; s.at < o->close;) {
        if (s.text[s.at] != '/')
            s.at++;
        else
            s.at = end = past_remarks(s, s.at);
    }
    return end;
}

static int put_first(struct jsonc_scan *s, const struct jsonc_object *o, struct style *style,
                     const char *const *path, const json_t *value, struct buf *out)
{
    size_t at = past_comments(*s, o);

    style->is_compact &= at == o->open + 1;
    if (!style->is_compact)
        copy_indent(s, o->open, style->indent);
    indent_more(style);
    if (copy(s, 0, at, out) < 0 || add_break(out, style, s->err) < 0 ||
        add_new_member(out, style, path, value, s->err) < 0)
        return -1;
    indent_less(style);
    return add_break(out, style, s->err) < 0 ? -1 : copy(s, o->close, s->len, out);
}

static int put_last(struct jsonc_scan *s, const struct jsonc_object *o, struct style *style,
                    const char *const *path, const json_t *value, struct buf *out)
{
    bool has_comma = o->last.comma != JSONC_NOWHERE;
    size_t at = past_remarks(*s, has_comma ? o->last.comma + 1 : o->last.end);

    copy_indent(s, o->first.key, style->indent);
    if (copy(s, 0, o->last.end, out) < 0 || (!has_comma && buf_add_str(out, ",", s->err) < 0) ||
        copy(s, o->last.end, at, out) < 0 || add_break(out, style, s->err) < 0 ||
        add_new_member(out, style, path, value, s->err) < 0 ||
        (has_comma && buf_add_str(out, ",", s->err) < 0))
        return -1;
    return copy(s, at, s->len, out);
}

/* On the line of the others. */
static int put_beside(struct jsonc_scan *s, const struct jsonc_object *o, struct style *style,
                      const char *const *path, const json_t *value, struct buf *out)
{
    if (copy(s, 0, o->last.end, out) < 0 || buf_add_str(out, ", ", s->err) < 0 ||
        add_new_member(out, style, path, value, s->err) < 0)
        return -1;
    return copy(s, o->last.end, s->len, out);
}

/* A file with nothing in it but space and comments. */
static int put_root(struct jsonc_scan *s, struct style *style, const char *const *path,
                    const json_t *value, struct buf *out)
{
    if (copy(s, 0, s->len, out) < 0)
        return -1;
    if (s->len > 3 && s->text[s->len - 1] != '\n' && buf_add_str(out, style->newline, s->err) < 0)
        return -1;
    indent_more(style);
    if (buf_add_str(out, "{", s->err) < 0 || add_break(out, style, s->err) < 0 ||
        add_new_member(out, style, path, value, s->err) < 0)
        return -1;
    indent_less(style);
    return add_break(out, style, s->err) < 0 ? -1 : buf_printf(out, s->err, "}%s", style->newline);
}

static int replace(struct jsonc_scan *s, const struct jsonc_object *o, struct style *style,
                   const json_t *value, struct buf *out)
{
    json_t *present = NULL;
    bool is_same;

    if (jsonc_read(s, o->found.value, o->found.end, &present) < 0)
        return -1;
    is_same = json_equal(present, value);
    json_decref(present);
    if (is_same)
        return copy(s, 0, s->len, out);
    style->is_compact = !has_own_line(s, &o->found);
    copy_indent(s, o->found.key, style->indent);
    if (copy(s, 0, o->found.value, out) < 0 || add_value(out, style, value, s->err) < 0)
        return -1;
    return copy(s, o->found.end, s->len, out);
}

static int check_object(const struct jsonc_scan *s, const char *name)
{
    if (s->text[s->at] == '{')
        return 0;
    return error_set(s->err, E_INVALID, "%s%s%s is not an object", name ? "`" : "",
                     name ? name : "the whole", name ? "`" : "");
}

static int put(struct jsonc_scan *s, const char *const *path, const json_t *value, struct buf *out)
{
    struct style style;
    struct jsonc_object o = {0};

    learn_style(*s, &style);
    if (s->at == s->len)
        return put_root(s, &style, path, value, out);
    for (const char *name = NULL;; name = *path++) {
        if (check_object(s, name) < 0 || jsonc_look(s, *path, &o) < 0)
            return -1;
        if (!o.has_found)
            break;
        if (!path[1])
            return replace(s, &o, &style, value, out);
        style.is_compact = !has_own_line(s, &o.found);
        s->at = o.found.value;
    }
    if (!o.count)
        return put_first(s, &o, &style, path, value, out);
    style.is_compact = !has_own_line(s, &o.first);
    return style.is_compact ? put_beside(s, &o, &style, path, value, out)
                            : put_last(s, &o, &style, path, value, out);
}

/* The written text is parsed again: no user should lose settings to a bug of ours. */
static int check_put(const struct buf *out, const char *const *path, const json_t *value,
                     struct error *err)
{
    json_t *found = NULL;
    bool is_same;

    if (jsonc_get(buf_str(out), out->len, path, &found, err) < 0)
        return -1;
    is_same = found && json_equal(found, value);
    json_decref(found);
    return is_same ? 0
                   : error_set(err, E_INTERNAL,
                               "the changed text does not parse to the expected value");
}

int jsonc_put(const char *text, size_t len, const char *const *path, const json_t *value,
              struct buf *out, struct error *err)
{
    struct jsonc_scan s;

    buf_clear(out);
    if (jsonc_begin(&s, text, len, err) < 0 || put(&s, path, value, out) < 0)
        return -1;
    return check_put(out, path, value, err);
}

/* --- taking out --- */

static int cut(const struct jsonc_scan *s, const struct jsonc_object *o, struct buf *out)
{
    const struct jsonc_member *m = &o->found;
    bool has_comma = m->comma != JSONC_NOWHERE;
    size_t from = m->key, to = has_comma ? m->comma + 1 : m->end, rest = to;
    size_t comma = !has_comma && o->has_before ? o->before.comma : from;

    while (from > o->open + 1 && is_blank(s->text[from - 1]))
        from--;
    while (rest < s->len && (is_blank(s->text[rest]) || s->text[rest] == '\r'))
        rest++;
    /* Its line goes, unless something else stands on it. */
    if (from > o->open + 1 && s->text[from - 1] == '\n') {
        if (rest < s->len && s->text[rest] == '\n')
            from -= from > o->open + 2 && s->text[from - 2] == '\r' ? 2 : 1;
        else
            from = m->key;
    }
    if (copy(s, 0, comma < from ? comma : from, out) < 0 ||
        (comma < from && copy(s, comma + 1, from, out) < 0))
        return -1;
    return copy(s, to, s->len, out);
}

/* Braces with nothing but space between them stand together. */
static int cut_only(const struct jsonc_scan *s, const struct jsonc_object *o, struct buf *out)
{
    size_t to = o->found.comma != JSONC_NOWHERE ? o->found.comma + 1 : o->found.end;

    for (size_t i = o->open + 1; i < o->close; i++)
        if ((i < o->found.key || i >= to) && !is_blank(s->text[i]) && s->text[i] != '\n' &&
            s->text[i] != '\r')
            return cut(s, o, out);
    return copy(s, 0, o->open + 1, out) < 0 ? -1 : copy(s, o->close, s->len, out);
}

int jsonc_remove(const char *text, size_t len, const char *const *path, struct buf *out,
                 struct error *err)
{
    struct jsonc_object o = {0};
    struct jsonc_scan s;

    buf_clear(out);
    if (jsonc_begin(&s, text, len, err) < 0)
        return -1;
    for (; *path; path++) {
        if (s.at == s.len || s.text[s.at] != '{')
            return copy(&s, 0, s.len, out);
        if (jsonc_look(&s, *path, &o) < 0)
            return -1;
        if (!o.has_found)
            return copy(&s, 0, s.len, out);
        s.at = o.found.value;
    }
    if ((o.count == 1 ? cut_only(&s, &o, out) : cut(&s, &o, out)) < 0)
        return -1;
    return jsonc_check(buf_str(out), out->len, err);
}

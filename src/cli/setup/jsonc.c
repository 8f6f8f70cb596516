#include "cli/setup/jsonc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/setup/jsonc_internal.h"

#define BOM "\xef\xbb\xbf"

static int line_of(const struct jsonc_scan *s, size_t at)
{
    int line = 1;

    for (size_t i = 0; i < at && i < s->len; i++)
        line += s->text[i] == '\n';
    return line;
}

static int expected(const struct jsonc_scan *s, const char *what)
{
    if (s->at >= s->len)
        return error_set(s->err, E_INVALID, "line %d: the text ends, expected %s",
                         line_of(s, s->len), what);
    return error_set(s->err, E_INVALID, "line %d: expected %s", line_of(s, s->at), what);
}

static int peek(const struct jsonc_scan *s)
{
    return s->at < s->len ? (unsigned char)s->text[s->at] : -1;
}

static bool starts(const struct jsonc_scan *s, const char *word)
{
    size_t n = strlen(word);

    return s->len - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

/* --- space --- */

int jsonc_skip_comment(struct jsonc_scan *s)
{
    const char *end;

    if (starts(s, "//")) {
        while (s->at < s->len && s->text[s->at] != '\n')
            s->at++;
        return 0;
    }
    end = memmem(s->text + s->at + 2, s->len - s->at - 2, "*/", 2);
    if (!end)
        return error_set(s->err, E_INVALID, "line %d: a comment begins here and has no end",
                         line_of(s, s->at));
    s->at = (size_t)(end - s->text) + 2;
    return 0;
}

int jsonc_skip_space(struct jsonc_scan *s)
{
    for (;;) {
        int c = peek(s);

        if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
            s->at++;
        else if (starts(s, "//") || starts(s, "/*")) {
            if (jsonc_skip_comment(s) < 0)
                return -1;
        } else
            return 0;
    }
}

/* --- values --- */

static int skip_escape(struct jsonc_scan *s)
{
    s->at++;
    if (peek(s) != 'u') {
        if (peek(s) <= 0 || !strchr("\"\\/bfnrt", peek(s)))
            return expected(s, "one of the escapes of JSON");
        s->at++;
        return 0;
    }
    s->at++;
    for (int i = 0; i < 4; i++, s->at++)
        if (peek(s) <= 0 || !strchr("0123456789abcdefABCDEF", peek(s)))
            return expected(s, "four hex digits");
    return 0;
}

static int skip_string(struct jsonc_scan *s)
{
    if (peek(s) != '"')
        return expected(s, "a string in double quotes");
    s->at++;
    while (peek(s) != '"') {
        if (peek(s) < 0x20)
            return expected(s, "the end of a string");
        if (peek(s) != '\\')
            s->at++;
        else if (skip_escape(s) < 0)
            return -1;
    }
    s->at++;
    return 0;
}

static int skip_digits(struct jsonc_scan *s)
{
    size_t from = s->at;

    while (peek(s) >= '0' && peek(s) <= '9')
        s->at++;
    return s->at > from ? 0 : expected(s, "a digit");
}

static int skip_number(struct jsonc_scan *s)
{
    if (peek(s) == '-')
        s->at++;
    if (peek(s) == '0')
        s->at++;
    else if (skip_digits(s) < 0)
        return -1;
    if (peek(s) == '.') {
        s->at++;
        if (skip_digits(s) < 0)
            return -1;
    }
    if (peek(s) != 'e' && peek(s) != 'E')
        return 0;
    s->at++;
    if (peek(s) == '+' || peek(s) == '-')
        s->at++;
    return skip_digits(s);
}

/* 1: a member; 0: the closing brace, at which s->at stays. */
static int next_member(struct jsonc_scan *s, struct jsonc_member *ret_member)
{
    struct jsonc_member m = {.comma = JSONC_NOWHERE};

    if (jsonc_skip_space(s) < 0)
        return -1;
    if (peek(s) == '}')
        return 0;
    m.key = s->at;
    if (skip_string(s) < 0)
        return -1;
    m.key_end = s->at;
    if (jsonc_skip_space(s) < 0)
        return -1;
    if (peek(s) != ':')
        return expected(s, "a colon");
    s->at++;
    if (jsonc_skip_space(s) < 0)
        return -1;
    m.value = s->at;
    if (jsonc_skip_value(s) < 0)
        return -1;
    m.end = s->at;
    if (jsonc_skip_space(s) < 0)
        return -1;
    if (peek(s) == ',')
        m.comma = s->at++;
    else if (peek(s) != '}')
        return expected(s, "a comma or a closing brace");
    *ret_member = m;
    return 1;
}

static int skip_object(struct jsonc_scan *s)
{
    struct jsonc_member member;
    int r;

    s->at++;
    while ((r = next_member(s, &member)) > 0)
        ;
    s->at += r == 0;
    return r;
}

static int skip_array(struct jsonc_scan *s)
{
    s->at++;
    for (;;) {
        if (jsonc_skip_space(s) < 0)
            return -1;
        if (peek(s) == ']')
            break;
        if (jsonc_skip_value(s) < 0 || jsonc_skip_space(s) < 0)
            return -1;
        if (peek(s) == ',')
            s->at++;
        else if (peek(s) != ']')
            return expected(s, "a comma or a closing bracket");
    }
    s->at++;
    return 0;
}

int jsonc_skip_value(struct jsonc_scan *s)
{
    static const char *const words[] = {"true", "false", "null"};
    int c = peek(s), r;

    if (c == '{' || c == '[') {
        if (++s->depth > JSONC_DEPTH_MAX)
            return error_set(s->err, E_INVALID, "line %d: nested more than %d levels",
                             line_of(s, s->at), JSONC_DEPTH_MAX);
        r = c == '{' ? skip_object(s) : skip_array(s);
        s->depth--;
        return r;
    }
    if (c == '"')
        return skip_string(s);
    if (c == '-' || (c >= '0' && c <= '9'))
        return skip_number(s);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (starts(s, words[i])) {
            s->at += strlen(words[i]);
            return 0;
        }
    return expected(s, "a value");
}

/* --- looking --- */

/* Keys may be escaped: "mcp\u0053ervers" is another spelling, not another key. */
static int is_key(const struct jsonc_scan *s, const struct jsonc_member *m, const char *key,
                  bool *ret_is)
{
    json_t *name = NULL;

    if (!memchr(s->text + m->key, '\\', m->key_end - m->key)) {
        *ret_is = m->key_end - m->key - 2 == strlen(key) &&
                  memcmp(s->text + m->key + 1, key, strlen(key)) == 0;
        return 0;
    }
    if (jsonc_read(s, m->key, m->key_end, &name) < 0)
        return -1;
    *ret_is = json_string_length(name) == strlen(key) && strcmp(json_string_value(name), key) == 0;
    json_decref(name);
    return 0;
}

static int take_found(const struct jsonc_scan *s, struct jsonc_object *o,
                      const struct jsonc_member *m, const char *key)
{
    if (o->has_found)
        return error_set(s->err, E_INVALID, "line %d: `%s` is given twice", line_of(s, m->key),
                         key);
    o->has_found = true;
    o->found = *m;
    o->has_before = o->count > 0;
    o->before = o->last;
    return 0;
}

int jsonc_look(struct jsonc_scan *s, const char *key, struct jsonc_object *ret_object)
{
    struct jsonc_object o = {.open = s->at};
    struct jsonc_member m;
    bool is = false;
    int r;

    s->at++;
    while ((r = next_member(s, &m)) > 0) {
        if (is_key(s, &m, key, &is) < 0 || (is && take_found(s, &o, &m, key) < 0))
            return -1;
        if (o.count++ == 0)
            o.first = m;
        o.last = m;
    }
    if (r < 0)
        return -1;
    o.close = s->at++;
    *ret_object = o;
    return 0;
}

int jsonc_begin(struct jsonc_scan *s, const char *text, size_t len, struct error *err)
{
    size_t root, good = utf8_valid(text, len);

    *s = (struct jsonc_scan){.text = text, .len = len, .err = err};
    if (good < len)
        return error_set(err, E_INVALID, "line %d: read a byte that is not UTF-8",
                         line_of(s, good));
    if (starts(s, BOM))
        s->at = strlen(BOM);
    if (jsonc_skip_space(s) < 0)
        return -1;
    root = s->at;
    if (root == len)
        return 0;
    if (jsonc_skip_value(s) < 0 || jsonc_skip_space(s) < 0)
        return -1;
    if (s->at < len)
        return expected(s, "the end of the text");
    s->at = root;
    return 0;
}

int jsonc_check(const char *text, size_t len, struct error *err)
{
    struct jsonc_scan s;

    return jsonc_begin(&s, text, len, err);
}

/* --- reading --- */

/* A comma that only space and comments separate from a closing bracket has nothing behind it. */
static int is_trailing(struct jsonc_scan s, bool *ret_is)
{
    s.at++;
    if (jsonc_skip_space(&s) < 0)
        return -1;
    *ret_is = peek(&s) == '}' || peek(&s) == ']';
    return 0;
}

static int strip(struct jsonc_scan *s, struct buf *out)
{
    while (s->at < s->len) {
        size_t from = s->at;
        bool is = false;

        if (peek(s) == '"') {
            if (skip_string(s) < 0 || buf_add(out, s->text + from, s->at - from, s->err) < 0)
                return -1;
            continue;
        }
        if (jsonc_skip_space(s) < 0)
            return -1;
        if (s->at > from)
            continue;
        if (peek(s) == ',' && is_trailing(*s, &is) < 0)
            return -1;
        if (!is && buf_add(out, s->text + s->at, 1, s->err) < 0)
            return -1;
        s->at++;
    }
    return 0;
}

int jsonc_read(const struct jsonc_scan *s, size_t from, size_t to, json_t **ret_value)
{
    struct jsonc_scan part = {.text = s->text + from, .len = to - from, .err = s->err};
    const struct json_text_limits limits = {
        .bytes = to - from, .depth = JSONC_DEPTH_MAX, .allows_nul = true, .allows_scalar = true};
    cleanup(buf_done) struct buf text = {0};

    buf_init(&text, to - from);
    if (strip(&part, &text) < 0)
        return -1;
    return json_text_load(buf_str(&text), text.len, &limits, ret_value, s->err);
}

int jsonc_get(const char *text, size_t len, const char *const *path, json_t **ret_value,
              struct error *err)
{
    struct jsonc_object object = {0};
    struct jsonc_scan s;

    if (jsonc_begin(&s, text, len, err) < 0)
        return -1;
    *ret_value = NULL;
    for (; *path; path++) {
        if (peek(&s) != '{')
            return 0;
        if (jsonc_look(&s, *path, &object) < 0)
            return -1;
        if (!object.has_found)
            return 0;
        s.at = object.found.value;
    }
    return jsonc_read(&s, object.found.value, object.found.end, ret_value);
}

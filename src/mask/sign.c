/* The name of a secret, and the sign between it and the value, in every notation. */
#include "mask/sign.h"

#include "base/cleanup.h"

#define BLANKS_MAX   SIGN_BLANKS_MAX
#define NAME_MAX_LEN 64
#define WIDE_MAX     ((size_t)24)

/* Fields between a name and its value, and the text of each. */
#define FIELDS_MAX 3
#define FIELD_MAX  ((size_t)100)

bool sign_is_name_char(unsigned char c)
{
    return masker_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

/* ---- the name ---- */

static size_t name_end(const struct masker *s, size_t from, size_t to)
{
    size_t end = masker_run_end(s, RUN_NAME, to)->end, most = from + NAME_MAX_LEN;

    return end < most || to > most ? end : most;
}

/* <name>, <ns:name> */
static bool is_element_at(const struct masker *s, size_t start)
{
    size_t i = start;

    if (i && masker_at(s, i - 1) == ':')
        for (i--; i && start - i < 20 && masker_is_alnum(masker_at(s, i - 1));)
            i--;
    return i && masker_at(s, i - 1) == '<';
}

bool sign_is_wide(unsigned kind)
{
    const char *at = masker_kinds[kind].pattern;

    while (*at && (unsigned char)*at < 0x80)
        at++;
    return *at != '\0';
}

/* The end of a word of another alphabet, with what is written on to it: endings, and in some
 * languages particles. The end of the view: it may go on. */
static size_t wide_end(const struct masker *s, size_t from, size_t at)
{
    bool is_latin = masker_at(s, from) < 0x80 || masker_at(s, from) == 0xc5;

    for (size_t to = at; at < s->view.len && at - to < WIDE_MAX; at++) {
        unsigned char c = masker_at(s, at);

        if (is_latin && masker_is_alnum(c) && !masker_is_digit(c))
            continue;
        if (c < 0x80)
            break;
        /* Signs: \u00a0 to \u00bf, \u2000 to \u23ff, \u3000 to \u301f, \uff00 to \uff1f */
        if (c < 0xc0 || !masker_is_in("\xc2\xe2\xe3\xef", c))
            continue;
        if (masker_is_open(s, at + 1))
            return s->view.len;
        c = at + 1 < s->view.len ? masker_at(s, at + 1) : 0;
        if (masker_at(s, at) == 0xc2 || (masker_at(s, at) == 0xe2 && c >= 0x80 && c <= 0x8f) ||
            (masker_at(s, at) == 0xe3 && c == 0x80) || (masker_at(s, at) == 0xef && c == 0xbc))
            break;
    }
    return at < s->view.len ? at : s->view.len;
}

void sign_find_name(const struct masker *s, unsigned kind, size_t from, size_t to,
                    struct sign_name *name)
{
    size_t i;

    *name = (struct sign_name){.start = from, .end = to};
    while (name->start && from - name->start < NAME_MAX_LEN &&
           sign_is_name_char(masker_at(s, name->start - 1)))
        name->start--;
    if (to > from && masker_at(s, to - 1) >= 0x80 && sign_is_wide(kind))
        name->end = wide_end(s, from, to);
    else if (to > from && !sign_is_name_char(masker_at(s, to - 1)))
        name->end--;
    else
        name->end = name_end(s, from, to);
    masker_charge(s, from - name->start + 1);
    /* "\nTOKEN" as written in a string: the n is not of the name. */
    if (name->start && name->start < from && masker_at(s, name->start - 1) == '\\' &&
        strchr("nrt", masker_at(s, name->start)))
        name->start++;
    name->start = masker_skip_escape(s, name->start, from);
    name->is_flag =
        masker_at(s, name->start) == '-' && !(name->start && masker_at(s, name->start - 1) == '\\');
    for (i = from; i > name->start + 2; i--) /* in--pass it on */
        if (masker_at(s, i - 1) == '-' && masker_at(s, i - 2) == '-' &&
            masker_is_alnum(masker_at(s, i - 3))) {
            name->start = i;
            break;
        }
    if (name->is_flag && name->start + 2 < from && masker_at(s, name->start + 1) == 'D')
        name->start += 2; /* -DNAME=X */
    name->is_element = is_element_at(s, name->start);
    for (i = name->start; i && (masker_at(s, i - 1) == ' ' || masker_at(s, i - 1) == '\t') &&
                          name->start - i < BLANKS_MAX;
         i--)
        ;
    name->has_line = !i || masker_at(s, i - 1) == '\n';
}

/* ---- the sign between name and value ---- */

/* Behind quotes, commas and blanks, as they are or escaped. */
static size_t skip_closers(const struct masker *s, size_t at, const char *set, size_t max)
{
    size_t end = at + max, next;
    unsigned quote;

    while (at < s->view.len && at < end) {
        next = masker_skip_percent(s, at);
        if (next == at && masker_quote_at(s, at, &quote, &next) != READ_VALUE)
            next = at + (masker_at(s, at) && strchr(set, masker_at(s, at)));
        if (next == at)
            break;
        at = next;
    }
    masker_charge(s, 8);
    return at;
}

/* Behind other attributes of an element: id="p". SIZE_MAX: more must come. */
static size_t skip_other_attributes(const struct masker *s, size_t at)
{
    for (unsigned n = 0; n < 3; n++) {
        size_t i = at, name;

        while (i < s->view.len && i - at < 24 &&
               ((masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z') || masker_at(s, i) == '-'))
            i++;
        name = i - at;
        if (masker_is_open(s, i + 1))
            return i - at < 24 && name ? SIZE_MAX : at;
        if (!name || (name == 5 && masker_is_at(s, at, "value")) ||
            (name == 7 && masker_is_at(s, at, "content")) || !masker_is_at(s, i, "=\""))
            return at;
        for (i += 2; i < s->view.len && i - at < 100 && !masker_is_in("\"<>\n", masker_at(s, i));)
            i++;
        masker_charge(s, i - at);
        if (masker_is_open(s, i + 1) && i - at < 100)
            return SIZE_MAX;
        if (i + 1 >= s->view.len || masker_at(s, i) != '"' || masker_at(s, i + 1) != ' ')
            return at;
        at = i + 2;
    }
    return at;
}

/* Behind one field between a name and its value: "type": "string", as JSON and YAML have it. `at`:
 * there is none; SIZE_MAX: more must come. */
static size_t skip_field(const struct masker *s, size_t at)
{
    size_t i = at, name, text;
    bool is_quoted;

    while (i < s->view.len && i - at < 24 &&
           (masker_is_alnum(masker_at(s, i)) || masker_is_in("_-", masker_at(s, i))))
        i++;
    name = i - at;
    i = masker_skip_any(s, i, "\\\"' ", 6);
    masker_charge(s, i - at + 1);
    if (masker_is_open(s, i + 1) && name < 24)
        return SIZE_MAX;
    if (!name || name == 24 || i >= s->view.len || masker_at(s, i) != ':')
        return at;
    i = masker_skip_any(s, i + 1, "\\ ", 8);
    if (masker_is_open(s, i))
        return SIZE_MAX;
    is_quoted = i < s->view.len && masker_is_in("\"'", masker_at(s, i));
    text = i += is_quoted;
    while (i < s->view.len && i - text < FIELD_MAX &&
           (is_quoted ? !masker_is_in("\"'\\\n{}", masker_at(s, i))
                      : masker_is_alnum(masker_at(s, i)) || masker_is_in("_.-", masker_at(s, i))))
        i++;
    masker_charge(s, i - text);
    if (masker_is_open(s, i + 1))
        return i - text < FIELD_MAX ? SIZE_MAX : at;
    if (i >= s->view.len || i - text == FIELD_MAX ||
        !masker_is_in(is_quoted ? "\"'\\" : ",\r\n\\", masker_at(s, i)))
        return at;
    text = i;
    i = masker_skip_any(s, i, "\\\"',nr \t\r\n", BLANKS_MAX);
    while (i > text && masker_is_in("nr", masker_at(s, i - 1)) && masker_at(s, i - 2) != '\\')
        i--; /* of the next name */
    return masker_is_open(s, i) ? SIZE_MAX : i;
}

/* - name: TOKEN\n  value: X, {"name": "TOKEN", "value": "X"}, <input name="token" value="X"> */
static enum sign find_value_field(const struct masker *s, size_t at, size_t *ret_at)
{
    static const char *const words[] = {"value",        "content",        "defaultvalue",
                                        "outputvalue",  "parametervalue", "string_value",
                                        "secret_value", "secretvalue"};
    size_t i = skip_closers(s, at, "\\\"', \t\r\n", BLANKS_MAX), n = 0, word = 0;
    enum masker_sign_form form;
    enum sign sign = SIGN_COLON;

    /* The text may still become the word, or be the value itself. */
    *ret_at = i;
    i = skip_other_attributes(s, i);
    if (i == SIZE_MAX)
        return SIGN_MORE;
    for (unsigned fields = 0; word < ARRAY_SIZE(words); word++) {
        for (n = 0; words[word][n] && i + n < s->view.len &&
                    (masker_at(s, i + n) == (unsigned char)words[word][n] ||
                     (masker_at(s, i + n) | 32) == (unsigned char)words[word][n]);)
            n++;
        if (masker_is_open(s, i + n))
            return SIGN_MORE;
        if (!words[word][n] && !(i + n < s->view.len && masker_is_alnum(masker_at(s, i + n))))
            break;
        if (word + 1 == ARRAY_SIZE(words) && fields < FIELDS_MAX) {
            size_t next = skip_field(s, i);

            if (next == SIZE_MAX)
                return SIGN_MORE;
            if (next == i)
                return SIGN_NONE;
            i = next;
            fields++;
            sign = SIGN_LOOSE;
            word = SIZE_MAX; /* from the first one on */
        }
    }
    if (word == ARRAY_SIZE(words))
        return SIGN_NONE;
    if (masker_is_open(s, i + n + 8))
        return SIGN_MORE;
    i = skip_closers(s, i + n, "\\\"' ", 8);
    if (masker_is_open(s, i))
        return SIGN_MORE;
    switch (masker_sign_at(s, i, &form, &n)) {
    case READ_MORE:
        return SIGN_MORE;
    case READ_VALUE:
        *ret_at = form == SIGN_FORM_URL ? masker_skip_percent(s, n) : masker_skip_blanks(s, n);
        return form == SIGN_FORM_URL ? SIGN_URL : SIGN_COLON;
    case READ_NONE:
        break;
    }
    if (i >= s->view.len || !strchr(":=", masker_at(s, i)))
        return SIGN_NONE;
    *ret_at = masker_skip_blanks(s, i + 1);
    return sign;
}

bool sign_is_field_name(const struct masker *s, const struct sign_name *name)
{
    static const char *const signs[] = {":",   "=",   "&#61;", "\\u003d", "\\u003D",
                                        "%3D", "%3A", "%253D", "%253A"};
    static const char *const quotes[] = {"\"",    "'",     " ",          "\\",      "&quot;",
                                         "&#34;", "&#39;", "&amp;quot;", "\\u0022", "\\x22",
                                         "%22",   "%27",   "%2522",      "&#x27;"};
    static const char *const fields[] = {"name", "type", "key", "id", "label", "field", "variable"};
    size_t i = name->start, n;
    bool has_sign = false;

    if (!i || strchr("\n\t(,<.[", masker_at(s, i - 1)))
        return false;
    while (i && masker_at(s, i - 1) == '/' &&
           name->start - i < NAME_MAX_LEN) /* /prod/db/password */
        for (i--;
             i > 1 && name->start - i < NAME_MAX_LEN && sign_is_name_char(masker_at(s, i - 1));)
            i--;
    for (unsigned round = 0; round < 16; round++) {
        size_t before = i;

        /* The last character of one of them. */
        if (!i || !masker_is_in("\"' \\;27:=dDA", masker_at(s, i - 1)))
            break;
        for (size_t k = 0; k < ARRAY_SIZE(quotes) && i == before; k++) {
            n = strlen(quotes[k]);
            i -= i >= n && memcmp(masker_view(s, i - n), quotes[k], n) == 0 ? n : 0;
        }
        for (size_t k = 0; k < ARRAY_SIZE(signs) && i == before && !has_sign; k++) {
            n = strlen(signs[k]);
            if (i >= n && memcmp(masker_view(s, i - n), signs[k], n) == 0) {
                i -= n;
                has_sign = true;
            }
        }
        if (i == before)
            break;
    }
    masker_charge(s, 16);
    for (size_t k = 0; k < ARRAY_SIZE(fields) && has_sign; k++) {
        n = strlen(fields[k]);
        if (i >= n && strncasecmp(masker_view(s, i - n), fields[k], n) == 0 &&
            (n > 2 || i == n || !masker_is_alnum(masker_at(s, i - n - 1))))
            return true;
    }
    return false;
}

/* Behind the sign of ["password"]=> string(12) "X", as PHP prints values. SIZE_MAX: more must
 * come. */
static size_t skip_dumped(const struct masker *s, size_t at)
{
    static const char word[] = "string(";
    size_t i = at, n = 0;

    if (at < 2 || masker_at(s, at - 1) != '>' || at >= s->view.len ||
        !masker_is_in("\n ", masker_at(s, at)))
        return at;
    i = masker_skip_any(s, at + 1, " ", 32);
    while (word[n] && i + n < s->view.len && masker_at(s, i + n) == (unsigned char)word[n])
        n++;
    if (masker_is_open(s, i + n))
        return SIZE_MAX;
    if (word[n])
        return at;
    i = masker_skip_any(s, i + n, "0123456789", 6);
    if (masker_is_open(s, i + 2))
        return SIZE_MAX;
    return masker_is_at(s, i, ") \"") ? i + 2 : at;
}

static enum sign read_equals(const struct masker *s, size_t at, size_t *ret_at)
{
    bool is_compared = masker_is_at(s, at, "== ");

    at++;
    if (at < s->view.len && masker_at(s, at) == '~') {
        if (masker_is_open(s, at + 1)) {
            *ret_at = at;
            return SIGN_MORE;
        }
        if (at + 1 < s->view.len && masker_at(s, at + 1) == ' ')
            return SIGN_NONE; /* a pattern follows */
    } else if (at < s->view.len && strchr("=>", masker_at(s, at))) {
        at++;
        if (at < s->view.len && masker_is_in("=>", masker_at(s, at)))
            at++; /* ==>, === */
    }
    at = skip_dumped(s, at);
    if (at == SIZE_MAX) {
        *ret_at = s->view.len;
        return SIGN_MORE;
    }
    *ret_at = masker_skip_blanks(s, at);
    /* token == "NAME" is what a parser says. */
    return is_compared ? SIGN_LOOSE : SIGN_EQUALS;
}

bool sign_is_element(enum sign sign)
{
    return sign == SIGN_ELEMENT || sign == SIGN_ESCAPED || sign == SIGN_TAGGED;
}

/* Quotes and brackets behind the name, as they are or escaped. READ_MORE: one may be there. */
static enum masker_read close_name(const struct masker *s, size_t *at)
{
    size_t from = *at, end;
    enum masker_sign_form form;
    unsigned quote;
    enum masker_read r = masker_sign_at(s, *at, &form, &end);

    if (r != READ_NONE)
        return r == READ_MORE ? r : READ_NONE;
    for (unsigned n = 0; n < 3; n++) {
        r = masker_quote_at(s, *at, &quote, at);
        if (r == READ_MORE)
            return r;
        if (r == READ_NONE)
            break;
    }
    if (*at == from)
        *at = masker_skip_any(s, *at, "\\\"'`])", 8);
    return READ_NONE;
}

/* Marks of Markdown, and the brackets of an array. */
static size_t skip_marks(const struct masker *s, size_t at)
{
    size_t end = masker_skip_any(s, at, "*", 3);

    if (end == at && masker_is_at(s, at, "\xe2\x80\xa6")) /* dots */
        return at + 3;
    if (end == at && at < s->view.len && masker_at(s, at) == '[') {
        end = masker_skip_any(s, at + 1, "0123456789", 5);
        end = end < s->view.len && masker_at(s, end) != ']' ? at : end + 1;
    }
    return end < s->view.len ? end : s->view.len;
}

/* Behind !!str and &name of YAML, and the blank after them. */
static size_t skip_tag(const struct masker *s, size_t at)
{
    size_t i = at;

    if (i >= s->view.len || !masker_is_in("!&", masker_at(s, i)))
        return at;
    i = masker_is_at(s, i, "!!") ? i + 2 : i + (masker_at(s, i) == '&');
    while (i < s->view.len && i - at < 12 && (masker_at(s, i) | 32) >= 'a' &&
           (masker_at(s, i) | 32) <= 'z')
        i++;
    return i > at + 1 && i < s->view.len && masker_at(s, i) == ' ' &&
                   !masker_is_at(s, i + 1, "=") /* the type &str */
               ? i + 1
               : at;
}

/* Behind the marks and closing tags that may stand before a value: **Name:** X, <b>Name:</b> X. */
static size_t skip_markup(const struct masker *s, size_t at)
{
    size_t end = skip_tag(s, masker_skip_any(s, at, "*", 3));

    if (end < s->view.len && masker_at(s, end) == '<' && end + 1 < s->view.len &&
        masker_at(s, end + 1) == '/') {
        size_t i = end + 2;

        while (i < s->view.len && i - end < 12 && masker_is_alnum(masker_at(s, i)))
            i++;
        if (i < s->view.len && masker_at(s, i) != '>')
            return at;
        end = i < s->view.len ? i + 1 : i;
    }
    return end == at ? at : masker_skip_blanks(s, end);
}

/* A sign that is escaped. */
static enum sign find_escaped_sign(const struct masker *s, size_t at, size_t *ret_at)
{
    enum masker_sign_form form;
    size_t end;

    switch (masker_sign_at(s, at, &form, &end)) {
    case READ_NONE:
        return SIGN_NONE;
    case READ_MORE:
        *ret_at = at; /* or a value that begins so */
        return SIGN_MORE;
    case READ_VALUE:
        break;
    }
    if (form == SIGN_FORM_TEXT) {
        *ret_at = masker_skip_blanks(s, end);
        return SIGN_EQUALS;
    }
    *ret_at = form == SIGN_FORM_URL ? masker_skip_percent(s, end) : end;
    /* A blank may still become whole. */
    if (masker_is_open(s, *ret_at + 5))
        return SIGN_MORE;
    return form == SIGN_FORM_URL ? SIGN_URL : SIGN_ESCAPED;
}

/* Pass :meth:`name`, as documents of Python have it. */
static bool is_role(const struct masker *s, size_t closed, size_t at)
{
    size_t i = at + 1;

    if (at == closed)
        return false;
    while (i < s->view.len && i - at < 16 && masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z')
        i++;
    return i > at + 1 && i + 1 < s->view.len && masker_at(s, i) == ':' &&
           masker_at(s, i + 1) == '`';
}

/* host:port:user:password:database, which says what stands where. */
static bool is_list_of_names(const struct masker *s, const struct sign_name *name, size_t at)
{
    size_t i = at + 1;

    if (at != name->end || name->start < 2 || masker_at(s, name->start - 1) != ':' ||
        !masker_is_alnum(masker_at(s, name->start - 2)))
        return false;
    while (i < s->view.len && i - at < 40 &&
           ((masker_at(s, i) | 32) >= 'a' || masker_at(s, i) == ':' || masker_at(s, i) == '_') &&
           (masker_at(s, i) | 32) <= 'z')
        i++;
    return memchr(masker_view(s, at + 1), ':', i - at - 1) != NULL;
}

/* machine host login ann password X, also over lines. */
static bool is_netrc(const struct masker *s, const struct sign_name *name)
{
    return name->end - name->start == 8 && masker_is_at(s, name->start, "password") &&
           name->start > 4 && masker_near(s, name->start, "login") &&
           masker_near(s, name->start, "machine");
}

/* requirepass X: a line of settings that have no sign. */
static bool is_directive(const struct masker *s, const struct sign_name *name)
{
    static const char *const names[] = {"requirepass", "masterauth", "bindpw", "rootpw"};

    for (size_t i = 0; i < ARRAY_SIZE(names) && name->has_line; i++)
        if (strlen(names[i]) == name->end - name->start && masker_is_at(s, name->start, names[i]))
            return true;
    return false;
}

/* #define NAME "X" */
static bool is_macro(const struct masker *s, const struct sign_name *name)
{
    return name->start >= 8 && memcmp(masker_view(s, name->start - 8), "#define ", 8) == 0;
}

/* ALTER USER ann WITH PASSWORD 'X' */
static bool is_clause(const struct masker *s, const struct sign_name *name)
{
    return name->end - name->start == 8 && masker_is_at(s, name->start, "password") &&
           masker_near(s, name->start, "user role login alter create grant");
}

/* {:password, as Elixir and Erlang name the value of a pair. */
static bool is_atom(const struct masker *s, const struct sign_name *name)
{
    return name->start >= 2 && memcmp(masker_view(s, name->start - 2), "{:", 2) == 0;
}

/* userPassword:: X, in base64, and ::set-output name=token::X */
static bool is_double_colon(const struct masker *s, const struct sign_name *name, size_t closed,
                            size_t at)
{
    if (at != name->end || closed != at || at + 2 >= s->view.len || masker_at(s, at + 1) != ':')
        return false;
    if (masker_at(s, at + 2) == ' ')
        return name->has_line;
    return name->start > 5 && memcmp(masker_view(s, name->start - 5), "name=", 5) == 0;
}

bool masker_is_half(const struct masker *s, size_t at, const char *text)
{
    size_t have = s->view.len - at, len = strlen(text);

    return have < len && !s->is_final && strncasecmp(masker_view(s, at), text, have) == 0;
}

/* The sign behind the name. *ret_at: where the value begins, or may. */
enum sign sign_find(const struct masker *s, struct sign_name *name, size_t *ret_at)
{
    size_t closed = name->end, at, blank;
    enum masker_read r = close_name(s, &closed);
    enum sign escaped;
    unsigned char c;

    at = blank = masker_skip_blanks(s, skip_marks(s, closed));
    if (at < s->view.len &&
        (masker_at(s, at) == '%' ||
         (masker_at(s, at) == '+' && at + 1 < s->view.len && masker_at(s, at + 1) == '%')))
        at = masker_skip_percent(s, at);
    if (r == READ_MORE) {
        *ret_at = name->end;
        return SIGN_MORE;
    }

    name->is_quoted = closed > name->end;
    name->closed = closed;
    name->behind = at;
    *ret_at = blank; /* a + may also be the first character of a value */
    if (masker_is_open(s, at + 1) ||
        (masker_is_open(s, at + 2) && masker_at(s, at) == ':' && masker_at(s, at + 1) == ':')) {
        /* Behind a blank it may be the value's first letter; a line ends at once. */
        if (at == closed || at >= s->view.len || strchr("\r\n", masker_at(s, at)))
            *ret_at = s->view.len;
        return SIGN_MORE;
    }
    *ret_at = at;
    if (at >= s->view.len)
        return SIGN_NONE;
    c = masker_at(s, at);
    escaped = find_escaped_sign(s, at, ret_at);
    if (escaped != SIGN_NONE)
        return escaped;
    if (sign_is_field_name(s, name)) {
        enum sign sign = find_value_field(s, closed, ret_at);

        /* It may still be the value that begins here. */
        if (sign == SIGN_MORE)
            *ret_at = at;
        if (sign != SIGN_NONE)
            return sign;
        *ret_at = at;
    }
    if (c == '=')
        return read_equals(s, at, ret_at);
    if (c == '+' && name->is_flag && at == closed) { /* a blank in a form */
        *ret_at = at + 1;
        return SIGN_URL;
    }
    if (strchr("?|+", c) && at + 1 < s->view.len && masker_at(s, at + 1) == '=') {
        *ret_at = masker_skip_blanks(s, at + 2);
        return SIGN_EQUALS;
    }
    if (c == ':') {
        if (is_double_colon(s, name, closed, at)) {
            *ret_at = masker_skip_blanks(s, at + 2);
            return SIGN_COLON;
        }
        if (at + 1 < s->view.len && masker_is_in("?+", masker_at(s, at + 1)) && name->start > 1 &&
            masker_at(s, name->start - 1) == '{' && masker_at(s, name->start - 2) == '$')
            return SIGN_NONE; /* ${NAME:?must be set} */
        if ((at + 1 < s->view.len && masker_at(s, at + 1) == ':') || is_role(s, closed, at) ||
            is_list_of_names(s, name, at))
            return SIGN_NONE;
        at += at + 1 < s->view.len && masker_at(s, at + 1) == '=' ? 2 : 1;
        *ret_at = skip_markup(s, masker_skip_blanks(s, at));
        return SIGN_COLON;
    }
    if (c == 0xef && masker_is_at(s, at, "\xef\xbc\x9a")) { /* a wide colon */
        *ret_at = masker_skip_blanks(s, at + 3);
        return SIGN_COLON;
    }
    /* The name has taken the hyphen of "->". */
    if (c == '>' && closed == at && masker_at(s, name->end - 1) == '-') {
        *ret_at = masker_skip_blanks(s, at + 1);
        return SIGN_EQUALS;
    }
    if (c == '-' && at + 1 < s->view.len && masker_at(s, at + 1) == '>' &&
        !(closed > name->end && masker_at(s, closed - 1) == ')')) { /* f(a: Pass) -> Type */
        *ret_at = masker_skip_blanks(s, at + 2);
        return SIGN_EQUALS;
    }
    if (c == '>' && name->is_element) {
        *ret_at = at + 1;
        return SIGN_ELEMENT;
    }
    if (at > closed && (masker_is_half(s, at, "-Value ") || masker_is_half(s, at, "!= "))) {
        *ret_at = at;
        return SIGN_MORE;
    }
    if (c == '-' && at > closed && masker_is_at(s, at, "-Value ")) {
        *ret_at = at + 7;
        return SIGN_EQUALS;
    }
    if (c == '!' && at > closed && masker_is_at(s, at, "!= ")) {
        *ret_at = at + 3;
        return SIGN_EQUALS;
    }
    if ((c == '(' || c == '{') && at == name->end) {
        if (masker_is_open(s, at + 2)) {
            *ret_at = s->view.len;
            return SIGN_MORE;
        }
        if (at + 1 < s->view.len && strchr("\"'", masker_at(s, at + 1))) {
            *ret_at = at + 1;
            return SIGN_CALL;
        }
    }
    if (c == ',' && is_atom(s, name) && masker_is_at(s, at, ", \"")) { /* {:password, "X"} */
        *ret_at = at + 2;
        return SIGN_EQUALS;
    }
    if (c == ',' && name->is_quoted) {
        *ret_at = name->is_flag ? masker_skip_any(s, at + 1, " \t\r\n", BLANKS_MAX)
                                : masker_skip_blanks(s, at + 1);
        if (masker_is_half(s, *ret_at, "with: "))
            return SIGN_MORE;
        *ret_at += masker_is_at(s, *ret_at, "with: ") ? 6 : 0; /* fill_in 'Password', with: 'X' */
        return SIGN_COMMA;
    }
    /* :password "X", ("password" . "X") */
    if (at > closed && c == '"' && name->start && masker_at(s, name->start - 1) == ':' &&
        (name->start < 2 || !masker_is_alnum(masker_at(s, name->start - 2))))
        return SIGN_EQUALS;
    if (at > closed && c == '.' &&
        (name->is_quoted || (name->start && masker_at(s, name->start - 1) == '(')) &&
        masker_is_at(s, at, ". \"")) {
        *ret_at = at + 2;
        return SIGN_EQUALS;
    }
    if (at > closed && c == '"' && is_macro(s, name))
        return SIGN_LOOSE;
    if (at > closed &&
        (name->is_flag || (closed == name->end && (is_netrc(s, name) || is_directive(s, name))) ||
         (c == '\'' && is_clause(s, name))))
        return SIGN_BLANK;
    return SIGN_NONE;
}

/* Secrets that are known by the name before them: assignments in every notation, and the fields of
 * HTTP. */
#include "mask/internal.h"

/* Blanks between a name, its sign and its value. */
#define BLANKS_MAX 64

#define NAME_MAX_LEN 64

/* Of the parameters of one header. */
#define PARAMETERS_MAX 2048

static bool is_name_char(unsigned char c)
{
    return masker_is_alnum(c) || c == '_' || c == '-' || c == '.';
}

static size_t skip_blanks(const struct masker *s, size_t at)
{
    size_t end = at + BLANKS_MAX;

    while (at < s->view.len && at < end && (masker_at(s, at) == ' ' || masker_at(s, at) == '\t'))
        at++;
    return at;
}

static size_t skip_any(const struct masker *s, size_t at, const char *set, size_t max)
{
    size_t end = at + max;

    while (at < s->view.len && at < end && strchr(set, masker_at(s, at)))
        at++;
    return at;
}

static bool is_at(const struct masker *s, size_t at, const char *text)
{
    size_t len = strlen(text);

    return at + len <= s->view.len && strncasecmp(masker_view(s, at), text, len) == 0;
}

/* ---- the name ---- */

struct name {
    size_t start, end;
    bool is_flag;    /* --name */
    bool is_element; /* <name> */
    bool is_quoted;  /* "name" or ['name'] */
    bool has_line;   /* the line begins with it */
};

static size_t name_end(const struct masker *s, size_t from, size_t to)
{
    size_t end = masker_run_end(s, RUN_NAME, to)->end, most = from + NAME_MAX_LEN;

    return end < most || to > most ? end : most;
}

static void find_name(const struct masker *s, size_t from, size_t to, struct name *name)
{
    size_t i;

    *name = (struct name){.start = from, .end = to};
    while (name->start && from - name->start < NAME_MAX_LEN &&
           is_name_char(masker_at(s, name->start - 1)))
        name->start--;
    if (to > from && !is_name_char(masker_at(s, to - 1)))
        name->end--;
    else
        name->end = name_end(s, from, to);
    masker_charge(s, from - name->start + 1);
    /* "\nTOKEN" as written in a string: the n is not of the name. */
    if (name->start && name->start < from && masker_at(s, name->start - 1) == '\\' &&
        strchr("nrt", masker_at(s, name->start)))
        name->start++;
    name->is_flag = masker_at(s, name->start) == '-';
    name->is_element = name->start && masker_at(s, name->start - 1) == '<';
    for (i = name->start; i && (masker_at(s, i - 1) == ' ' || masker_at(s, i - 1) == '\t') &&
                          name->start - i < BLANKS_MAX;
         i--)
        ;
    name->has_line = !i || masker_at(s, i - 1) == '\n';
}

/* ---- the sign between name and value ---- */

enum sign { SIGN_NONE, SIGN_MORE, SIGN_EQUALS, SIGN_COLON, SIGN_ELEMENT, SIGN_BLANK, SIGN_COMMA };

/* - name: TOKEN\n  value: X, {"name": "TOKEN", "value": "X"}, <input name="token" value="X"> */
static enum sign find_value_field(const struct masker *s, size_t at, size_t *ret_at)
{
    size_t i = skip_any(s, at, "\"', \t\r\n", BLANKS_MAX), n = 0;

    /* The text may still become the word, or be the value itself. */
    *ret_at = i;
    while (n < 5 && i + n < s->view.len && (masker_at(s, i + n) | 32) == (unsigned char)"value"[n])
        n++;
    if (n < 5)
        return masker_is_open(s, i + n) ? SIGN_MORE : SIGN_NONE;
    if (masker_is_open(s, i + 6))
        return SIGN_MORE;
    i = skip_any(s, i + 5, "\"' ", 4);
    if (masker_is_open(s, i))
        return SIGN_MORE;
    if (i >= s->view.len || !strchr(":=", masker_at(s, i)))
        return SIGN_NONE;
    *ret_at = skip_blanks(s, i + 1);
    return SIGN_COLON;
}

static bool is_field_name(const struct masker *s, const struct name *name)
{
    size_t i = name->start;

    while (i && name->start - i < 8 && strchr("\"' ", masker_at(s, i - 1)))
        i--;
    return i >= 5 && strchr(":=", masker_at(s, i - 1)) &&
           (strncasecmp(masker_view(s, i - 5), "name", 4) == 0 ||
            (i >= 6 && strncasecmp(masker_view(s, i - 6), "name\"", 5) == 0) ||
            strncasecmp(masker_view(s, i - 4), "key", 3) == 0 ||
            (i >= 5 && strncasecmp(masker_view(s, i - 5), "key\"", 4) == 0));
}

static enum sign read_equals(const struct masker *s, size_t at, size_t *ret_at)
{
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
    }
    *ret_at = skip_blanks(s, at);
    return SIGN_EQUALS;
}

/* The sign behind the name. *ret_at: where the value begins, or may. */
static enum sign find_sign(const struct masker *s, struct name *name, size_t *ret_at)
{
    size_t closed = skip_any(s, name->end, "\\\"'`])", 8), at = skip_blanks(s, closed);
    unsigned char c;

    name->is_quoted = closed > name->end;
    *ret_at = at;
    if (masker_is_open(s, at + 1)) {
        /* Behind a blank it may be the value's first letter; a line ends at once. */
        if (at == closed || at >= s->view.len || strchr("\r\n", masker_at(s, at)))
            *ret_at = s->view.len;
        return SIGN_MORE;
    }
    if (at >= s->view.len)
        return SIGN_NONE;
    c = masker_at(s, at);
    if (is_field_name(s, name)) {
        enum sign sign = find_value_field(s, closed, ret_at);

        if (sign != SIGN_NONE)
            return sign;
        *ret_at = at;
    }
    if (c == '=')
        return read_equals(s, at, ret_at);
    if (strchr("?|+", c) && at + 1 < s->view.len && masker_at(s, at + 1) == '=') {
        *ret_at = skip_blanks(s, at + 2);
        return SIGN_EQUALS;
    }
    if (c == ':') {
        if (at + 1 < s->view.len && masker_at(s, at + 1) == ':')
            return SIGN_NONE;
        at += at + 1 < s->view.len && masker_at(s, at + 1) == '=' ? 2 : 1;
        *ret_at = skip_blanks(s, at);
        return SIGN_COLON;
    }
    /* The name has taken the hyphen of "->". */
    if (c == '>' && closed == at && masker_at(s, name->end - 1) == '-') {
        *ret_at = skip_blanks(s, at + 1);
        return SIGN_EQUALS;
    }
    if (c == '-' && at + 1 < s->view.len && masker_at(s, at + 1) == '>') {
        *ret_at = skip_blanks(s, at + 2);
        return SIGN_EQUALS;
    }
    if (c == '>' && name->is_element) {
        *ret_at = at + 1;
        return SIGN_ELEMENT;
    }
    if (c == ',' && name->is_quoted) {
        *ret_at = skip_blanks(s, at + 1);
        return SIGN_COMMA;
    }
    if (at > closed && (name->is_flag || (closed == name->end && name->start > 4 &&
                                          masker_near(s, name->start, "login") &&
                                          masker_near(s, name->start, "machine"))))
        return SIGN_BLANK;
    return SIGN_NONE;
}

/* ---- the assignment ---- */

/* password: str = "..." */
static bool is_annotation(const struct masker *s, const struct masker_value *value, size_t *ret_at)
{
    size_t at = skip_blanks(s, value->end);

    if (value->is_quoted || at >= s->view.len || masker_at(s, at) != '=' || at == value->end)
        return false;
    for (size_t i = value->start; i < value->end; i++)
        if (!is_name_char(masker_at(s, i)) && !strchr("[]|", masker_at(s, i)))
            return false;
    *ret_at = skip_blanks(s, at + 1);
    return true;
}

/* Written in capitals, or a flag. */
static bool is_constant(const struct masker *s, const struct name *name)
{
    if (name->is_flag)
        return true;
    for (size_t i = name->start; i < name->end; i++)
        if (masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z')
            return false;
    return true;
}

static bool has_digits(const struct masker *s, size_t from, size_t to)
{
    unsigned count = 0;

    to = to - from < MASKER_JUDGE_MAX ? to : from + MASKER_JUDGE_MAX;
    for (size_t i = from; i < to; i++)
        count += masker_is_digit(masker_at(s, i));
    return count >= 2;
}

static bool ends_line(const struct masker *s, size_t at)
{
    at = skip_blanks(s, at);
    return at >= s->view.len || strchr("\r\n#", masker_at(s, at));
}

/* Does the line begin with the name, as those of YAML and of settings do? */
static bool begins_line(const struct masker *s, const struct name *name)
{
    size_t at = name->start, n = 0;

    if (name->has_line)
        return true;
    while (at && n++ < BLANKS_MAX && masker_at(s, at - 1) == ' ')
        at--;
    if (at == name->start)
        return false;
    if (at >= 1 && masker_at(s, at - 1) == '-') /* of a list */
        at--;
    else if (at >= 6 && is_at(s, at - 6, "export"))
        at -= 6;
    else
        return false;
    while (at && n++ < BLANKS_MAX && masker_at(s, at - 1) == ' ')
        at--;
    return !at || masker_at(s, at - 1) == '\n';
}

/* ?name=value&name=value */
static bool is_query(const struct masker *s, const struct name *name)
{
    return name->start && strchr("?&", masker_at(s, name->start - 1));
}

/* Bytes that would end an unquoted value. */
static enum masker_run_kind bare_kind(const struct masker *s, const struct name *name,
                                      enum sign sign, size_t at)
{
    enum masker_run_kind kind;

    if (sign == SIGN_ELEMENT)
        return RUN_ELEMENT;
    if (is_query(s, name))
        return RUN_PARAMETER;
    kind = masker_bare_kind(s, at, begins_line(s, name), sign == SIGN_COLON);
    if (name->is_quoted && (kind == RUN_SCALAR || kind == RUN_SETTING || kind == RUN_TEXT))
        return RUN_LIST;
    return kind;
}

static enum masker_shell shell_of(const struct masker *s, const struct name *name, enum sign sign,
                                  size_t at)
{
    /* A line of a diff begins with a hyphen, no command with an option. */
    if (name->is_flag && (sign == SIGN_EQUALS || sign == SIGN_BLANK))
        return name->start && masker_at(s, name->start - 1) != '\n' ? SHELL_YES : SHELL_NO;
    if (sign != SIGN_EQUALS || name->is_quoted || at != name->end + 1)
        return SHELL_NO;
    return masker_shell_at(s, name->start);
}

static enum masker_read read_value(const struct masker *s, const struct name *name, enum sign *sign,
                                   size_t *at, struct masker_value *value)
{
    enum masker_read r = masker_read_value(s, *at, bare_kind(s, name, *sign, *at), value);

    if (r == READ_VALUE && *sign == SIGN_COLON && !value->is_quoted) {
        if (masker_is_open(s, skip_blanks(s, value->run->end)))
            return READ_MORE;
        if (is_annotation(s, value, at)) {
            *sign = SIGN_EQUALS;
            r = masker_read_value(s, *at, bare_kind(s, name, *sign, *at), value);
        }
    }
    value->shell = shell_of(s, name, *sign, *at);
    value->is_option = name->is_flag;
    value->is_data = is_query(s, name) || *sign == SIGN_ELEMENT;
    value->is_expanded = *sign == SIGN_EQUALS || *sign == SIGN_BLANK;
    if (r == READ_VALUE &&
        (masker_is_half_call(s, value) || masker_read_arguments(s, value) == READ_MORE))
        return READ_MORE;
    return r;
}

/* name: |, and its lines. */
static enum masker_read read_block(struct masker *s, unsigned kind, size_t from,
                                   const struct name *name, enum masker_name what, size_t at)
{
    size_t lines;
    enum masker_read r = masker_begins_block(s, at, &lines);
    struct masker_line line;

    if (r != READ_VALUE)
        return r;
    line = masker_line_at(s, at);
    if (line.is_known)
        masker_read_block(s, kind, from, what, lines, name->start - line.start);
    return READ_VALUE;
}

static void read_assigned(struct masker *s, unsigned kind, size_t from, const struct name *name,
                          enum masker_name what, enum sign sign, size_t at)
{
    struct masker_value value = {.start = at};
    enum masker_read r = READ_NONE;

    if (sign == SIGN_COLON && at < s->view.len && strchr("|>", masker_at(s, at))) {
        r = read_block(s, kind, from, name, what, at);
        if (r == READ_VALUE)
            return;
    }
    if (r == READ_NONE)
        r = read_value(s, name, &sign, &at, &value);
    if (r == READ_MORE) {
        masker_wait(s, kind, from, value.start);
        return;
    }
    if (r == READ_NONE)
        return;
    if (value.is_open || value.has_lines) {
        if (sign == SIGN_COMMA)
            return;
        if (value.is_open)
            masker_read_triple(s, kind, from, what, &value);
        else
            masker_found_lines(s, kind, from, what, value.start, value.end);
        return;
    }
    value.is_env = (sign == SIGN_EQUALS && at == name->end + 1) || sign == SIGN_ELEMENT;
    value.has_line = name->has_line && sign == SIGN_COLON && ends_line(s, value.end);
    value.is_constant = sign == SIGN_BLANK || is_constant(s, name);
    if (sign == SIGN_BLANK && !value.is_quoted)
        value.is_env = true;
    /* A list of words is no list of pairs: only what looks the part is taken. */
    if (sign == SIGN_COMMA) {
        if (!value.is_quoted || !has_digits(s, value.start, value.end))
            return;
        what = NAME_WEAK;
    }
    if (masker_is_secret_text(s, what, &value))
        masker_found_value(s, kind, from, &value);
}

/* One of ours, in text that was masked before: what follows is no value of it. */
static bool is_label(const struct masker *s, const struct name *name)
{
    static const char begin[] = "REDACTED_";
    const size_t len = sizeof(begin) - 1;

    return name->start && masker_at(s, name->start - 1) == '[' && name->end - name->start > len &&
           memcmp(masker_view(s, name->start), begin, len) == 0;
}

void masker_match_name(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct name name;
    enum masker_name what;
    enum sign sign;
    size_t at = 0, end;

    find_name(s, from, to, &name);
    if (masker_is_open(s, name.end)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (is_label(s, &name))
        return;
    /* Most words of this kind stand in prose: the sign is the cheaper question. */
    sign = find_sign(s, &name, &at);
    if (sign == SIGN_NONE)
        return;
    end = name.end;
    while (end > name.start && strchr("-.", masker_at(s, end - 1)))
        end--;
    masker_charge(s, 2 * (end - name.start));
    what = masker_name_of(masker_view(s, name.start), end - name.start);
    if (what == NAME_NONE)
        return;
    if (sign == SIGN_MORE || masker_is_open(s, at))
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
    else
        read_assigned(s, kind, from, &name, what, sign, at);
}

/* ---- parts of a URL ---- */

void masker_match_query(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct masker_run *run = masker_run_end(s, RUN_QUERY, to);
    size_t end = run->end, len = end - to < MASKER_JUDGE_MAX ? end - to : MASKER_JUDGE_MAX;

    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to);
        return;
    }
    if (len < 16)
        return;
    if (!masker_in_vain(run, to)) {
        masker_charge(s, 2 * len);
        if (!masker_is_mixed(masker_view(s, to), len) ||
            masker_is_placeholder(masker_view(s, to), end - to))
            return;
    }
    masker_found(s, kind, from, to, end);
}

/* ---- fields of HTTP ---- */

/* Behind the name of a header: its sign, blanks, quotes. 0: it is no header. */
static size_t header_value(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at = skip_blanks(s, skip_any(s, to, "\\\"'])", 8));

    if (at < s->view.len && strchr(":=,", masker_at(s, at)))
        at = skip_any(s, at + 1, " \t\\\"'`bf", 12);
    else if (!masker_is_open(s, at))
        return 0;
    if (masker_is_open(s, at)) {
        masker_wait(s, kind, from, s->view.len);
        return 0;
    }
    return at < s->view.len ? at : 0;
}

/* The name of a scheme and one blank. Its length, or 0. */
static size_t scheme_length(const struct masker *s, size_t at)
{
    static const char *const schemes[] = {
        "bearer ",    "basic ", "token ",   "apikey ", "digest ",           "api-key ",
        "negotiate ", "ntlm ",  "key ",     "jwt ",    "aws4-hmac-sha256 ", "splunk ",
        "oauth ",     "genie",  "sso-key ", "bot "};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (is_at(s, at, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* name=value or name="value", as Digest, OAuth and AWS have them after one another. Returns where
 * the last one ends; `at`: there is none. */
static size_t parameters_end(const struct masker *s, size_t at)
{
    size_t end = at, limit = at + PARAMETERS_MAX;

    while (at < limit) {
        size_t name = at = skip_any(s, at, " \t,", 16), depth = 0;

        while (at < s->view.len && at < limit &&
               (masker_is_alnum(masker_at(s, at)) || strchr("_-*", masker_at(s, at))))
            at++;
        if (masker_is_open(s, at))
            return at;
        if (at == name || at >= s->view.len || masker_at(s, at) != '=')
            return end;
        at++;
        while (at + depth < s->view.len && masker_at(s, at + depth) == '\\' && depth < 16)
            depth++;
        if (masker_is_open(s, at + depth))
            return s->view.len;
        if (at + depth < s->view.len && masker_at(s, at + depth) == '"') {
            struct masker_value value;

            if (masker_read_value(s, at, RUN_BARE, &value) == READ_MORE)
                return s->view.len;
            at = value.run->end;
            if (at < s->view.len && masker_at(s, at) == '"')
                at++;
        } else {
            while (at < s->view.len && at < limit &&
                   (masker_is_credential_char(masker_at(s, at)) || masker_at(s, at) == ';'))
                at++;
        }
        end = at;
        if (masker_is_open(s, at))
            return at;
    }
    return end;
}

/* The end of the parameters of a scheme that has some; 0: it has none. */
static size_t find_parameters(const struct masker *s, size_t at, size_t scheme)
{
    size_t end = at + scheme;

    if (is_at(s, at, "aws4-") || is_at(s, at, "digest ") || is_at(s, at, "oauth "))
        end = parameters_end(s, at + scheme);
    masker_charge(s, end - at);
    return end > at + scheme ? end : 0;
}

static bool is_credential(const struct masker *s, size_t start, size_t end, bool has_scheme)
{
    struct masker_value value = {.start = start, .end = end, .is_quoted = true};
    size_t len = end - start;

    masker_charge(s, 2 * (len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX));
    if (has_scheme)
        return len >= 6 && !masker_is_placeholder(masker_view(s, start), len);
    return len >= 12 && masker_is_secret_value(s, NAME_TOKEN, &value) &&
           masker_is_mixed(masker_view(s, start), len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX);
}

void masker_match_header(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at = header_value(s, kind, from, to), scheme, start, end;
    struct masker_run *run = NULL;

    if (!at)
        return;
    scheme = scheme_length(s, at);
    start = at + scheme;
    end = find_parameters(s, at, scheme);
    if (!end) {
        run = masker_run_end(s, masker_bare_kind(s, start, true, true), start);
        end = run->end;
    }
    if (masker_is_open(s, end) || (run && run->is_more)) {
        /* A word that may still become a scheme may come out, nothing else. */
        masker_wait(s, kind, from, start);
        return;
    }
    if (run)
        end = masker_trim_bare(s, start, end);
    if ((run && masker_in_vain(run, start)) || is_credential(s, start, end, scheme))
        masker_found(s, kind, from, start, end);
}

static bool is_basic(const char *text, size_t len)
{
    unsigned char plain[128];
    size_t n = masker_base64_decode(text, len, plain, sizeof(plain));

    if (n < 5 || !memchr(plain, ':', n))
        return false;
    for (size_t i = 0; i < n; i++)
        if (plain[i] < 0x20)
            return false;
    return true;
}

/* The number before the token of some services belongs to it: 12|token. Any other | is the pipe of
 * a shell. */
static size_t credential_end(const struct masker *s, size_t at)
{
    size_t end = masker_run_end(s, RUN_CREDENTIAL, at)->end;

    if (end >= s->view.len || masker_at(s, end) != '|' || end - at > 20 || end == at)
        return end;
    for (size_t i = at; i < end; i++)
        if (!masker_is_digit(masker_at(s, i)))
            return end;
    return masker_run_end(s, RUN_CREDENTIAL, end + 1)->end;
}

void masker_match_scheme(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t end = credential_end(s, to), len = end - to;
    const char *text = masker_view(s, to);

    if (!masker_begins_word(s, from))
        return;
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to);
        return;
    }
    masker_charge(s, 2 * len);
    if (is_at(s, from, "basic ")
            ? len >= 8 && is_basic(text, len)
            : len >= 16 && masker_is_mixed(text, len) && !masker_is_placeholder(text, len))
        masker_found(s, kind, from, to, end);
}

/* ---- cookies ---- */

static bool is_attribute(const char *name, size_t len)
{
    static const char *const attributes[] = {"path",    "domain",      "expires",  "max-age",
                                             "secure",  "httponly",    "samesite", "priority",
                                             "version", "partitioned", "comment"};

    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        if (strlen(attributes[i]) == len && strncasecmp(attributes[i], name, len) == 0)
            return true;
    return false;
}

static bool names_session(const char *name, size_t len)
{
    static const char *const parts[] = {"sess", "sid",  "token",    "auth",  "jwt",
                                        "csrf", "xsrf", "remember", "login", "secret"};

    for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++)
        for (size_t i = 0, n = strlen(parts[p]); i + n <= len; i++)
            if (strncasecmp(name + i, parts[p], n) == 0)
                return true;
    return false;
}

/* A private key ends it, too: behind each of them the view is looked at anew, and a list that is
 * read across many would be read as often. */
static bool ends_cookie(const struct masker *s, size_t at)
{
    static const char key[] = "-----BEGIN ";
    unsigned char c = masker_at(s, at);

    if (c == '-')
        return at + sizeof(key) - 1 <= s->view.len &&
               memcmp(masker_view(s, at), key, sizeof(key) - 1) == 0;
    return c == '\n' || c == '\r' || c == '"' || c == '\'' || c == '`';
}

void masker_match_cookie(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at, end;

    if (to < s->view.len && (masker_at(s, to) | 32) == 's')
        to++; /* cookies= of a library */
    at = header_value(s, kind, from, to);
    if (!at || at < s->tried[kind])
        return; /* no header, or in a list that was read from its beginning */
    for (end = at + 4096; at < s->view.len && at < end && !ends_cookie(s, at);) {
        size_t name = at = skip_any(s, at, "; ", 16), equals, stop, len;

        while (at < s->view.len && !ends_cookie(s, at) && !strchr("=;", masker_at(s, at)))
            at++;
        equals = at;
        while (at < s->view.len && !ends_cookie(s, at) && !strchr(";, ", masker_at(s, at)))
            at++;
        masker_charge(s, 8 * (at - name));
        s->tried[kind] = at;
        if (masker_is_open(s, at)) {
            masker_wait(s, kind, from, equals < s->view.len ? equals + 1 : s->view.len);
            return;
        }
        stop = at;
        len = stop > equals ? stop - equals - 1 : 0;
        if (len >= 8 && !is_attribute(masker_view(s, name), equals - name) &&
            !masker_is_placeholder(masker_view(s, equals + 1), len) &&
            (names_session(masker_view(s, name), equals - name) ||
             (len >= 16 && masker_is_mixed(masker_view(s, equals + 1), len))))
            masker_found(s, kind, from, equals + 1, stop);
        if (at < s->view.len && at == name)
            at++;
    }
    if (masker_is_open(s, at))
        masker_wait(s, kind, from, s->view.len);
}

/* ---- logins on a command line and in files ---- */

/* host:5432:database:user:password */
static void match_pgpass(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t fields = 0, at = to, len;
    struct masker_run *run;

    while (at < s->view.len && fields < 2 && !masker_is_space(masker_at(s, at)) && at - to < 256)
        fields += masker_at(s, at++) == ':';
    masker_charge(s, at - to);
    if (fields < 2) {
        if (masker_is_open(s, at))
            masker_wait(s, kind, from, at);
        return;
    }
    run = masker_run_end(s, masker_bare_kind(s, at, true, true), at);
    len = run->end - at;
    if (run->is_more || masker_is_open(s, run->end))
        masker_wait(s, kind, from, at);
    else if (len >= 4 &&
             (masker_in_vain(run, at) || !masker_is_placeholder(masker_view(s, at), len)))
        masker_found(s, kind, from, at, run->end);
}

void masker_match_login(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct masker_value value = {.start = to};
    const char *colon;
    enum masker_read r;

    if (masker_at(s, from) == ':') {
        match_pgpass(s, kind, from, to);
        return;
    }
    if (!masker_near(s, from, "curl http wget"))
        return;
    r = masker_read_value(s, to, masker_bare_kind(s, to, false, false), &value);
    value.shell = SHELL_YES;
    value.is_option = true;
    value.is_expanded = true;
    if (r == READ_VALUE && masker_read_arguments(s, &value) == READ_MORE)
        r = READ_MORE;
    if (r == READ_MORE) {
        masker_wait(s, kind, from, value.start);
        return;
    }
    colon =
        r == READ_VALUE ? memchr(masker_view(s, value.start), ':', value.end - value.start) : NULL;
    if (!colon)
        return;
    value.start += (size_t)(colon - masker_view(s, value.start)) + 1;
    if (value.end - value.start >= 4 &&
        !masker_is_placeholder(masker_view(s, value.start), value.end - value.start))
        masker_found_value(s, kind, from, &value);
}

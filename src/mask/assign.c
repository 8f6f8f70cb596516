/* Secrets that are known by the name before them: assignments in every notation. */
#include "base/cleanup.h"
#include "mask/sign.h"

/* Blanks between a name, its sign and its value. */
#define BLANKS_MAX SIGN_BLANKS_MAX

size_t masker_skip_blanks(const struct masker *s, size_t at)
{
    size_t end = at + BLANKS_MAX;

    while (at < s->view.len && at < end && (masker_at(s, at) == ' ' || masker_at(s, at) == '\t'))
        at++;
    return at;
}

size_t masker_skip_any(const struct masker *s, size_t at, const char *set, size_t max)
{
    size_t end = at + max;

    while (at < s->view.len && at < end && strchr(set, masker_at(s, at)))
        at++;
    return at;
}

bool masker_is_at(const struct masker *s, size_t at, const char *text)
{
    size_t len = strlen(text);

    return at + len <= s->view.len && strncasecmp(masker_view(s, at), text, len) == 0;
}

/* ---- the assignment ---- */

/* password: str = "..." */
static bool is_annotation(const struct masker *s, const struct masker_value *value, size_t *ret_at)
{
    size_t end = value->run ? value->run->end : value->end, at = masker_skip_blanks(s, end);

    if (value->is_quoted || at >= s->view.len || masker_at(s, at) != '=' || at == end)
        return false;
    for (size_t i = value->start; i < value->end; i++)
        if (!sign_is_name_char(masker_at(s, i)) && !strchr("[]|&<>?", masker_at(s, i)))
            return false;
    *ret_at = masker_skip_blanks(s, at + 1);
    return true;
}

/* Written in capitals, or a flag. */
static bool is_constant(const struct masker *s, const struct sign_name *name)
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

static bool is_number(const struct masker *s, size_t from, size_t to)
{
    while (from < to && masker_is_digit(masker_at(s, from)))
        from++;
    return from == to;
}

static bool ends_line(const struct masker *s, size_t at)
{
    at = masker_skip_blanks(s, at);
    return at >= s->view.len || strchr("\r\n#", masker_at(s, at));
}

/* Whether the value cannot be code. */
static bool is_text_place(const struct masker *s, const struct sign_name *name, enum sign sign,
                          const struct masker_value *value, size_t at)
{
    unsigned char before = name->start ? masker_at(s, name->start - 1) : '\n';

    if (value->is_constant || sign_is_element(sign) || value->shell == SHELL_YES ||
        masker_is_in(";=[", before))
        return true;
    if (sign == SIGN_COLON)
        return value->ends_line;
    return sign == SIGN_EQUALS && at == name->end + 1 && before == '\n' && value->run &&
           (value->run->end >= s->view.len || strchr("\r\n", masker_at(s, value->run->end)));
}

/* Does the line begin with the name, as those of YAML and of settings do? */
static bool begins_line(const struct masker *s, const struct sign_name *name)
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
    else if (at >= 6 && masker_is_at(s, at - 6, "export"))
        at -= 6;
    else
        return false;
    while (at && n++ < BLANKS_MAX && masker_at(s, at - 1) == ' ')
        at--;
    return !at || masker_at(s, at - 1) == '\n';
}

/* ?name=value&name=value */
static bool is_query(const struct masker *s, const struct sign_name *name)
{
    return name->start && strchr("?&", masker_at(s, name->start - 1)) && name->end < s->view.len &&
           masker_at(s, name->end) != ' '; /* void *&name = of C++ */
}

/* Bytes that would end an unquoted value. */
static enum masker_run_kind bare_kind(const struct masker *s, const struct sign_name *name,
                                      enum sign sign, size_t at)
{
    enum masker_run_kind kind;

    if (sign == SIGN_ELEMENT || sign == SIGN_TAGGED)
        return RUN_ELEMENT;
    if (sign == SIGN_URL)
        return RUN_PERCENT;
    if (sign == SIGN_ESCAPED)
        return RUN_ESCAPED_ELEMENT;
    if (is_query(s, name))
        return RUN_PARAMETER;
    kind = masker_bare_kind(s, at, begins_line(s, name), sign == SIGN_COLON);
    if (name->is_quoted && (kind == RUN_SCALAR || kind == RUN_SETTING || kind == RUN_TEXT))
        return RUN_LIST;
    return kind;
}

static enum masker_shell shell_of(const struct masker *s, const struct sign_name *name,
                                  enum sign sign, size_t at)
{
    /* A line of a diff begins with a hyphen, no command with an option. */
    if (name->is_flag && (sign == SIGN_EQUALS || sign == SIGN_BLANK))
        return name->start && masker_at(s, name->start - 1) != '\n' ? SHELL_YES : SHELL_NO;
    if (sign != SIGN_EQUALS || name->is_quoted || at != name->end + 1)
        return SHELL_NO;
    return masker_shell_at(s, name->start);
}

static enum masker_read read_value(const struct masker *s, const struct sign_name *name,
                                   enum sign *sign, size_t *at, struct masker_value *value)
{
    enum masker_read r = masker_read_value(s, *at, bare_kind(s, name, *sign, *at), value);

    if (r == READ_VALUE && *sign == SIGN_COLON && !value->is_quoted) {
        if (masker_is_open(s, masker_skip_blanks(s, value->run->end)))
            return READ_MORE;
        if (is_annotation(s, value, at)) {
            r = masker_skip_wrapper(s, at);
            if (r == READ_MORE)
                return r;
            *sign = r == READ_VALUE ? SIGN_LOOSE : SIGN_EQUALS;
            r = masker_read_value(s, *at, bare_kind(s, name, *sign, *at), value);
        }
    }
    /* The next word tells whether this is a sentence. */
    if (r == READ_VALUE && *sign == SIGN_BLANK && masker_is_open(s, value->end + 1))
        return READ_MORE;
    value->shell = shell_of(s, name, *sign, *at);
    value->is_option = name->is_flag;
    value->is_data = is_query(s, name) || sign_is_element(*sign) || *sign == SIGN_URL;
    value->is_expanded = *sign == SIGN_EQUALS || *sign == SIGN_BLANK;
    if (r == READ_VALUE &&
        (masker_is_half_call(s, value) || masker_read_arguments(s, value) == READ_MORE))
        return READ_MORE;
    return r;
}

/* name: |, and its lines. */
static enum masker_read read_block(struct masker *s, unsigned kind, size_t from,
                                   const struct sign_name *name, enum masker_name what, size_t at)
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

/* SET PASSWORD FOR ann = PASSWORD('X') */
static bool is_sql_password(const struct masker *s, const struct sign_name *name)
{
    return name->start >= 2 && name->end - name->start == 8 &&
           memcmp(masker_view(s, name->start - 2), "= PASSWORD", 10) == 0;
}

/* define('NAME', ...), getenv("NAME", ...): a name in capitals, and the call takes its value. */
static bool is_defined(const struct masker *s, const struct sign_name *name)
{
    static const char *const calls[] = {"define", "env",    "get",         "setdefault", "fetch",
                                        "put",    "set",    "setProperty", "setenv",     "putenv",
                                        "getenv", "Setenv", "pref"};
    size_t at = name->start, end;

    while (at && name->start - at < 8 && masker_is_in("\"' \\", masker_at(s, at - 1)))
        at--;
    if (!at || masker_at(s, at - 1) != '(' || at == name->start)
        return false;
    end = --at;
    while (at && end - at < 16 && masker_is_alnum(masker_at(s, at - 1)))
        at--;
    masker_charge(s, name->start - at);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (strlen(calls[i]) == end - at && memcmp(masker_view(s, at), calls[i], end - at) == 0)
            return true;
    return false;
}

/* "--password option is", "--password, which": words of a text follow the option. */
static bool is_in_prose(const struct masker *s, size_t start, size_t end)
{
    size_t at = end;

    for (size_t i = start; i < end; i++)
        if (masker_at(s, i) < 'a' || masker_at(s, i) > 'z')
            return i > start && i + 1 == end && masker_is_in(".,;", masker_at(s, i));
    if (at < s->view.len && masker_is_in(".,;)", masker_at(s, at)))
        return true;
    return at + 1 < s->view.len && masker_at(s, at) == ' ' && masker_at(s, at + 1) >= 'a' &&
           masker_at(s, at + 1) <= 'z';
}

/* The words of a mnemonic are twelve or more; a passphrase may be anything. */
static bool has_words(const struct masker *s, const struct sign_name *name,
                      const struct masker_value *value)
{
    unsigned words = 1;

    if (name->end - name->start < 8 || !masker_is_at(s, name->end - 8, "mnemonic"))
        return true;
    for (size_t i = value->start; i < value->end && words < 8; i++)
        words += masker_at(s, i) == ' ';
    return words >= 8;
}

static bool is_option_word(const struct masker *s, size_t start, size_t end)
{
    size_t i = start;

    while (i < end &&
           ((masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z') || strchr("-_", masker_at(s, i))))
        i++;
    return i == end && masker_at(s, start) == '-' && masker_at(s, end - 1) != '-';
}

/* secrets, api_keys */
static bool is_plural(const struct masker *s, const struct sign_name *name)
{
    return name->end - name->start >= 5 && (masker_at(s, name->end - 1) | 32) == 's' &&
           !masker_is_at(s, name->end - 4, "sess") && !masker_is_at(s, name->end - 5, "tials");
}

static bool is_passwords(const struct masker *s, const struct sign_name *name)
{
    return name->end - name->start >= 9 && masker_is_at(s, name->end - 9, "passwords");
}

/* "X" -> "Y", as plans of changes show both. */
static void follow_arrow(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                         const struct masker_value *value)
{
    static const char arrow[] = " -> \"";
    size_t at = value->end + 1, n = 0;
    struct masker_value next = {0};

    if (!value->is_quoted || value->end >= s->view.len)
        return;
    while (arrow[n] && at + n < s->view.len && masker_at(s, at + n) == (unsigned char)arrow[n])
        n++;
    if (arrow[n]) {
        if (masker_is_open(s, at + n))
            masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
        return;
    }
    if (masker_is_open(s, at + n)) {
        masker_wait(s, kind, from, at);
        return;
    }
    switch (masker_read_value(s, at + 4, RUN_LIST, &next)) {
    case READ_MORE:
        masker_wait(s, kind, from, next.start);
        return;
    case READ_VALUE:
        if (!next.is_open && !next.has_lines && masker_is_secret_text(s, what, &next))
            masker_found_value(s, kind, from, &next);
        return;
    case READ_NONE:
        return;
    }
}

static bool is_plain_word(const struct masker *s, size_t start, size_t end)
{
    while (start < end && (masker_at(s, start) | 32) >= 'a' && (masker_at(s, start) | 32) <= 'z')
        start++;
    return start == end;
}

/* Letters, digits and a sign that no name has: Willow394! */
static bool has_mark(const struct masker *s, size_t start, size_t end)
{
    bool found = false;

    for (size_t i = start; i < end && i - start < MASKER_JUDGE_MAX; i++)
        found = found || masker_is_in("!@#$%^*", masker_at(s, i));
    return found && masker_has_digit(masker_view(s, start), end - start) &&
           masker_is_unlike_words(s, start, end);
}

static void read_assigned(struct masker *s, unsigned kind, size_t from,
                          const struct sign_name *name, enum masker_name what, enum sign sign,
                          size_t at)
{
    struct masker_value value = {.start = at}, rest;
    enum masker_read r = READ_NONE;
    bool is_next = false;

    if ((sign == SIGN_COLON || sign == SIGN_EQUALS || sign == SIGN_NESTED) && !name->is_flag) {
        if (masker_is_open(s, at + 1)) {
            masker_wait(s, kind, from, at);
            return;
        }
        if (masker_begins_nested(s, at)) {
            masker_read_nested(s, kind, from, is_passwords(s, name) ? NAME_SECRET : what,
                               is_plural(s, name), at);
            return;
        }
        if (sign == SIGN_NESTED)
            return;
        if (sign == SIGN_COLON && what == NAME_WEAK && is_plural(s, name) &&
            masker_read_items(s, kind, from, at))
            return;
    }
    if (sign == SIGN_COLON || sign == SIGN_EQUALS || sign == SIGN_COMMA) {
        r = masker_skip_wrapper(s, &at);
        if (r == READ_VALUE)
            sign = SIGN_LOOSE;
        r = r == READ_VALUE ? READ_NONE : r;
        value.start = at;
    }
    if (r == READ_NONE && sign == SIGN_COLON && at < s->view.len &&
        strchr("|>", masker_at(s, at))) {
        r = read_block(s, kind, from, name, what, at);
        if (r == READ_VALUE)
            return;
    }
    if (r == READ_NONE &&
        (sign == SIGN_COLON || sign == SIGN_EQUALS || sign == SIGN_BLANK || sign == SIGN_ELEMENT) &&
        !strchr(")]", masker_at(s, name->end))) { /* def f(password): */
        r = masker_next_line(s, &at);
        is_next = r == READ_VALUE;
        r = is_next ? READ_NONE : r;
        value.start = at;
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
        if (sign == SIGN_COMMA || sign == SIGN_CALL || sign == SIGN_LOOSE || sign == SIGN_BLANK)
            return;
        if (value.is_open)
            masker_read_triple(s, kind, from, what, &value);
        else
            masker_found_lines(s, kind, from, what, value.start, value.end);
        return;
    }
    value.is_env =
        (sign == SIGN_EQUALS && at == name->end + 1) || sign_is_element(sign) || sign == SIGN_URL;
    value.has_line = name->has_line && sign == SIGN_COLON && ends_line(s, value.end) && !is_next;
    value.ends_line = sign == SIGN_COLON && !is_next && at > name->end + 1 && !value.is_quoted &&
                      ends_line(s, value.end);
    value.is_constant = sign == SIGN_BLANK || is_constant(s, name);
    value.is_text = is_text_place(s, name, sign, &value, at);
    if (sign == SIGN_BLANK && !value.is_quoted)
        value.is_env = true;
    if (sign_is_pointer(s, name, at) || sign_is_echo(s, name, &value))
        return;
    if (sign_is_element(sign) && sign_is_no_element(s, name, value.start))
        return;
    /* tests pass: 123456 */
    if (sign == SIGN_COLON && name->end - name->start == 4 && !value.has_line &&
        is_number(s, value.start, value.end))
        return;
    /* PASS: test_open, as a line of a test's report */
    if (sign == SIGN_COLON && sign_is_report(s, name, what, &value))
        return;
    /* --token requires --connect */
    if (sign == SIGN_BLANK && what == NAME_TOKEN && is_plain_word(s, value.start, value.end)) {
        if (masker_is_half(s, value.end, " --")) {
            masker_wait(s, kind, from, value.start);
            return;
        }
        if (masker_is_at(s, value.end, " --"))
            return;
    }
    /* Another option, or a sentence about this one. */
    if (sign == SIGN_BLANK &&
        (is_option_word(s, value.start, value.end) ||
         (!value.is_quoted && is_in_prose(s, value.start, value.end)) ||
         (is_plain_word(s, value.start, value.end) && sign_is_named_in_prose(s, name))))
        return;
    /* Mnemonic: "go to" */
    if (what == NAME_PHRASE && value.is_quoted && !has_words(s, name, &value))
        return;
    /* /etc/passwd:root:x:0 */
    if (sign == SIGN_COLON && at == name->end + 1 && name->start &&
        masker_at(s, name->start - 1) == '/' &&
        !(name->start > 1 && masker_at(s, name->start - 2) == ' ' && /* tool /password:X */
          masker_is_unlike_words(s, value.start, value.end)))
        return;
    /* A list of words is no list of pairs: only what looks the part is taken. */
    if (sign == SIGN_COMMA && !(value.is_quoted && is_defined(s, name))) {
        if (!value.is_quoted || (!name->is_flag && !has_digits(s, value.start, value.end)))
            return;
        if (!name->is_flag && !masker_is_strong(s, what, value.start, value.end) &&
            !(what == NAME_SECRET && masker_is_unlike_words(s, value.start, value.end)) &&
            !(what == NAME_TOKEN && has_mark(s, value.start, value.end)))
            what = NAME_WEAK; /* "--password", "..." */
    }
    if ((sign == SIGN_TAGGED || sign == SIGN_LOOSE) &&
        !masker_is_strong(s, what, value.start, value.end) &&
        !((what == NAME_SECRET || what == NAME_PHRASE) &&
          masker_is_unlike_words(s, value.start, value.end)) &&
        !(sign == SIGN_LOOSE && what == NAME_TOKEN && has_mark(s, value.start, value.end)) &&
        !(sign == SIGN_TAGGED && what == NAME_TOKEN && has_mark(s, value.start, value.end)) &&
        !(sign == SIGN_TAGGED && what == NAME_TOKEN && value.end - value.start >= 8 &&
          has_digits(s, value.start, value.end) &&
          masker_is_unlike_words(s, value.start, value.end)))
        return;
    if (name->is_part && !masker_is_strong(s, what, value.start, value.end))
        return;
    if (sign == SIGN_CALL && !is_sql_password(s, name) &&
        (!value.is_quoted || !has_digits(s, value.start, value.end) ||
         !masker_is_mixed(masker_view(s, value.start), value.end - value.start)))
        return;
    switch (masker_find_rest(s, &value, &rest)) {
    case READ_MORE:
        masker_wait(s, kind, from, value.start);
        return;
    case READ_VALUE:
        if (masker_is_secret_value(s, what, &rest)) {
            masker_found(s, kind, from, value.start, value.end - 1);
            masker_found(s, kind, from, rest.start, rest.end);
            return;
        }
        break;
    case READ_NONE:
        break;
    }
    if (masker_is_secret_text(s, what, &value)) {
        masker_found_value(s, kind, from, &value);
        masker_follow_value(s, kind, from, &value);
    }
    follow_arrow(s, kind, from, what, &value);
}

/* COPY users (id, password) FROM stdin; */
static bool is_copied(const struct masker *s, size_t at)
{
    size_t low = at > 256 ? at - 256 : 0;
    const char *newline = memrchr(masker_view(s, low), '\n', at - low);

    masker_charge(s, 16);
    low = newline ? (size_t)(newline - s->view.data) + 1 : low;
    return at - low > 5 && memcmp(masker_view(s, low), "COPY ", 5) == 0;
}

/* As the name of a column does: nothing is assigned to it, and nothing called. */
static bool stands_alone(const struct masker *s, const struct sign_name *name)
{
    unsigned char before = name->start ? masker_at(s, name->start - 1) : '\n';
    unsigned char next = name->end < s->view.len ? masker_at(s, name->end) : '\n';

    /* The n of a newline that a string writes is not of the name. */
    if (masker_is_in("nrt", before) && name->start > 1 && masker_at(s, name->start - 2) == '\\')
        before = '\n';
    if (masker_is_in(":<\\)", next)) {
        unsigned char second = name->end + 1 < s->view.len ? masker_at(s, name->end + 1) : 0;

        return next == ':'    ? masker_is_alnum(second) && masker_is_in("\n,:", before)
               : next == '<'  ? second == '/' && before == '>'
               : next == '\\' ? masker_is_in("\\nrt", second)
                              : is_copied(s, name->start);
    }
    return (before >= 0x80 || masker_is_in(" \t\n,;:|\"'`*_+>", before) ||
            (before == '=' && s->is_decoded)) && /* body=password%2Cuser */
           (next >= 0x80 || masker_is_in(" \t\r\n,;|\"'`*", next));
}

/* Behind a sign that is far from the name; a sentence may be there as well. */
static void match_far(struct masker *s, unsigned kind, size_t from, const struct sign_name *name,
                      enum masker_name what)
{
    size_t at = 0;
    enum sign sign = sign_find_far(s, name, &at);

    if (sign == SIGN_MORE)
        masker_wait(s, kind, from, at);
    else if (sign != SIGN_NONE)
        read_assigned(s, kind, from, name, what, sign, at);
}

/* API_TOKEN */
static bool is_variable(const struct masker *s, const struct sign_name *name)
{
    return is_constant(s, name) &&
           memchr(masker_view(s, name->start), '_', name->end - name->start);
}

static bool is_secret_row(const struct masker *s, size_t start, size_t end)
{
    struct masker_value value = {
        .start = start, .end = end, .is_constant = true, .is_text = true, .is_data = true};

    return masker_is_secret_value(s, NAME_SECRET, &value);
}

/* password    X, a row of a table that stands on its side: other rows may have more words. */
static void match_row(struct masker *s, unsigned kind, size_t from, const struct sign_name *name,
                      enum masker_name what)
{
    size_t at = name->behind, limit = at + 512;

    if (!name->has_line || name->is_flag || name->is_quoted || name->behind < name->closed + 1 ||
        (name->behind < name->closed + 2 && masker_at(s, name->closed) != '\t'))
        return;
    for (unsigned words = 0; words < 8 && at < limit; words++) {
        size_t end = at;

        while (end < s->view.len && end < limit && !masker_is_space(masker_at(s, end)))
            end++;
        masker_charge(s, end - at + 1);
        if (masker_is_open(s, end + 1)) {
            masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
            return;
        }
        if (end == at || (end + 1 < s->view.len && !masker_is_space(masker_at(s, end + 1)) &&
                          !masker_is_in("\r\n", masker_at(s, end)) &&
                          !(!words && what == NAME_TOKEN && masker_is_strong(s, what, at, end))))
            return; /* the line ends, or there is a sentence */
        if (is_plain_word(s, at, end))
            return;
        if (what == NAME_SECRET ||
                    (!words && is_variable(s, name) && end - at >= 10 &&
                     masker_is_mixed(masker_view(s, at), end - at) && ends_line(s, end))
                ? masker_is_unlike_words(s, at, end) && is_secret_row(s, at, end)
                : masker_is_strong(s, what, at, end))
            masker_found(s, kind, from, at, end);
        at = masker_skip_blanks(s, end);
    }
}

/* Behind the name in Chinese and its verb, without a blank. */
static void match_wide_verb(struct masker *s, unsigned kind, size_t from, size_t start)
{
    size_t end = start;

    while (end < s->view.len && end - start < 64 && masker_at(s, end) < 0x80 &&
           !masker_is_space(masker_at(s, end)))
        end++;
    masker_charge(s, end - start);
    if (masker_is_open(s, end))
        masker_wait(s, kind, from, start < s->view.len ? start : s->view.len);
    else if ((end = masker_trim_bare(s, start, end)) > start + 5 &&
             masker_is_unlike_words(s, start, end))
        masker_found(s, kind, from, start, end);
}

/* The name in Japanese or Chinese, and the value in the quotes of these languages. */
static void match_wide_quote(struct masker *s, unsigned kind, size_t from,
                             const struct sign_name *name)
{
    static const char closers[] = "\xe3\x80\x8d", other[] = "\xe3\x80\x8f";
    size_t start = name->end + 3, end;

    if (name->end > name->start + 3 && (masker_is_at(s, name->end - 3, "\xe6\x98\xaf") ||
                                        masker_is_at(s, name->end - 3, "\xe4\xb8\xba"))) {
        match_wide_verb(s, kind, from, name->end);
        return;
    }
    if (name->end + 3 > s->view.len || masker_at(s, name->end) != 0xe3 ||
        masker_at(s, name->end + 1) != 0x80 ||
        !masker_is_in("\x8c\x8e", masker_at(s, name->end + 2)))
        return;
    for (end = start; end < s->view.len && end - start < 64 && masker_at(s, end) < 0x80 &&
                      !masker_is_space(masker_at(s, end));)
        end++;
    masker_charge(s, end - start);
    if (masker_is_open(s, end + 2))
        masker_wait(s, kind, from, start < s->view.len ? start : s->view.len);
    else if ((masker_is_at(s, end, closers) || masker_is_at(s, end, other)) && end > start + 5 &&
             masker_is_unlike_words(s, start, end))
        masker_found(s, kind, from, start, end);
}

/* [api_token] X, as logs and lists of settings have it. */
static void match_tag(struct masker *s, unsigned kind, size_t from, const struct sign_name *name,
                      enum masker_name what)
{
    size_t start = name->end + 2, end;

    if (!name->start || masker_at(s, name->start - 1) != '[' || name->end >= s->view.len ||
        masker_at(s, name->end) != ']')
        return;
    if (masker_is_open(s, start)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (start >= s->view.len || masker_at(s, start - 1) != ' ')
        return;
    for (end = start; end < s->view.len && end - start < MASKER_JUDGE_MAX &&
                      !masker_is_space(masker_at(s, end));)
        end++;
    masker_charge(s, end - start);
    if (masker_is_open(s, end))
        masker_wait(s, kind, from, start);
    else if ((end >= s->view.len || masker_is_in("\r\n", masker_at(s, end))) &&
             masker_is_strong(s, what, start, end))
        masker_found(s, kind, from, start, end);
}

static bool is_bare_key(unsigned kind)
{
    return strcmp(masker_kinds[kind].pattern, "key:") == 0 ||
           strcmp(masker_kinds[kind].pattern, "key\"") == 0;
}

/* "Jwt": {"Key": "X"}, api:\n  key: X, Merchant key: X: a key alone is one of what stands before
 * it. */
static enum masker_name name_of_key(const struct masker *s, const struct sign_name *name)
{
    size_t end = name->start, start;

    if (name->end - name->start != 3 || !masker_is_at(s, name->start, "key"))
        return NAME_NONE;
    while (end && name->start - end < 48 && masker_is_in(" \t\r\n{\"':", masker_at(s, end - 1)))
        end--;
    for (start = end; start && end - start < 24 && masker_is_alnum(masker_at(s, start - 1));)
        start--;
    masker_charge(s, name->start - start);
    if (start == end || end == name->start)
        return NAME_NONE;
    return masker_lists_of(masker_view(s, start), end - start) >> LIST_KEYS_STRONG & 1 ? NAME_TOKEN
                                                                                       : NAME_NONE;
}

/* Nothing but brackets follows it. */
static bool is_last_in_line(const struct masker *s, size_t at)
{
    at = masker_skip_last(s, at);
    return at >= s->view.len || masker_at(s, at) == '\n';
}

/* Its end without punctuation. */
static size_t trim_name(const struct masker *s, size_t start, size_t end)
{
    while (end > start && strchr("-.", masker_at(s, end - 1)))
        end--;
    return end;
}

void masker_match_name(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct sign_name name;
    enum masker_name what;
    enum sign sign;
    size_t at = 0, end;
    bool is_last;

    sign_find_name(s, kind, from, to, &name);
    if (masker_is_open(s, name.end)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (sign_is_label(s, &name) || sign_is_address(s, &name) ||
        (is_bare_key(kind) && name.start < from)) /* a longer name has an anchor of its own */
        return;
    if (stands_alone(s, &name))
        masker_table_candidate(s, from);
    /* Most words of this kind stand in prose: the sign is the cheaper question. */
    sign = sign_find(s, &name, &at);
    end = trim_name(s, name.start, name.end);
    masker_match_said(s, kind, from, name.start, end);
    if (sign == SIGN_NONE && sign_is_wide(kind))
        match_wide_quote(s, kind, from, &name);
    is_last = sign == SIGN_NONE && is_last_in_line(s, name.end);
    if (sign == SIGN_NONE && !is_last &&
        (at >= s->view.len || !strchr(" \t'\"<,%+]", masker_at(s, name.end)) ||
         strchr("\r\n", masker_at(s, at))))
        return;
    if (end > name.start + 5 && masker_is_digit(masker_at(s, end - 1)) &&
        !masker_is_digit(masker_at(s, end - 2)))
        end--; /* password1 */
    masker_charge(s, 2 * (end - name.start));
    what = sign_is_wide(kind) ? NAME_SECRET
                              : masker_name_of(masker_view(s, name.start), end - name.start);
    if (what == NAME_NONE && (sign == SIGN_COLON || sign == SIGN_MORE)) {
        what = name_of_key(s, &name);
        name.is_part = true;
    }
    if (what == NAME_NONE)
        return;
    masker_match_series(s, kind, from, name.start, name.end, what);
    if (sign == SIGN_NONE) {
        match_far(s, kind, from, &name, what);
        match_row(s, kind, from, &name, what);
        match_tag(s, kind, from, &name, what);
    }
    if (is_last) {
        masker_match_below(s, kind, from, name.start, name.end, what);
        return;
    }
    if (sign == SIGN_NONE) {
        if (what != NAME_WEAK || !is_plural(s, &name))
            (void)masker_match_sentence(s, kind, from, name.start, name.end, what);
        return;
    }
    if (sign == SIGN_MORE || masker_is_open(s, at))
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
    else
        read_assigned(s, kind, from, &name, what, sign, at);
}

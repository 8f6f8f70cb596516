/* Secrets in the fields of HTTP and in URLs: credentials, signatures, cookies; and logins on a
 * command line and in files. */
#include "mask/internal.h"

/* Of the parameters of one header. */
#define PARAMETERS_MAX 2048
#define OTHER_MAX      160 /* of a scheme that is not known for them */

/* ---- parts of a URL ---- */

/* A quote, or the time that stands before some signatures: t=1492774577, */
static size_t skip_signature_prefix(const struct masker *s, size_t to)
{
    size_t at = masker_skip_any(s, to, "\\\"'", 4);

    if (at == to && at + 1 < s->view.len && masker_at(s, at) == 't' &&
        masker_at(s, at + 1) == '=') {
        at = masker_skip_any(s, at + 2, "0123456789", 12);
        if (at < s->view.len && masker_at(s, at) == ',')
            return at + 1;
        return to;
    }
    return at;
}

void masker_next_signature(struct masker *s, unsigned kind, size_t from, size_t at)
{
    size_t to = at + 4, end;

    if (masker_is_open(s, to)) {
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
        return;
    }
    if (to >= s->view.len || masker_at(s, at) != ',' || masker_at(s, at + 1) != 'v' ||
        !masker_is_digit(masker_at(s, at + 2)) || masker_at(s, at + 3) != '=')
        return;
    end = masker_run_end(s, RUN_QUERY, to)->end;
    if (masker_is_open(s, end))
        masker_wait(s, kind, from, to);
    else if (end - to >= 32 && masker_is_mixed(masker_view(s, to), 32))
        masker_found(s, kind, from, to, end);
}

void masker_match_query(struct masker *s, unsigned kind, size_t from, size_t to)
{
    struct masker_run *run;
    size_t end, len;

    to = skip_signature_prefix(s, to);
    run = masker_run_end(s, RUN_QUERY, to);
    end = run->end;
    len = end - to < MASKER_JUDGE_MAX ? end - to : MASKER_JUDGE_MAX;

    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to);
        return;
    }
    /* {"d": "X"}, the private part of a key in JSON: other things have names as short. */
    if (len < (masker_at(s, from) == '"' ? 40 : 16))
        return;
    if (!masker_in_vain(run, to)) {
        masker_charge(s, 2 * len);
        if (masker_at(s, from) == '"' && !masker_looks_random(masker_view(s, to), len))
            return;
        if (!masker_is_mixed(masker_view(s, to), len) ||
            masker_is_placeholder(masker_view(s, to), end - to))
            return;
    }
    masker_found(s, kind, from, to, end);
    masker_next_signature(s, kind, from, end);
}

/* ---- fields of HTTP ---- */

/* The longest such word with what is around it. */
#define VALUE_NAME_MAX 14

/* The word before the value of a pair, and what is around it: content=" and , value: ' */
size_t masker_skip_value_name(const struct masker *s, size_t at)
{
    static const char *const words[] = {"value", "content"};
    size_t start = masker_skip_any(s, at, ", \"'", 4);

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (masker_is_at(s, start, words[i]))
            return masker_skip_blanks(s, masker_skip_any(s, start + strlen(words[i]), "\\\"'", 4));
    return at;
}

/* Behind the name of a header: its sign, blanks, quotes. 0: it is no header. */
static size_t header_value(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t closed = masker_skip_any(s, to, "\\\"'])", 8);
    size_t at = masker_skip_value_name(s, masker_skip_blanks(s, closed));
    bool has_sign = at < s->view.len && masker_is_in(":=,", masker_at(s, at));

    if (has_sign)
        at = masker_skip_any(s, at + 1, " \t\\\"'`bf>", 12);
    else if (at > closed && at < s->view.len && masker_is_in("\"'", masker_at(s, at)))
        at++; /* proxy_set_header Authorization "X" */
    else if (!masker_is_open(s, at + VALUE_NAME_MAX))
        return 0;
    else
        at = s->view.len;
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
        "bearer ",    "basic ",    "token ",   "apikey ", "digest ",           "api-key ",
        "negotiate ", "ntlm ",     "key ",     "jwt ",    "aws4-hmac-sha256 ", "splunk ",
        "oauth ",     "geniekey ", "sso-key ", "bot "};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (masker_is_at(s, at, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

/* The length of a word and one blank, where a scheme that is not in the list may stand. */
static size_t word_length(const struct masker *s, size_t at)
{
    size_t end = at;

    while (end < s->view.len && end - at < 32 &&
           (masker_is_alnum(masker_at(s, end)) || masker_at(s, end) == '-'))
        end++;
    masker_charge(s, end - at);
    return end > at + 1 && end < s->view.len && masker_at(s, end) == ' ' ? end + 1 - at : 0;
}

/* name=value or name="value", as Digest, OAuth and AWS have them after one another. Returns where
 * the last one ends; `at`: there is none. */
static size_t parameters_end(const struct masker *s, size_t at, size_t max)
{
    size_t end = at, limit = at + max;

    while (at < limit) {
        size_t name = at = masker_skip_any(s, at, " \t,", 16), depth = 0;

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
static size_t find_parameters(const struct masker *s, size_t at, size_t scheme, bool is_known)
{
    bool has_many = masker_is_at(s, at, "aws4-") || masker_is_at(s, at, "digest ") ||
                    masker_is_at(s, at, "oauth ");
    size_t end = at + scheme;

    if (scheme && (has_many || !is_known))
        end = parameters_end(s, at + scheme, has_many ? PARAMETERS_MAX : OTHER_MAX);
    masker_charge(s, end - at);
    return end > at + scheme ? end : 0;
}

/* $encoded, as a script has it. */
static bool is_variable(const struct masker *s, size_t start, size_t end)
{
    size_t i = start + 1;

    while (i < end && ((masker_at(s, i) | 32) >= 'a' || masker_at(s, i) == '_') &&
           masker_at(s, i) <= 'z')
        i++;
    return end > start + 1 && i == end && masker_at(s, start) == '$';
}

static bool is_credential(const struct masker *s, size_t start, size_t end, bool has_scheme)
{
    struct masker_value value = {.start = start, .end = end, .is_constant = true};
    size_t len = end - start;

    masker_charge(s, 2 * (len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX));
    if (has_scheme)
        return len >= 6 && !is_variable(s, start, end) &&
               !masker_is_placeholder(masker_view(s, start), len) &&
               (len >= 16 || masker_is_unlike_words(s, start, end) ||
                masker_is_mixed(masker_view(s, start), len));
    return len >= 12 && masker_is_secret_value(s, NAME_TOKEN, &value) &&
           masker_is_mixed(masker_view(s, start), len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX);
}

/* Parameters of a scheme that is not in the list: one of them has to look like a signature. */
static bool has_long_parameter(const struct masker *s, size_t start, size_t end)
{
    size_t run = 0;

    end = end - start < OTHER_MAX ? end : start + OTHER_MAX;
    masker_charge(s, 2 * (end - start));
    for (size_t i = start; i <= end; i++) {
        if (i < end && (masker_is_alnum(masker_at(s, i)) || strchr("+/-_.%", masker_at(s, i)))) {
            run++;
            continue;
        }
        if (run >= 20 && masker_is_mixed(masker_view(s, i - run), run))
            return true;
        run = 0;
    }
    return false;
}

void masker_match_header(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at = header_value(s, kind, from, to), scheme, start, end;
    struct masker_run *run = NULL;
    bool is_known;

    if (!at)
        return;
    scheme = scheme_length(s, at);
    is_known = scheme > 0;
    if (!scheme)
        scheme = word_length(s, at);
    start = at + scheme;
    end = find_parameters(s, at, scheme, is_known);
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
    if ((run && masker_in_vain(run, start)) || is_credential(s, start, end, is_known) ||
        (!run && has_long_parameter(s, start, end)))
        masker_found(s, kind, from, start, end);
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

/* Behind what joins two strings: "Bearer " + "X". */
static size_t skip_joint(const struct masker *s, size_t at)
{
    size_t i = at;

    if (i >= s->view.len || !masker_is_in("\"'", masker_at(s, i)))
        return at;
    i = masker_skip_any(s, i + 1, " ", 2);
    if (i >= s->view.len || !masker_is_in("+.", masker_at(s, i)))
        return at;
    i = masker_skip_any(s, i + 1, " ", 2);
    return i < s->view.len && masker_is_in("\"'", masker_at(s, i)) ? i + 1 : at;
}

/* It is as long as this. */
#define JOINT_MAX 7

void masker_match_scheme(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t end, len;
    const char *text;

    if (!masker_begins_word(s, from))
        return;
    if (masker_is_open(s, to + JOINT_MAX) && to < s->view.len &&
        masker_is_in("\"'", masker_at(s, to))) {
        masker_wait(s, kind, from, to < s->view.len ? to : s->view.len);
        return;
    }
    to = skip_joint(s, to);
    end = credential_end(s, to);
    len = end - to;
    text = masker_view(s, to);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, to);
        return;
    }
    masker_charge(s, 2 * len);
    if (masker_is_at(s, from, "basic ")
            ? len >= 8 && masker_is_basic(text, len)
            : len >= 16 && masker_is_mixed(text, len) && !masker_is_placeholder(text, len) &&
                  !memmem(text, len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX, "://", 3))
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
    static const char *const parts[] = {"sess", "sid",      "token", "auth",   "jwt",   "csrf",
                                        "xsrf", "remember", "login", "logged", "secret"};

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
    if (c == '\\') /* an escape of the string around it; any other belongs to the value */
        return at + 1 < s->view.len && masker_is_in("\\\"'rntux", masker_at(s, at + 1));
    return masker_is_in("\n\r\"'`", c);
}

/* {'session': 'X'}: the pairs of a mapping. */
static void match_jar(struct masker *s, unsigned kind, size_t from, size_t at)
{
    size_t limit = at + 512;

    while (at < s->view.len && at < limit) {
        size_t name = at = masker_skip_any(s, at, "{, \t\r\n\"'\\", 32), colon, start;

        while (at < s->view.len && at < limit && !masker_is_in("\"'\\:}\n", masker_at(s, at)))
            at++;
        colon = masker_skip_any(s, at, "\"'\\", 4);
        masker_charge(s, colon - name + 2);
        if (masker_is_open(s, colon + 1)) {
            masker_wait(s, kind, from, s->view.len);
            return;
        }
        if (colon >= s->view.len || masker_at(s, colon) != ':' || colon == at)
            return;
        start = masker_skip_any(s, colon + 1, " \"'\\", 8);
        if (masker_is_open(s, start)) {
            masker_wait(s, kind, from, s->view.len);
            return;
        }
        if (start >= s->view.len || !masker_is_in("\"'", masker_at(s, start - 1)))
            return;
        for (colon = at, at = start;
             at < s->view.len && at < limit && !masker_is_in("\"'\\\n", masker_at(s, at));)
            at++;
        masker_charge(s, 2 * (at - start));
        if (masker_is_open(s, at)) {
            masker_wait(s, kind, from, start);
            return;
        }
        if (at - start >= 16 && masker_is_mixed(masker_view(s, start), at - start) &&
            !masker_is_placeholder(masker_view(s, start), at - start) &&
            names_session(masker_view(s, name), colon - name))
            masker_found(s, kind, from, start, at);
    }
}

void masker_match_cookie(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at, end;

    if (to < s->view.len && (masker_at(s, to) | 32) == 's')
        to++; /* cookies= of a library */
    at = header_value(s, kind, from, to);
    if (at && at >= s->tried[kind] && masker_at(s, at) == '{') {
        match_jar(s, kind, from, at);
        return;
    }
    if (at && masker_is_open(s, at + 12) && masker_is_at(s, at, "v")) {
        masker_wait(s, kind, from, at);
        return;
    }
    if (at && masker_is_at(s, at, "value")) /* {"name": "Cookie", "value": "..."} */
        at = masker_skip_any(s, masker_skip_any(s, at + 5, "\"'\\ ", 6), ":=\"'\\ ", 8);
    if (at && masker_is_open(s, at)) {
        masker_wait(s, kind, from, s->view.len);
        return;
    }
    if (!at || at < s->tried[kind])
        return; /* no header, or in a list that was read from its beginning */
    for (end = at + 4096; at < s->view.len && at < end && !ends_cookie(s, at);) {
        size_t name = at = masker_skip_any(s, at, "; ", 16), equals, stop, len;

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
        if (len >= 8 && !memchr(masker_view(s, name), ' ', equals - name) &&
            !is_attribute(masker_view(s, name), equals - name) &&
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

/* Is it a line of that file, where the port does not tell? A host, a database and a user that are
 * no numbers stand before the password, which is the last in the line. */
static bool is_pgpass(const struct masker *s, size_t from, size_t to, size_t at, size_t end)
{
    size_t start = from, user = at - 1;
    bool is_word = false;

    while (start && from - start < 80 &&
           (masker_is_alnum(masker_at(s, start - 1)) || strchr(".-_*", masker_at(s, start - 1))))
        start--;
    masker_charge(s, from - start + 1);
    if (start == from || (start && masker_at(s, start - 1) != '\n') ||
        (end < s->view.len && !masker_is_in("\r\n", masker_at(s, end))) || end - at < 6)
        return false;
    while (user > to && masker_at(s, user - 1) != ':')
        user--;
    for (size_t i = user; i < at - 1; i++) {
        if (!masker_is_alnum(masker_at(s, i)) && !strchr("_.-*@", masker_at(s, i)))
            return false;
        is_word = is_word || (masker_at(s, i) | 32) > 'f';
    }
    return is_word && !memchr(masker_view(s, at), ':', end - at);
}

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
    else if (!masker_is_at(s, from, ":5432:") && !is_pgpass(s, from, to, at, run->end))
        return;
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

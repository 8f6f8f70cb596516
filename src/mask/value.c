/* The value of an assignment: where it begins and ends, and whether it is one at all. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* Beyond that a value has no end worth looking for: whoever waits for it masks it as far as it
 * goes.
 */
#define VALUE_MAX (MASKER_HOLD_MAX + 1)

/* So far behind a call its end is looked for. */
#define CALL_MAX 128

/* ---- where it is ---- */

/* The number of backslashes here: a quote inside a string inside a string. */
static size_t count_backslashes(const struct masker *s, size_t at)
{
    size_t n = 0;

    while (at + n < s->view.len && masker_at(s, at + n) == '\\' && n < 16)
        n++;
    return n;
}

/* Strings in strings: 0, 1, 3 and 7 backslashes. */
static unsigned level_of(size_t depth)
{
    unsigned level = 0;

    while (depth > 1 && level < MASKER_LEVELS - 1) {
        depth /= 2;
        level++;
    }
    return depth == 1 && level < MASKER_LEVELS - 1 ? level + 1 : level;
}

/* Up to the quote that ends the string, or to the end of the line. `variant`: MASKER_LEVELS for one
 * with three quotes. */
static enum masker_read read_quoted(const struct masker *s, size_t at, size_t depth,
                                    unsigned variant, struct masker_value *ret)
{
    unsigned quote = ret->quote == '"' ? 0 : ret->quote == '\'' ? 1 : 2;

    ret->start = at;
    ret->is_quoted = true;
    ret->run = masker_run_end(s, RUN_QUOTED + quote * (MASKER_LEVELS + 1) + variant, at);
    ret->end = ret->run->end;
    if (masker_is_open(s, ret->end) || ret->end - at >= VALUE_MAX)
        return READ_MORE;
    if (ret->end < s->view.len && masker_at(s, ret->end) != '\n')
        ret->end -= ret->run->slashes < depth ? ret->run->slashes : depth;
    return READ_VALUE;
}

static enum masker_read read_bare(const struct masker *s, size_t at, enum masker_run_kind kind,
                                  struct masker_value *ret)
{
    ret->start = at;
    ret->is_quoted = kind == RUN_CDATA || (kind >= RUN_MARKED && kind < RUN_SEGMENT);
    ret->run = masker_run_end(s, kind, at);
    ret->end = ret->run->end;
    if (ret->run->is_more || masker_is_open(s, ret->end) || ret->end - at >= VALUE_MAX)
        return READ_MORE;
    if (ret->is_quoted)
        return READ_VALUE;
    ret->end = masker_trim_bare(s, at, ret->end);
    return ret->end > ret->start ? READ_VALUE : READ_NONE;
}

/* The line ended before the string. */
static bool is_unclosed(const struct masker *s, const struct masker_value *value)
{
    return value->run->end >= s->view.len || masker_at(s, value->run->end) == '\n';
}

/* b'...', r"...", f"...", u'...' */
static size_t skip_prefix(const struct masker *s, size_t at)
{
    size_t n = 0;

    while (n < 2 && at + n < s->view.len && strchr("bBrRuUfF", masker_at(s, at + n)))
        n++;
    if (n && at + n < s->view.len && strchr("\"'", masker_at(s, at + n)))
        return at + n;
    return at;
}

/* """ or ''' */
static enum masker_read read_triple(const struct masker *s, size_t at, struct masker_value *ret)
{
    enum masker_read r = read_quoted(s, at, 0, MASKER_LEVELS, ret);

    ret->is_open = r == READ_VALUE && is_unclosed(s, ret);
    return r;
}

/* The text stands here. READ_MORE: it may. */
static enum masker_read is_text_at(const struct masker *s, size_t at, const char *text)
{
    size_t n = 0;

    while (text[n] && at + n < s->view.len && masker_at(s, at + n) == (unsigned char)text[n])
        n++;
    if (!text[n])
        return READ_VALUE;
    return n && masker_is_open(s, at + n) ? READ_MORE : READ_NONE;
}

/* Text that encloses a value as quotes do: &quot; and the like, and <![CDATA[. */
static enum masker_read read_marked(const struct masker *s, size_t at, struct masker_value *ret)
{
    static const char cdata[] = "<![CDATA[";
    unsigned quote;
    size_t end;
    enum masker_read r = masker_quote_at(s, at, &quote, &end);

    if (r == READ_VALUE)
        return read_bare(s, end, RUN_MARKED + quote, ret);
    if (r == READ_MORE)
        return r;
    r = is_text_at(s, at, cdata);
    return r == READ_VALUE ? read_bare(s, at + sizeof(cdata) - 1, RUN_CDATA, ret) : r;
}

enum masker_read masker_read_value(const struct masker *s, size_t at, enum masker_run_kind bare,
                                   struct masker_value *ret)
{
    size_t depth, prefix = at;
    enum masker_read r;

    *ret = (struct masker_value){.start = at, .end = at};
    r = read_marked(s, at, ret);
    if (r != READ_NONE)
        return r;
    if (bare == RUN_ELEMENT) /* in which quotes are text */
        return read_bare(s, at, bare, ret);
    at = skip_prefix(s, at);
    depth = count_backslashes(s, at);
    if (masker_is_open(s, at + depth) || masker_is_open(s, at + 2))
        return READ_MORE;
    for (; prefix < at; prefix++)
        ret->is_format = ret->is_format || (masker_at(s, prefix) | 32) == 'f';
    if (at + depth < s->view.len && strchr("\"'`", masker_at(s, at + depth))) {
        ret->quote = (char)masker_at(s, at + depth);
        at += depth + 1;
        /* """ and ''' */
        if (at + 1 < s->view.len && masker_at(s, at) == (unsigned char)ret->quote &&
            masker_at(s, at + 1) == (unsigned char)ret->quote)
            return read_triple(s, at + 2, ret);
        r = read_quoted(s, at, depth, level_of(depth), ret);
        if (r != READ_VALUE || !is_unclosed(s, ret))
            return r;
        if (masker_is_quote_of(bare, (unsigned char)ret->quote))
            return READ_NONE; /* it ends the string around the name */
        r = depth ? READ_NONE : masker_find_closing(s, at, (unsigned char)ret->quote, &ret->end);
        ret->has_lines = r == READ_VALUE;
        if (r != READ_NONE)
            return r;
        /* No string. */
        ret->quote = 0;
        return read_bare(s, at, bare, ret);
    }
    return read_bare(s, at, bare, ret);
}

/* ---- what may be code in it ---- */

/* Does code begin here, in a string that a language reads for it? */
static bool begins_code(const struct masker *s, const struct masker_value *value, size_t at,
                        size_t end)
{
    unsigned char c = masker_at(s, at), next = at + 1 < end ? masker_at(s, at + 1) : ' ';

    if (c == '{' && value->is_format)
        return true;
    if (value->quote == '`')
        return c == '$' && next == '{';
    if (value->quote != '"' || !value->is_expanded)
        return false;
    if (c == '#')
        return next == '{';
    return (c == '`' || c == '$') && masker_begins_expansion(s, at, end, SHELL_YES, false);
}

/* In single quotes a shell knows no escapes: the string of 'it\'s;ls -l' has ended for it behind
 * the backslash, and what follows the semicolon is another command. */
static size_t find_code_behind(const struct masker *s, const struct masker_value *value, size_t at,
                               size_t end)
{
    struct masker_value rest = {.start = at, .shell = value->shell};

    for (size_t i = at; i < end && !rest.has_arguments; i++)
        rest.has_arguments = masker_is_space(masker_at(s, i));
    return masker_find_command(s, &rest, end);
}

static size_t find_code(const struct masker *s, const struct masker_value *value, size_t end)
{
    if (!value->is_quoted)
        return value->shell == SHELL_NO ? end : masker_find_command(s, value, end);
    for (size_t at = value->start; at < end; at++) {
        unsigned char c = masker_at(s, at);

        if (begins_code(s, value, at, end))
            return at;
        if (c == '\'' && value->quote == '\'' && value->shell != SHELL_NO)
            return find_code_behind(s, value, at + 1, end);
    }
    return end;
}

void masker_found_value(struct masker *s, unsigned kind, size_t from,
                        const struct masker_value *value)
{
    size_t code = find_code(s, value, value->end);

    /* Not the backslash and the quote before it: the shell's string ends there. */
    if (code < value->end && value->is_quoted)
        while (code > value->start && strchr("'\\", masker_at(s, code - 1)))
            code--;
    masker_found_parts(s, kind, from, value->start, code, value->end, value->run);
}

/* ---- whether it is one ---- */

/* 1.302171, 2.0.1: of a version, and no address. */
static bool is_release(const char *text, size_t len)
{
    size_t dots = 0;

    /* 1:4.13+dfsg1-1, of a package */
    if (len > 4 && masker_is_digit((unsigned char)text[0]) && text[1] == ':' &&
        masker_is_digit((unsigned char)text[2]) && memchr(text, '.', len))
        return true;

    for (size_t i = 0; i < len; i++) {
        dots += text[i] == '.';
        if (!masker_is_digit((unsigned char)text[i]) && text[i] != '.')
            return false;
    }
    return dots > 0;
}

struct shape {
    size_t digits, upper, lower, dots, slashes, spaces, marks;
    size_t turns; /* from small letters to capitals and back */
};

static struct shape shape_of(const char *text, size_t len)
{
    struct shape n = {0};

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        n.turns += i && masker_is_alnum(c) && masker_is_alnum((unsigned char)text[i - 1]) &&
                   ((c ^ (unsigned char)text[i - 1]) & 32);
        if (masker_is_digit(c))
            n.digits++;
        else if (c >= 'A' && c <= 'Z')
            n.upper++;
        else if (c >= 'a' && c <= 'z')
            n.lower++;
        else if (c == '.')
            n.dots++;
        else if (c == '/' || c == '\\')
            n.slashes++;
        else if (masker_is_space(c))
            n.spaces++;
        else if (c != '_' && c != '-')
            n.marks++;
    }
    return n;
}

/* A bracket closes the call, and behind it is nothing that belongs to a word. */
static bool closes_call(const char *text, size_t len)
{
    const char *close = memrchr(text, ')', len);

    if (!close)
        close = memrchr(text, ']', len);
    return close && (close + 1 == text + len || !masker_is_alnum((unsigned char)close[1]));
}

/* $name, &name->field, \&Name::name: what stands before the name. */
static size_t count_sigils(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && n < 2 && strchr("$&@*\\", text[n]))
        n++;
    return n;
}

/* A name behind a sigil, and what is read through it. */
static bool is_sigil_name(const char *text, size_t len)
{
    size_t sigils = count_sigils(text, len), i = sigils;

    while (i < len && (masker_is_alnum((unsigned char)text[i]) || text[i] == '_'))
        i++;
    if (i == sigils || !masker_is_identifier(text + sigils, len - sigils))
        return false;
    if (i == len) /* of C: *first */
        return (text[0] == '$' && strcspn(text, "0123456789") >= len) ||
               (text[0] == '*' && strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") == len - 1);
    return (i + 1 < len && (memcmp(text + i, "->", 2) == 0 || memcmp(text + i, "::", 2) == 0)) ||
           (text[0] == '$' && strchr("[({.", text[i]));
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* Type<Other>, and a call that goes on behind a blank: next(t for t in tokens. */
static bool is_generic_name(const char *text, size_t len, size_t i)
{
    if (i < 3 || i >= len || text[i] != '<')
        return false;
    if (i + 1 == len) /* token<>, cut before its end */
        return strspn(text, LETTERS "_:") == i;
    if (!((text[0] >= 'A' && text[0] <= 'Z') || text[0] == '_' || text[i + 1] == '>' ||
          memmem(text, len, "::", 2) ||
          (strspn(text, LETTERS "_") == i &&
           strspn(text + i + 1, LETTERS) >= len - i - 1))) /* useState<string | null> */
        return false;
    for (size_t k = 0; k < len; k++)
        if (!masker_is_alnum((unsigned char)text[k]) && !strchr("_:<>,*& ", text[k]))
            return false;
    for (size_t k = 0; k < i; k++)
        if (masker_is_digit((unsigned char)text[k]))
            return false;
    return text[i + 1] < '0' || text[i + 1] > '9';
}

/* Text with dots in it that no programmer would write as names: a part begins with a digit and has
 * letters, or has capitals and no three small letters in a row (HJWuj.HerXj97). */
static bool has_random_part(const char *text, size_t len)
{
    size_t start = 0;

    for (size_t i = 0; i <= len; i++) {
        size_t upper = 0, lower = 0, row = 0, longest = 0;

        if (i < len && text[i] != '.')
            continue;
        for (size_t k = start; k < i; k++) {
            bool is_small = text[k] >= 'a' && text[k] <= 'z';

            row = is_small ? row + 1 : 0;
            longest = row > longest ? row : longest;
            lower += is_small;
            upper += text[k] >= 'A' && text[k] <= 'Z';
        }
        if (i - start >= 5 && lower &&
            (masker_is_digit((unsigned char)text[start]) || (upper && longest < 3)))
            return true;
        start = i + 1;
    }
    return false;
}

/* b.password,c.token=d(e.token): names with dots, and the next assignment of squeezed code. */
static bool is_squeezed(const char *text, size_t len, size_t i)
{
    size_t k = i + 1, dots = 0;

    if (i < 3 || i + 2 >= len || text[i] != ',' || !memchr(text, '.', i))
        return false;
    for (; k < len &&
           (masker_is_alnum((unsigned char)text[k]) || masker_is_in("_.", (unsigned char)text[k]));
         k++)
        dots += text[k] == '.';
    return dots && k < len && text[k] == '=' && masker_text_until(text, i, "0123456789") == i;
}

/* cast<Type>(name */
static bool is_cast(const char *text, size_t len, size_t i)
{
    size_t k = i + 1;

    if (i < 3 || i >= len || text[i] != '<')
        return false;
    while (k < len && (masker_is_alnum((unsigned char)text[k]) ||
                       masker_is_in("_:*& ", (unsigned char)text[k])))
        k++;
    return k > i + 1 && k + 1 < len && text[k] == '>' && text[k + 1] == '(';
}

/* self._lib.NID_aes_256_cbc */
static bool is_member(const char *text, size_t len)
{
    static const char *const owners[] = {"self.", "this.", "cls."};

    for (size_t i = 0; i < ARRAY_SIZE(owners); i++) {
        size_t n = strlen(owners[i]);

        if (len > n && memcmp(text, owners[i], n) == 0)
            return strspn(text + n, LETTERS "0123456789_.") >= len - n - (text[len - 1] == '(');
    }
    return false;
}

/* NAME){, as a condition ends, name{"text, and Class->$name. */
static bool is_cut_code(const char *text, size_t len, size_t i)
{
    if (i < 3 || i >= len)
        return false;
    if (text[i] == '$')
        return memcmp(text + i - 2, "->", 2) == 0;
    return strspn(text, LETTERS "_") == i &&
           (text[i] == ')' ? len - i >= 2 && strspn(text + i, "){; ") >= len - i
                           : text[i] == '{' && i + 1 < len && text[i + 1] == '"');
}

/* os.environ["X"], config.password, getpass(), self.token: code that says where the secret is.
 * `goes_on`: a bracket is closed behind the text. */
static bool is_reference(const char *text, size_t len, bool goes_on, const struct shape *n)
{
    size_t i = 0;

    if (masker_is_digit((unsigned char)text[0]) || len > MASKER_PLACEHOLDER_MAX)
        return false;
    if (len > 2 && memcmp(text, "::", 2) == 0) /* Type<X>::name */
        return true;
    if (memcmp(text, "__", 2) == 0 &&
        masker_text_until(text, len, "!@#$%^&*+=?~") == len) /* __a->b */
        return true;
    if (count_sigils(text, len))
        return is_sigil_name(text, len);
    while (i < len && (masker_is_alnum((unsigned char)text[i]) || strchr("_.:>", text[i]) ||
                       (text[i] == '-' && i + 1 < len && text[i + 1] == '>')))
        i++;
    if (is_generic_name(text, len, i) || is_squeezed(text, len, i) || is_cast(text, len, i) ||
        is_member(text, len) || is_cut_code(text, len, i))
        return true;
    if (i > 1 && i + 1 == len && text[i] == '!' && memchr(text, '.', i)) /* process.env.NAME! */
        len--;
    if (i < len && (text[i] == '(' || text[i] == '['))
        return i > 0 && (i < 2 || masker_is_identifier(text, i)) &&
               (i + 1 == len || strchr("\"'", text[i + 1]) || goes_on || closes_call(text, len));
    return i == len && (n->dots || memchr(text, ':', len) || memmem(text, len, "->", 2)) &&
           masker_odd_digits(text, len) <= 2 && !(n->dots == 0 && n->digits) &&
           !(n->digits && n->dots && !memchr(text, ':', len) && has_random_part(text, len));
}

static bool is_path(const char *text, size_t len, const struct shape *n)
{
    static const char *const suffixes[] = {".json", ".pem", ".txt", ".key", ".yaml",
                                           ".yml",  ".env", ".crt", ".py",  ".js",
                                           ".toml", ".ini", ".cfg", ".p12", ":latest"};

    if (memmem(text, len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX, "://", 3) ||
        (len > 12 && memcmp(text, "arn:aws", 7) == 0))
        return true;
    /* vault:secret/data/app#token, ssm:/prod/db/password: a place of a store */
    if (len < MASKER_JUDGE_MAX && n->slashes &&
        (memcmp(text, "vault:", 6) == 0 || strncmp(text, "ssm:/", 5) == 0) &&
        masker_reads_as_words(text, len))
        return true;
    /* projects/X/secrets/Y/versions/1, ENV=name:latest: what a cloud keeps it as */
    if (n->slashes >= 3 && len < MASKER_JUDGE_MAX && memmem(text, len, "projects/", 9))
        return true;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t sl = strlen(suffixes[i]);

        if (len > sl && strncasecmp(text + len - sl, suffixes[i], sl) == 0)
            return true;
    }
    if (text[0] != '/' && text[0] != '~' && strncmp(text, "./", 2) != 0 &&
        strncmp(text, "../", 3) != 0 && !(len > 2 && text[1] == ':' && text[2] == '\\'))
        return false;
    len = len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX;
    if (strchr("/~", text[0]) && masker_text_until(text, len, "\"$<>|^`*!\\;") < len)
        return false;
    if (text[0] == '/' && !n->dots && n->slashes < 4 && masker_looks_random(text, len))
        return false;
    return !(strchr("/~", text[0]) && n->slashes <= 1 && n->slashes == (text[0] == '/') &&
             masker_is_mixed(text + 1, len - 1));
}

/* Nothing but letters, of one case or with one capital: a word somebody wrote. */
static bool is_word(const struct shape *n)
{
    return !n->digits && !n->marks && !n->dots && !n->slashes &&
           (!n->upper || n->upper <= 1 || !n->lower);
}

static bool is_uuid(const char *text, size_t len)
{
    if (len != 36)
        return false;
    for (size_t i = 0; i < len; i++)
        if (i == 8 || i == 13 || i == 18 || i == 23 ? text[i] != '-'
                                                    : !masker_is_hex((unsigned char)text[i]))
            return false;
    return true;
}

/* Letters as chance draws them, from both cases. */
static bool is_drawn(const char *text, size_t len, const struct shape *n)
{
    return n->turns * 3 >= len ? !masker_reads_as_words(text, len) : masker_is_drawn(text, len);
}

/* Names of things: com.example.name, SOME_NAME, _SomeName, some-name. */
static bool is_name_of_thing(const char *text, size_t len, const struct shape *n)
{
    if (masker_is_domain(text, len) || masker_is_type_name(text, len) || masker_is_title(text, len))
        return true;
    if (n->digits || n->marks || is_drawn(text, len, n))
        return false;
    if (n->slashes)
        return !n->upper && masker_reads_as_words(text, len);
    return n->dots || memchr(text, '_', len) || memchr(text, '-', len) ||
           (n->upper && n->lower && n->upper * 4 <= len);
}

static bool is_weak_secret(const char *text, size_t len, const struct shape *n)
{
    if (is_uuid(text, len) || n->spaces || is_name_of_thing(text, len, n))
        return false;
    return masker_looks_random(text, len);
}

/* 0x000d, ::1a:2b */
static bool is_number(const char *text, size_t len)
{
    size_t i = 0, colons = 0;

    if (len <= 10 && len > 2 && text[0] == '0' && (text[1] | 32) == 'x')
        i = 2;
    for (; i < len; i++) {
        colons += text[i] == ':';
        if (!masker_is_hex((unsigned char)text[i]) && text[i] != ':')
            return false;
    }
    return colons >= 2 || (text[0] == '0' && (text[1] | 32) == 'x' && len <= 10);
}

/* The address of an account or a token on a chain: 0x and 40 digits. A private key has 64. */
static bool is_chain_address(const char *text, size_t len)
{
    size_t i = 2;

    if (len != 42 || text[0] != '0' || text[1] != 'x')
        return false;
    while (i < len && masker_is_hex((unsigned char)text[i]))
        i++;
    return i == len;
}

static bool is_token_value(const char *text, const struct masker_value *value, size_t len,
                           const struct shape *n)
{
    if (n->digits == len || is_number(text, len) || is_name_of_thing(text, len, n) ||
        is_chain_address(text, len))
        return false;
    if (n->digits || n->marks || is_drawn(text, len, n))
        return true;
    if (masker_name_of(text, len) != NAME_NONE) /* mytoken, TokenSecret */
        return false;
    if (value->is_quoted)
        return !is_word(n) || len >= 12;
    return value->is_env && len >= 8;
}

static bool is_password_value(const char *text, const struct masker_value *value, size_t len,
                              const struct shape *n)
{
    /* user-password, THE_PASSWORD */
    if (!n->digits && !n->marks && !n->dots && !n->slashes &&
        masker_name_of(text, len) != NAME_NONE &&
        (memchr(text, '_', len) || memchr(text, '-', len)) && masker_reads_as_words(text, len))
        return false;
    if (n->digits || n->marks || is_drawn(text, len, n) || value->is_quoted || value->is_env)
        return true;
    /* HTTPPasswordManager, as a type of an argument */
    if (n->upper && n->lower && masker_is_type_name(text, len) && memmem(text, len, "assword", 7))
        return false;
    return (value->has_line || (value->ends_line && !n->slashes && !n->dots)) && len >= 8 &&
           !masker_describes(text, len);
}

/* password: !secret name, as YAML marks what it reads elsewhere. */
static bool is_tag(const char *text, size_t len)
{
    size_t n = 1;

    while (n < len && (text[n] | 32) >= 'a' && (text[n] | 32) <= 'z')
        n++;
    return text[0] == '!' && n == len && len <= 12;
}

/* 1*tchar, as a grammar has it. */
static bool is_repeated(const char *text, size_t len)
{
    size_t i = len > 2 && text[2] == '<' ? 3 : 2;

    while (i < len && (text[i] | 32) >= 'a' && (text[i] | 32) <= 'z')
        i++;
    return i == len && masker_is_digit((unsigned char)text[0]) && text[1] == '*';
}

/* A variable that holds another one: password=user_password. */
static bool is_variable(const char *text, size_t len, const struct shape *n)
{
    /* secret2 */
    if (n->digits == 1 && len > 6 && masker_is_digit((unsigned char)text[len - 1]))
        len--;
    return len <= MASKER_PLACEHOLDER_MAX && !n->marks && !n->dots && !n->slashes &&
           (masker_name_of(text, len) != NAME_NONE || (memchr(text, '_', len) && !n->digits));
}

static bool is_color(const char *text, size_t len)
{
    if (text[0] == '#' && strspn(text + 1, LETTERS) >= len - 1) /* #ansiyellow */
        return true;
    for (size_t i = 1; i < len; i++)
        if (!masker_is_hex((unsigned char)text[i]))
            return false;
    return text[0] == '#' && (len == 7 || len == 9);
}

/* :py:data:`bytes`, in documents of Python */
static bool is_role(const char *text, size_t len)
{
    size_t n = len > 8 && text[0] == ':' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

    return n && n + 1 < len && text[n + 1] == ':' && memchr(text, '`', len);
}

/* ( before anything that is no secret by itself. */
static bool is_grouped(const char *text, size_t len)
{
    if (text[0] == '(' && len > 4 && memchr(text, '.', len) &&
        strspn(text + 1, LETTERS "._") >= len - 1) /* (Token.Text */
        return true;
    return text[0] == '(' && (masker_text_until(text + 1, len - 1, "()[]{},\"'") < len - 1 ||
                              !masker_is_mixed(text + 1, len - 1) ||
                              (len > 4 && !masker_has_digit(text, len) && memchr(text, '-', len)));
}

/* next(t for t in: a name of letters, a bracket, and words behind it. */
static bool goes_on_below(const struct masker *s, const struct masker_value *value)
{
    size_t i = value->start;

    while (i < value->end &&
           ((masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z') || masker_at(s, i) == '_'))
        i++;
    return i - value->start >= 3 && i < value->end && masker_at(s, i) == '(' &&
           value->end < s->view.len && strchr(" ,", masker_at(s, value->end));
}

/* Is a bracket closed in the line behind the value that was not opened there? `f(a, b)` and
 * `f("a b")` are cut at the blank. READ_MORE: it is not known yet. */
static enum masker_read find_bracket(const struct masker *s, const struct masker_value *value)
{
    size_t at = value->end, depth = 0;

    for (; at < s->view.len && at - value->end < CALL_MAX; at++) {
        unsigned char c = masker_at(s, at);

        if (c == '\n')
            return at > value->end && (masker_at(s, at - 1) == ',' || goes_on_below(s, value))
                       ? READ_VALUE
                       : READ_NONE;
        /* A bracket in quotes is text. */
        if (masker_is_in("\"'", c) && at + 2 < s->view.len && masker_at(s, at + 2) == c)
            at += 2;
        else if (c == '(' || c == '[')
            depth++;
        else if ((c == ')' || c == ']') && depth-- == 0)
            return READ_VALUE;
    }
    return at - value->end < CALL_MAX && masker_is_open(s, at) ? READ_MORE : READ_NONE;
}

/* A bare value that may be a call. */
static bool has_bracket(const struct masker *s, const struct masker_value *value)
{
    size_t len = value->end - value->start;

    len = len < MASKER_JUDGE_MAX ? len : MASKER_JUDGE_MAX;
    return !value->is_quoted && !value->is_data &&
           masker_text_until(masker_view(s, value->start), len, "([") < len;
}

bool masker_is_half_call(const struct masker *s, const struct masker_value *value)
{
    masker_charge(s, CALL_MAX / 4);
    return has_bracket(s, value) && find_bracket(s, value) == READ_MORE;
}

static bool goes_on(const struct masker *s, const struct masker_value *value)
{
    return has_bracket(s, value) && find_bracket(s, value) == READ_VALUE;
}

bool masker_is_secret_value(const struct masker *s, enum masker_name name,
                            const struct masker_value *value)
{
    const char *text = masker_view(s, value->start);
    size_t whole = value->end - value->start;
    size_t len = whole < MASKER_JUDGE_MAX ? whole : MASKER_JUDGE_MAX;
    struct shape n;
    bool is_phrase;

    if (!text || len < 6 || name == NAME_NONE ||
        memcmp(text, "-----", 5) == 0) /* a key or certificate */
        return false;
    masker_charge(s, 6 * len);
    n = shape_of(text, len);
    if (name == NAME_PHRASE && value->is_quoted)
        return !masker_is_placeholder(text, whole);
    is_phrase = name == NAME_SECRET && !n.digits && !n.marks && !n.slashes && len == whole &&
                masker_is_phrase(text, len);
    if ((n.spaces && !(is_phrase && value->is_quoted)) || masker_is_placeholder(text, whole))
        return false;
    if (is_phrase && (value->is_quoted || value->is_text || memchr(text, '-', len)))
        return true;
    if (!value->is_quoted &&
        (is_role(text, len) || is_tag(text, len) || is_repeated(text, len) ||
         is_grouped(text, len) || is_reference(text, whole, goes_on(s, value), &n) ||
         (!value->is_constant && is_variable(text, whole, &n))))
        return false;
    if (is_color(text, len) || is_release(text, len))
        return false;
    if (is_path(text, whole, &n))
        return false;
    switch (name) {
    case NAME_WEAK:
        return is_weak_secret(text, len, &n) || (len >= 16 && masker_is_basic(text, len));
    case NAME_TOKEN:
        return is_token_value(text, value, len, &n);
    default:
        return is_password_value(text, value, len, &n);
    }
}

bool masker_is_secret_text(const struct masker *s, enum masker_name name,
                           const struct masker_value *value)
{
    struct masker_value part = *value;
    size_t limit =
        value->end - value->start < MASKER_JUDGE_MAX ? value->end : value->start + MASKER_JUDGE_MAX;

    if (value->run && masker_in_vain(value->run, value->start))
        return true;
    if (masker_is_secret_value(s, name, value))
        return true;
    part.end = find_code(s, value, limit);
    /* name(...) is a call, and no value. */
    return part.end < limit && (value->is_quoted || masker_at(s, part.end) != '(') &&
           masker_is_secret_value(s, name, &part);
}

/* The value of an assignment: where it begins and ends, and whether it is one at all. */
#include "base/cleanup.h"
#include "scrub/scrub_internal.h"

/* Beyond that a value has no end worth looking for: whoever waits for it masks it as far as it
 * goes.
 */
#define VALUE_MAX (SCRUB_HOLD_MAX + 1)

/* A value that is longer than this stands for nothing else. */
#define PLACEHOLDER_MAX SCRUB_JUDGE_MAX

/* ---- where it is ---- */

/* How many backslashes stand here: a quote inside a string inside a string. */
static size_t count_backslashes(const struct scrub *s, size_t at)
{
    size_t n = 0;

    while (at + n < s->view.len && scrub_at(s, at + n) == '\\' && n < 16)
        n++;
    return n;
}

/* Strings in strings: 0, 1, 3 and 7 backslashes. */
static unsigned level_of(size_t depth)
{
    unsigned level = 0;

    while (depth > 1 && level < SCRUB_LEVELS - 1) {
        depth /= 2;
        level++;
    }
    return depth == 1 && level < SCRUB_LEVELS - 1 ? level + 1 : level;
}

/* Up to the quote that ends the string, or to the end of the line. `variant`: SCRUB_LEVELS for one
 * with three quotes. */
static enum scrub_read read_quoted(const struct scrub *s, size_t at, size_t depth, unsigned variant,
                                   struct scrub_value *ret)
{
    unsigned quote = ret->quote == '"' ? 0 : ret->quote == '\'' ? 1 : 2;

    ret->start = at;
    ret->is_quoted = true;
    ret->run = scrub_run_end(s, RUN_QUOTED + quote * (SCRUB_LEVELS + 1) + variant, at);
    ret->end = ret->run->end;
    if (scrub_is_open(s, ret->end) || ret->end - at >= VALUE_MAX)
        return READ_MORE;
    if (ret->end < s->view.len && scrub_at(s, ret->end) != '\n')
        ret->end -= ret->run->slashes < depth ? ret->run->slashes : depth;
    return READ_VALUE;
}

static enum scrub_read read_bare(const struct scrub *s, size_t at, enum scrub_run_kind kind,
                                 struct scrub_value *ret)
{
    ret->start = at;
    ret->is_quoted = kind == RUN_ENTITY;
    ret->run = scrub_run_end(s, kind, at);
    ret->end = ret->run->end;
    if (ret->run->is_more || scrub_is_open(s, ret->end) || ret->end - at >= VALUE_MAX)
        return READ_MORE;
    if (kind == RUN_ENTITY)
        return READ_VALUE;
    while (ret->end > ret->start && strchr(".:", scrub_at(s, ret->end - 1)))
        ret->end--;
    return ret->end > ret->start ? READ_VALUE : READ_NONE;
}

/* b'...', r"...", f"...", u'...' */
static size_t skip_prefix(const struct scrub *s, size_t at)
{
    size_t n = 0;

    while (n < 2 && at + n < s->view.len && strchr("bBrRuUfF", scrub_at(s, at + n)))
        n++;
    if (n && at + n < s->view.len && strchr("\"'", scrub_at(s, at + n)))
        return at + n;
    return at;
}

enum scrub_read scrub_read_value(const struct scrub *s, size_t at, struct scrub_value *ret)
{
    size_t depth, prefix = at;

    *ret = (struct scrub_value){.start = at, .end = at};
    at = skip_prefix(s, at);
    depth = count_backslashes(s, at);
    if (scrub_is_open(s, at + depth) || scrub_is_open(s, at + 2))
        return READ_MORE;
    for (; prefix < at; prefix++)
        ret->is_format = ret->is_format || (scrub_at(s, prefix) | 32) == 'f';
    if (at + 6 <= s->view.len && memcmp(scrub_view(s, at), "&quot;", 6) == 0)
        return read_bare(s, at + 6, RUN_ENTITY, ret);
    if (at + depth < s->view.len && strchr("\"'`", scrub_at(s, at + depth))) {
        ret->quote = (char)scrub_at(s, at + depth);
        at += depth + 1;
        /* """ and ''' */
        if (at + 1 < s->view.len && scrub_at(s, at) == (unsigned char)ret->quote &&
            scrub_at(s, at + 1) == (unsigned char)ret->quote)
            return read_quoted(s, at + 2, 0, SCRUB_LEVELS, ret);
        return read_quoted(s, at, depth, level_of(depth), ret);
    }
    return read_bare(s, at, RUN_BARE, ret);
}

/* ---- what may be code in it ---- */

/* Does code begin here, in a string that a language reads for it? */
static bool begins_code(const struct scrub *s, const struct scrub_value *value, size_t at,
                        size_t end)
{
    unsigned char c = scrub_at(s, at), next = at + 1 < end ? scrub_at(s, at + 1) : ' ';

    if (c == '{' && value->is_format)
        return true;
    if (value->quote == '`')
        return c == '$' && next == '{';
    return value->quote == '"' &&
           ((c == '$' && strchr("({", next)) || c == '`' || (c == '#' && next == '{'));
}

/* In single quotes a shell knows no escapes: the string of 'it\'s;ls' has ended for it behind the
 * backslash, and what follows the semicolon is another command. */
static size_t find_code(const struct scrub *s, const struct scrub_value *value, size_t end)
{
    bool has_ended = false;

    if (!value->is_quoted) {
        const char *hash =
            value->is_query ? memchr(scrub_view(s, value->start), '#', end - value->start) : NULL;

        return scrub_find_code(s, value->start, hash ? (size_t)(hash - s->view.data) : end);
    }
    for (size_t at = value->start; at < end; at++) {
        unsigned char c = scrub_at(s, at);

        if (begins_code(s, value, at, end) ||
            (has_ended && (scrub_is_space(c) || strchr(";&|<>()", c))))
            return at;
        has_ended = has_ended || (value->quote == '\'' && c == '\'');
    }
    return end;
}

void scrub_found_value(struct scrub *s, unsigned kind, size_t from, const struct scrub_value *value)
{
    size_t code = find_code(s, value, value->end);

    /* Not the backslash and the quote before it: the shell's string ends there. */
    if (code < value->end && value->is_quoted)
        while (code > value->start && strchr("'\\", scrub_at(s, code - 1)))
            code--;
    scrub_found_parts(s, kind, from, value->start, code, value->end, value->run);
}

/* ---- what it is not ---- */

/* One of the words stands in the text. `first`: bits of the lower five of what they begin with, so
 * that most places need no second look. */
static bool holds(const char *text, size_t len, const char *const *words, size_t n_words)
{
    uint32_t first = 0;

    for (size_t k = 0; k < n_words; k++)
        first |= (uint32_t)1 << (words[k][0] & 31);
    for (size_t i = 0; i < len; i++) {
        if (!(first >> (text[i] & 31) & 1))
            continue;
        for (size_t k = 0; k < n_words; k++) {
            const char *word = words[k];
            size_t n;

            if ((text[i] | 32) != (*word | 32))
                continue;
            n = strlen(word);
            if (i + n <= len && strncasecmp(text + i, word, n) == 0)
                return true;
        }
    }
    return false;
}

/* All of one character, or of those that stand for hidden text. */
static bool is_filler(const char *text, size_t len)
{
    bool is_same = true;

    for (size_t i = 1; i < len; i++)
        is_same = is_same && text[i] == text[0];
    return is_same || strspn(text, "*xX.#-_=~?") >= len;
}

static bool is_template(const char *text, size_t len)
{
    static const char *const words[] = {
        "***",  "${", "{{", "}}", "$(", "%(", "...", "\xe2\x80\xa6", "\xe2\x80\xa2\xe2\x80\xa2",
        "xxxxx"};

    if (text[0] == '<' || text[0] == '[' || strncmp(text, "{{", 2) == 0 || text[0] == '{')
        return true;
    if (text[0] == '$' && len > 1 &&
        (strchr("{(", text[1]) || (text[1] >= 'A' && text[1] <= 'Z') || text[1] == '_'))
        return true;
    if (text[0] == '%' && len > 1 && (strchr("({%", text[1]) || text[len - 1] == '%' || len == 2))
        return true;
    return holds(text, len, words, ARRAY_SIZE(words));
}

bool scrub_is_placeholder(const char *text, size_t len)
{
    static const char *const words[] = {
        "example",  "placeholder", "your_", "your-", "changeme", "change_me",
        "redacted", "dummy",       "_here", "-here", "insert_",  "enter_",
        "replace_", "[masked",     "(?:",   "(?i",   "[^",       ")+"};

    if (len > PLACEHOLDER_MAX)
        return false;
    if (is_filler(text, len) || is_template(text, len) ||
        (scrub_lists_of(text, len) >> LIST_NOTHING & 1))
        return true;
    if (len >= 4 && (strncasecmp(text, "your", 4) == 0 || strncasecmp(text, "env.", 4) == 0))
        return true;
    return holds(text, len, words, ARRAY_SIZE(words));
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

        n.turns += i && scrub_is_alnum(c) && scrub_is_alnum((unsigned char)text[i - 1]) &&
                   ((c ^ (unsigned char)text[i - 1]) & 32);
        if (scrub_is_digit(c))
            n.digits++;
        else if (c >= 'A' && c <= 'Z')
            n.upper++;
        else if (c >= 'a' && c <= 'z')
            n.lower++;
        else if (c == '.')
            n.dots++;
        else if (c == '/' || c == '\\')
            n.slashes++;
        else if (scrub_is_space(c))
            n.spaces++;
        else if (c != '_' && c != '-')
            n.marks++;
    }
    return n;
}

/* os.environ["X"], config.password, getpass(), self.token: code that says where the secret is. */
static bool is_reference(const char *text, size_t len, const struct shape *n)
{
    size_t i = 0;

    if (scrub_is_digit((unsigned char)text[0]) || len > PLACEHOLDER_MAX)
        return false;
    while (i < len && (scrub_is_alnum((unsigned char)text[i]) || strchr("_.:>", text[i]) ||
                       (text[i] == '-' && i + 1 < len && text[i + 1] == '>')))
        i++;
    if (i < len && (text[i] == '(' || text[i] == '['))
        return i > 0;
    return i == len && (n->dots || memchr(text, ':', len)) && n->digits <= 2 &&
           !(n->dots == 0 && n->digits);
}

static bool is_path(const char *text, size_t len, const struct shape *n)
{
    static const char *const suffixes[] = {".json", ".pem", ".txt", ".key", ".yaml",
                                           ".yml",  ".env", ".crt", ".py",  ".js",
                                           ".toml", ".ini", ".cfg", ".p12"};

    if (memmem(text, len < SCRUB_JUDGE_MAX ? len : SCRUB_JUDGE_MAX, "://", 3))
        return true;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t sl = strlen(suffixes[i]);

        if (len > sl && strncasecmp(text + len - sl, suffixes[i], sl) == 0)
            return true;
    }
    if (text[0] != '/' && text[0] != '~' && strncmp(text, "./", 2) != 0 &&
        strncmp(text, "../", 3) != 0 && !(len > 2 && text[1] == ':' && text[2] == '\\'))
        return false;
    len = len < SCRUB_JUDGE_MAX ? len : SCRUB_JUDGE_MAX;
    return !(text[0] == '/' && !n->dots && n->slashes < 4 && scrub_looks_random(text, len));
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
                                                    : !scrub_is_hex((unsigned char)text[i]))
            return false;
    return true;
}

static bool is_weak_secret(const char *text, size_t len, const struct shape *n)
{
    if (is_uuid(text, len) || n->spaces)
        return false;
    return scrub_looks_random(text, len);
}

static bool is_token_value(const struct scrub_value *value, size_t len, const struct shape *n)
{
    if (n->digits == len)
        return false;
    if (n->digits || n->marks || n->turns * 3 >= len)
        return true;
    if (value->is_quoted)
        return !is_word(n) || len >= 12;
    return value->is_env && len >= 8;
}

static bool is_password_value(const struct scrub_value *value, size_t len, const struct shape *n)
{
    if ((n->digits || n->marks || n->turns * 3 >= len) && n->digits < len)
        return true;
    if (value->is_quoted || value->is_env)
        return true;
    return value->has_line && len >= 8;
}

/* A variable that holds another one: password=user_password. */
static bool is_variable(const char *text, size_t len, const struct shape *n)
{
    return len <= PLACEHOLDER_MAX && !n->marks && !n->dots && !n->slashes &&
           (scrub_name_of(text, len) != NAME_NONE || (memchr(text, '_', len) && !n->digits));
}

static bool is_color(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++)
        if (!scrub_is_hex((unsigned char)text[i]))
            return false;
    return text[0] == '#' && (len == 7 || len == 9);
}

bool scrub_is_secret_value(const struct scrub *s, enum scrub_name name,
                           const struct scrub_value *value)
{
    const char *text = scrub_view(s, value->start);
    size_t whole = value->end - value->start;
    size_t len = whole < SCRUB_JUDGE_MAX ? whole : SCRUB_JUDGE_MAX;
    struct shape n;

    if (len < 6 || name == NAME_NONE)
        return false;
    scrub_charge(s, 4 * len);
    n = shape_of(text, len);
    if (name == NAME_PHRASE && value->is_quoted)
        return !scrub_is_placeholder(text, whole);
    if (n.spaces || scrub_is_placeholder(text, whole))
        return false;
    if (!value->is_quoted && (text[0] == '(' || is_reference(text, whole, &n) ||
                              (!value->is_constant && is_variable(text, whole, &n))))
        return false;
    if (is_color(text, len))
        return false;
    if (is_path(text, whole, &n))
        return false;
    switch (name) {
    case NAME_WEAK:
        return is_weak_secret(text, len, &n);
    case NAME_TOKEN:
        return is_token_value(value, len, &n);
    default:
        return is_password_value(value, len, &n);
    }
}

bool scrub_is_secret_text(const struct scrub *s, enum scrub_name name,
                          const struct scrub_value *value)
{
    struct scrub_value part = *value;
    size_t limit =
        value->end - value->start < SCRUB_JUDGE_MAX ? value->end : value->start + SCRUB_JUDGE_MAX;

    if (value->run && scrub_in_vain(value->run, value->start))
        return true;
    if (scrub_is_secret_value(s, name, value))
        return true;
    part.end = find_code(s, value, limit);
    /* name(...) is a call, and no value. */
    return part.end < limit && (value->is_quoted || scrub_at(s, part.end) != '(') &&
           scrub_is_secret_value(s, name, &part);
}

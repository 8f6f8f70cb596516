/* The value of an assignment: where it begins and ends, and whether it is one at all. */
#include "scrub/scrub_internal.h"

/* Beyond that a value has no end worth looking for: whoever waits for it masks it as far as it
 * goes.
 */
#define VALUE_MAX (SCRUB_HOLD_MAX + 1)

/* A value that is longer than this stands for nothing else. */
#define PLACEHOLDER_MAX 256

/* ---- where it is ---- */

/* How many backslashes stand here: a quote inside a string inside a string. */
static size_t count_backslashes(const struct scrub *s, size_t at)
{
    size_t n = 0;

    while (at + n < s->view.len && scrub_at(s, at + n) == '\\' && n < 16)
        n++;
    return n;
}

/* The closing quote, with as many backslashes as the opening one. */
static enum scrub_read read_quoted(const struct scrub *s, size_t at, size_t depth, char quote,
                                   struct scrub_value *ret)
{
    size_t slashes = 0;

    ret->start = at;
    ret->is_quoted = true;
    for (; at < s->view.len && at - ret->start < VALUE_MAX; at++) {
        unsigned char c = scrub_at(s, at);

        if (c == (unsigned char)quote && slashes <= depth) {
            ret->end = at - slashes;
            return READ_VALUE;
        }
        if (c == '\n') {
            ret->end = at;
            return READ_VALUE;
        }
        slashes = c == '\\' ? slashes + 1 : 0;
    }
    ret->end = at;
    return scrub_is_open(s, at) || at - ret->start >= VALUE_MAX ? READ_MORE : READ_VALUE;
}

/* name= or name: begins here. READ_MORE: it may. */
static enum scrub_read begins_pair(const struct scrub *s, size_t at)
{
    size_t n = 0;

    while (at + n < s->view.len && n < 40 &&
           (scrub_is_alnum(scrub_at(s, at + n)) || strchr("_-. ", scrub_at(s, at + n))))
        n++;
    if (scrub_is_open(s, at + n))
        return READ_MORE;
    return n && at + n < s->view.len && strchr("=:", scrub_at(s, at + n)) ? READ_VALUE : READ_NONE;
}

/* Does an unquoted value end before this byte? */
static enum scrub_read ends_bare(const struct scrub *s, size_t at)
{
    unsigned char c = scrub_at(s, at), next;

    if (scrub_is_space(c) || strchr("\"'`<>", c) || !c)
        return READ_VALUE;
    if (!strchr(",;&|)]}\\#", c))
        return READ_NONE;
    if (scrub_is_open(s, at + 1))
        return READ_MORE;
    next = at + 1 < s->view.len ? scrub_at(s, at + 1) : '\n';
    if (c == '\\')
        return strchr("nrt\"'", next) ? READ_VALUE : READ_NONE;
    if (c == '#')
        return READ_NONE;
    if (scrub_is_space(next) || strchr("\"'`<>,;&|)]}:.", next))
        return READ_VALUE;
    return strchr(",;&", c) ? begins_pair(s, at + 1) : READ_NONE;
}

static enum scrub_read read_bare(const struct scrub *s, size_t at, struct scrub_value *ret)
{
    ret->start = at;
    ret->is_quoted = false;
    for (; at < s->view.len && at - ret->start < VALUE_MAX; at++) {
        enum scrub_read r = ends_bare(s, at);

        if (r == READ_MORE)
            return r;
        if (r == READ_VALUE)
            break;
    }
    ret->end = at;
    if (scrub_is_open(s, at) || at - ret->start >= VALUE_MAX)
        return READ_MORE;
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
    size_t depth;

    ret->start = at;
    at = skip_prefix(s, at);
    depth = count_backslashes(s, at);
    if (scrub_is_open(s, at + depth) || scrub_is_open(s, at + 2))
        return READ_MORE;
    if (at + 6 <= s->view.len && memcmp(scrub_view(s, at), "&quot;", 6) == 0) {
        enum scrub_read r = read_quoted(s, at + 6, 0, '&', ret);

        return r;
    }
    if (at + depth < s->view.len && strchr("\"'`", scrub_at(s, at + depth))) {
        char quote = (char)scrub_at(s, at + depth);

        at += depth + 1;
        /* """ and ''' */
        if (at + 1 < s->view.len && scrub_at(s, at) == (unsigned char)quote &&
            scrub_at(s, at + 1) == (unsigned char)quote)
            at += 2;
        return read_quoted(s, at, depth, quote, ret);
    }
    return read_bare(s, at, ret);
}

/* ---- what it is not ---- */

static bool is_listed(const char *text, size_t len, const char *list)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (n == len && (*at | 32) == (*text | 32) && strncasecmp(at, text, len) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool holds(const char *text, size_t len, const char *list)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        for (size_t i = 0; i + n <= len; i++)
            if ((text[i] | 32) == (*at | 32) && strncasecmp(text + i, at, n) == 0)
                return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static const char nothing[] =
    "none null nil true false undefined empty redacted hidden masked secret password passwd token "
    "changeme change_me change-me string str bytes int integer float bool boolean number optional "
    "required default unknown missing invalid expired disabled enabled bearer basic incorrect "
    "correct "
    "accepted rejected changed updated deleted created revoked failed success successful succeeded "
    "error denied granted available unavailable configured unset not_set provided omitted username "
    "value object array object() dict list tuple text varchar any auto yes no on off private "
    "public "
    "removed rotated valid supplied present absent ignored pending active inactive filtered "
    "sensitive protected encrypted apikey api_key api-key admin user pass here todo tbd n/a na "
    "prompt input function lambda hunter strong weak";

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
    if (text[0] == '<' || text[0] == '[' || strncmp(text, "{{", 2) == 0 || text[0] == '{')
        return true;
    if (text[0] == '$' && len > 1 &&
        (strchr("{(", text[1]) || (text[1] >= 'A' && text[1] <= 'Z') || text[1] == '_'))
        return true;
    if (text[0] == '%' && len > 1 && (strchr("({%", text[1]) || text[len - 1] == '%' || len == 2))
        return true;
    return holds(text, len,
                 "*** ${ {{ }} $( %( ... \xe2\x80\xa6 \xe2\x80\xa2\xe2\x80\xa2 xxxxx XXXXX");
}

bool scrub_is_placeholder(const char *text, size_t len)
{
    if (len > PLACEHOLDER_MAX)
        return false;
    if (is_filler(text, len) || is_template(text, len) || is_listed(text, len, nothing))
        return true;
    if (len >= 4 && (strncasecmp(text, "your", 4) == 0 || strncasecmp(text, "env.", 4) == 0))
        return true;
    return holds(text, len,
                 "example placeholder your_ your- changeme change_me redacted dummy "
                 "_here -here insert_ enter_ replace_ [masked (?: (?i [^ )+");
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

    if (memmem(text, len, "://", 3))
        return true;
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        size_t sl = strlen(suffixes[i]);

        if (len > sl && strncasecmp(text + len - sl, suffixes[i], sl) == 0)
            return true;
    }
    if (text[0] != '/' && text[0] != '~' && strncmp(text, "./", 2) != 0 &&
        strncmp(text, "../", 3) != 0 && !(len > 2 && text[1] == ':' && text[2] == '\\'))
        return false;
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
    return !n->marks && !n->dots && !n->slashes &&
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
    size_t len = value->end - value->start;
    struct shape n;

    if (len < 6 || name == NAME_NONE)
        return false;
    n = shape_of(text, len);
    if (name == NAME_PHRASE && value->is_quoted)
        return !scrub_is_placeholder(text, len);
    if (n.spaces || scrub_is_placeholder(text, len))
        return false;
    if (!value->is_quoted && (text[0] == '(' || is_reference(text, len, &n) ||
                              (!value->is_constant && is_variable(text, len, &n))))
        return false;
    if (is_color(text, len))
        return false;
    if (is_path(text, len, &n))
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

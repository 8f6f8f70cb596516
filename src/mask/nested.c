/* Values behind a name that are not its value at once: in a list, in a mapping below it, in a call
 * around it, or alone in the next line. Only what looks like a secret by itself is taken. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* So much of a list or mapping is read, and so many of its items. */
#define NESTED_MAX ((size_t)1024)
#define ITEMS_MAX  64

/* A token is as long as this, a password has so many characters. */
#define TOKEN_MIN    16
#define PASSWORD_MIN 8

/* The text before a name that is alone in its line. */
#define PROMPT_MAX ((size_t)40)

bool masker_is_strong(const struct masker *s, enum masker_name what, size_t start, size_t end)
{
    struct masker_value value = {.start = start, .end = end, .is_constant = true, .is_data = true};
    const char *text = masker_view(s, start);
    size_t len = end - start < MASKER_JUDGE_MAX ? end - start : MASKER_JUDGE_MAX;

    masker_charge(s, len);
    if (len < (what == NAME_SECRET || what == NAME_PHRASE ? PASSWORD_MIN : TOKEN_MIN) ||
        !masker_is_mixed(text, len) || masker_is_technical(text, len) ||
        masker_name_of(text, len) != NAME_NONE)
        return false;
    for (size_t i = 0; i < len; i++)
        if (masker_is_in("(){}<>|\"'`", (unsigned char)text[i]))
            return false;
    return masker_is_secret_value(s, what == NAME_PHRASE ? NAME_SECRET : what, &value);
}

/* A word with digits, as no word of a text is. */
static bool is_strong_word(const struct masker *s, size_t start, size_t end)
{
    struct masker_value value = {.start = start, .end = end, .is_constant = true, .is_data = true};

    for (size_t i = start; i < end && i - start < MASKER_JUDGE_MAX; i++)
        if (masker_is_in(".(){}<>|\"'`", masker_at(s, i)))
            return false;
    return masker_is_unlike_words(s, start, end) && masker_is_secret_value(s, NAME_SECRET, &value);
}

static size_t skip_space(const struct masker *s, size_t at, const char *others, size_t limit)
{
    while (at < s->view.len && at < limit &&
           (masker_is_space(masker_at(s, at)) || masker_is_in(others, masker_at(s, at))))
        at++;
    return at;
}

/* The quote that ends the string at `at`, or where it is given up. */
static size_t string_end(const struct masker *s, size_t at, size_t limit)
{
    unsigned char quote = masker_at(s, at);

    for (at++; at < s->view.len && at < limit; at++) {
        unsigned char c = masker_at(s, at);

        if (c == quote || c == '\n')
            break;
        at += c == '\\';
    }
    return at < s->view.len ? at : s->view.len;
}

struct nested {
    unsigned kind;
    size_t from; /* the anchor */
    enum masker_name what;
    size_t at, limit;
    bool is_more;
};

/* The string at n->at. False: there is none, or more must come. */
static bool take_string(struct masker *s, struct nested *n, bool is_value)
{
    size_t start = n->at + 1, end = string_end(s, n->at, n->limit);

    masker_charge(s, end - n->at + 1);
    n->is_more = masker_is_open(s, end);
    if (n->is_more)
        return false;
    n->at = end;
    if (end >= s->view.len || masker_at(s, end) == '\n')
        return false;
    n->at++;
    if (is_value && (masker_is_strong(s, n->what, start, end) ||
                     (n->what == NAME_SECRET && is_strong_word(s, start, end))))
        masker_found(s, n->kind, n->from, start, end);
    return true;
}

/* ["a", "b"] */
static void read_list(struct masker *s, struct nested *n)
{
    for (unsigned i = 0; i < ITEMS_MAX && n->at < n->limit; i++) {
        n->at = skip_space(s, n->at, ",", n->limit);
        n->is_more = masker_is_open(s, n->at);
        if (n->at >= s->view.len || !masker_is_in("\"'", masker_at(s, n->at)) ||
            !take_string(s, n, true))
            return;
    }
}

/* {"value": ...}, {"S": ...}, {"0": ...}, { default = ... } */
static bool is_value_key(const struct masker *s, size_t start, size_t end)
{
    static const char *const keys[] = {"value", "default",      "s",         "string",
                                       "data",  "secretstring", "plaintext", "stringvalue"};
    size_t len = end - start, digits = 0;

    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (strlen(keys[i]) == len && strncasecmp(masker_view(s, start), keys[i], len) == 0)
            return true;
    while (digits < len && masker_is_digit(masker_at(s, start + digits)))
        digits++;
    return len && digits == len;
}

/* The name of a pair. False: there is none, or more must come. */
static bool take_key(const struct masker *s, struct nested *n, bool *ret_is_value)
{
    bool is_quoted;
    size_t start, end;

    n->at = skip_space(s, n->at, ",;", n->limit);
    n->is_more = masker_is_open(s, n->at);
    if (n->at >= s->view.len || n->at >= n->limit)
        return false;
    is_quoted = masker_is_in("\"'", masker_at(s, n->at));
    start = n->at + is_quoted;
    for (end = start;
         end < s->view.len && end - start < 40 &&
         (masker_is_alnum(masker_at(s, end)) || masker_is_in("_$-", masker_at(s, end)));)
        end++;
    n->at = skip_space(s, end, is_quoted ? "\"'" : "", n->limit);
    masker_charge(s, n->at - start + 1);
    n->is_more = masker_is_open(s, n->at + 1);
    if (n->is_more || end == start || n->at >= s->view.len ||
        !masker_is_in(":=", masker_at(s, n->at)))
        return false;
    n->at = skip_space(s, n->at + 1, "", n->limit);
    n->is_more = masker_is_open(s, n->at);
    *ret_is_value = is_value_key(s, start, end);
    return !n->is_more && n->at < s->view.len;
}

static void read_mapping(struct masker *s, struct nested *n)
{
    bool is_value = false;

    for (unsigned i = 0; i < ITEMS_MAX && n->at < n->limit && take_key(s, n, &is_value); i++) {
        if (masker_is_in("\"'", masker_at(s, n->at))) {
            if (!take_string(s, n, is_value))
                return;
            continue;
        }
        while (n->at < s->view.len && n->at < n->limit &&
               (masker_is_alnum(masker_at(s, n->at)) || masker_is_in("._-", masker_at(s, n->at))))
            n->at++;
        n->is_more = masker_is_open(s, n->at);
        if (n->is_more)
            return;
    }
}

bool masker_begins_nested(const struct masker *s, size_t at)
{
    if (at + 1 >= s->view.len || !masker_is_in("[{", masker_at(s, at)))
        return false;
    return masker_is_in("\"' \t\r\n", masker_at(s, at + 1)) ||
           (masker_at(s, at) == '{' && masker_at(s, at + 1) == '0'); /* {0: "a", 1: "b"} */
}

void masker_read_nested(struct masker *s, unsigned kind, size_t from, enum masker_name what,
                        size_t at)
{
    struct nested n = {
        .kind = kind, .from = from, .what = what, .at = at + 1, .limit = at + NESTED_MAX};

    if (masker_at(s, at) == '[')
        read_list(s, &n);
    else
        read_mapping(s, &n);
    if (n.is_more)
        masker_wait(s, kind, from, n.at < s->view.len ? n.at : s->view.len);
}

/* ---- in a call ---- */

enum masker_read masker_skip_wrapper(const struct masker *s, size_t *at)
{
    static const char *const calls[] = {"String::from(", "Some(",       "SecretStr(",
                                        "SecretString(", "Secret(",     "Field(default=",
                                        "Optional.of(",  "Just(",       "bytes(",
                                        "Buffer.from(",  "new String(", "SecretString::new(",
                                        "Secret::new(",  "default=",    "("};
    enum masker_read found = READ_NONE;

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        size_t n = 0;

        while (calls[i][n] && *at + n < s->view.len &&
               masker_at(s, *at + n) == (unsigned char)calls[i][n])
            n++;
        masker_charge(s, n);
        if (calls[i][n]) {
            if (n && masker_is_open(s, *at + n))
                found = READ_MORE;
            continue;
        }
        n += *at;
        n += n < s->view.len && masker_at(s, n) == 'b';
        if (masker_is_open(s, n))
            return READ_MORE;
        if (n < s->view.len && masker_is_in("\"'", masker_at(s, n))) {
            *at = n;
            return READ_VALUE;
        }
    }
    return found;
}

/* ---- alone in the next line ---- */

/* Is the name at `start` alone in its line, or behind a prompt that shows what it holds? */
static bool is_asked_for(const struct masker *s, size_t start)
{
    static const char *const prompts[] = {
        ">>> ",      "(Pdb) ", "(Pdb) p ", "]: ",  "echo $",      "echo \"$",
        "printenv ", "print(", "get ",     "GET ", "console.log("};
    static const char *const readers[] = {
        "$ cat ",         "$ head ",       "$ pass ",       "$ gopass ",  "$ vault ",  "$ gcloud ",
        "$ aws ",         "$ op ",         "$ heroku ",     "$ az ",      "$ bw ",     "# cat ",
        ">>> os.environ", ">>> os.getenv", ">>> settings.", ">>> config", ">>> self.", ">>> app."};
    size_t low = start > PROMPT_MAX ? start - PROMPT_MAX : 0, len;
    const char *newline = start > low ? memrchr(masker_view(s, low), '\n', start - low) : NULL;

    masker_charge(s, (start - low) / 8 + 1);
    if (!newline && low)
        return false;
    low = newline ? (size_t)(newline - s->view.data) + 1 : 0;
    len = start - low;
    for (size_t i = 0; i < ARRAY_SIZE(prompts); i++) {
        size_t n = strlen(prompts[i]);

        if (len >= n && memcmp(masker_view(s, start - n), prompts[i], n) == 0)
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        size_t n = strlen(readers[i]);

        if (len >= n && memcmp(masker_view(s, low), readers[i], n) == 0)
            return true;
    }
    return !len;
}

void masker_match_below(struct masker *s, unsigned kind, size_t from, size_t start, size_t end,
                        enum masker_name what)
{
    size_t at = end, stop, limit;

    if (!is_asked_for(s, start))
        return;
    for (limit = at + 4;
         at < s->view.len && at < limit && masker_is_in("])\"';\r", masker_at(s, at));)
        at++;
    if (at < s->view.len && masker_at(s, at) != '\n')
        return;
    at = at < s->view.len ? at + 1 : at;
    if (at + 3 < s->view.len && memcmp(masker_view(s, at), "Out[", 4) == 0)
        for (limit = at + 12; at < s->view.len && at < limit && masker_at(s, at) != ' ';)
            at++;
    for (limit = at + 8;
         at < s->view.len && at < limit && masker_is_in(" \t\"'", masker_at(s, at));)
        at++;
    for (stop = at; stop < s->view.len && stop - at < MASKER_JUDGE_MAX &&
                    !masker_is_space(masker_at(s, stop)) &&
                    !masker_is_in("\"'", masker_at(s, stop));)
        stop++;
    masker_charge(s, stop - end);
    limit = stop < s->view.len && masker_is_in("\"'", masker_at(s, stop)) ? stop + 1 : stop;
    if (masker_is_open(s, limit)) {
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
        return;
    }
    if (limit < s->view.len && !masker_is_in("\r\n", masker_at(s, limit)))
        return;
    if (stop > at && (masker_is_strong(s, what, at, stop) ||
                      (what == NAME_SECRET && stop - at >= 8 && is_strong_word(s, at, stop))))
        masker_found(s, kind, from, at, stop);
}

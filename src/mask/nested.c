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
#define PROMPT_MAX ((size_t)120)

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
    bool is_plural; /* the name stands for many: any value may be one */
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
    *ret_is_value = n->is_plural || is_value_key(s, start, end);
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
                        bool is_plural, size_t at)
{
    struct nested n = {
        .kind = kind, .from = from, .what = what, .at = at + 1, .limit = at + NESTED_MAX};

    n.is_plural = what == NAME_WEAK && is_plural;
    if (masker_at(s, at) == '[')
        read_list(s, &n);
    else
        read_mapping(s, &n);
    if (n.is_more)
        masker_wait(s, kind, from, n.at < s->view.len ? n.at : s->view.len);
}

/* ---- items of YAML ---- */

bool masker_read_items(struct masker *s, unsigned kind, size_t from, size_t at)
{
    size_t i = masker_skip_any(s, at, "\r", 1);

    if (i < s->view.len && masker_at(s, i) != '\n')
        return false;
    for (unsigned n = 0; n < ITEMS_MAX && i < s->view.len; n++) {
        size_t start, end, line = i + 1;

        start = masker_skip_any(s, line, " ", 16);
        if (start < s->view.len && masker_at(s, start) != '-')
            return n > 0;
        start = masker_skip_any(s, start, "- \"'", 6);
        for (end = start; end < s->view.len && end - start < MASKER_JUDGE_MAX &&
                          !masker_is_space(masker_at(s, end)) &&
                          !masker_is_in("\"'", masker_at(s, end));)
            end++;
        i = masker_skip_any(s, end, "\"' \r", 3);
        masker_charge(s, i - line + 1);
        if (masker_is_open(s, i)) {
            masker_wait(s, kind, from, line < s->view.len ? line : s->view.len);
            return true;
        }
        if (end > start && masker_is_strong(s, NAME_TOKEN, start, end))
            masker_found(s, kind, from, start, end);
        if (i < s->view.len && masker_at(s, i) != '\n')
            return true;
    }
    return true;
}

/* ---- in a call ---- */

/* Behind the bracket of a constructor: a name that begins with a capital, or whose last part does.
 * 0: there is none; SIZE_MAX: it may be. */
static size_t skip_constructor(const struct masker *s, size_t at)
{
    size_t i = at, word = at;
    bool has_small = false;

    while (i < s->view.len && i - at < 40 &&
           (masker_is_alnum(masker_at(s, i)) || masker_is_in("_.:", masker_at(s, i)))) {
        has_small = has_small || (masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z');
        if (masker_is_in(".:", masker_at(s, i)))
            word = i + 1;
        i++;
    }
    masker_charge(s, i - at + 1);
    if (i > at && masker_is_open(s, i) && i - at < 40)
        return SIZE_MAX;
    return i > word + 2 && has_small && i < s->view.len && masker_at(s, i) == '(' &&
                   masker_at(s, word) >= 'A' && masker_at(s, word) <= 'Z'
               ? i + 1
               : 0;
}

enum masker_read masker_skip_wrapper(const struct masker *s, size_t *at)
{
    static const char *const calls[] = {"String::from(", "Some(",       "SecretStr(",
                                        "SecretString(", "Secret(",     "Field(default=",
                                        "Optional.of(",  "Just(",       "bytes(",
                                        "Buffer.from(",  "new String(", "SecretString::new(",
                                        "Secret::new(",  "default=",    "("};
    enum masker_read found = READ_NONE;
    size_t n;

    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        n = 0;
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
    n = skip_constructor(s, *at);
    if (!n || n == SIZE_MAX)
        return n ? READ_MORE : found;
    n += n < s->view.len && masker_at(s, n) == 'b';
    if (masker_is_open(s, n))
        return READ_MORE;
    if (n >= s->view.len || !masker_is_in("\"'", masker_at(s, n)))
        return found;
    *at = n;
    return READ_VALUE;
}

/* ---- alone in the next line ---- */

/* A field of a form: its value stands below an empty line. */
#define FORM_FIELD "form-data; name=\""

static bool is_form_field(const struct masker *s, size_t start)
{
    const size_t n = sizeof(FORM_FIELD) - 1;

    return start >= n && memcmp(masker_view(s, start - n), FORM_FIELD, n) == 0;
}

/* Behind the other headers of a part of a form and the empty line below them. SIZE_MAX: more must
 * come. */
static size_t skip_part_headers(const struct masker *s, size_t at)
{
    for (unsigned n = 0; n < 3; n++) {
        size_t i = at;

        if (!masker_is_at(s, at, "Content-"))
            break;
        while (i < s->view.len && i - at < 120 && masker_at(s, i) != '\n')
            i++;
        masker_charge(s, i - at);
        if (masker_is_open(s, i))
            return SIZE_MAX;
        if (i >= s->view.len || masker_at(s, i) != '\n')
            break;
        at = i + 1;
    }
    if (at < s->view.len && masker_is_open(s, at + 8) && masker_at(s, at) == 'C')
        return SIZE_MAX;
    return masker_skip_any(s, at, "\r\n", 2);
}

/* Behind the 1) of a line in a reply of Redis. */
static size_t skip_reply(const struct masker *s, size_t at)
{
    size_t end = masker_skip_any(s, at, " ", 3);

    end = masker_skip_any(s, end, "0123456789", 4);
    return end > at && masker_is_at(s, end, ") ") ? end + 2 : at;
}

/* Is the name at `start` alone in its line, or behind a prompt that shows what it holds? */
static bool is_asked_for(const struct masker *s, size_t start)
{
    static const char *const prompts[] = {">>> ",
                                          "(Pdb) ",
                                          "(Pdb) p ",
                                          "echo $",
                                          "echo \"$",
                                          "printenv ",
                                          "print(",
                                          "get ",
                                          "GET ",
                                          "Evaluating: ",
                                          "Evaluating: secrets.",
                                          "Evaluating: env.",
                                          "console.log(",
                                          "(gdb) p ",
                                          "irb> ",
                                          "puts ",
                                          "(lldb) p ",
                                          "(gdb) print ",
                                          "ipdb> ",
                                          "(rdb:1) p ",
                                          "/run/secrets/",
                                          FORM_FIELD};
    static const char *const readers[] = {
        "$ cat ",     "$ kubectl ",    "kubectl get ",   "cat /run/",     "$ head ",
        "$ pass ",    "$ gopass ",     "$ vault ",       "$ gcloud ",     "$ aws ",
        "$ op ",      "$ heroku ",     "$ az ",          "$ bw ",         "# cat ",
        "+ cat ",     "+ kubectl ",    "+ vault ",       "+ gcloud ",     "+ aws ",
        "os.environ", "os.getenv",     "gcloud secrets", "aws secretsm",  "op read ",
        "pass show ", "vault kv get ", ">>> os.environ", ">>> os.getenv", ">>> settings.",
        ">>> config", ">>> self.",     ">>> app."};
    size_t low = start > PROMPT_MAX ? start - PROMPT_MAX : 0, len, path = start;
    const char *newline = start > low ? memrchr(masker_view(s, low), '\n', start - low) : NULL;

    masker_charge(s, (start - low) / 8 + 1);
    if (!newline && low)
        return false;
    low = newline ? (size_t)(newline - s->view.data) + 1 : 0;
    len = start - low;
    if (skip_reply(s, low) > low && start - skip_reply(s, low) <= 1)
        return true;
    /* GET session:token, cat /run/token */
    while (path > low && masker_is_in(":/", masker_at(s, path - 1)))
        for (path--; path > low && (masker_is_alnum(masker_at(s, path - 1)) ||
                                    masker_is_in("_.-", masker_at(s, path - 1)));)
            path--;
    for (size_t i = 0; i < ARRAY_SIZE(prompts); i++) {
        size_t n = strlen(prompts[i]);

        if ((len >= n && strncasecmp(masker_view(s, start - n), prompts[i], n) == 0) ||
            (path - low >= n && strncasecmp(masker_view(s, path - n), prompts[i], n) == 0))
            return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
        size_t n = strlen(readers[i]);

        if (len >= n && strncasecmp(masker_view(s, low), readers[i], n) == 0)
            return true;
    }
    if (len > 3 && len < 12 && masker_is_at(s, low, "in [") && masker_is_at(s, start - 3, "]: "))
        return true;
    if (len == 1 && masker_at(s, low) == '$') /* $password, as R prints lists */
        return true;
    return len < 8 && masker_skip_any(s, low, " *#_>", len) == start; /* **Password** */
}

/* Behind the name of who answers: "A: ", "bob> ". */
static size_t skip_speaker(const struct masker *s, size_t at)
{
    size_t i = at;

    while (i < s->view.len && i - at < 24 &&
           (masker_is_alnum(masker_at(s, i)) || masker_is_in("_.-", masker_at(s, i))))
        i++;
    return i > at && i + 1 < s->view.len && masker_is_in(":>", masker_at(s, i)) &&
                   masker_at(s, i + 1) == ' '
               ? i + 2
               : at;
}

size_t masker_skip_fence(const struct masker *s, size_t at)
{
    size_t i = masker_skip_any(s, at, " ", 8), word;

    if (masker_is_at(s, i, "> "))
        return i + 2;
    if (!masker_is_at(s, i, "```"))
        return at;
    for (word = i + 3, i = word; i < s->view.len && i - word < 16 && masker_at(s, i) != '\n';)
        i++;
    return i < s->view.len && masker_at(s, i) == '\n' ? i + 1 : at;
}

/* It is no longer than this. */
#define RESULT_MAX 48

/* Behind "$1 = 0x55d0 " and "=> ", which debuggers and consoles write before a value. */
static size_t skip_result(const struct masker *s, size_t at)
{
    size_t i = at;

    if (masker_is_at(s, at, "##[debug]"))
        at = i = at + 9;
    if (masker_is_at(s, at, "=> "))
        return at + 3;
    if (masker_is_at(s, at, "(char *) $"))
        i = at = at + 9;
    if (at >= s->view.len || masker_at(s, at) != '$')
        return at;
    i = masker_skip_any(s, i + 1, "0123456789", 6);
    if (i == at + 1 || !masker_is_at(s, i, " = "))
        return at;
    i += 3;
    return masker_is_at(s, i, "0x") ? masker_skip_any(s, i + 2, "0123456789abcdef", 16) : i;
}

size_t masker_skip_last(const struct masker *s, size_t at)
{
    static const char *const decoders[] = {" | base64 -d", " | base64 --decode", " | base64 -D"};

    at = masker_skip_any(s, at, "])}\"';*`?", 4);
    for (size_t i = 0; i < ARRAY_SIZE(decoders); i++)
        if (masker_is_at(s, at, decoders[i])) {
            at = masker_skip_any(s, at + strlen(decoders[i]), "ecod; ho", 8);
            break;
        }
    return masker_skip_any(s, at, "\r", 1);
}

void masker_match_below(struct masker *s, unsigned kind, size_t from, size_t start, size_t end,
                        enum masker_name what)
{
    bool is_question = end < s->view.len && masker_at(s, end) == '?', is_title;
    size_t at = end, stop, limit;

    if (!is_question && !is_asked_for(s, start))
        return;
    is_title = start > 1 && masker_at(s, start - 1) == ' ' && masker_at(s, start - 2) == '#';
    at = masker_skip_last(s, at);
    if (at < s->view.len && masker_at(s, at) != '\n')
        return;
    at = at < s->view.len ? at + 1 : at;
    if (is_form_field(s, start)) {
        at = skip_part_headers(s, at);
        if (at == SIZE_MAX) {
            masker_wait(s, kind, from, s->view.len);
            return;
        }
    }
    if (is_title && at < s->view.len && masker_at(s, at) == '\n')
        at++;
    at = masker_skip_fence(s, is_question ? skip_speaker(s, at) : skip_reply(s, at));
    if (at + 3 < s->view.len && memcmp(masker_view(s, at), "[1] ", 4) == 0)
        at += 4;
    if (at + 3 < s->view.len && memcmp(masker_view(s, at), "Out[", 4) == 0)
        for (limit = at + 12; at < s->view.len && at < limit && masker_at(s, at) != ' ';)
            at++;
    if (masker_is_open(s, at + RESULT_MAX) &&
        (at >= s->view.len || masker_is_in("=($", masker_at(s, at)))) {
        masker_wait(s, kind, from, at < s->view.len ? at : s->view.len);
        return;
    }
    at = skip_result(s, at);
    for (limit = at + 8;
         at < s->view.len && at < limit && masker_is_in(" \t\"'`", masker_at(s, at));)
        at++;
    for (stop = at; stop < s->view.len && stop - at < MASKER_JUDGE_MAX &&
                    !masker_is_space(masker_at(s, stop)) &&
                    !masker_is_in("\"'`", masker_at(s, stop));)
        stop++;
    masker_charge(s, stop - end);
    limit = stop < s->view.len && masker_is_in("\"'`", masker_at(s, stop)) ? stop + 1 : stop;
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

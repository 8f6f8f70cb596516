/* Secrets in sentences: "the password for ann is X", "use token X to log in".
 *
 * Between the name and the value stand a few words of the list below; behind "for" and "of", any
 * words. The value must look like a secret by itself: prose about passwords stays. */
#include "base/cleanup.h"
#include "mask/sign.h"

#define WORDS_MAX    10
#define SENTENCE_MAX ((size_t)128)

/* Words of any kind behind "for", "of" and a bracket. */
#define FREE_WORDS 5

/* The most bytes between two values of a sentence. */
#define JOINT_MAX 16

bool masker_is_listed(const struct masker *s, size_t start, size_t end, const char *list)
{
    size_t len = end - start;

    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (n == len && strncasecmp(masker_view(s, start), at, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

static bool is_in_list(const struct masker *s, size_t start, size_t end, enum masker_list list)
{
    return masker_lists_of(masker_view(s, start), end - start) >> list & 1;
}

struct letters {
    size_t digits, letters, marks, upper, lower, code;
    size_t inner; /* marks that stand in no code, between other characters */
    size_t turns; /* from small letters to capitals and back */
    size_t row;   /* the most small letters one after the other: words have three */
};

static struct letters count(const char *text, size_t len)
{
    struct letters n = {0};
    size_t row = 0;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        row = c >= 'a' && c <= 'z' ? row + 1 : 0;
        n.row = row > n.row ? row : n.row;

        n.digits += masker_is_digit(c);
        n.upper += c >= 'A' && c <= 'Z';
        n.lower += c >= 'a' && c <= 'z';
        n.marks += masker_is_in("!@#$%^&*+=?", c);
        n.inner += i && i + 1 < len && masker_is_in("!@#$%^+=?", c);
        n.code += masker_is_in("(){}[]<>", c);
        n.turns += i && ((c | 32) >= 'a' && (c | 32) <= 'z') &&
                   (((unsigned char)text[i - 1] | 32) >= 'a' &&
                    ((unsigned char)text[i - 1] | 32) <= 'z') &&
                   ((c ^ (unsigned char)text[i - 1]) & 32);
    }
    n.letters = n.upper + n.lower;
    return n;
}

/* The value ends the line, and before the name stands a word or two. */
static bool is_short_line(const struct masker *s, size_t name, size_t end)
{
    size_t low = name > 20 ? name - 20 : 0, start = name;

    while (start > low && masker_at(s, start - 1) != '\n')
        start--;
    masker_charge(s, name - start);
    return (start == 0 || masker_at(s, start - 1) == '\n') &&
           (end >= s->view.len ? s->is_final : masker_is_in("\r\n", masker_at(s, end)));
}

/* `is_direct`: nothing stands between it and the name. */
static bool looks_secret(const struct masker *s, enum masker_name what, size_t start, size_t end,
                         bool is_direct, size_t name)
{
    const char *text = masker_view(s, start);
    size_t len = end - start < MASKER_JUDGE_MAX ? end - start : MASKER_JUDGE_MAX;
    struct letters n = count(text, len);
    struct masker_value value = {.start = start, .end = end, .is_data = true, .is_constant = true};

    masker_charge(s, 4 * len);
    if (len < 6 || !n.letters || n.code ||
        (!n.digits && !(n.inner && n.upper && n.lower && !is_direct) &&
         !(len >= 8 && n.turns >= 4 && n.row < 3 && !is_direct)) || /* KKqVy-hZxeL, no CamelCase */
        masker_is_technical(text, len))
        return false;
    if (masker_is_in("-/.<[{($", (unsigned char)text[0]) && !masker_looks_random(text, len))
        return false;
    if (masker_is_in("*&", (unsigned char)text[0]) && !n.digits) /* a pointer */
        return false;
    if (start && masker_at(s, start - 1) == '\\' && masker_is_in("fs", (unsigned char)text[0]))
        return false; /* of a page of a manual */
    if (n.lower && !n.upper && !n.marks && masker_is_in("abcdefghijklmnopqrstuvwxyz", text[0]) &&
        memchr(text, '_', len) && what != NAME_SECRET && !masker_is_mixed(text, len))
        return false; /* a name of code */
    if (!masker_is_secret_value(s, what == NAME_PHRASE ? NAME_SECRET : what, &value))
        return false;
    if (is_direct && len == 40 && !n.lower) /* a fingerprint */
        return false;
    if (what == NAME_WEAK || what == NAME_TOKEN)
        return len >= 12 && masker_is_mixed(text, len);
    if (is_direct && what == NAME_SECRET && n.digits && len >= 8 && is_short_line(s, name, end))
        return true; /* enable password X */
    return !is_direct || (masker_is_mixed(text, len) && (n.upper || n.digits >= 8) && n.lower) ||
           n.marks ||
           masker_near(s, name,
                       "user login with using use log new old tried initial bad wrong found match "
                       "candidate");
}

bool masker_looks_said(const struct masker *s, enum masker_name what, size_t start, size_t end)
{
    return looks_secret(s, what, start, end, false, start);
}

/* The blank here, as it is or as a URL has it: how long it is. */
static size_t blank_at(const struct masker *s, size_t at, bool is_url)
{
    if (at >= s->view.len)
        return 0;
    if (masker_is_in(" \t", masker_at(s, at)))
        return 1;
    return is_url ? masker_skip_percent(s, at) - at : 0;
}

/* <b> or <code> before a word: how long it is. */
static size_t tag_length(const struct masker *s, size_t at)
{
    size_t i = at + 1;

    if (at >= s->view.len || masker_at(s, at) != '<')
        return 0;
    while (i < s->view.len && i - at < 12 && masker_is_alnum(masker_at(s, i)))
        i++;
    return i < s->view.len && i > at + 1 && masker_at(s, i) == '>' ? i + 1 - at : 0;
}

/* The bytes of a quote that is no ASCII at the start or end of a word: \u00ab \u00bb \u2018 to
 * \u201f \u300c \u300d \u300e \u300f. */
static size_t quote_bytes(const char *text, size_t len)
{
    const unsigned char *c = (const unsigned char *)text;

    if (len >= 2 && c[0] == 0xc2 && (c[1] == 0xab || c[1] == 0xbb))
        return 2;
    if (len >= 3 && c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0x98 && c[2] <= 0x9f)
        return 3;
    return len >= 3 && c[0] == 0xe3 && c[1] == 0x80 && c[2] >= 0x8c && c[2] <= 0x8f ? 3 : 0;
}

size_t masker_word_end(const struct masker *s, size_t at, bool is_url, size_t *ret_start,
                       size_t *ret_end)
{
    size_t end = at;

    while (end < s->view.len && end - at < MASKER_JUDGE_MAX &&
           !masker_is_space(masker_at(s, end)) &&
           !(is_url && (masker_at(s, end) == '+' || masker_ends_percent(s, end))))
        end++;
    *ret_start = at + tag_length(s, at);
    *ret_end = end;
    if (*ret_start < *ret_end && masker_at(s, *ret_start) == '[' &&
        memchr(masker_view(s, *ret_start), ']', *ret_end - *ret_start))
        ++*ret_start; /* [X] as a whole */
    while (*ret_start < *ret_end && masker_is_in("\"'`(\\", masker_at(s, *ret_start)))
        ++*ret_start;
    *ret_start += quote_bytes(masker_view(s, *ret_start), *ret_end - *ret_start);
    for (size_t i = *ret_start; i < *ret_end; i++)
        if (masker_is_in("\"`\\", masker_at(s, i)) ||
            quote_bytes(masker_view(s, i), *ret_end - i) ||
            (masker_at(s, i) == '<' && i + 1 < end && masker_at(s, i + 1) == '/'))
            *ret_end = i;
    while (*ret_end > *ret_start && masker_is_in(",;.:)]}>\"'`", masker_at(s, *ret_end - 1)))
        --*ret_end;
    return end;
}

/* The digit of "password 7 X", which says how it is written. */
static bool is_type(const struct masker *s, size_t start, size_t end)
{
    return end == start + 1 && masker_is_digit(masker_at(s, start));
}

/* One word of the sentence. READ_VALUE: it is the secret. */
static enum masker_read take_word(struct masker *s, enum masker_name what, size_t name,
                                  struct masker_sentence *t)
{
    size_t start, end, stop = masker_word_end(s, t->at, t->is_url, &start, &end);
    bool is_direct = t->words == 0, is_quoted = start > t->at, is_opener, is_elided;

    masker_charge(s, stop - t->at + 8);
    if (masker_is_open(s, stop + (t->is_url ? 5 : 0)))
        return READ_MORE;
    if (stop == t->at)
        return READ_NONE; /* more blanks than a sentence has */
    if (end == start && stop > t->at) {
        end = stop;
        start = t->at;
    }
    if (is_direct && is_type(s, start, end)) {
        t->at = stop;
        return READ_MORE;
    }
    t->words++;
    /* set(API_KEY "X"), ENV API_KEY X, user ann and pass X */
    if ((t->is_code || (t->is_verb && masker_near(s, name, "user login"))) && is_direct &&
        end > start && masker_is_strong(s, what, start, end)) {
        t->start = start;
        t->end = end;
        return READ_VALUE;
    }
    if ((t->is_verb || t->is_code) && !t->has_verb &&
        !masker_is_listed(s, start, end,
                          t->is_code ? "is was ist to with has as set \u2192 ->"
                                     : "is was ist \u2192 ->"))
        return READ_NONE;
    is_direct = is_direct && !t->is_code && !t->is_foreign;
    if (end > start && looks_secret(s, what, start, end, is_direct && !is_quoted, name)) {
        if (is_direct || t->has_verb || t->is_foreign) {
            t->start = start;
            t->end = end;
            return READ_VALUE;
        }
    }
    t->ends_verb = false;
    /* dell'utente, d'acc\u00e8s */
    is_elided = memchr(masker_view(s, start), '\'', end - start < 5 ? end - start : 5) != NULL;
    is_opener = is_in_list(s, start, end, LIST_OPENERS) || masker_at(s, t->at) == '(' || is_elided;
    t->at = stop;
    if (is_in_list(s, start, end, LIST_VERBS) ||
        (stop > end && masker_at(s, stop - 1) == ':' &&
         (t->is_free || is_elided || is_in_list(s, start, end, LIST_FILLERS)))) {
        t->has_verb = t->ends_verb = true;
        t->is_free = t->is_foreign ? FREE_WORDS : 0;
    } else if (is_opener)
        t->is_free = FREE_WORDS;
    else if (t->is_free)
        t->is_free--;
    else if (!is_in_list(s, start, end, LIST_FILLERS))
        return READ_NONE;
    /* A sentence that ends has no value behind it. */
    return stop > end && masker_is_in(".;", masker_at(s, stop - 1)) ? READ_NONE : READ_MORE;
}

/* The value below a line that ends with a colon, alone in its line. */
static bool match_lines_below(struct masker *s, unsigned kind, size_t from, size_t at,
                              enum masker_name what)
{
    size_t start = masker_skip_any(s, at, " \t\r\n", 64), end;

    start = masker_skip_any(s, masker_skip_fence(s, start), " `", 8);
    for (end = start; end < s->view.len && end - start < MASKER_JUDGE_MAX &&
                      !masker_is_space(masker_at(s, end));)
        end++;
    masker_charge(s, end - at);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, start < s->view.len ? start : s->view.len);
        return true;
    }
    if (end > start && masker_at(s, end - 1) == '`')
        end--;
    if (end >= s->view.len || masker_is_in("`\r\n", masker_at(s, end)))
        if (end > start && masker_is_strong(s, what, start, end))
            masker_found(s, kind, from, start, end);
    return true;
}

/* Behind what stands between two values: from X to Y, X and Y. 0: there is none. */
static size_t skip_joint(const struct masker *s, size_t at)
{
    static const char *const joints[] = {" to ", " and ", ", ", " or ", " but now it is "};

    for (size_t i = 0; i < ARRAY_SIZE(joints); i++)
        if (masker_is_at(s, at, joints[i]))
            return at + strlen(joints[i]) - 1;
    return 0;
}

bool masker_match_sentence(struct masker *s, unsigned kind, size_t from, size_t name, size_t at,
                           enum masker_name what)
{
    struct masker_sentence t = {.at = at};

    /* "to pass x", and names of code, which prose has no values for. */
    t.is_verb = at - name == 4 && masker_is_listed(s, name, at, "pass");
    t.is_code = memchr(masker_view(s, name), '_', at - name) != NULL;
    t.is_foreign =
        sign_is_wide(kind) || masker_lists_of(masker_view(s, name), at - name) >> LIST_FOREIGN & 1;
    t.is_free = t.is_foreign ? FREE_WORDS : 0;
    if (at < s->view.len && !masker_is_in(" \t',%+", masker_at(s, at)))
        return false;
    if (masker_is_open(s, at + 2)) {
        masker_wait(s, kind, from, at + 1 < s->view.len ? at + 1 : s->view.len);
        return true;
    }
    t.is_url = at < s->view.len && masker_is_in("%+", masker_at(s, at));
    if (t.is_url && masker_is_open(s, at + 5)) {
        masker_wait(s, kind, from, at);
        return true;
    }
    if (t.is_url && masker_skip_percent(s, at) == at)
        return false;
    if (at + 2 >= s->view.len || !masker_is_in(" \t',%+", masker_at(s, at)) ||
        (masker_at(s, at) == '\'' &&
         (masker_at(s, at + 1) != 's' || masker_at(s, at + 2) != ' ')) ||
        (masker_at(s, at) == ',' && masker_at(s, at + 1) != ' '))
        return false;
    while (t.words < WORDS_MAX && t.at - at < SENTENCE_MAX) {
        enum masker_read r;
        size_t word = t.at, blank;

        if (!t.words && masker_at(s, t.at) == ',') { /* the value is not the next word */
            t.at++;
            t.words++;
        }
        while (t.at - word < 4 && (blank = blank_at(s, t.at, t.is_url)) > 0)
            t.at += blank;
        if (masker_is_open(s, t.at)) {
            masker_wait(s, kind, from, s->view.len);
            return true;
        }
        if (t.at < s->view.len && t.has_verb && masker_is_in("\r\n", masker_at(s, t.at)) &&
            (masker_at(s, word - 1) == ':' || t.ends_verb))
            return match_lines_below(s, kind, from, t.at, what);
        if (t.at >= s->view.len || (t.at == word && t.words) ||
            masker_is_in("\r\n", masker_at(s, t.at)))
            return false;
        word = t.at;
        r = take_word(s, what, name, &t);
        if (r == READ_VALUE) {
            masker_found(s, kind, from, t.start, t.end);
            if (masker_is_open(s, t.end + JOINT_MAX)) {
                masker_wait(s, kind, from, t.end < s->view.len ? t.end : s->view.len);
                return true;
            }
            if (!(t.at = skip_joint(s, t.end)))
                return true;
            t.has_verb = true;
            continue;
        }
        if (r == READ_NONE)
            return false;
        if (t.at == word) { /* the word is not whole */
            masker_wait(s, kind, from, word);
            return true;
        }
    }
    return false;
}

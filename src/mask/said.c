/* Sentences in which the value stands before its name: "X is the password", "use X as the token".
 *
 * The name is the anchor, so the value has been seen before it is known to be one. It must not have
 * come out by then, wherever the stream was cut: a word at the end of an unfinished line waits from
 * its first byte on that no plain word has (Willow|1234), and is masked from there. What stands
 * before looks like a word of any text and comes out at once, so that prompts are not delayed. A
 * word in quotes is masked as a whole. */
#include "base/cleanup.h"
#include "mask/internal.h"

/* From the value to its name: words, and bytes. */
#define WORDS_MAX 7
#define SAID_MAX  ((size_t)96)

/* The longest value that is looked for. */
#define VALUE_MAX ((size_t)MASKER_SAID_MAX)

static bool is_letter(unsigned char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* ---- words ---- */

/* A byte of the words between a value and its name. */
static bool is_speech(unsigned char c)
{
    return is_letter(c) || c == '\'' || c == '-' || c >= 0x80;
}

/* May a value of this kind hold the byte? Paths, addresses and code do not count. */
static bool is_of_value(unsigned char c)
{
    return masker_is_alnum(c) || masker_is_in("_!@#$%^&*+=.-~", c);
}

/* The byte from which on the word is masked: the first with which it is no plain word any more. */
static size_t find_odd(const char *text, size_t start, size_t end)
{
    bool has_letter = false, has_digit = false;

    if (start && masker_is_in("\"'`", (unsigned char)text[start - 1]))
        return start;
    for (size_t i = start; i < end; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char before = i > start ? (unsigned char)text[i - 1] : 0;

        has_letter = has_letter || is_letter(c);
        has_digit = has_digit || masker_is_digit(c);
        if (has_letter && has_digit)
            return i;
        if (c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z')
            return i;
        if (has_letter && !masker_is_alnum(c) && !(c == '.' && before == '.'))
            return i;
    }
    return end;
}

/* The value that ends before `at`, in its line. */
static bool find_value(const char *text, size_t at, size_t *ret_start, size_t *ret_end)
{
    size_t end = at, start, low;

    while (end && at - end < 3 && masker_is_in("\"'`*,)", (unsigned char)text[end - 1]))
        end--;
    low = end > VALUE_MAX ? end - VALUE_MAX : 0;
    for (start = end; start > low && is_of_value((unsigned char)text[start - 1]);)
        start--;
    if (start == low && low)
        return false;
    while (start < end && text[start] == '*') /* **X** */
        start++;
    /* The n of a newline that a string writes is not of the word. */
    if (start && start < end && text[start - 1] == '\\' &&
        masker_is_in("nrt", (unsigned char)text[start]))
        start++;
    /* Of an address or a path. */
    else if (start && masker_is_in("/\\:", (unsigned char)text[start - 1]))
        return false;
    *ret_start = start;
    *ret_end = end;
    return start < end;
}

/* A prompt, and no value: bash-5.1$, user1% */
static bool is_prompt(const char *text, size_t end)
{
    return masker_is_in("$#%~", (unsigned char)text[end - 1]);
}

size_t masker_said_before(const struct buf *tail, const char *text, size_t len, size_t at)
{
    char near[2 * VALUE_MAX];
    size_t n = at < VALUE_MAX ? at : VALUE_MAX, more = 0, start, end;

    if (at < len && !masker_is_in("%&", (unsigned char)text[at]))
        return 0;
    if (n == at)
        more = tail->len < VALUE_MAX ? tail->len : VALUE_MAX;
    if (more)
        memcpy(near, tail->data + tail->len - more, more);
    if (n)
        memcpy(near + more, text + at - n, n);
    if (!find_value(near, more + n, &start, &end))
        return 0;
    start = find_odd(near, start, end);
    if (start == end || is_prompt(near, end))
        return 0;
    return start > more ? more + n - start : n;
}

/* ---- from the value to its name ---- */

enum word { WORD_OTHER, WORD_VERB, WORD_HALF_VERB, WORD_ARTICLE, WORD_NAME };

static enum word judge(const struct masker *s, size_t before, size_t start, size_t end,
                       enum masker_name *ret_what)
{
    *ret_what = masker_name_of(masker_view(s, start), end - start);
    if (*ret_what == NAME_NONE && before < start)
        *ret_what = masker_name_of(masker_view(s, before), end - before); /* API key */
    if (*ret_what != NAME_NONE)
        return WORD_NAME;
    if (masker_is_listed(s, start, end, "is was as ist est es be"))
        return WORD_VERB;
    if (masker_is_listed(s, start, end, "should will must"))
        return WORD_HALF_VERB;
    return masker_is_listed(s, start, end,
                            "the my your our their its this a das dein mein ihr le mon "
                            "votre la")
               ? WORD_ARTICLE
               : WORD_OTHER;
}

/* Does the name end here? Not in "the password server". READ_MORE: it is not known. */
static enum masker_read ends_name(const struct masker *s, size_t at)
{
    size_t start = at, end;

    if (masker_is_open(s, at + 1))
        return READ_MORE;
    if (at >= s->view.len || masker_at(s, at) != ' ')
        return at < s->view.len && masker_is_in("-_/=([{:", masker_at(s, at)) ? READ_NONE
                                                                              : READ_VALUE;
    for (start = end = at + 1;
         end < s->view.len && end - start < 8 && is_letter(masker_at(s, end));)
        end++;
    if (masker_is_open(s, end))
        return READ_MORE;
    return end == start || masker_is_listed(s, start, end,
                                            "for of to on and in at you that we i from now which "
                                            "it but or so since until before after")
               ? READ_VALUE
               : READ_NONE;
}

/* The name that the words from `at` on give to what stands before them. */
static enum masker_read find_name(const struct masker *s, size_t at, enum masker_name *ret_what,
                                  size_t *ret_end)
{
    size_t from = at, before = SIZE_MAX;
    bool has_verb = false, has_article = false;

    at = masker_skip_any(s, at, "\"'`*,)", 3);
    for (unsigned n = 0; n < WORDS_MAX && at - from < SAID_MAX; n++) {
        size_t start = at, end;
        bool is_bracket, is_as;

        if (masker_is_open(s, at) || masker_is_open(s, at + 1))
            return READ_MORE;
        if (at >= s->view.len || masker_at(s, at) != ' ')
            return READ_NONE;
        start++;
        is_bracket = !has_verb && start < s->view.len && masker_at(s, start) == '(';
        start += is_bracket;
        if (!has_verb && masker_is_at(s, start, "<- ")) {
            has_verb = has_article = true;
            at = start + 2;
            continue;
        }
        for (end = start;
             end < s->view.len && end - from < SAID_MAX && is_speech(masker_at(s, end));)
            end++;
        masker_charge(s, 2 * (end - at) + 8);
        if (masker_is_open(s, end) || (masker_is_open(s, end + 2) && masker_at(s, start) == '<'))
            return READ_MORE;
        while (end > start && masker_at(s, end - 1) == '\'') /* of the string around it */
            end--;
        if (end == start)
            return READ_NONE;
        has_verb = has_verb || is_bracket;
        switch (judge(s, before == SIZE_MAX ? start : before, start, end, ret_what)) {
        case WORD_NAME:
            *ret_end = end;
            return has_verb && has_article ? ends_name(s, end) : READ_NONE;
        case WORD_VERB:
            is_as = masker_is_listed(s, start, end, "as");
            if (has_verb)
                return READ_NONE;
            has_verb = true;
            has_article = is_as;
            break;
        case WORD_HALF_VERB:
            if (has_verb)
                return READ_NONE;
            break;
        case WORD_ARTICLE:
            has_article = true;
            /* fallthrough */
        default:
            if (!has_verb)
                return READ_NONE;
            break;
        }
        before = start;
        at = end;
    }
    return READ_NONE;
}

static bool is_said(const struct masker *s, enum masker_name what, size_t start, size_t end)
{
    return what == NAME_SECRET || what == NAME_PHRASE
               ? masker_looks_said(s, NAME_SECRET, start, end)
               : masker_is_strong(s, what, start, end);
}

/* Before the words that end at `at`: the first word back outside a sentence. */
static size_t skip_speech(const struct masker *s, size_t at)
{
    size_t from = at;

    for (unsigned n = 0; n < WORDS_MAX && at && from - at < SAID_MAX; n++) {
        size_t end;

        if (masker_at(s, at - 1) != ' ' && masker_at(s, at - 1) != '(')
            break;
        while (at && masker_is_in("( ", masker_at(s, at - 1)) && from - at < SAID_MAX)
            at--;
        if (at > 1 && masker_at(s, at - 1) == '-' && masker_at(s, at - 2) == '<') {
            at -= 2;
            continue;
        }
        for (end = at; at && from - at < SAID_MAX && is_speech(masker_at(s, at - 1));)
            at--;
        if (at && !masker_is_in(" (", masker_at(s, at - 1))) {
            at = end;
            break;
        }
    }
    masker_charge(s, from - at + 1);
    return at;
}

/* Something is escaped in it: the decoded reading knows where it begins. */
static bool has_escape(const struct masker *s, size_t start, size_t end)
{
    for (size_t i = start; i + 2 < end; i++)
        if (masker_at(s, i) == '%' && masker_is_hex(masker_at(s, i + 1)) &&
            masker_is_hex(masker_at(s, i + 2)))
            return true;
    return false;
}

void masker_match_said(struct masker *s, unsigned kind, size_t from, size_t start, size_t end)
{
    enum masker_name what = NAME_NONE;
    size_t at, value = 0, stop = 0, name = 0;

    if (!start || !masker_is_in(" (", masker_at(s, start - 1)))
        return;
    if (start >= 4 && end - start == 4 && masker_is_at(s, start - 4, " to pass"))
        return; /* the verb */
    at = skip_speech(s, start);
    if (at == start || !find_value(s->view.data, at, &value, &stop) ||
        is_prompt(s->view.data, stop))
        return;
    switch (find_name(s, stop, &what, &name)) {
    case READ_MORE:
        masker_wait(s, kind, from, find_odd(s->view.data, value, stop));
        return;
    case READ_NONE:
        return;
    case READ_VALUE:
        break;
    }
    if (name == end && !has_escape(s, value, stop) && is_said(s, what, value, stop))
        masker_found(s, kind, from, find_odd(s->view.data, value, stop), stop);
}

/* The word before `at` waits if a sentence about it may follow. Returns where it begins. */
static size_t hold_word(struct masker *s, size_t at)
{
    size_t start = at, end = at, odd;
    enum masker_name what = NAME_NONE;

    masker_charge(s, 8);
    if (!find_value(s->view.data, at, &start, &end))
        return at;
    masker_charge(s, 2 * (at - start));
    odd = find_odd(s->view.data, start, end);
    if (odd < end && (end == s->view.len || (!is_prompt(s->view.data, end) &&
                                             find_name(s, end, &what, &odd) == READ_MORE)))
        masker_wait(s, masker_generic_kind(), start, find_odd(s->view.data, start, end));
    return start;
}

void masker_hold_said(struct masker *s)
{
    size_t at = s->view.len, low = at > SAID_MAX ? at - SAID_MAX : 0;

    if (masker_is_review(s))
        return;
    /* Back to the first word outside a sentence; those behind it may still be one. */
    for (unsigned n = 0; n < WORDS_MAX && at > low; n++) {
        size_t start = hold_word(s, at);

        if (start == at)
            while (start > low && !masker_is_space(masker_at(s, start - 1)))
                start--;
        while (start > low && masker_at(s, start - 1) != '\n' &&
               masker_is_in(" (<-", masker_at(s, start - 1)))
            start--;
        if (start == at || (start && masker_at(s, start - 1) == '\n'))
            return;
        at = start;
    }
}

/* ---- use X as the password ---- */

/* The words behind the value: as or for, an article, and a name. READ_MORE: they may be. */
static enum masker_read names_value(const struct masker *s, size_t at, enum masker_name *ret_what)
{
    for (unsigned n = 0; n < 4; n++) {
        size_t start = at, end;

        while (start < s->view.len && start - at < 2 && masker_at(s, start) == ' ')
            start++;
        for (end = start;
             end < s->view.len && end - start < 24 &&
             (masker_is_alnum(masker_at(s, end)) || masker_is_in("_-", masker_at(s, end)));)
            end++;
        masker_charge(s, end - at + 4);
        if (masker_is_open(s, end))
            return READ_MORE;
        if (end == start || start == at)
            return READ_NONE;
        *ret_what = n ? masker_name_of(masker_view(s, start), end - start) : NAME_NONE;
        if (*ret_what != NAME_NONE)
            return READ_VALUE;
        if (!masker_is_listed(
                s, start, end,
                n ? "the a your my its api access secret client root admin db new user wifi "
                    "vpn"
                  : "as for"))
            return READ_NONE;
        at = end;
    }
    return READ_NONE;
}

void masker_match_use(struct masker *s, unsigned kind, size_t from, size_t to)
{
    enum masker_name what = NAME_NONE;
    size_t start, end, stop;

    if (!masker_begins_word(s, from))
        return;
    stop = masker_word_end(s, to, false, &start, &end);
    masker_charge(s, stop - to + 4);
    if (masker_is_open(s, stop)) {
        masker_wait(s, kind, from, start < s->view.len ? start : s->view.len);
        return;
    }
    if (end <= start || !masker_looks_said(s, NAME_SECRET, start, end))
        return;
    switch (names_value(s, stop, &what)) {
    case READ_MORE:
        masker_wait(s, kind, from, start);
        return;
    case READ_NONE:
        return;
    case READ_VALUE:
        break;
    }
    if (what == NAME_SECRET || what == NAME_PHRASE || masker_is_strong(s, what, start, end))
        masker_found(s, kind, from, start, end);
}

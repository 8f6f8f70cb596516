/* Remembers findings about the view, so that no byte is read again and again: the ends of runs of
 * bytes, and nearby words. */
#include "mask/internal.h"

/* So far back a word is near. */
#define NEAR_MAX 300

void masker_forget(struct masker *s)
{
    for (size_t i = 0; i < MASKER_RUNS; i++)
        s->memory->runs[i].is_set = false;
    for (size_t i = 0; i < MASKER_SEEN_MAX; i++)
        s->memory->seen[i].words = NULL;
    s->memory->secret_to = s->memory->secret_last = 0;
    s->memory->has_line = false;
}

/* ---- runs ---- */

bool masker_is_credential_char(unsigned char c)
{
    return masker_is_alnum(c) || (c && strchr("-._~+/=:%", c));
}

/* "\n" or "\r" as a string has them, with any number of backslashes, of which this is the first. */
static bool is_written_newline(const struct masker *s, size_t at)
{
    size_t n = 0;

    if (masker_at(s, at) != '\\' || (at && masker_at(s, at - 1) == '\\'))
        return false;
    while (at + n < s->view.len && masker_at(s, at + n) == '\\')
        n++;
    masker_charge(s, n);
    return at + n < s->view.len && strchr("nr", masker_at(s, at + n));
}

/* Does the run end before this byte, with a newline or these? */
static enum masker_read ends_with_text(const struct masker *s, size_t at, const char *text)
{
    size_t n = 0;

    if (masker_at(s, at) == '\n')
        return READ_VALUE;
    while (text[n] && at + n < s->view.len && masker_at(s, at + n) == (unsigned char)text[n])
        n++;
    if (!text[n])
        return READ_VALUE;
    return n && masker_is_open(s, at + n) ? READ_MORE : READ_NONE;
}

/* Does the run end before this byte? For all but quotes. */
static enum masker_read ends(const struct masker *s, enum masker_run_kind kind, size_t at)
{
    unsigned char c = masker_at(s, at);
    bool goes_on;

    if (kind >= RUN_MARKED && kind < RUN_SEGMENT)
        return masker_ends_marked(s, kind - RUN_MARKED, at);
    switch (kind) {
    case RUN_ELEMENT:
        goes_on = !masker_is_space(c) && c != '<';
        break;
    case RUN_CDATA:
        return ends_with_text(s, at, "]]>");
    case RUN_PERCENT:
        goes_on = masker_is_alnum(c) || (c && strchr("-._~*!()", c)) ||
                  (c == '%' && !masker_ends_percent(s, at));
        break;
    case RUN_ESCAPED_ELEMENT:
        if (masker_is_space(c) || c == '<' || c == '"')
            return READ_VALUE;
        if (c == '%')
            return masker_ends_percent(s, at) ? READ_VALUE : READ_NONE;
        return c == '&' ? masker_ends_escaped(s, at) : READ_NONE;
    case RUN_CREDENTIAL:
        goes_on = masker_is_credential_char(c);
        break;
    case RUN_QUERY:
        goes_on = masker_is_alnum(c) || (c && strchr("-._~%+/=", c));
        break;
    case RUN_NAME:
        goes_on = masker_is_alnum(c) || c == '_' || c == '-' || c == '.';
        break;
    case RUN_SEGMENT:
        goes_on = c != '\n' && !is_written_newline(s, at);
        break;
    case RUN_KEY:
        goes_on =
            c != '-' || at + 8 > s->view.len || memcmp(masker_view(s, at), "-----END", 8) != 0;
        break;
    default:
        goes_on = !masker_is_space(c);
        break;
    }
    return goes_on ? READ_NONE : READ_VALUE;
}

/* A quote behind so many backslashes, in a string that is itself in a string, `level` deep. Only
 * one whose every backslash is needed to write a quote in the innermost string does not end it. */
static bool closes(size_t slashes, unsigned level)
{
    return (slashes + 1) % ((size_t)2 << level) != 0;
}

static void scan_plain(const struct masker *s, enum masker_run_kind kind, size_t at, size_t known,
                       struct masker_run *run)
{
    run->is_more = false;
    for (; at < s->view.len && at != known; at++) {
        enum masker_read r =
            kind <= RUN_PARAMETER ? masker_ends_bare(s, kind, at) : ends(s, kind, at);

        run->is_more = r == READ_MORE;
        if (r != READ_NONE)
            break;
    }
    run->end = at;
}

static void scan_quoted(const struct masker *s, unsigned variant, size_t at, size_t known,
                        struct masker_run *run)
{
    char quote = "\"'`"[variant / (MASKER_LEVELS + 1)];
    unsigned level = variant % (MASKER_LEVELS + 1);
    size_t slashes = 0;

    for (; at < s->view.len && at != known; at++) {
        unsigned char c = masker_at(s, at);

        if (c == '\n')
            break;
        if (c == (unsigned char)quote) {
            if (level == MASKER_LEVELS ? closes(slashes, 0) && at + 2 < s->view.len &&
                                             masker_at(s, at + 1) == c && masker_at(s, at + 2) == c
                                       : closes(slashes, level))
                break;
            if (level == MASKER_LEVELS && masker_is_open(s, at + 2)) {
                at = s->view.len;
                break;
            }
        }
        slashes = c == '\\' ? slashes + 1 : 0;
    }
    run->slashes = slashes;
    run->end = at;
    run->is_more = false;
}

struct masker_run *masker_run_end(const struct masker *s, enum masker_run_kind kind, size_t at)
{
    struct masker_run *run = &s->memory->runs[kind];
    struct masker_run before = *run;
    size_t known = run->is_set && at < run->from ? run->from : SIZE_MAX;

    masker_charge(s, 1);
    if (run->is_set && at >= run->from && at <= run->end)
        return run;
    if (kind < RUN_QUOTED)
        scan_plain(s, kind, at, known, run);
    else
        scan_quoted(s, kind - RUN_QUOTED, at, known, run);
    masker_charge(s, run->end - at);
    run->vain = 0;
    run->parts = 0;
    if (run->end == known) /* from there on it was read before */
        *run = before;
    run->from = at;
    run->is_set = true;
    return run;
}

bool masker_in_vain(struct masker_run *run, size_t start)
{
    return run->end - start > MASKER_VAIN_LEN && run->vain++ >= MASKER_VAIN_MAX;
}

/* ---- words ---- */

static bool is_word_at(const struct masker *s, size_t at, size_t end, const char *words)
{
    unsigned char first = masker_at(s, at) | 32;

    while (*words) {
        if (((unsigned char)*words | 32) == first) {
            size_t len = strcspn(words, " ");

            if (at + len <= end && strncasecmp(masker_view(s, at), words, len) == 0)
                return true;
        }
        while (*words && *words++ != ' ')
            ;
    }
    return false;
}

/* The length of the longest word. *ret_first: a bit for the lower five of what they begin with. */
static size_t longest_word(const char *words, uint32_t *ret_first)
{
    size_t longest = 0;

    *ret_first = 0;
    while (*words) {
        size_t len = strcspn(words, " ");

        *ret_first |= (uint32_t)1 << (*words & 31);
        longest = len > longest ? len : longest;
        words += len + (words[len] == ' ');
    }
    return longest;
}

static bool is_among(const struct masker *s, size_t from, size_t to, size_t end, const char *words)
{
    masker_charge(s, to > from ? to - from : 0);
    for (; from < to; from++)
        if (is_word_at(s, from, end, words))
            return true;
    return false;
}

static struct masker_seen *seen_of(const struct masker *s, const char *words)
{
    struct masker_seen *seen = s->memory->seen;
    size_t i = 0;

    while (i < MASKER_SEEN_MAX && seen[i].words && seen[i].words != words)
        i++;
    if (i == MASKER_SEEN_MAX)
        return NULL;
    if (!seen[i].words) {
        seen[i] = (struct masker_seen){.words = words};
        seen[i].longest = longest_word(words, &seen[i].first);
    }
    return &seen[i];
}

bool masker_near(const struct masker *s, size_t at, const char *words)
{
    size_t low = at > NEAR_MAX ? at - NEAR_MAX : 0;
    struct masker_seen *seen = seen_of(s, words);
    size_t longest = seen ? seen->longest : 0;
    size_t sure = at > longest ? at - longest : 0; /* a word that begins before ends before `at` */

    /* A caller that asks for an earlier place, or for more words than there is room for, pays for
     * it. */
    if (!seen || seen->to > sure)
        return is_among(s, low, at, at, words);
    for (seen->to = seen->to > low ? seen->to : low; seen->to < sure; seen->to++) {
        masker_charge(s, 1);
        if (seen->first >> (masker_at(s, seen->to) & 31) & 1 && is_word_at(s, seen->to, at, words))
            seen->last = seen->to + 1;
    }
    return (seen->last && seen->last > low) || is_among(s, sure > low ? sure : low, at, at, words);
}

/* ---- the parts of a value ---- */

/* Bytes that a language would not read as a part of a word. */
static bool is_syntax(unsigned char c)
{
    return masker_is_space(c) || !c || strchr("\"'`;&|<>(){}[],$\\", c);
}

static bool looks_secret(const struct masker *s, size_t start, size_t end)
{
    size_t len = end - start < MASKER_JUDGE_MAX ? end - start : MASKER_JUDGE_MAX;

    return len >= 6 && masker_is_mixed(masker_view(s, start), len);
}

void masker_found_parts(struct masker *s, unsigned kind, size_t from, size_t start, size_t code,
                        size_t end, struct masker_run *run)
{
    masker_charge(s, code - start);
    masker_found(s, kind, from, start, code);
    if (run && run->parts && code + 1 >= run->parts)
        return;
    if (run)
        run->parts = code + 1;
    masker_charge(s, end - code);
    for (size_t at = code; at < end;) {
        size_t stop = at;

        while (stop < end && !is_syntax(masker_at(s, stop)))
            stop++;
        if (looks_secret(s, at, stop))
            masker_found(s, kind, from, at, stop);
        at = stop + 1;
    }
}

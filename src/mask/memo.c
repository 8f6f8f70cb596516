/* What is remembered of a look at the view, so that no byte is read again and again: where runs of
 * bytes end, and which words stand near. */
#include "mask/internal.h"

/* So far back a word is near. */
#define NEAR_MAX 300

void scrub_forget(struct scrub *s)
{
    for (size_t i = 0; i < SCRUB_RUNS; i++)
        s->memory->runs[i].is_set = false;
    for (size_t i = 0; i < SCRUB_SEEN_MAX; i++)
        s->memory->seen[i].words = NULL;
    s->memory->secret_to = s->memory->secret_last = 0;
    s->memory->has_line = false;
}

/* ---- runs ---- */

bool scrub_is_credential_char(unsigned char c)
{
    return scrub_is_alnum(c) || (c && strchr("-._~+/=:%", c));
}

/* "\n" or "\r" as a string has them, with any number of backslashes, of which this is the first. */
static bool is_written_newline(const struct scrub *s, size_t at)
{
    size_t n = 0;

    if (scrub_at(s, at) != '\\' || (at && scrub_at(s, at - 1) == '\\'))
        return false;
    while (at + n < s->view.len && scrub_at(s, at + n) == '\\')
        n++;
    scrub_charge(s, n);
    return at + n < s->view.len && strchr("nr", scrub_at(s, at + n));
}

/* Does the run end before this byte, with a newline or these? */
static enum scrub_read ends_with_text(const struct scrub *s, size_t at, const char *text)
{
    size_t n = 0;

    if (scrub_at(s, at) == '\n')
        return READ_VALUE;
    while (text[n] && at + n < s->view.len && scrub_at(s, at + n) == (unsigned char)text[n])
        n++;
    if (!text[n])
        return READ_VALUE;
    return n && scrub_is_open(s, at + n) ? READ_MORE : READ_NONE;
}

/* Does the run end before this byte? For all but quotes. */
static enum scrub_read ends(const struct scrub *s, enum scrub_run_kind kind, size_t at)
{
    unsigned char c = scrub_at(s, at);
    bool goes_on;

    switch (kind) {
    case RUN_ELEMENT:
        goes_on = !scrub_is_space(c) && c != '<';
        break;
    case RUN_CDATA:
        return ends_with_text(s, at, "]]>");
    case RUN_ENTITY:
        return ends_with_text(s, at, "&quot;");
    case RUN_CREDENTIAL:
        goes_on = scrub_is_credential_char(c);
        break;
    case RUN_QUERY:
        goes_on = scrub_is_alnum(c) || (c && strchr("-._~%+/=", c));
        break;
    case RUN_NAME:
        goes_on = scrub_is_alnum(c) || c == '_' || c == '-' || c == '.';
        break;
    case RUN_SEGMENT:
        goes_on = c != '\n' && !is_written_newline(s, at);
        break;
    case RUN_KEY:
        goes_on = c != '-' || at + 8 > s->view.len || memcmp(scrub_view(s, at), "-----END", 8) != 0;
        break;
    default:
        goes_on = !scrub_is_space(c);
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

static void scan_plain(const struct scrub *s, enum scrub_run_kind kind, size_t at, size_t known,
                       struct scrub_run *run)
{
    run->is_more = false;
    for (; at < s->view.len && at != known; at++) {
        enum scrub_read r =
            kind <= RUN_PARAMETER ? scrub_ends_bare(s, kind, at) : ends(s, kind, at);

        run->is_more = r == READ_MORE;
        if (r != READ_NONE)
            break;
    }
    run->end = at;
}

static void scan_quoted(const struct scrub *s, unsigned variant, size_t at, size_t known,
                        struct scrub_run *run)
{
    char quote = "\"'`"[variant / (SCRUB_LEVELS + 1)];
    unsigned level = variant % (SCRUB_LEVELS + 1);
    size_t slashes = 0;

    for (; at < s->view.len && at != known; at++) {
        unsigned char c = scrub_at(s, at);

        if (c == '\n')
            break;
        if (c == (unsigned char)quote) {
            if (level == SCRUB_LEVELS ? closes(slashes, 0) && at + 2 < s->view.len &&
                                            scrub_at(s, at + 1) == c && scrub_at(s, at + 2) == c
                                      : closes(slashes, level))
                break;
            if (level == SCRUB_LEVELS && scrub_is_open(s, at + 2)) {
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

struct scrub_run *scrub_run_end(const struct scrub *s, enum scrub_run_kind kind, size_t at)
{
    struct scrub_run *run = &s->memory->runs[kind];
    struct scrub_run before = *run;
    size_t known = run->is_set && at < run->from ? run->from : SIZE_MAX;

    scrub_charge(s, 1);
    if (run->is_set && at >= run->from && at <= run->end)
        return run;
    if (kind < RUN_QUOTED)
        scan_plain(s, kind, at, known, run);
    else
        scan_quoted(s, kind - RUN_QUOTED, at, known, run);
    scrub_charge(s, run->end - at);
    run->vain = 0;
    run->parts = 0;
    if (run->end == known) /* from there on it was read before */
        *run = before;
    run->from = at;
    run->is_set = true;
    return run;
}

bool scrub_in_vain(struct scrub_run *run, size_t start)
{
    return run->end - start > SCRUB_VAIN_LEN && run->vain++ >= SCRUB_VAIN_MAX;
}

/* ---- words ---- */

static bool is_word_at(const struct scrub *s, size_t at, size_t end, const char *words)
{
    while (*words) {
        size_t len = strcspn(words, " ");

        if (at + len <= end && (scrub_at(s, at) | 32) == ((unsigned char)*words | 32) &&
            strncasecmp(scrub_view(s, at), words, len) == 0)
            return true;
        words += len + (words[len] == ' ');
    }
    return false;
}

static size_t longest_word(const char *words)
{
    size_t longest = 0;

    while (*words) {
        size_t len = strcspn(words, " ");

        longest = len > longest ? len : longest;
        words += len + (words[len] == ' ');
    }
    return longest;
}

static bool is_among(const struct scrub *s, size_t from, size_t to, size_t end, const char *words)
{
    scrub_charge(s, to > from ? to - from : 0);
    for (; from < to; from++)
        if (is_word_at(s, from, end, words))
            return true;
    return false;
}

static struct scrub_seen *seen_of(const struct scrub *s, const char *words)
{
    struct scrub_seen *seen = s->memory->seen;
    size_t i = 0;

    while (i < SCRUB_SEEN_MAX && seen[i].words && seen[i].words != words)
        i++;
    if (i == SCRUB_SEEN_MAX)
        return NULL;
    if (!seen[i].words)
        seen[i] = (struct scrub_seen){.words = words};
    return &seen[i];
}

bool scrub_near(const struct scrub *s, size_t at, const char *words)
{
    size_t low = at > NEAR_MAX ? at - NEAR_MAX : 0, longest = longest_word(words);
    size_t sure = at > longest ? at - longest : 0; /* a word that begins before ends before `at` */
    struct scrub_seen *seen = seen_of(s, words);

    /* Whoever asks for a place before the last one, or with words beyond the room, pays for it. */
    if (!seen || seen->to > sure)
        return is_among(s, low, at, at, words);
    for (seen->to = seen->to > low ? seen->to : low; seen->to < sure; seen->to++) {
        scrub_charge(s, 1);
        if (is_word_at(s, seen->to, at, words))
            seen->last = seen->to + 1;
    }
    return (seen->last && seen->last > low) || is_among(s, sure > low ? sure : low, at, at, words);
}

/* ---- the parts of a value ---- */

/* What a language would not read as a part of a word. */
static bool is_syntax(unsigned char c)
{
    return scrub_is_space(c) || !c || strchr("\"'`;&|<>(){}[],$\\", c);
}

static bool looks_secret(const struct scrub *s, size_t start, size_t end)
{
    size_t len = end - start < SCRUB_JUDGE_MAX ? end - start : SCRUB_JUDGE_MAX;

    return len >= 6 && scrub_is_mixed(scrub_view(s, start), len);
}

void scrub_found_parts(struct scrub *s, unsigned kind, size_t from, size_t start, size_t code,
                       size_t end, struct scrub_run *run)
{
    scrub_charge(s, code - start);
    scrub_found(s, kind, from, start, code);
    if (run && run->parts && code + 1 >= run->parts)
        return;
    if (run)
        run->parts = code + 1;
    scrub_charge(s, end - code);
    for (size_t at = code; at < end;) {
        size_t stop = at;

        while (stop < end && !is_syntax(scrub_at(s, stop)))
            stop++;
        if (looks_secret(s, at, stop))
            scrub_found(s, kind, from, at, stop);
        at = stop + 1;
    }
}

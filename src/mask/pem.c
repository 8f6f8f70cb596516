/* Private keys: from the BEGIN line to the END line, or as far as what stands between looks like a
 * key. Newlines may be real, or written as \n inside a string. Certificates and public keys stay.
 */
#include "mask/internal.h"

#define HEADER_MAX  80
#define SEGMENT_MAX 4096

/* A shorter line without a digit or a capital is a word that follows a key that was cut off. */
#define RUN_MIN 16

/* A line of a key has so many characters; behind a prefix that is no longer than this. */
#define LINE_MIN 48

/* Of the first line so much tells whether it is one of a key. */
#define FIRST_MAX ((size_t)128)

#define PREFIX_MAX ((size_t)100)

size_t masker_segment_end(const struct masker *s, size_t at, size_t *ret_next)
{
    size_t end = masker_run_end(s, RUN_SEGMENT, at)->end, next = end;

    while (next < s->view.len && masker_at(s, next) == '\\')
        next++;
    *ret_next = next < s->view.len ? next + 1 : next;
    return end;
}

static bool is_run_char(unsigned char c)
{
    return masker_is_alnum(c) || c == '+' || c == '/' || c == '=' || c == '%';
}

static bool is_field(const char *text, size_t len)
{
    static const char *const fields[] = {"Proc-Type:", "DEK-Info:", "Version:",   "Comment:",
                                         "Hash:",      "Charset:",  "MessageID:", "Private-MAC:"};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (len >= strlen(fields[i]) && memcmp(text, fields[i], strlen(fields[i])) == 0)
            return true;
    return false;
}

/* A line of a log, or one with a number before it: it ends with a line of the key. */
static bool ends_with_key(const char *text, size_t len)
{
    size_t run;

    if (len > 4 && memcmp(text + len - 4, "<br>", 4) == 0)
        len -= 4;
    while (len && strchr(" \t\r\"',+;)", text[len - 1]))
        len--;
    for (run = len; run && is_run_char((unsigned char)text[run - 1]);)
        run--;
    return len - run >= LINE_MIN && run <= PREFIX_MAX;
}

/* The part of a line that belongs to the key. */
static size_t key_part(const char *text, size_t len)
{
    size_t at = 0, run, words = 0;
    bool is_plain = true;

    if (ends_with_key(text, len))
        return len;
    if (len == 4 && memcmp(text, "<br>", 4) == 0)
        return len;
    while (at < len && strchr(" \t\r\"'+,>|#()", text[at]))
        at++;
    if (at == len || is_field(text + at, len - at))
        return len;
    while (at < len) {
        for (run = at; run < len && is_run_char((unsigned char)text[run]); run++)
            is_plain = is_plain && text[run] >= 'a' && text[run] <= 'z';
        if (run - at < RUN_MIN && (is_plain || words || run < len))
            break;
        words++;
        at = run;
        while (at < len && strchr(" \t\r\"'+,;)\\", text[at]))
            at++;
        if (at == run && at < len)
            return at;
    }
    return words ? at : 0;
}

void masker_match_pem(struct masker *s, unsigned kind, size_t from, size_t to)
{
    size_t at = to;

    if (masker_at(s, from) == 'P') { /* Private-Lines: 14, of PuTTY: the key is what follows */
        while (at < s->view.len && at - to < 8 && masker_at(s, at) != '\n')
            at++;
        if (masker_is_open(s, at + 1)) {
            masker_wait(s, kind, from, from);
        } else if (at + 1 < s->view.len && masker_at(s, at) == '\n') {
            size_t next, end = masker_segment_end(s, at + 1, &next), len = end - at - 1;

            if (masker_is_review(s)) {
                masker_review_pem(s, kind, from, at + 1);
                return;
            }
            if (masker_is_open(s, end) && len < FIRST_MAX) {
                masker_wait(s, kind, from, from);
                return;
            }
            if (!key_part(masker_view(s, at + 1), len < FIRST_MAX ? len : FIRST_MAX))
                return;
            s->pem = at + 1;
            s->pem_kind = kind;
            s->pem_has_begun = true;
        }
        return;
    }
    while (at < s->view.len && at - to < HEADER_MAX &&
           (masker_at(s, at) == ' ' || masker_at(s, at) == '%' || masker_at(s, at) == '+' ||
            masker_is_digit(masker_at(s, at)) ||
            ((masker_at(s, at) | 32) >= 'a' && (masker_at(s, at) | 32) <= 'z')))
        at++;
    masker_charge(s, at - to);
    /* The dashes behind it, and one byte more: the line is then known to its end. */
    if (masker_is_open(s, at + 5)) {
        masker_wait(s, kind, from, from);
        return;
    }
    if (at >= s->view.len || masker_at(s, at) != '-' ||
        (!memmem(masker_view(s, to), at - to, "PRIVATE KEY", 11) &&
         !memmem(masker_view(s, to), at - to, "PRIVATE%20KEY", 13) &&
         !memmem(masker_view(s, to), at - to, "PRIVATE+KEY", 11) &&
         !memmem(masker_view(s, to), at - to, "Static key", 10)))
        return;
    if (masker_is_review(s)) {
        masker_review_pem(s, kind, from, at);
        return;
    }
    s->pem = from > s->emitted ? from : s->emitted;
    s->pem_kind = kind;
    s->pem_has_begun = false;
}

/* Skips the rest of the BEGIN line. */
static size_t skip_begin(const struct masker *s, size_t at)
{
    while (at < s->view.len && masker_at(s, at) == '-')
        at++;
    while (at < s->view.len && masker_at(s, at) != '-')
        at++;
    for (size_t n = 0; n < 5 && at < s->view.len && masker_at(s, at) == '-'; n++)
        at++;
    return at;
}

/* The END line stands in this segment: just behind it; 0: it does not; SIZE_MAX: more must come. */
static size_t find_end(const struct masker *s, size_t at, size_t end, bool is_open)
{
    size_t found = masker_run_end(s, RUN_KEY, at)->end;
    const char *close;

    if (found + 8 > end)
        return 0;
    found += 8;
    close = memmem(masker_view(s, found), end - found, "-----", 5);
    if (!close)
        return is_open ? SIZE_MAX : end;
    return (size_t)(close - s->view.data) + 5;
}

/* The last line of a key is short: behind the prefix of a log it is known by the END below it. The
 * segment in [at, end) ends with a word of base64, and the next one, from `next` on, has the END.
 * READ_MORE: it may. */
static enum masker_read is_last_line(const struct masker *s, size_t at, size_t end, size_t next)
{
    size_t stop, behind, run = end;

    while (run > at && strchr(" \t\r\"',+;)", masker_at(s, run - 1)))
        run--;
    end = run;
    while (run > at && is_run_char(masker_at(s, run - 1)))
        run--;
    masker_charge(s, 2 * (end - run) + 1);
    if (end - run < 2 || run == at || end - at > PREFIX_MAX + LINE_MIN ||
        masker_is_alnum(masker_at(s, run - 1)))
        return READ_NONE;
    stop = masker_segment_end(s, next, &behind);
    stop = stop - next < PREFIX_MAX ? stop : next + PREFIX_MAX;
    masker_charge(s, stop - next);
    if (stop > next && memmem(masker_view(s, next), stop - next, "-----END ", 9))
        return READ_VALUE;
    return masker_is_open(s, stop) && stop - next < PREFIX_MAX ? READ_MORE : READ_NONE;
}

bool masker_swallow_pem(struct masker *s)
{
    if (!s->pem_has_begun) {
        size_t begin = s->emitted;

        s->emitted = skip_begin(s, s->emitted);
        masker_charge(s, s->emitted - begin);
        s->pem_has_begun = true;
    }
    while (s->emitted < s->view.len) {
        size_t at = s->emitted, next, end = masker_segment_end(s, at, &next), part, stop;
        bool is_open = end == s->view.len && !s->is_final && end - at < SEGMENT_MAX;

        stop = find_end(s, at, end, is_open);
        if (stop && stop != SIZE_MAX) {
            s->emitted = stop;
            return true;
        }
        if (is_open)
            return false;
        part = key_part(masker_view(s, at), end - at);
        masker_charge(s, 2 * part + 1);
        if (part < end - at) {
            switch (is_last_line(s, at, end, next)) {
            case READ_MORE:
                return false;
            case READ_VALUE:
                break;
            case READ_NONE:
                s->emitted = at + part;
                return true;
            }
        }
        s->emitted = next;
    }
    return false;
}

/* Secrets that are split over lines: JSON web tokens, base64, strings behind one another. */
#include "base/cleanup.h"
#include "mask/internal.h"

#define WRAPPED_MAX ((size_t)6000)

/* Shorter parts are words that follow. */
#define FIRST_MIN ((size_t)20)

/* Lines with more of a token are not wrapped. */
#define TOKEN_LINE_MAX ((size_t)200)

/* The parts of a token are as long as this. */
#define PART_FIRST_MIN  11
#define PART_SECOND_MIN 4

/* The strings of one value. */
#define STRINGS_MAX 64

static bool is_base64(unsigned char c)
{
    return masker_is_alnum(c) || masker_is_in("+/=_-", c);
}

/* The end of a line, with what may stand before it in a string or a shell, and what may begin the
 * next one. Returns where the text goes on; `at`: it is no end of a line; SIZE_MAX: more must come.
 */
static size_t skip_break(const struct masker *s, size_t at, const char *before, const char *behind)
{
    size_t i = at, n = 0;

    while (i < s->view.len && n++ < 4 && masker_is_in(before, masker_at(s, i)))
        i++;
    if (masker_is_open(s, i))
        return SIZE_MAX;
    if (i >= s->view.len || masker_at(s, i) != '\n')
        return at;
    for (n = 0, i++; i < s->view.len && n++ < 40 && masker_is_in(behind, masker_at(s, i));)
        i++;
    return masker_is_open(s, i) ? SIZE_MAX : i;
}

static size_t run_end(const struct masker *s, size_t at)
{
    size_t end = at;

    while (end < s->view.len && end - at < WRAPPED_MAX && is_base64(masker_at(s, end)))
        end++;
    masker_charge(s, end - at + 1);
    return end;
}

/* The part of a JSON web token that stands in a line. */
static size_t token_end(const struct masker *s, size_t at)
{
    size_t end = at;

    while (end < s->view.len && end - at <= TOKEN_LINE_MAX &&
           (masker_is_alnum(masker_at(s, end)) || masker_is_in("-_.", masker_at(s, end))))
        end++;
    masker_charge(s, end - at + 1);
    return end;
}

/* {"alg", {"typ", {"kid", {"enc" in base64, where no other token goes on. */
static bool begins_token(const struct masker *s, size_t at)
{
    static const char *const heads[] = {"eyJhbGci", "eyJ0eXAi", "eyJraWQi", "eyJlbmMi"};

    if (at && masker_is_in("-_.", masker_at(s, at - 1)))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(heads) && at + 8 <= s->view.len; i++)
        if (memcmp(masker_view(s, at), heads[i], 8) == 0)
            return masker_begins_word(s, at);
    return false;
}

/* A part of a secret goes to the end of its line, or string, and is no word. */
static bool is_part(const struct masker *s, size_t start, size_t end)
{
    size_t len = end - start < MASKER_JUDGE_MAX ? end - start : MASKER_JUDGE_MAX;
    bool has_digit = false, has_upper = false, has_lower = false;

    if (end < s->view.len && !masker_is_in("\\\"'\r\n+ ,)`;", masker_at(s, end)))
        return false;
    if (end < s->view.len && masker_at(s, end) == ' ' && end + 1 < s->view.len &&
        !masker_is_in("\\+\r\n", masker_at(s, end + 1)))
        return false;
    masker_charge(s, len);
    for (size_t i = start; i < start + len; i++) {
        unsigned char c = masker_at(s, i);

        if (c == '=' && i + 2 < end && masker_at(s, i + 2) != '=' && i + 1 < end &&
            masker_at(s, i + 1) != '=')
            return false; /* name=value */
        has_digit = has_digit || masker_is_digit(c) || c == '=';
        has_upper = has_upper || (c >= 'A' && c <= 'Z' && i > start);
        has_lower = has_lower || (c >= 'a' && c <= 'z');
    }
    return has_digit || (has_upper && has_lower);
}

static size_t count_dots(const struct masker *s, size_t start, size_t end)
{
    size_t n = 0;

    for (size_t i = start; i < end; i++)
        n += masker_at(s, i) == '.';
    return n;
}

/* A token as far as it was read. */
struct token {
    size_t from, end;    /* of the part in the last line: */
    size_t start, first; /* its start, and the length of the first one */
    size_t dots;
    unsigned lines;
    char head[MASKER_JUDGE_MAX];
    size_t n_head;
};

static void take_part(const struct masker *s, struct token *t, size_t start, size_t end)
{
    for (size_t i = start; i < end && t->n_head < sizeof(t->head); i++)
        t->head[t->n_head++] = (char)masker_at(s, i);
    t->dots += count_dots(s, start, end);
    t->start = start;
    t->end = end;
    t->lines++;
}

/* The part in the next line. READ_MORE: *ret_hold is where it may begin. */
static enum masker_read next_part(const struct masker *s, struct token *t, size_t *ret_hold)
{
    size_t next = masker_is_open(s, t->end) ? SIZE_MAX
                                            : skip_break(s, t->end, "\\\"'+ \r", " \t>|\"'+#"),
           stop;

    *ret_hold = masker_is_open(s, t->end) ? t->start : s->view.len;
    if (next == SIZE_MAX)
        return READ_MORE;
    if (next == t->end)
        return READ_NONE;
    *ret_hold = next;
    stop = token_end(s, next);
    if (masker_is_open(s, stop + 1))
        return READ_MORE;
    if (stop == next || stop - next > TOKEN_LINE_MAX || begins_token(s, next) ||
        !is_part(s, next, stop) || (t->dots >= 2 && t->end - t->start < t->first / 2) ||
        t->dots + count_dots(s, next, stop) > 2)
        return READ_NONE;
    take_part(s, t, next, stop);
    return READ_VALUE;
}

/* As the pattern of the kind has it: what stands in one line is found by that alone. */
static bool is_token(const struct token *t)
{
    const char *dot = memchr(t->head, '.', t->n_head), *second;
    size_t first = dot ? (size_t)(dot - t->head) : t->n_head;

    second = dot ? memchr(dot + 1, '.', t->n_head - first - 1) : NULL;
    if (first < PART_FIRST_MIN || (second && (size_t)(second - dot) <= PART_SECOND_MIN))
        return false;
    return t->dots == 2 && masker_check(MASKER_JWT, t->head, t->n_head, true);
}

bool masker_match_jwt_lines(struct masker *s, unsigned kind, size_t from)
{
    struct token t = {.from = from}, again;
    size_t end = token_end(s, from), hold = from;
    enum masker_read r;

    if (masker_is_review(s) || !begins_token(s, from) || end - from > TOKEN_LINE_MAX ||
        (end - from < FIRST_MIN && !masker_is_open(s, end)))
        return false;
    take_part(s, &t, from, end);
    t.first = end - from;
    again = t;
    while ((r = next_part(s, &t, &hold)) == READ_VALUE && t.end - from < WRAPPED_MAX)
        ;
    if (r == READ_MORE && !is_token(&t)) {
        if (memchr(t.head, '.', t.n_head) && !masker_check(MASKER_JWT, t.head, t.n_head, true))
            return false;
        masker_wait(s, kind, from, from);
        return true;
    }
    if (!is_token(&t) || (t.lines == 1 && r != READ_MORE))
        return false;
    if (r == READ_MORE)
        masker_wait(s, kind, from, hold);
    masker_found(s, kind, from, again.start, again.end);
    for (unsigned n = 1; n < t.lines && next_part(s, &again, &hold) == READ_VALUE; n++)
        masker_found(s, kind, from, again.start, again.end);
    return true;
}

/* ---- behind a value ---- */

/* Lines of base64 behind one that is secret. */
static void follow_lines(struct masker *s, unsigned kind, size_t from, size_t start, size_t end)
{
    size_t width = end - start;

    if (width < 40 || run_end(s, start) < end)
        return;
    for (size_t done = 0; done < WRAPPED_MAX;) {
        size_t next = skip_break(s, end, "\\\r", " \t"), stop;

        if (next == SIZE_MAX) {
            masker_wait(s, kind, from, s->view.len);
            return;
        }
        if (next == end)
            return;
        stop = run_end(s, next);
        if (masker_is_open(s, stop + 1)) {
            masker_wait(s, kind, from, next);
            return;
        }
        if (stop == next || stop - next > width || !is_part(s, next, stop) ||
            (stop < s->view.len && !masker_is_in("\r\n\"'", masker_at(s, stop))))
            return;
        masker_found(s, kind, from, next, stop);
        if (stop - next < width)
            return;
        done += stop - next;
        end = stop;
    }
}

/* "a" "b", "a" + "b", also on the next lines. */
static void follow_strings(struct masker *s, unsigned kind, size_t from, size_t end,
                           unsigned char quote)
{
    for (unsigned n = 0; n < STRINGS_MAX; n++) {
        size_t at = end + 1, start, lines = 0;

        while (at < s->view.len && at - end < 64 && masker_is_in(" \t\r\n\\+", masker_at(s, at)))
            lines += masker_at(s, at++) == '\n';
        masker_charge(s, at - end);
        if (masker_is_open(s, at)) {
            masker_wait(s, kind, from, s->view.len);
            return;
        }
        if (!lines || at >= s->view.len || masker_at(s, at) != quote)
            return;
        start = ++at;
        while (at < s->view.len && at - start < MASKER_JUDGE_MAX && masker_at(s, at) != quote &&
               masker_at(s, at) != '\n' && !masker_is_in(" \t", masker_at(s, at)))
            at++;
        masker_charge(s, at - start);
        if (masker_is_open(s, at)) {
            masker_wait(s, kind, from, start);
            return;
        }
        if (at >= s->view.len || masker_at(s, at) != quote || !is_part(s, start, at))
            return;
        masker_found(s, kind, from, start, at);
        end = at;
    }
}

void masker_follow_value(struct masker *s, unsigned kind, size_t from,
                         const struct masker_value *value)
{
    size_t end = value->end;

    if (value->quote) {
        if (end < s->view.len && masker_at(s, end) == (unsigned char)value->quote)
            follow_strings(s, kind, from, end, (unsigned char)value->quote);
        return;
    }
    follow_lines(s, kind, from, value->start, end);
}

/* NAME=abc\ and the rest of the word in the next line. */
enum masker_read masker_find_rest(const struct masker *s, const struct masker_value *value,
                                  struct masker_value *ret)
{
    size_t end = value->end, stop;

    if (value->quote || end == value->start || masker_at(s, end - 1) != '\\')
        return READ_NONE;
    if (masker_is_open(s, end + 1))
        return READ_MORE;
    if (end + 1 >= s->view.len || masker_at(s, end) != '\n')
        return READ_NONE;
    for (stop = end + 1; stop < s->view.len && stop - end < MASKER_JUDGE_MAX &&
                         !masker_is_space(masker_at(s, stop)) &&
                         !masker_is_in("\"'`;|&<>", masker_at(s, stop));)
        stop++;
    masker_charge(s, stop - end);
    if (masker_is_open(s, stop))
        return READ_MORE;
    for (size_t i = end + 1; i < stop; i++)
        if (masker_is_in("=:", masker_at(s, i)))
            return READ_NONE; /* a pair of its own */
    *ret = (struct masker_value){.start = end + 1, .end = stop, .is_constant = true};
    return stop > end + 1 ? READ_VALUE : READ_NONE;
}

/* A line that is nothing but a secret: base64, or a word of letters and digits. */
static bool is_alone(const struct masker *s, size_t start, size_t end)
{
    bool is_mixed = masker_is_mixed(masker_view(s, start), end - start);

    if (run_end(s, start) < end)
        return false;
    return (end - start >= 40 && is_mixed) ||
           (end - start >= 8 && end - start < 40 && masker_is_unlike_words(s, start, end) &&
            !memchr(masker_view(s, start), '=', end - start) &&
            !memchr(masker_view(s, start), '/', end - start));
}

/* Behind <<EOT and $(cat <<'EOT', before the newline; `at`: there is none, SIZE_MAX: more must
 * come.
 */
static size_t skip_document(const struct masker *s, size_t at)
{
    static const char cat[] = "$(cat ";
    size_t i = at, n = 0;

    if (i >= s->view.len || !masker_is_in("$<", masker_at(s, i)))
        return at;
    while (cat[n] && i + n < s->view.len && masker_at(s, i + n) == (unsigned char)cat[n])
        n++;
    if (masker_is_open(s, i + n + 4))
        return SIZE_MAX;
    i += cat[n] ? 0 : n;
    if (!masker_is_at(s, i, "<<"))
        return at;
    i = masker_skip_any(s, i + 2, "-~\"'", 2);
    for (n = i; i < s->view.len && i - n < 24 &&
                (masker_is_alnum(masker_at(s, i)) || masker_at(s, i) == '_');)
        i++;
    masker_charge(s, i - at);
    if (i == n)
        return at;
    i = masker_skip_any(s, i, "\"'\r", 2);
    if (masker_is_open(s, i))
        return SIZE_MAX;
    return i < s->view.len && masker_at(s, i) == '\n' ? i : at;
}

/* The value that begins in the next line. READ_VALUE: *at is where; READ_MORE: it may. */
enum masker_read masker_next_line(const struct masker *s, size_t *at)
{
    size_t i = skip_document(s, *at), blanks = 0, stop;
    bool is_continued = i != *at;

    if (i == SIZE_MAX)
        return READ_MORE;
    while (i < s->view.len && i - *at < 4 && masker_is_in("\\(\r ", masker_at(s, i))) {
        is_continued = is_continued || masker_is_in("\\(", masker_at(s, i));
        i++;
    }
    if (i > *at && masker_is_open(s, i))
        return READ_MORE;
    if (i >= s->view.len || masker_at(s, i) != '\n')
        return READ_NONE;
    /* One empty line may stand between. */
    i += i + 1 < s->view.len && masker_at(s, i + 1) == '\n' ? 2 : 1;
    for (; i < s->view.len && blanks < 64 && masker_is_in(" \t", masker_at(s, i)); i++)
        blanks++;
    masker_charge(s, blanks + 4);
    if (masker_is_open(s, i + 1))
        return READ_MORE;
    /* The first item of a list. */
    if (!is_continued && i + 1 < s->view.len && memcmp(masker_view(s, i), "- ", 2) == 0) {
        i += 2;
        blanks++;
        if (masker_is_open(s, i + 1))
            return READ_MORE;
    }
    if (i >= s->view.len || masker_is_in("\r\n-#", masker_at(s, i)))
        return READ_NONE;
    if (i + 1 < s->view.len && masker_is_in("\"'", masker_at(s, i)) &&
        masker_at(s, i + 1) == masker_at(s, i))
        return READ_NONE; /* """ */
    if (is_continued || masker_is_in("\"'", masker_at(s, i))) {
        *at = i;
        return is_continued || blanks ? READ_VALUE : READ_NONE;
    }
    /* Alone in its line: a word that is indented, or base64. */
    for (stop = i;
         stop < s->view.len && stop - i < MASKER_JUDGE_MAX && !masker_is_space(masker_at(s, stop));)
        stop++;
    masker_charge(s, stop - i);
    if (masker_is_open(s, stop) && stop - i < MASKER_JUDGE_MAX)
        return READ_MORE;
    if ((stop < s->view.len && !masker_is_in("\r\n", masker_at(s, stop))) ||
        (blanks ? !masker_is_mixed(masker_view(s, i), stop - i) &&
                      !(stop - i >= 6 && masker_is_digit(masker_at(s, stop - 1)))
                : !is_alone(s, i, stop)) ||
        masker_at(s, stop - 1) == ':')
        return READ_NONE;
    *at = i;
    return READ_VALUE;
}

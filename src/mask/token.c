/* Tokens: things that are recognised by their own shape. */
#include "mask/internal.h"

/* A token that was cut off by the end of the stream is masked from this length on. */
#define CUT_MIN 12

/* ---- where words begin ---- */

/* "\n", "\x1b", "\u0022" and "%3D" as they are written in text: what follows begins a word. */
static bool is_after_escape(const struct masker *s, size_t at)
{
    const char *p = masker_view(s, at);

    if (at >= 2 && p[-2] == '\\' && strchr("abfnrtv0", p[-1]))
        return true;
    if (at >= 3 && p[-3] == '%' && masker_is_hex((unsigned char)p[-2]) &&
        masker_is_hex((unsigned char)p[-1]))
        return true;
    if (at >= 4 && p[-4] == '\\' && p[-3] == 'x')
        return true;
    return at >= 6 && p[-6] == '\\' && p[-5] == 'u';
}

/* "[31m" of a colour whose ESC was written out or lost. */
static bool is_after_color(const struct masker *s, size_t at)
{
    size_t i = at;

    if (!i || masker_at(s, --i) != 'm')
        return false;
    while (i && at - i < 16 && (masker_is_digit(masker_at(s, i - 1)) || masker_at(s, i - 1) == ';'))
        i--;
    return i && masker_at(s, i - 1) == '[';
}

bool masker_begins_word(const struct masker *s, size_t at)
{
    unsigned char before = at ? masker_at(s, at - 1) : ' ';

    if (!masker_is_alnum(before))
        return true;
    return masker_has_gap(s, at) || is_after_escape(s, at) || is_after_color(s, at);
}

/* ---- the steps of a pattern ---- */

struct walk {
    size_t start, end;             /* of the whole */
    size_t group_start, group_end; /* of what is masked */
    unsigned last_class;
    bool ran_out; /* the text ended before the pattern did */
};

/* Takes the steps from `at` on. */
static bool take_steps(const struct masker *s, const struct masker_program *p, size_t at,
                       struct walk *walk)
{
    *walk = (struct walk){.start = at, .group_start = at, .last_class = UINT16_MAX};
    for (unsigned i = 0; i < p->n_steps; i++) {
        const struct masker_step *step = &p->steps[i];
        size_t n = step->class == UINT16_MAX ? step->max : 0;

        if (i && i == p->group_from)
            walk->group_start = at;
        while (n < step->max && at + n < s->view.len &&
               masker_in_class(step->class, masker_at(s, at + n)))
            n++;
        if (step->class != UINT16_MAX)
            walk->last_class = step->class;
        at += n;
        masker_charge(s, n);
        walk->end = walk->group_end = at;
        if (n < step->max && at >= s->view.len) {
            walk->ran_out = true;
            if (n < step->min || !s->is_final)
                return false;
        }
        if (n < step->min)
            return false;
        if (i + 1 == p->group_to)
            walk->group_end = at;
    }
    return true;
}

/* The rest of a run that is longer than the pattern says. */
static size_t run_end(const struct masker *s, const struct walk *walk)
{
    size_t end = walk->end;

    while (walk->last_class != UINT16_MAX && end < s->view.len &&
           masker_in_class(walk->last_class, masker_at(s, end)))
        end++;
    masker_charge(s, end - walk->end);
    return end;
}

size_t masker_left(const struct masker *s, unsigned kind, size_t from)
{
    const struct masker_program *p = &masker_programs[kind];
    size_t n = 0;

    while (n < from && n <= p->left.max &&
           masker_in_class(p->left.class, masker_at(s, from - n - 1)))
        n++;
    masker_charge(s, n);
    /* "\n" written out before it: the n is not of it */
    if (n == (size_t)p->left.max + 1 && from > n && masker_at(s, from - n - 1) == '\\')
        n--;
    return n < p->left.min || n > p->left.max ? SIZE_MAX : from - n;
}

static bool is_wanted(const struct masker *s, unsigned kind, const struct walk *walk, bool is_word)
{
    const struct masker_kind *k = &masker_kinds[kind];

    if (k->context && !masker_near(s, walk->start, k->context))
        return false;
    if (masker_is_review(s) &&
        !masker_is_proven(kind, masker_view(s, walk->start), walk->end - walk->start))
        return false;
    masker_charge(s, 2 * (walk->end - walk->start));
    return masker_check(k->check, masker_view(s, walk->start), walk->end - walk->start, is_word);
}

/* The stream has ended in the middle of it: enough of it is there to be worth something. */
static bool is_cut_token(const struct masker *s, unsigned kind, const struct walk *walk)
{
    return s->is_final && !masker_is_review(s) && walk->ran_out &&
           masker_kinds[kind].flags & MASKER_INSIDE && !masker_programs[kind].group_from &&
           walk->end - walk->start >= CUT_MIN &&
           masker_is_mixed(masker_view(s, walk->start), walk->end - walk->start);
}

/* Anchors inside what was looked at in vain are not looked at again, but for the last few: a text
 * of nothing but anchors would else be walked through as often as it has them. */
#define TRIED_AGAIN 64

static void remember(struct masker *s, unsigned kind, size_t from, size_t end)
{
    if (end > from + TRIED_AGAIN)
        s->tried[kind] = end - TRIED_AGAIN;
}

/* Returns where the token ends, or 0. */
static size_t match_token(struct masker *s, unsigned kind, size_t from)
{
    const struct masker_program *p = &masker_programs[kind];
    const struct masker_kind *k = &masker_kinds[kind];
    size_t start = p->left.max ? masker_left(s, kind, from) : from;
    bool is_word = start != SIZE_MAX && masker_begins_word(s, start);
    struct walk walk;
    size_t end;

    if (start == SIZE_MAX || (!is_word && !(k->flags & MASKER_INSIDE)) || from < s->tried[kind])
        return 0;
    if (!take_steps(s, p, from, &walk)) {
        remember(s, kind, from, walk.end);
        if (walk.ran_out && !s->is_final)
            masker_wait(s, kind, from, start);
        else if (is_cut_token(s, kind, &walk))
            masker_found(s, kind, from, start, walk.end);
        return 0;
    }
    end = run_end(s, &walk);
    remember(s, kind, from, end);
    if (masker_is_open(s, end)) {
        masker_wait(s, kind, from, start);
        return 0;
    }
    if (end > walk.end && k->flags & MASKER_EXACT)
        return 0;
    if (walk.group_end == walk.end)
        walk.group_end = end;
    walk.end = end;
    if (walk.group_start == walk.start)
        walk.group_start = start;
    walk.start = start;
    if (!is_wanted(s, kind, &walk, is_word))
        return 0;
    if (k->check == MASKER_DSN) {
        if (!start || masker_at(s, start - 1) != ':')
            return 0;
        walk.group_end = from; /* the anchor, which may come out */
    }
    masker_found(s, kind, from, walk.group_start, walk.group_end);
    return end;
}

void masker_match_token(struct masker *s, unsigned kind, size_t from)
{
    if (masker_kinds[kind].check == MASKER_JWT && masker_match_jwt_lines(s, kind, from))
        return;
    (void)match_token(s, kind, from);
}

/* A key id, and behind it, within a few lines, the secret key: 40 characters that say nothing by
 * themselves. */
void masker_match_aws(struct masker *s, unsigned kind, size_t from)
{
    size_t at = match_token(s, kind, from), end, lines = 0, i = at;

    if (!at || masker_is_review(s))
        return;
    for (end = at; i < s->view.len && i < at + 300 && lines < 4; i++) {
        unsigned char c = masker_at(s, i);

        lines += c == '\n';
        if (masker_is_alnum(c) || c == '+' || c == '/')
            continue;
        if (i - end == 40 && masker_looks_random(masker_view(s, end), 40))
            masker_found(s, kind, from, end, i);
        end = i + 1;
    }
    masker_charge(s, 2 * (i - at));
    if (masker_is_open(s, i))
        masker_wait(s, kind, from, end);
    else if (i == s->view.len && i - end == 40 && masker_looks_random(masker_view(s, end), 40))
        masker_found(s, kind, from, end, i);
}

/* ---- the end of the view ---- */

/* The bytes from `at` to the end of the view are the beginning of the anchor. */
static bool is_begun(const struct masker *s, const struct masker_program *p, size_t at)
{
    size_t n = s->view.len - at;

    if (n >= p->width)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!masker_in_class(p->anchor[i], masker_at(s, at + i)))
            return false;
    return true;
}

/* Is what is masked behind this anchor, so that the anchor itself may come out? */
static bool may_come_out(unsigned kind)
{
    switch (masker_kinds[kind].matcher) {
    case MASKER_TOKEN:
    case MASKER_AWS:
        return masker_programs[kind].group_from > 0;
    case MASKER_PEM:
    case MASKER_EMAIL:
    case MASKER_PHONE:
    case MASKER_DIGITS:
    case MASKER_IBAN:
    case MASKER_IPV4:
    case MASKER_IPV6:
        return false;
    default:
        return true;
    }
}

static void hold_anchor_at(struct masker *s, unsigned kind, size_t at)
{
    const struct masker_program *p = &masker_programs[kind];
    size_t len = s->view.len, start = at;

    if (!is_begun(s, p, at))
        return;
    if (p->left.max)
        start = masker_left(s, kind, at);
    /* With nothing of the anchor there yet, its left part may still grow. */
    if (start == SIZE_MAX && at == len) {
        for (start = at; start > s->emitted && at - start <= p->left.max &&
                         masker_in_class(p->left.class, masker_at(s, start - 1));)
            start--;
        masker_charge(s, at - start);
        if (at - start > p->left.max)
            start = SIZE_MAX;
    }
    if (start == SIZE_MAX || start == len)
        return;
    if (!(masker_kinds[kind].flags & MASKER_INSIDE) && !masker_begins_word(s, start))
        return;
    masker_wait(s, kind, at < start ? at : start, start);
}

#define WORD_BITS 64
#define SET_WORDS (MASKER_KINDS_MAX / WORD_BITS)

/* The kinds that may not come out before they are known, by the first byte of their anchors; and
 * those of them that begin before their anchor. */
static uint64_t by_first[256][SET_WORDS], with_left[SET_WORDS];

static void make_index(void)
{
    static bool is_made;

    if (is_made)
        return;
    is_made = true;
    for (unsigned kind = 0; kind < masker_kind_count; kind++) {
        const struct masker_program *p = &masker_programs[kind];

        if (may_come_out(kind))
            continue;
        for (unsigned c = 0; c < 256; c++)
            if (c % 16 == 0 && !masker_classes[p->anchor[0]][c / 16])
                c += 15;
            else if (masker_in_class(p->anchor[0], (unsigned char)c))
                by_first[c][kind / WORD_BITS] |= (uint64_t)1 << kind % WORD_BITS;
        if (p->left.max)
            with_left[kind / WORD_BITS] |= (uint64_t)1 << kind % WORD_BITS;
    }
}

static void hold_anchors(struct masker *s, const uint64_t *kinds, size_t at)
{
    for (unsigned word = 0; word < SET_WORDS; word++)
        for (uint64_t left = kinds[word]; left; left &= left - 1) {
            unsigned kind = word * WORD_BITS + (unsigned)__builtin_ctzll(left);

            masker_charge(s, 1);
            if (!(masker_kinds[kind].flags & MASKER_AGGRESSIVE) || s->options.is_aggressive)
                hold_anchor_at(s, kind, at);
        }
}

void masker_hold_tail(struct masker *s)
{
    size_t len = s->view.len, at = len > MASKER_ANCHOR_MAX ? len - MASKER_ANCHOR_MAX : 0;

    /* No anchor has a newline in it: an ordinary print() ends here. */
    if (!len || masker_at(s, len - 1) == '\n' || s->hold <= s->emitted)
        return;
    make_index();
    for (at = at > s->emitted ? at : s->emitted; at < len; at++)
        hold_anchors(s, by_first[masker_at(s, at)], at);
    hold_anchors(s, with_left, len);
    masker_hold_said(s);
}

/* ---- */

unsigned masker_generic_kind(void)
{
    static unsigned kind;

    while (strcmp(masker_kinds[kind].name, "generic_secret") != 0)
        kind++;
    return kind;
}

void masker_match(struct masker *s, unsigned kind, size_t from, size_t to)
{
    switch (masker_kinds[kind].matcher) {
    case MASKER_TOKEN:
        masker_match_token(s, kind, from);
        break;
    case MASKER_AWS:
        masker_match_aws(s, kind, from);
        break;
    case MASKER_NAME:
        masker_match_name(s, kind, from, to);
        break;
    case MASKER_QUERY:
        masker_match_query(s, kind, from, to);
        break;
    case MASKER_SIGNATURE:
        masker_match_signature(s, kind, from, to);
        break;
    case MASKER_URL:
        masker_match_url(s, kind, from, to);
        break;
    case MASKER_HEADER:
        masker_match_header(s, kind, from, to);
        break;
    case MASKER_SCHEME:
        masker_match_scheme(s, kind, from, to);
        break;
    case MASKER_COOKIE:
        masker_match_cookie(s, kind, from, to);
        break;
    case MASKER_LOGIN:
        masker_match_login(s, kind, from, to);
        break;
    case MASKER_COMMAND:
        masker_match_command(s, kind, from, to);
        break;
    case MASKER_CALL:
        masker_match_call(s, kind, from, to);
        break;
    case MASKER_ACCOUNT:
        masker_match_account(s, kind, from, to);
        break;
    case MASKER_BEFORE:
        masker_match_before(s, kind, from, to);
        break;
    case MASKER_ECHO:
        masker_match_echo(s, kind, from, to);
        break;
    case MASKER_HERE:
        masker_match_here(s, kind, from, to);
        break;
    case MASKER_USE:
        masker_match_use(s, kind, from, to);
        break;
    case MASKER_ENCODED:
        masker_match_encoded(s, kind, from);
        break;
    case MASKER_SQL:
        masker_match_sql(s, kind, from, to);
        break;
    case MASKER_MANIFEST:
        masker_match_manifest(s, kind, from, to);
        break;
    case MASKER_NEAR:
        masker_match_near(s, kind, from, to);
        break;
    case MASKER_PEM:
        masker_match_pem(s, kind, from, to);
        break;
    default:
        masker_match_personal(s, kind, from, to);
        break;
    }
}

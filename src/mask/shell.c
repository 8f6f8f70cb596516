/* Commands behind a value, in what may be a line of a shell.
 *
 * PASSWORD=ab;cd is a line of a settings file, or two commands. A value ends at an operator only
 * where the line shows that it is code:
 *
 *   - the name stands where a command begins, or is an option; and
 *   - the word behind the operator could be a command; and
 *   - arguments follow it, or it holds an expansion, or (SHELL_YES) it is a word of four letters
 *     or one of a few shorter ones.
 *
 * In doubt the value goes on to the next blank.
 */
#include "mask/internal.h"

#define OPERATORS ";&|<>"

/* A command this long, where nothing but the place tells that it is one. */
#define COMMAND_MIN 4

#define BLANKS_MAX 64
#define WORD_MAX   64

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* ---- where a command begins ---- */

/* The word that ends before `at`, when a line or a command begins with it: export, and the like. */
static bool is_introduced(const struct masker *s, size_t at)
{
    static const char *const words[] = {"export",  "declare", "local", "readonly",
                                        "typeset", "sudo",    "env",   "exec"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t len = strlen(words[i]), start = at - len;

        if (at < len || memcmp(masker_view(s, start), words[i], len) != 0)
            continue;
        for (size_t n = 0; start && n < BLANKS_MAX && is_blank(masker_at(s, start - 1)); n++)
            start--;
        return !start || masker_is_in("\n;&|($\"'`", masker_at(s, start - 1));
    }
    return false;
}

enum masker_shell masker_shell_at(const struct masker *s, size_t name)
{
    size_t at = name;
    unsigned char c;

    while (at && name - at < BLANKS_MAX && is_blank(masker_at(s, at - 1)))
        at--;
    if (!at)
        return SHELL_MAYBE;
    c = masker_at(s, at - 1);
    if (masker_is_in("\n\"'`({", c))
        return SHELL_MAYBE;
    if (at == name)
        return masker_is_in(";&|", c) ? SHELL_MAYBE : SHELL_NO;
    /* a prompt */
    if (c == '$')
        return at == 1 || masker_is_in("\n ", masker_at(s, at - 2)) ? SHELL_YES : SHELL_NO;
    return masker_is_in(";&|", c) || is_introduced(s, at) ? SHELL_YES : SHELL_NO;
}

/* ---- what follows ---- */

/* name= */
static bool is_pair(const struct masker *s, size_t at, size_t end)
{
    size_t i = at;

    while (i < end && (masker_is_alnum(masker_at(s, i)) || masker_is_in("_-.", masker_at(s, i))))
        i++;
    return i > at && i < end && masker_is_in("=:", masker_at(s, i));
}

/* Do arguments follow the word that ends here? */
static enum masker_read find_arguments(const struct masker *s, size_t at)
{
    size_t end = at, stop;

    while (end < s->view.len && end - at < BLANKS_MAX && is_blank(masker_at(s, end)))
        end++;
    if (masker_is_open(s, end))
        return READ_MORE;
    if (end == at || end >= s->view.len || masker_is_in("\r\n#;", masker_at(s, end)))
        return READ_NONE;
    for (stop = end; stop < s->view.len && stop - end < WORD_MAX;)
        if (masker_is_space(masker_at(s, stop++)))
            break;
    masker_charge(s, stop - at);
    if (stop - end < WORD_MAX && masker_is_open(s, stop))
        return READ_MORE;
    return is_pair(s, end, stop) ? READ_NONE : READ_VALUE;
}

/* A word in small letters, digits at its end, or a path; quotes and backslashes may hide it. */
static bool is_command(const struct masker *s, size_t at, size_t end, size_t *ret_letters)
{
    size_t letters = 0;
    bool had_digit = false;

    for (; at < end; at++) {
        unsigned char c = masker_at(s, at);

        if (c >= 'a' && c <= 'z') {
            if (had_digit)
                return false;
            letters++;
        } else if (masker_is_digit(c)) {
            had_digit = true;
        } else if (masker_is_in("./~_-+", c)) {
            had_digit = false;
        } else if (!masker_is_in("\"'\\", c)) {
            return false;
        }
    }
    *ret_letters = letters;
    return letters > 0;
}

/* $(command */
static bool begins_substitution(const struct masker *s, size_t at, size_t end)
{
    unsigned char next;

    if (at + 3 >= end || !masker_is_in("({", masker_at(s, at + 1)))
        return false;
    next = masker_at(s, at + 2);
    return (masker_is_alnum(next) || masker_is_in("_/.~\"'$!#(", next)) &&
           (masker_is_alnum(masker_at(s, at + 3)) ||
            masker_is_in("_/.~\"'$:} ", masker_at(s, at + 3)));
}

/* $(...), ${...}, $IFS, {touch,file} */
static bool has_expansion(const struct masker *s, size_t at, size_t end)
{
    size_t i = at + 1;

    if (at >= end)
        return false;
    while (i < end && masker_at(s, i) >= 'a' && masker_at(s, i) <= 'z')
        i++;
    if (masker_at(s, at) == '{' && i - at > 2 && i < end && masker_at(s, i) == ',')
        return true;
    for (; at + 1 < end; at++)
        if (masker_at(s, at) == '$' &&
            (begins_substitution(s, at, end) ||
             (end - at > 3 && memcmp(masker_view(s, at), "$IFS", 4) == 0)))
            return true;
    return false;
}

/* The commands of two letters that do harm. */
static bool is_short(const struct masker *s, size_t at, size_t end)
{
    static const char words[] = "sh rm nc dd su mv cp ln id ";

    for (const char *word = words; *word && end - at == 2; word += 3)
        if (memcmp(masker_view(s, at), word, 2) == 0)
            return true;
    return false;
}

/* The parenthesis is closed before the end. */
static bool closes(const struct masker *s, size_t at, size_t end)
{
    return memchr(masker_view(s, at), ')', end - at < WORD_MAX ? end - at : WORD_MAX);
}

/* Is it code from this operator on? */
static bool begins_command(const struct masker *s, const struct masker_value *value, size_t at,
                           size_t end)
{
    size_t word = at, stop, letters = 0;
    bool is_plain;

    while (word < end && masker_is_in(OPERATORS, masker_at(s, word)))
        word++;
    for (stop = word; stop < end && !masker_is_in(OPERATORS "()` \t\n", masker_at(s, stop));)
        stop++;
    masker_charge(s, 2 * (stop - at));
    if (word == stop)
        return false;
    is_plain = is_command(s, word, stop, &letters);
    if (has_expansion(s, word, end - stop > 3 ? stop + 3 : end))
        return true;
    if (is_plain && letters >= 2 && stop < end && masker_at(s, stop) == '(' &&
        closes(s, stop, value->run ? value->run->end : end))
        return true;
    return is_plain &&
           (value->has_arguments ||
            (value->shell == SHELL_YES && (letters >= COMMAND_MIN || is_short(s, word, stop))));
}

/* `command`, which has arguments or is a word. */
static bool begins_backticks(const struct masker *s, size_t at, size_t end, enum masker_shell shell,
                             bool has_arguments)
{
    const char *text = masker_view(s, at + 1);
    const char *tick = memchr(text, '`', end - at - 1);
    size_t stop = tick ? (size_t)(tick - s->view.data) : end, letters, i = at + 1;

    if (!tick && !has_arguments)
        return false;
    while (i < stop && !masker_is_space(masker_at(s, i)))
        i++;
    masker_charge(s, stop - at);
    if (!is_command(s, at + 1, i, &letters))
        return has_expansion(s, at + 1, i);
    return i < stop || !tick || (shell == SHELL_YES && letters >= COMMAND_MIN);
}

bool masker_begins_expansion(const struct masker *s, size_t at, size_t end, enum masker_shell shell,
                             bool has_arguments)
{
    return masker_at(s, at) == '`' ? begins_backticks(s, at, end, shell, has_arguments)
                                   : begins_substitution(s, at, end);
}

size_t masker_find_command(const struct masker *s, const struct masker_value *value, size_t end)
{
    for (size_t at = value->start; at < end; at++) {
        unsigned char c = masker_at(s, at);

        if (masker_is_in("$`", c) &&
            masker_begins_expansion(s, at, end, value->shell, value->has_arguments))
            return at;
        if (!masker_is_in(OPERATORS, c))
            continue;
        if (begins_command(s, value, at, end))
            return at;
        while (at + 1 < end && masker_is_in(OPERATORS, masker_at(s, at + 1)))
            at++;
    }
    return end;
}

enum masker_read masker_read_arguments(const struct masker *s, struct masker_value *value)
{
    size_t end = value->run ? value->run->end : value->end, to = value->end;
    enum masker_read r = READ_NONE;

    if (value->shell == SHELL_NO || value->is_quoted)
        return READ_NONE;
    to = to - value->start < MASKER_JUDGE_MAX ? to : value->start + MASKER_JUDGE_MAX;
    masker_charge(s, (to - value->start) / 4);
    for (size_t at = value->start; at < to && r == READ_NONE; at++)
        if (masker_is_in(OPERATORS "$`", masker_at(s, at)))
            r = READ_VALUE;
    if (r == READ_VALUE)
        r = find_arguments(s, end);
    /* Behind an option come others, whatever is in its value. */
    value->has_arguments = r == READ_VALUE && !value->is_option;
    return r;
}

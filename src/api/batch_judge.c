#include "api/batch_judge.h"

#include <string.h>

/* Of ASCII, whatever the locale: both sides may be any bytes. */
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_same(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static struct span without_end(struct span text)
{
    while (text.len && is_space(text.data[text.len - 1]))
        text.len--;
    return text;
}

/* The next line without its white space at the end. */
static struct span take_line(struct span *rest)
{
    const char *newline = rest->len ? memchr(rest->data, '\n', rest->len) : NULL;
    struct span line = {rest->data, newline ? (size_t)(newline - rest->data) : rest->len};
    size_t taken = line.len + (newline != NULL);

    *rest = (struct span){taken ? rest->data + taken : rest->data, rest->len - taken};
    return without_end(line);
}

static bool has_same_lines(struct span a, struct span b)
{
    a = without_end(a);
    b = without_end(b);
    while (a.len || b.len)
        if (!is_same(take_line(&a), take_line(&b)))
            return false;
    return true;
}

/* The next word; an empty one at the end. */
static struct span take_word(struct span *rest)
{
    struct span word;

    while (rest->len && is_space(*rest->data))
        *rest = (struct span){rest->data + 1, rest->len - 1};
    word = (struct span){rest->data, 0};
    while (word.len < rest->len && !is_space(rest->data[word.len]))
        word.len++;
    if (word.len)
        *rest = (struct span){rest->data + word.len, rest->len - word.len};
    return word;
}

static bool has_same_words(struct span a, struct span b)
{
    while (a.len || b.len)
        if (!is_same(take_word(&a), take_word(&b)))
            return false;
    return true;
}

enum batch_judge_rule batch_judge_rule(const char *name)
{
    if (name && strcmp(name, "exact") == 0)
        return BATCH_JUDGE_EXACT;
    return name && strcmp(name, "tokens") == 0 ? BATCH_JUDGE_TOKENS : BATCH_JUDGE_LINES;
}

bool batch_judge_matches(enum batch_judge_rule rule, struct span got, struct span expected)
{
    switch (rule) {
    case BATCH_JUDGE_EXACT:
        return is_same(got, expected);
    case BATCH_JUDGE_TOKENS:
        return has_same_words(got, expected);
    case BATCH_JUDGE_LINES:
        break;
    }
    return has_same_lines(got, expected);
}

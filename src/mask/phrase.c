/* Passwords that are made of words, and words that only say something about one. */
#include "base/cleanup.h"
#include "mask/internal.h"

#define PART_MIN ((size_t)3)
#define PART_MAX ((size_t)10)

/* Words of a phrase: fewer may be a name. With blanks between them, a sentence has as few. */
#define PARTS_MIN  3
#define BLANKS_MIN 4
#define PARTS_MAX  8

/* The length of the word that begins here, of one case but for its first letter; 0: there is none.
 */
static size_t word_length(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len &&
           ((text[n] >= 'a' && text[n] <= 'z') || (!n && text[n] >= 'A' && text[n] <= 'Z')))
        n++;
    return n;
}

bool masker_is_phrase(const char *text, size_t len)
{
    unsigned parts = 0;
    char sign = 0;

    for (size_t at = 0; at < len;) {
        size_t n = word_length(text + at, len - at);

        if (n < PART_MIN || n > PART_MAX || ++parts > PARTS_MAX ||
            masker_lists_of(text + at, n) & (1u << LIST_SPEECH | 1u << LIST_NOTHING) ||
            masker_name_of(text + at, n) != NAME_NONE)
            return false;
        at += n;
        if (at == len)
            break;
        if (!masker_is_in(" -_.", (unsigned char)text[at]) || (sign && text[at] != sign))
            return false;
        sign = text[at++];
        if (at == len)
            return false;
    }
    return parts >= (sign == ' ' ? BLANKS_MIN : PARTS_MIN);
}

bool masker_describes(const char *text, size_t len)
{
    static const char *const ends[] = {
        "ed",     "ing",  "able",  "ible",  "ory",  "ful",   "less",  "ive",    "tion",    "ment",
        "string", "type", "field", "input", "text", "value", "bytes", "config", "provider"};

    if (masker_lists_of(text, len) >> LIST_NOTHING & 1)
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        size_t n = strlen(ends[i]);

        if (len > n && strncasecmp(text + len - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

#include "base/shell_word.h"

#include <string.h>

/* Without a first `~`, `=` or `#` they mean themselves everywhere in a line. */
#define PLAIN                                                                                      \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"                               \
    "%+,-./:@_"

int shell_word_add(const char *word, struct buf *out, struct error *err)
{
    if (*word && !word[strspn(word, PLAIN)])
        return buf_add_str(out, word, err);
    if (buf_add_str(out, "'", err) < 0)
        return -1;
    while (*word) {
        size_t n = strcspn(word, "'");

        if (buf_add(out, word, n, err) < 0)
            return -1;
        word += n;
        if (*word && buf_add_str(out, "'\\''", err) < 0)
            return -1;
        word += *word != '\0';
    }
    return buf_add_str(out, "'", err);
}

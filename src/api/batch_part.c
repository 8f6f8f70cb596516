#include "api/batch_part.h"

#include <ctype.h>

#include "base/span.h"

#define DIGITS_MAX 6

/* Takes digits off the beginning; false: there are none, or too many. */
static bool take_number(struct span *text, size_t *ret_number)
{
    size_t n = 0, number = 0;

    while (n < text->len && n < DIGITS_MAX && isdigit((unsigned char)text->data[n]))
        number = number * 10 + (size_t)(text->data[n++] - '0');
    text->data += n;
    text->len -= n;
    *ret_number = number;
    return n > 0;
}

static bool take_word(struct span *text, const char *word)
{
    size_t len = strlen(word);

    if (!span_starts_with(*text, word))
        return false;
    text->data += len;
    text->len -= len;
    return true;
}

/* "5" or "0-99" */
static bool take_range(struct span *text, size_t count, bool *is_in, size_t *total)
{
    size_t first, last;

    if (!take_number(text, &first))
        return false;
    last = first;
    if (take_word(text, "-") && !take_number(text, &last))
        return false;
    if (first > last || last >= count)
        return false;
    for (size_t i = first; i <= last; i++) {
        if (is_in[i])
            return false;
        is_in[i] = true;
    }
    *total += last - first + 1;
    return true;
}

int batch_part_read(struct span text, size_t count, bool *is_in, struct batch_part *ret_part,
                    struct error *err)
{
    struct batch_part part = {0};
    bool is_right;

    do
        is_right = take_range(&text, count, is_in, &part.total);
    while (is_right && take_word(&text, ","));
    if (is_right && take_word(&text, ";at_once="))
        is_right = take_number(&text, &part.at_once) && part.at_once > 0;
    part.is_checked = is_right && take_word(&text, ";checked");
    if (!is_right || text.len)
        return error_set(err, E_INVALID,
                         "`Belljar-Batch-Part`: expected runs of the batch, each "
                         "once, such as 0-99,205");
    *ret_part = part;
    return 0;
}

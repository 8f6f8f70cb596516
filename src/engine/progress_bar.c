#include "engine/progress_bar.h"

#include <string.h>

#define NAME_MAX_LEN 200

/* "45", "1.5k", "3M" at `*at`, as a whole number; stops at its end. */
static bool read_number(const char *data, size_t len, size_t *at, uint64_t *ret_number)
{
    static const char scales[] = "kMGT";
    double number = 0, place = 0;
    size_t digits = 0;

    for (; *at < len; (*at)++) {
        char c = data[*at];

        if (c == '.' && place == 0) {
            place = 1;
        } else if (c >= '0' && c <= '9' && digits++ < 18) {
            number = number * 10 + (c - '0');
            place *= 10;
        } else {
            break;
        }
    }
    if (place > 1)
        number /= place;
    for (size_t i = 0; *at < len && i < sizeof(scales) - 1; i++)
        if (data[*at] == scales[i]) {
            for (size_t n = 0; n <= i; n++)
                number *= 1000;
            (*at)++;
            break;
        }
    *ret_number = number < 1e18 ? (uint64_t)number : 0;
    return digits > 0;
}

static size_t skip_spaces(const char *data, size_t len, size_t at)
{
    while (at < len && data[at] == ' ')
        at++;
    return at;
}

/* "NAME: 45%|###   | 45/100 [": the name ends before the percentage, the numbers follow the bar. */
static bool read_bar(const char *line, size_t len, struct progress_bar *ret_bar)
{
    const char *mark = memmem(line, len, "%|", 2);
    const char *close = mark ? memchr(mark + 2, '|', len - (size_t)(mark + 2 - line)) : NULL;
    struct progress_bar bar = {.name = line};
    size_t at, name;

    if (!close)
        return false;
    at = skip_spaces(line, len, (size_t)(close + 1 - line));
    if (!read_number(line, len, &at, &bar.done) || at == len || line[at++] != '/' ||
        !read_number(line, len, &at, &bar.total) || at + 1 >= len || line[at] != ' ' ||
        line[at + 1] != '[')
        return false;
    name = (size_t)(mark - line);
    while (name && ((line[name - 1] >= '0' && line[name - 1] <= '9') || line[name - 1] == ' '))
        name--;
    if (name && line[name - 1] == ':')
        name--;
    bar.name_len = name < NAME_MAX_LEN ? name : 0;
    *ret_bar = bar;
    return true;
}

bool progress_bar_find(const char *data, size_t len, struct progress_bar *ret_bar)
{
    size_t end = len;

    while (end) {
        size_t start = end;

        while (start && data[start - 1] != '\r' && data[start - 1] != '\n')
            start--;
        if (read_bar(data + start, end - start, ret_bar))
            return true;
        end = start ? start - 1 : 0;
    }
    return false;
}

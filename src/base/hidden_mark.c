#include "base/hidden_mark.h"

#include <string.h>

#define REST " bytes hidden]"

/* A number that no text that we look at is as long as. */
#define DIGITS_MAX 15

int hidden_mark(struct buf *out, size_t bytes, struct error *err)
{
    return buf_printf(out, err, "[%zu" REST, bytes);
}

/* The length of the mark at the front of `text`; 0: there is none. */
static size_t read_mark(struct span text, size_t *ret_bytes)
{
    size_t n = 1, bytes = 0;

    if (!text.len || text.data[0] != '[')
        return 0;
    for (; n < text.len && n <= DIGITS_MAX && text.data[n] >= '0' && text.data[n] <= '9'; n++)
        bytes = bytes * 10 + (size_t)(text.data[n] - '0');
    if (n == 1 || text.len - n < strlen(REST) || memcmp(text.data + n, REST, strlen(REST)) != 0)
        return 0;
    *ret_bytes = bytes;
    return n + strlen(REST);
}

int64_t hidden_count(struct span real, struct span shown)
{
    size_t at = 0, i = 0, bytes = 0, n;
    int64_t count = 0;

    while (at < shown.len) {
        if (i < real.len && shown.data[at] == real.data[i]) {
            at++;
            i++;
            continue;
        }
        n = read_mark((struct span){shown.data + at, shown.len - at}, &bytes);
        if (!n || bytes > real.len - i)
            return -1;
        at += n;
        i += bytes;
        count += (int64_t)bytes;
    }
    return i == real.len ? count : -1;
}

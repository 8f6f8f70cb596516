#include "base/span.h"

#include <string.h>
#include <strings.h>

bool span_is_nocase(struct span s, const char *text)
{
    return span_equal_nocase(s, (struct span){text, strlen(text)});
}

bool span_equal_nocase(struct span a, struct span b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

/* Nothing here ends in a NUL: strcspn() would read on. */
size_t span_until(struct span s, const char *ends)
{
    size_t n = 0;

    while (n < s.len && !strchr(ends, s.data[n]))
        n++;
    return n;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

struct span span_trim(struct span s)
{
    while (s.len && is_blank(s.data[0])) {
        s.data++;
        s.len--;
    }
    while (s.len && is_blank(s.data[s.len - 1]))
        s.len--;
    return s;
}

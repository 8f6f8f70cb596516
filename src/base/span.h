/* Questions about a piece of text that does not end in a NUL. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "wire/pack.h"

bool span_is_nocase(struct span s, const char *text); /* equal but for the case of letters */
bool span_equal_nocase(struct span a, struct span b); /* equal but for the case of letters */
size_t span_until(struct span s, const char *ends);   /* bytes before the first of these */
struct span span_trim(struct span s);                 /* without blanks and tabs at both ends */

static inline bool span_is(struct span s, const char *text)
{
    return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

static inline bool span_starts_with(struct span s, const char *start)
{
    size_t len = strlen(start);

    return s.len >= len && memcmp(s.data, start, len) == 0;
}

static inline bool span_ends_with(struct span s, const char *end)
{
    size_t len = strlen(end);

    return s.len >= len && memcmp(s.data + s.len - len, end, len) == 0;
}

static inline bool span_contains(struct span s, const char *part)
{
    return memmem(s.data, s.len, part, strlen(part)) != NULL;
}

static inline bool text_ends_with(const char *text, const char *end)
{
    return span_ends_with((struct span){text, strlen(text)}, end);
}

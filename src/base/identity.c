#include "base/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static bool is_part(const char *text, size_t len)
{
    uint32_t c = 0;
    int n;

    if (len == 0 || len >= IDENTITY_PART_BYTES)
        return false;
    for (size_t at = 0; at < len; at += (size_t)n) {
        n = utf8_decode(text + at, len - at, &c);
        if (n <= 0 || c < ' ' || c == '<' || c == '>' || !utf8_is_harmless(c))
            return false;
    }
    return true;
}

bool identity_is_part(const char *text)
{
    return is_part(text, strlen(text)) && text[strspn(text, " ")];
}

bool identity_split(const char *text, char name[IDENTITY_PART_BYTES],
                    char email[IDENTITY_PART_BYTES])
{
    const char *open = strchr(text, '<'), *close = open ? strchr(open, '>') : NULL, *end;

    if (!close || close[1 + strspn(close + 1, " ")])
        return false;
    text += strspn(text, " ");
    for (end = open; end > text && end[-1] == ' ';)
        end--;
    if (!is_part(text, (size_t)(end - text)) || !is_part(open + 1, (size_t)(close - open) - 1) ||
        memchr(open + 1, ' ', (size_t)(close - open) - 1))
        return false;
    (void)snprintf(name, IDENTITY_PART_BYTES, "%.*s", (int)(end - text), text);
    (void)snprintf(email, IDENTITY_PART_BYTES, "%.*s", (int)(close - open) - 1, open + 1);
    return true;
}

bool identity_is_setting(const char *text)
{
    char name[IDENTITY_PART_BYTES], email[IDENTITY_PART_BYTES];

    return strcmp(text, "host") == 0 || strcmp(text, "off") == 0 ||
           identity_split(text, name, email);
}

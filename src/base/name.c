#include "base/name.h"

#include <string.h>

/* Not isalnum(): what is a letter does not depend on a locale. */
#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

bool name_is_plain(const char *text, size_t max, bool has_dots)
{
    size_t len = strlen(text);

    return len > 0 && len <= max && strchr(ALNUM, text[0]) &&
           strspn(text, has_dots ? ALNUM "_-." : ALNUM "_-") == len;
}

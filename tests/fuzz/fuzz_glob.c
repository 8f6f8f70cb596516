/* A pattern, a newline, a path: the answer is that of a slow and plain matcher, and the work is no
 * more than the product of both lengths allows. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

#define TEXT_MAX ((size_t)48)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Tries everything. It knows no classes and no escapes, and takes a byte for a character. */
static bool plain_match(const char *pattern, const char *path, bool is_start, uint64_t *steps)
{
    if (*steps == 0 || --*steps == 0)
        return false;
    if (is_start && strncmp(pattern, "**/", 3) == 0) {
        const char *slash = strchr(path, '/');

        return plain_match(pattern + 3, path, true, steps) ||
               (slash && plain_match(pattern, slash + 1, true, steps));
    }
    if (*pattern == '*')
        return plain_match(pattern + 1, path, false, steps) ||
               (*path && *path != '/' && plain_match(pattern, path + 1, false, steps));
    if (!*pattern || !*path)
        return *pattern == *path;
    if (*pattern == '?' ? *path == '/' : *pattern != *path)
        return false;
    return plain_match(pattern + 1, path + 1, *path == '/', steps);
}

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const uint8_t *newline = len ? memchr(data, '\n', len) : NULL;
    char pattern[256] = "", path[4096] = "";
    size_t pattern_len, path_len;
    uint64_t allowed, budget, steps = 1000000;
    bool is_match;

    if (!newline || memchr(data, '\0', len))
        return 0;
    pattern_len = (size_t)(newline - data);
    path_len = len - pattern_len - 1;
    if (pattern_len >= sizeof(pattern) || path_len >= sizeof(path))
        return 0;
    memcpy(pattern, data, pattern_len);
    memcpy(path, newline + 1, path_len);

    /* A class is read anew for each character, which makes the product's pattern count twice. */
    allowed = 16 + 4 * (pattern_len + 1) * (pattern_len + 1) * (path_len + 1);
    if (!strchr(pattern, '['))
        allowed = 16 + 4 * (pattern_len + 2) * (path_len + 2);
    budget = allowed + 1;
    is_match = glob_match(pattern, path, &budget);
    if (budget == 0)
        abort();
    if (!strpbrk(pattern, "[\\") && !strstr(pattern, "//") && is_ascii(path) &&
        pattern_len <= TEXT_MAX && path_len <= TEXT_MAX) {
        bool expected = plain_match(pattern, path, true, &steps);

        if (steps && expected != is_match)
            abort();
    }
    budget = 1;
    if (glob_match(pattern, path, &budget) && !is_match)
        abort();
    return 0;
}

/* A program's text beside Belljar's own lines. What looks like one of them is marked. */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "mcp/internal.h"
#include "mcp/tools.h"

#define MARK "| "

/* The beginnings of lines of a result (result.c). */
static const char *const labels[] = {
    "[stderr]", "[traceback]", "[message]", "[result]", "[display]", "[images]",  "[files]",
    "[output]", "[state]",     "[denied]",  "[masked]", "[note]",    "[running]", "[in /"};

/* The first lines of a result. */
static const char *const statuses[] = {
    "refused:", "timeout:", "memory_exceeded:", "cancelled:", "error:", "hint:"};

/* Past blanks and what nobody sees: a line that is shifted by them looks the same to a reader. */
static size_t skip_blank(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && text[at] != '\n') {
        uint32_t c = 0;
        int n = utf8_decode(text + at, len - at, &c);

        if (n > 0 && c != ' ' && utf8_is_visible(c))
            break;
        at += n > 0 ? (size_t)n : 1;
    }
    return at;
}

static bool begins(const char *text, size_t len, const char *const *words, size_t count)
{
    size_t at = skip_blank(text, len);

    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(words[i]);

        if (len - at >= n && strncasecmp(text + at, words[i], n) == 0)
            return true;
    }
    return false;
}

/* Eight bytes at once, as long as they are ASCII and not control characters: none ends a line. */
static size_t plain_length(const char *text, size_t len)
{
    size_t at = 0;
    uint64_t word;

    while (len - at >= sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        if ((word | (word - UINT64_C(0x2020202020202020))) & UINT64_C(0x8080808080808080))
            break;
        at += sizeof(word);
    }
    return at;
}

/* The end of the line: after its newline, or after what some readers take for one. */
static size_t line_length(const char *text, size_t len)
{
    for (size_t i = 0; (i += plain_length(text + i, len - i)) < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '\n' || c == '\r' || c == '\v' || c == '\f')
            return i + 1;
        if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] == 0x85)
            return i + 2;
        if (c == 0xe2 && i + 2 < len && (unsigned char)text[i + 1] == 0x80 &&
            ((unsigned char)text[i + 2] | 1) == 0xa9)
            return i + 3;
    }
    return len;
}

int mcp_add_words(struct buf *out, const char *text, size_t len, enum mcp_words where)
{
    bool is_first = where == MCP_WORDS_FIRST;

    for (size_t at = 0; at < len;) {
        size_t n = line_length(text + at, len - at);
        bool is_line = at > 0 || where != MCP_WORDS_INSIDE;

        is_first = is_first && begins(text + at, n, statuses, ARRAY_SIZE(statuses));
        if (is_line && (is_first || begins(text + at, n, labels, ARRAY_SIZE(labels))) &&
            buf_add_str(out, MARK, NULL) < 0)
            return -1;
        if (buf_add(out, text + at, n, NULL) < 0)
            return -1;
        at += n;
    }
    return 0;
}

#include "sandbox/files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "sandbox/places.h"

static int refuse(struct error *err, const char *why)
{
    error_set(err, E_INVALID, "%s", why);
    return error_hint(err, "give a path relative to /workspace, like `data/out.csv`");
}

/* One part of the path, [part, part + len). Returns how many bytes were added, or -1. */
static int add_part(const char *part, size_t len, char *path, size_t at, struct error *err)
{
    size_t slash = at > 0;

    if (len == 0 || (len == 1 && part[0] == '.'))
        return 0;
    if (len == 2 && part[0] == '.' && part[1] == '.')
        return refuse(err, "a path must not contain `..`");
    if (len > NAME_MAX)
        return refuse(err, "a name in the path is longer than 255 bytes");
    if (at + slash + len >= PATH_MAX)
        return refuse(err, "the path is too long");
    if (slash)
        path[at] = '/';
    memcpy(path + at + slash, part, len);
    return (int)(slash + len);
}

/* The length of "/workspace/" or of its second name at the beginning, with or without the slash. */
static size_t root_len(const char *path, size_t len)
{
    static const char *const roots[] = {"/workspace", PLACES_HOME};

    for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
        size_t root = strlen(roots[i]);

        if (len >= root && memcmp(path, roots[i], root) == 0 && (len == root || path[root] == '/'))
            return root + (len > root);
    }
    return 0;
}

bool files_path_is_inside(const char *path)
{
    return path[0] != '/' || root_len(path, strlen(path)) > 0;
}

/* Brings what follows the first `root` bytes into its form, behind `prefix`. */
static int check(const char *path, size_t len, size_t root, const char *prefix,
                 char ret_path[PATH_MAX], struct error *err)
{
    char clean[PATH_MAX];
    size_t at = strlen(prefix);

    memcpy(clean, prefix, at);
    for (size_t from = root; from < len;) {
        const char *slash = memchr(path + from, '/', len - from);
        size_t part = slash ? (size_t)(slash - path) - from : len - from;
        int n = add_part(path + from, part, clean, at, err);

        if (n < 0)
            return -1;
        at += (size_t)n;
        from += part + 1;
    }
    clean[at] = '\0';
    memcpy(ret_path, clean, at + 1);
    return 0;
}

int files_path_check(const char *path, size_t len, char ret_path[PATH_MAX], struct error *err)
{
    size_t root = root_len(path, len);

    if (memchr(path, '\0', len))
        return refuse(err, "a path must not contain NUL");
    if (len && path[0] == '/' && !root)
        return refuse(err, "the path is absolute, and not in /workspace");
    return check(path, len, root, "", ret_path, err);
}

static size_t tmp_len(const char *path, size_t len)
{
    static const char tmp[] = "/tmp";
    size_t root = strlen(tmp);

    return len >= root && memcmp(path, tmp, root) == 0 && (len == root || path[root] == '/') ? root
                                                                                             : 0;
}

bool files_path_is_tmp(const char *path)
{
    return tmp_len(path, strlen(path)) > 0;
}

int files_path_check_tmp(const char *path, size_t len, char ret_path[PATH_MAX], struct error *err)
{
    size_t root = tmp_len(path, len);

    if (!root || memchr(path, '\0', len))
        return files_path_check(path, len, ret_path, err);
    return check(path, len, root, "/tmp", ret_path, err);
}

/* Whether the character may stand in a line of text as it is. */
static bool is_plain(uint32_t c)
{
    return c >= 0x20 && c != '\\' && c != 0x7f && !(c >= 0x80 && c < 0xa0);
}

static int escape(const char *path, bool is_exact, struct buf *out, struct error *err)
{
    size_t len = strlen(path);

    for (size_t at = 0; at < len;) {
        uint32_t c = 0;
        int n = utf8_decode(path + at, len - at, &c);
        int r = 0;

        if (n > 0 && is_plain(c) && (!is_exact || utf8_is_visible(c))) {
            r = buf_add(out, path + at, (size_t)n, err);
        } else {
            n = n > 0 ? n : 1;
            for (int i = 0; r == 0 && i < n; i++)
                r = buf_printf(out, err, "\\x%02x", (uint8_t)path[at + (size_t)i]);
        }
        if (r < 0)
            return r;
        at += (size_t)n;
    }
    return 0;
}

int files_path_escape(const char *path, struct buf *out, struct error *err)
{
    return escape(path, false, out, err);
}

void files_path_unescape(const char *text, char *ret_path)
{
    while (*text) {
        unsigned byte;

        if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
            isxdigit((unsigned char)text[3]) && sscanf(text + 2, "%2x", &byte) == 1 && byte) {
            *ret_path++ = (char)byte;
            text += 4;
        } else {
            *ret_path++ = *text++;
        }
    }
    *ret_path = '\0';
}

int files_path_reveal(const char *path, struct buf *out, struct error *err)
{
    return escape(path, true, out, err);
}

/* Any bytes as a path: what is accepted is in its one form, stays below the top, and is shown as
 * one line of text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "sandbox/files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_parts(const char *path)
{
    if (!*path)
        return;
    for (;;) {
        size_t len = strcspn(path, "/");

        if (len == 0 || len > NAME_MAX || (len == 1 && path[0] == '.') ||
            (len == 2 && path[0] == '.' && path[1] == '.'))
            abort();
        if (!path[len])
            return;
        path += len + 1;
    }
}

static void check_shown(const char *path)
{
    struct buf shown;

    buf_init(&shown, 4 * PATH_MAX + 1);
    if (files_path_reveal(path, &shown, NULL) < 0 || utf8_has_invisible(buf_str(&shown), shown.len))
        abort();
    buf_clear(&shown);
    if (files_path_escape(path, &shown, NULL) < 0)
        abort();
    if (utf8_valid(buf_str(&shown), shown.len) != shown.len)
        abort();
    for (size_t i = 0; i < shown.len; i++)
        if ((uint8_t)shown.data[i] < 0x20 || shown.data[i] == 0x7f)
            abort();
    buf_done(&shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    char path[PATH_MAX] = "untouched", again[PATH_MAX];

    if (files_path_check((const char *)data, len, path, NULL) < 0) {
        if (strcmp(path, "untouched") != 0)
            abort();
        return 0;
    }
    check_parts(path);
    check_shown(path);
    if (files_path_check(path, strlen(path), again, NULL) < 0 || strcmp(path, again) != 0)
        abort();
    return 0;
}

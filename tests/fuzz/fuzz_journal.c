/* A journal as a program may have made it: what is read must be spelled again as it was, name no
 * place outside of a granted directory, and count its changes without a gap. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "undo/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(int is_good)
{
    if (!is_good)
        abort();
}

static void check_path(const char *path)
{
    check(path[0] != '/' && strlen(path) < PATH_MAX);
    for (const char *part = path; *path && part; part = strchr(part, '/')) {
        part += part != path;
        check(*part != '/' && strncmp(part, "../", 3) != 0 && strcmp(part, "..") != 0 &&
              strncmp(part, "./", 2) != 0 && strcmp(part, ".") != 0 && *part);
    }
}

/* Written and read again it is the same. */
static void check_again(const struct entry *e)
{
    static char line[ENTRY_LINE_MAX];
    size_t len = entry_format(e, line);
    struct entry again;

    check(len > 0 && line[len - 1] == '\n' && memchr(line, '\n', len) == line + len - 1);
    check(entry_parse(line, len - 1, &again, NULL) == 0);
    check(again.kind == e->kind && again.id == e->id && again.grant == e->grant &&
          again.ino == e->ino && again.mode == e->mode && again.size == e->size &&
          again.mtime_ns == e->mtime_ns && again.saved == e->saved);
    check(strcmp(again.path, e->path) == 0 && !again.more == !e->more &&
          (!e->more || strcmp(again.more, e->more) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct reader r = {0};
    char *text = malloc(len + 1);

    if (!text)
        return 0;
    memcpy(text, data, len);
    if (reader_parse(&r, text, len, NULL) < 0)
        return 0;
    for (size_t i = 0; i < r.count; i++) {
        const struct entry *e = &r.entries[i];

        check(e->grant < LIMIT_GRANTS && e->kind != ENTRY_CANCEL);
        if (e->kind != ENTRY_XATTR)
            check_path(e->path);
        if (e->kind == ENTRY_RENAME || e->kind == ENTRY_SWAP)
            check_path(e->more);
        check_again(e);
    }
    reader_done(&r);
    return 0;
}

/* A form of any bytes: the first line is the Content-Type. What is accepted lies within the body,
 * does not overlap, holds no boundary, and its names are text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "http/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_name(struct span name)
{
    if (utf8_valid(name.data, name.len) != name.len)
        abort();
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.data[i] < 0x20 || name.data[i] == 0x7f || name.data[i] == '"')
            abort();
}

static void check(struct span body, struct span boundary, const struct multipart *parts)
{
    char mark[128] = "\r\n--";
    const char *after = body.data;

    if (parts->count > MULTIPART_PARTS_MAX || boundary.len > 70)
        abort();
    memcpy(mark + 4, boundary.data, boundary.len);
    for (size_t i = 0; i < parts->count; i++) {
        const struct multipart_part *part = &parts->parts[i];

        if (part->content.data < after ||
            part->content.data + part->content.len > body.data + body.len || !part->name.len)
            abort();
        if (memmem(part->content.data, part->content.len, mark, boundary.len + 4))
            abort();
        check_name(part->name);
        if (part->filename.data)
            check_name(part->filename);
        after = part->content.data + part->content.len;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct multipart parts;
    const char *text = (const char *)data, *line = len ? memchr(text, '\n', len) : NULL;
    struct span type = {text, line ? (size_t)(line - text) : 0}, boundary;
    struct span body = {line ? line + 1 : text, line ? len - type.len - 1 : 0};
    struct error err = {0};

    if (!multipart_is_type(type))
        return 0;
    if (multipart_boundary(type, &boundary, &err) == 0 &&
        multipart_parse(body, boundary, &parts, &err) == 0)
        check(body, boundary, &parts);
    else if (err.code != E_INVALID || !err.message)
        abort();
    error_done(&err);
    return 0;
}

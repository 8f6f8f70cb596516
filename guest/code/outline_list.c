#include "guest/code/outline_internal.h"

#include <stdlib.h>
#include <string.h>

void *outline_grow(struct outline *o, void *list, size_t count, size_t *size, size_t item)
{
    size_t wanted = *size ? 2 * *size : 32;
    void *grown;

    if (count < *size)
        return list;
    grown = reallocarray(list, wanted, item);
    if (!grown) {
        o->is_out_of_memory = true;
        return NULL;
    }
    *size = wanted;
    return grown;
}

struct piece outline_keep(struct outline *o, const char *text, size_t len)
{
    struct piece piece = {(uint32_t)o->n_names, (uint32_t)len};

    if (o->n_names + len > o->names_size) {
        size_t size = o->names_size ? o->names_size : 1024;
        char *grown;

        while (size < o->n_names + len)
            size *= 2;
        grown = realloc(o->names, size);
        if (!grown) {
            o->is_out_of_memory = true;
            return (struct piece){0};
        }
        o->names = grown;
        o->names_size = size;
    }
    if (len)
        memcpy(o->names + o->n_names, text, len);
    o->n_names += len;
    return piece;
}

static bool is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (memchr(" \t\f\r\n\\#)", text[i], 8))
            return false;
    return true;
}

struct piece outline_keep_dotted(struct outline *o, const char *text, size_t len)
{
    struct piece piece;
    struct lex lex;
    struct lex_token t;

    if (is_plain(text, len))
        return outline_keep(o, text, len);
    piece = outline_keep(o, "", 0);
    lex_init(&lex, text, len);
    lex.depth = LEX_DEPTH_MAX; /* line ends mean nothing, and brackets may be closed */
    memset(lex.brackets, '(', sizeof(lex.brackets));
    lex.is_line_start = false;
    for (lex_next(&lex, &t); t.kind == LEX_NAME || t.kind == LEX_OP || t.kind == LEX_COMMENT;
         lex_next(&lex, &t))
        if (t.kind == LEX_NAME || (t.kind == LEX_OP && t.op == '.'))
            piece.len += outline_keep(o, lex.text + t.start, t.end - t.start).len;
    return piece;
}

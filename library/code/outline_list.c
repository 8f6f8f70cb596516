#include "library/code/outline_internal.h"

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
    static const char others[] = {' ', '\t', '\f', '\r', '\n', '\\', '#', ')'};

    for (size_t i = 0; i < len; i++)
        if (memchr(others, text[i], sizeof(others)))
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

static size_t room(size_t count, size_t item)
{
    return (count * item + 7) & ~(size_t)7;
}

/* Copies one list to *at, and moves that on. */
static void *pack_list(char **at, const void *list, size_t count, size_t item)
{
    void *copy = *at;

    if (count)
        memcpy(copy, list, count * item);
    *at += room(count, item);
    return copy;
}

struct outline *outline_pack(const struct outline *o)
{
    size_t size = room(1, sizeof(*o)) + room(o->n_defs, sizeof(*o->defs)) +
                  room(o->n_params, sizeof(*o->params)) +
                  room(o->n_decorators, sizeof(*o->decorators)) +
                  room(o->n_imports, sizeof(*o->imports)) + room(o->n_calls, sizeof(*o->calls)) +
                  room(o->n_names, 1);
    char *at = malloc(size);
    struct outline *copy;

    if (!at)
        return NULL;
    copy = pack_list(&at, o, 1, sizeof(*o));
    copy->defs = pack_list(&at, o->defs, o->n_defs, sizeof(*o->defs));
    copy->params = pack_list(&at, o->params, o->n_params, sizeof(*o->params));
    copy->decorators = pack_list(&at, o->decorators, o->n_decorators, sizeof(*o->decorators));
    copy->imports = pack_list(&at, o->imports, o->n_imports, sizeof(*o->imports));
    copy->calls = pack_list(&at, o->calls, o->n_calls, sizeof(*o->calls));
    copy->names = pack_list(&at, o->names, o->n_names, 1);
    return copy;
}

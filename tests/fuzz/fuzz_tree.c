/* Any bytes as a file in any of the languages that have a grammar; the first byte says which.
 * Parsing ends, and what is found lies in the text. */
#include <stdint.h>
#include <stdlib.h>

#include "library/code/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_piece(const struct outline *o, struct piece piece)
{
    if ((size_t)piece.at + piece.len > o->n_names)
        abort();
}

static void check_within(const struct outline *o, uint32_t within, size_t below)
{
    if (within != OUTLINE_NOWHERE && (within >= o->n_defs || within >= below))
        abort();
}

static void check_defs(const struct outline *o)
{
    for (size_t i = 0; i < o->n_defs; i++) {
        const struct outline_def *def = &o->defs[i];

        check_piece(o, def->name);
        check_piece(o, def->owner);
        check_within(o, def->parent, i);
        if (def->line < 1 || def->end_line < def->line || !def->what ||
            (size_t)def->first_param + def->n_params > o->n_params)
            abort();
    }
}

static void read_outline(const struct tree_language *language, const char *text, size_t len)
{
    struct outline o = {0};

    tree_read(&o, language, text, len, OUTLINE_CALLS);
    check_defs(&o);
    for (size_t i = 0; i < o.n_imports; i++) {
        check_piece(&o, o.imports[i].module);
        check_piece(&o, o.imports[i].name);
        check_within(&o, o.imports[i].within, SIZE_MAX);
    }
    for (size_t i = 0; i < o.n_calls; i++) {
        check_piece(&o, o.calls[i].callee);
        check_within(&o, o.calls[i].within, SIZE_MAX);
    }
    if (o.code_lines + o.comment_lines + o.blank_lines != o.lines && !o.why)
        abort();
    outline_done(&o);
}

static void read_names(const struct tree_language *language, const char *text, size_t len)
{
    struct tree_names names = {0};

    tree_names_read(&names, language, text, len, "a", "total");
    for (size_t i = 0; i < names.count; i++)
        if (names.items[i].start >= len || text[names.items[i].start] != 'a' ||
            (i > 0 && names.items[i].start <= names.items[i - 1].start))
            abort();
    tree_names_done(&names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct tree_language *language;

    if (len == 0)
        return 0;
    language = tree_language_at(data[0] % TREE_LANGUAGES);
    read_outline(language, (const char *)data + 1, len - 1);
    read_names(language, (const char *)data + 1, len - 1);
    (void)tree_language_of("run", (const char *)data + 1, len - 1);
    return 0;
}

/* Any bytes as a Python file: tokens, outline and names end, and what they say lies in the text. */
#include <stdint.h>
#include <stdlib.h>

#include "guest/code/lex.h"
#include "guest/code/names.h"
#include "guest/code/outline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void read_tokens(const char *text, size_t len)
{
    struct lex lex;
    struct lex_token t;
    uint32_t last = 0;

    lex_init(&lex, text, len);
    do {
        lex_next(&lex, &t);
        if (t.start > t.end || t.end > len || t.start < last)
            abort();
        last = t.start;
    } while (t.kind != LEX_END && t.kind != LEX_BAD);
}

static void read_outline(const char *text, size_t len)
{
    struct outline o = {0};

    outline_read(&o, text, len, OUTLINE_CALLS | OUTLINE_DOCSTRINGS);
    for (size_t i = 0; i < o.n_defs; i++)
        if (o.defs[i].name.at + o.defs[i].name.len > o.n_names ||
            (o.defs[i].parent != OUTLINE_NOWHERE && o.defs[i].parent >= i))
            abort();
    outline_done(&o);
}

static void check_events(const struct names *n, size_t len)
{
    for (size_t i = 0; i < n->n_events; i++) {
        const struct names_event *e = &n->events[i];
        uint32_t owner = names_owner(n, e->scope, e->name);

        if (e->start + e->len > len || e->scope >= n->n_scopes || e->name >= n->n_words ||
            e->order >= n->order || (owner != NAMES_NOWHERE && owner >= n->n_scopes))
            abort();
    }
}

static void read_names(const char *text, size_t len)
{
    struct names n = {0};
    uint32_t *unused;

    names_read(&n, text, len);
    names_resolve(&n);
    check_events(&n, len);
    for (uint32_t i = 0; i < n.n_words && i < 4; i++)
        (void)names_conflict(&n, i, n.n_words > i + 1 ? i + 1 : 0, true);
    unused = calloc(n.n_imports + 1, sizeof(*unused));
    if (!unused || names_unused(&n, unused) > n.n_imports)
        abort();
    free(unused);
    names_done(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;

    read_tokens(text, len);
    read_outline(text, len);
    read_names(text, len);
    return 0;
}
